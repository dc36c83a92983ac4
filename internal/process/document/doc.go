// Package document reads raw contents that are no HTML: plain text, PDF and office documents.
//
//	art, err := document.Read("application/octet-stream", body, "http://site.example/report")
//	// a PDF by its first bytes: title, text, Markdown, author, date, language and links
//
// It decides the format by the declared type and the content, and leaves the rest to the
// packages article, pdf and office. docs/documents.md has the table of types.
package document
