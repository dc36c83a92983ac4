#!/usr/bin/env bash
# exceljs 4.4.0 (npm) reads a date that a workbook writes in ISO 8601 as a day of 1905.
#
# Expected (ECMA-376 part 1, 18.18.11: a cell of type d holds an ISO 8601 date): <c t="d"><v>2024-05-01T00:00:00</v></c> is 1 May 2024.
# Seen: 16 July 1905. The digits before the first hyphen, 2024, count as days since the end of 1899. No error and no warning: each date of a
# year becomes the same day.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent exceljs@4.4.0 jszip@3.10.1 2>/dev/null
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
const { Workbook } = require("exceljs")
async function read(value) {
  const book = new Workbook()
  await book.xlsx.load(await workbook("", `<c r="A1" s="1" t="d"><v>${value}</v></c>`))
  return book.worksheets[0].getCell("A1").value.toISOString().slice(0, 10)
}
Promise.all([read("2024-05-01T00:00:00"), read("2024-12-24T00:00:00")]).then(days => console.log(days.join(" ")))
JS
seen=$(node book.js)
echo "1 May and 24 December 2024 are read as $seen"
[ "$seen" = '1905-07-16 1905-07-16' ] || { echo "the behaviour has changed" >&2; exit 1; }
