#!/usr/bin/env bash
# odt2txt 0.5 (Debian 12) glues words around repeated blanks, and prints deleted text.
#
# Expected (OpenDocument 1.2 6.1.3 and 5.5): <text:s text:c="3"/> is three blanks; what tracked changes keep of deleted text is no text of the document.
# Seen: "onetwo", and the deleted paragraph before everything, with the name of who deleted it.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q odt2txt=0.5-7 >/dev/null 2>&1
dpkg -x odt2txt_*.deb .
/usr/bin/python3 - <<'PY'
import zipfile
content = '''<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" office:version="1.2"><office:body><office:text>
<text:tracked-changes><text:changed-region text:id="c1"><text:deletion><office:change-info><dc:creator>Ann</dc:creator><dc:date>2024-05-01T10:00:00</dc:date>
</office:change-info><text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:p>one<text:s text:c="3"/>two<text:change text:change-id="c1"/></text:p></office:text></office:body></office:document-content>'''
manifest = '''<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">
<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'''
with zipfile.ZipFile('a.odt', 'w') as z:
    z.writestr('mimetype', 'application/vnd.oasis.opendocument.text')
    z.writestr('content.xml', content)
    z.writestr('META-INF/manifest.xml', manifest)
PY
seen=$(usr/bin/odt2txt.odt2txt a.odt | tr -s " \n" " ")
echo "text: $seen"
[[ "$seen" == *Ann*deleted*onetwo* ]] || { echo "the behaviour has changed" >&2; exit 1; }
