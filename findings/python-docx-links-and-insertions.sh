#!/usr/bin/env bash
# python-docx 0.8.11 (Debian 12): the text of a paragraph has no links, no tracked insertions and no non-breaking hyphens.
#
# Expected (ECMA-376 part 1, 17.16.22, 17.13.5.18, 17.3.3.18): runs in w:hyperlink and w:ins are text of the paragraph, w:noBreakHyphen is a hyphen.
# Seen: "See for A4." of "See the tables for new A-4.", without an error.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-docx=0.8.11+dfsg1-5 python3-lxml >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 - <<'PY'
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.text.paragraph import Paragraph
p = parse_xml('<w:p %s><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink w:anchor="t"><w:r><w:t xml:space="preserve">the tables </w:t></w:r></w:hyperlink>'
    '<w:r><w:t xml:space="preserve">for </w:t></w:r><w:ins w:id="1" w:author="Ann"><w:r><w:t xml:space="preserve">new </w:t></w:r></w:ins>'
    '<w:r><w:t>A</w:t><w:noBreakHyphen/><w:t>4.</w:t></w:r></w:p>' % nsdecls('w'))
print(Paragraph(p, None).text)
PY
)
echo "text: $seen"
[ "$seen" = "See for A4." ] || { echo "the behaviour has changed" >&2; exit 1; }
