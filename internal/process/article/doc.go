// Package article extracts the article of a page: title, plain text, Markdown, author,
// date, language, links and images.
//
//	art, err := article.Extract(text, "https://site.example/news/1.html")
//	// art is usable even if err reports that a library failed
//
// The engine go-trafilatura chooses the blocks of the article; text and Markdown come from
// the page itself, with its words in their order. html-to-markdown writes Markdown,
// whatlanggo detects the language. Each library is behind one file, and all share one tree of the
// page. A page without an article, such as a table of contents, gives its visible text. So
// every page has a title and a text.
//
// The text must be UTF-8 (package charset). Source: docs/spec/processing.md 1.2, 2.3, 2.4
// and 5.1.
package article
