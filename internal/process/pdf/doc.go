// Package pdf reads the text, the links and the metadata of a PDF file (ISO 32000-1).
//
//	page, err := pdf.Read(body)
//	// <h2>Tides</h2><p>The moon pulls the sea.</p>
//	html := page.HTML()
//
// The library pdfcpu reads the objects of a file. It repairs broken cross-references and decrypts files
// without a password. This package interprets the content of the pages: it decodes the
// characters of each font, and puts them together to words, lines and paragraphs, in the order in
// which the page draws them. Large lines become headings.
//
// All work is bounded: bytes of decompressed streams, pages, objects and text; see limits.go.
// Not read: text in pictures, forms and annotations, fonts without any map to Unicode.
package pdf
