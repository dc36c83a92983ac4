#!/usr/bin/env bash
# xlsx2csv 0.7.8 (Debian 12) reads the letters of a text in a number format as a date, and loses rows without a number.
#
# Expected (ECMA-376 part 1, 18.8.31 and 18.3.1.73): in the format "day "0 the quoted part is text, so 5 is "day 5". The attribute r of a row
# is optional: without it the row follows the one before.
# Seen: 5 becomes "04ay "0, with the quotes. A row without r is missing, without an error.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q xlsx2csv=1:0.7.8-1 >/dev/null 2>&1
dpkg -x xlsx2csv_*.deb .
/usr/bin/python3 - <<'PY'
import zipfile
main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
package = 'http://schemas.openxmlformats.org/package/2006/'
kind = 'application/vnd.openxmlformats-officedocument.spreadsheetml.'
head = '<?xml version="1.0"?>'
parts = {
    '[Content_Types].xml': f'{head}<Types xmlns="{package}content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{kind}sheet.main+xml"/><Override PartName="/xl/sheet.xml" ContentType="{kind}worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{kind}styles+xml"/></Types>',
    '_rels/.rels': f'{head}<Relationships xmlns="{package}relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    'xl/workbook.xml': f'{head}<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': f'{head}<Relationships xmlns="{package}relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="sheet.xml"/>'
    f'<Relationship Id="r2" Type="{office}/styles" Target="styles.xml"/></Relationships>',
    'xl/sheet.xml': f'{head}<worksheet xmlns="{main}"><sheetData><row r="1"><c r="A1" s="1"><v>5</v></c></row><row><c><v>7</v></c></row></sheetData></worksheet>',
    'xl/styles.xml': f'{head}<styleSheet xmlns="{main}"><numFmts count="1"><numFmt numFmtId="164" formatCode="&quot;day &quot;0"/></numFmts>'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>',
}
with zipfile.ZipFile('a.xlsx', 'w') as z:
    for name, text in parts.items():
        z.writestr(name, text)
PY
seen=$(/usr/bin/python3 usr/bin/xlsx2csv a.xlsx)
echo "$seen"
[ "$seen" = '"""04ay ""0"' ] || { echo "the behaviour has changed" >&2; exit 1; }
