#!/usr/bin/env bash
# xlsx 0.18.5 (SheetJS, the version on npm) with cellDates is four years and a day early in workbooks that count days from 1904.
#
# Expected (ECMA-376 part 1, 18.17.4.1: with date1904 day 0 is 1 January 1904; workbooks of old Macs are so): day 43951 is 1 May 2024.
# Seen: the Date is 30 April 2020, while the text of the same cell in the same run, and in a CSV, is 1 May 2024.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent xlsx@0.18.5 jszip@3.10.1
cat >book.js <<'JS'
const JSZip = require("jszip")
const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
const kind = part => `application/vnd.openxmlformats-officedocument.spreadsheetml.${part}+xml`
async function workbook(properties, cell) {
  const z = new JSZip()
  z.file("[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Override PartName="/xl/workbook.xml" ContentType="${kind("sheet.main")}"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${kind("worksheet")}"/><Override PartName="/xl/styles.xml" ContentType="${kind("styles")}"/></Types>`)
  const rels = list => `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list.map(([type, target], i) => `<Relationship Id="rId${i + 1}" Type="${rel}/${type}" Target="${target}"/>`).join("")}</Relationships>`
  z.file("_rels/.rels", rels([["officeDocument", "xl/workbook.xml"]]))
  z.file("xl/_rels/workbook.xml.rels", rels([["worksheet", "worksheets/sheet1.xml"], ["styles", "styles.xml"]]))
  z.file("xl/workbook.xml", `<workbook xmlns="${main}" xmlns:r="${rel}">${properties}<sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>`)
  z.file("xl/styles.xml", `<styleSheet xmlns="${main}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`)
  z.file("xl/worksheets/sheet1.xml", `<worksheet xmlns="${main}"><sheetData><row r="1">${cell}</row></sheetData></worksheet>`)
  return z.generateAsync({ type: "nodebuffer" })
}
const XLSX = require("xlsx")
workbook('<workbookPr date1904="1"/>', '<c r="A1" s="1"><v>43951</v></c>').then(buffer => {
  const sheet = XLSX.read(buffer, { cellDates: true }).Sheets.A
  console.log(XLSX.utils.sheet_to_json(sheet, { header: 1 })[0][0].toISOString().slice(0, 10), XLSX.utils.sheet_to_csv(sheet).trim())
})
JS
seen=$(TZ=UTC node book.js)
echo "Date and text: $seen"
[ "$seen" = '2020-04-30 5/1/24' ] || { echo "the behaviour has changed" >&2; exit 1; }
