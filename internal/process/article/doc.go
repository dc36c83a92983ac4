// Package article reads a page: title, plain text, Markdown, author, date, language, links and
// images of its article.
//
//	page := article.NewPage(text, "https://site.example/news/1.html", "")
//	art, err := page.Article(article.Default)
//
// The page is parsed once (htmltree) and walked once (outline): lines of text, and the elements
// around them. Package choice chooses the lines, package writer writes them, package metadata reads
// what the page says about itself. The text must be UTF-8 (package charset).
// Source: docs/decisions/0021-one-engine-for-html.md, docs/spec/processing.md 1.2, 2.3, 2.4.
package article
