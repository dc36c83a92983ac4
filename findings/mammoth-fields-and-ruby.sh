#!/usr/bin/env bash
# mammoth 1.13.0 (npm) leaves the text of simple fields, of ruby and of bidirectional overrides out of a DOCX, and joins lines.
#
# Expected (ECMA-376 part 1, 17.16.19 fldSimple, 17.3.3.25 ruby, 17.3.2.3 bdo, 17.3.3.1 br): the runs inside are text of the paragraph, as word
# processors show it, and a break is the end of a line.
# Seen: "Printed on today." becomes "Printed on .", "漢字 is kanji" becomes " is kanji", the text in w:bdo is missing: each is an
# "unrecognised element" of a warning, with all that it holds. extractRawText writes nothing for a break, without a warning: "noontwo".
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent mammoth@1.13.0 jszip@3.10.1
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
const run = text => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`
const p = inner => `<w:p>${inner}</w:p>`
const body = p(run('Printed on ') + `<w:fldSimple w:instr="DATE">${run('today')}</w:fldSimple>` + run('.')) +
  p(`<w:r><w:ruby><w:rubyPr/><w:rt>${run('kanji')}</w:rt><w:rubyBase>${run('漢字')}</w:rubyBase></w:ruby></w:r>` + run(' is kanji')) +
  p(run('[') + `<w:bdo w:val="rtl">${run('abc')}</w:bdo>` + run(']')) + p('<w:r><w:t>noon</w:t><w:br/><w:t>two</w:t></w:r>')
docx(body).then(buffer => require('mammoth').extractRawText({ buffer })).then(r => console.log(JSON.stringify([r.value, ...r.messages.map(m => m.message)])))
JS
seen=$(node page.js)
echo "text and messages: $seen"
[ "$seen" = '["Printed on .\n\n is kanji\n\n[]\n\nnoontwo\n\n","An unrecognised element was ignored: w:fldSimple","An unrecognised element was ignored: w:ruby","An unrecognised element was ignored: w:bdo"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
