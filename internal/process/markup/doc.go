// Package markup collects the text and the metadata of a document, such as a PDF, and writes
// them as an HTML page.
//
//	page := markup.Page{Title: "Tides"}
//	page.Block("h2", "Moon & sun")  // <h2>Moon &amp; sun</h2>
//	article.Document(page.HTML(), "http://site.example/tides.pdf")
//
// Readers of document formats share it, so that package article needs to know HTML only.
package markup
