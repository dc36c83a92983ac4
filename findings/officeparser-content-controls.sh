#!/usr/bin/env bash
# officeparser 7.8.0 (npm) leaves out of a DOCX whatever is in a content control, and joins what a tab or a break separates.
#
# Expected (ECMA-376 part 1, 17.5.2 sdt: its content are paragraphs of the document; 17.3.3.32 tab, 17.3.3.1 br, 17.3.3.18 noBreakHyphen): word
# processors put tables of contents, cover pages and the fields of forms into content controls.
# Seen: the paragraph in w:sdt is missing without an error, "Name" and "Ann" on two sides of a tab become "NameAnn", the lines of an address
# one word, and "co-op" with a non-breaking hyphen "coop".
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent officeparser@7.8.0 jszip@3.10.1
cat >page.js <<'JS'
const JSZip = require("jszip")
const type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
async function docx(body) {
  const z = new JSZip()
  z.file("[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`)
  z.file("_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="${office}" Target="word/document.xml"/></Relationships>`)
  z.file("word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}<w:sectPr/></w:body></w:document>`)
  return z.generateAsync({ type: "nodebuffer" })
}
const p = inner => `<w:p><w:r>${inner}</w:r></w:p>`
const body = p('<w:t>Before.</w:t>') + `<w:sdt><w:sdtContent>${p('<w:t>A field of the form.</w:t>')}</w:sdtContent></w:sdt>` +
  p('<w:t>Name</w:t><w:tab/><w:t>Ann</w:t>') + p('<w:t>Quay 1</w:t><w:br/><w:t>Harbour</w:t>') + p('<w:t>co</w:t><w:noBreakHyphen/><w:t>op</w:t>')
const { OfficeParser } = require('officeparser')
docx(body).then(buffer => OfficeParser.parseOffice(buffer)).then(r => console.log(JSON.stringify(r.toText())))
JS
seen=$(node page.js)
echo "text: $seen"
[ "$seen" = '"Before.\nNameAnn\nQuay 1Harbour\ncoop"' ] || { echo "the behaviour has changed" >&2; exit 1; }
