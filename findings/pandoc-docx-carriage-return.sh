#!/usr/bin/env bash
# pandoc 2.17.1.1 (Debian 12) joins the lines of a Word paragraph that are separated by w:cr.
#
# Expected (ECMA-376 part 1, 17.3.3.4: w:cr is a line break, as w:br without attributes): two lines.
# Seen: "onetwo" with w:cr; w:br breaks the line.
#
# Needs apt-get, dpkg and Python 3, and the libraries of pandoc (apt-get install pandoc has them). It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q pandoc=2.17.1.1-2~deb12u1 pandoc-data >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
/usr/bin/python3 - <<'PY'
import zipfile
document = '''<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:r><w:t>one</w:t><w:cr/><w:t>two</w:t></w:r></w:p><w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t></w:r></w:p></w:body></w:document>'''
types = '''<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'''
relations = '<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>'
kind = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
with zipfile.ZipFile('a.docx', 'w') as z:
    z.writestr('[Content_Types].xml', types)
    z.writestr('_rels/.rels', relations % ('<Relationship Id="r1" Type="%sofficeDocument" Target="word/document.xml"/>' % kind))
    z.writestr('word/_rels/document.xml.rels', relations % ('<Relationship Id="r1" Type="%sstyles" Target="styles.xml"/>' % kind))
    z.writestr('word/styles.xml', '<?xml version="1.0" encoding="UTF-8"?><w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>')
    z.writestr('word/document.xml', document)
PY
seen=$(usr/bin/pandoc --data-dir usr/share/pandoc/data a.docx -t plain)
echo "$seen"
[ "$seen" = 'onetwo

one
two' ] || { echo "the behaviour has changed" >&2; exit 1; }
