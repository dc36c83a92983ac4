#!/usr/bin/env bash
# docx2txt 1.4 (Debian 12) prints text that was moved at both places, and a soft hyphen as " - ".
#
# Expected (ECMA-376 part 1, 17.13.5.22: text in w:moveFrom is no longer there; 17.3.3.29: a soft hyphen shows at the end of a line only): "harbour, then tide".
# Seen: "tide, har - bour, then tide".
#
# Needs apt-get, dpkg, perl, unzip and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q docx2txt=1.4-5 >/dev/null 2>&1
dpkg -x docx2txt_*.deb .
/usr/bin/python3 - <<'PY'
import zipfile
document = '''<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p>
<w:moveFrom w:id="1" w:author="Ann"><w:r><w:t xml:space="preserve">tide, </w:t></w:r></w:moveFrom><w:r><w:t>har</w:t><w:softHyphen/><w:t xml:space="preserve">bour, then </w:t></w:r>
<w:moveTo w:id="2" w:author="Ann"><w:r><w:t>tide</w:t></w:r></w:moveTo></w:p></w:body></w:document>'''.replace('\n', '')
types = '''<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'''
relations = '''<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>'''
main = '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
with zipfile.ZipFile('a.docx', 'w') as z:
    z.writestr('[Content_Types].xml', types)
    z.writestr('_rels/.rels', relations % main)
    z.writestr('word/document.xml', document)
    z.writestr('word/_rels/document.xml.rels', relations % '')
PY
seen=$(perl usr/bin/docx2txt a.docx - 2>/dev/null | tr -s ' \n' ' ' | sed 's/ $//')
echo "text: $seen"
[ "$seen" = "tide, har - bour, then tide" ] || { echo "the behaviour has changed" >&2; exit 1; }
