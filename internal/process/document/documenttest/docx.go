package documenttest

import (
	"archive/zip"
	"bytes"
	"maps"
	"strings"
)

// DOCX returns a DOCX file with a title, a heading, and one paragraph for each text.
func DOCX(title string, paragraphs ...string) []byte {
	var body strings.Builder
	body.WriteString(`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>` + title + `</w:t></w:r></w:p>`)
	for _, text := range paragraphs {
		body.WriteString(`<w:p><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`)
	}
	return OOXML(body.String(), map[string]string{
		"docProps/core.xml": `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>` + title + `</dc:title><dc:creator>Ann Bell</dc:creator>` +
			`<cp:keywords>tides, sea</cp:keywords><dcterms:created>2024-05-17T08:11:12Z</dcterms:created><dc:language>en-GB</dc:language></cp:coreProperties>`,
	})
}

// OOXML returns a DOCX file with the mark-up of its body, and further files.
func OOXML(body string, files map[string]string) []byte {
	all := map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":         `<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml":   `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w" xmlns:r="r"><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml":     `<w:styles><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="rS" Type="http://x/relationships/styles" Target="styles.xml"/>` +
			`<Relationship Id="rN" Type="http://x/relationships/numbering" Target="numbering.xml"/><Relationship Id="rF" Type="http://x/relationships/footnotes" Target="footnotes.xml"/>` +
			`<Relationship Id="rL" Type="http://x/relationships/hyperlink" Target="http://tables.example/t?a=1&amp;b=2" TargetMode="External"/></Relationships>`,
	}
	maps.Copy(all, files)
	return ZIP(all)
}

// ZIP returns an archive of files. The file "mimetype" comes first and is not compressed.
func ZIP(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, method uint16) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			panic(err)
		}
		_, _ = f.Write([]byte(files[name])) // a bytes.Buffer has no errors
	}
	if _, ok := files["mimetype"]; ok {
		add("mimetype", zip.Store)
	}
	for name := range files {
		if name != "mimetype" {
			add(name, zip.Deflate)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
