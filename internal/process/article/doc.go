// Package article turns a page into what a reader wants of it: title, plain
// text, Markdown, author, date, language, links and images.
//
// The work is done by maintained libraries, each behind one file: go-trafilatura
// (the default), go-readability and go-domdistiller choose the article,
// html-to-markdown writes Markdown, whatlanggo guesses languages. The page is
// parsed once and all of them share the tree. Where they find nothing - tables
// of contents, frame sets, single images - the visible text of the page stands
// in, so that every page has a title and a text.
//
//	art, err := article.Extract(text, "https://site.example/news/1.html")
//	// art is usable even when err says that a library gave up
//
// Neighbours: package charset makes text UTF-8; package links finds the title,
// base and URLs used here. Sources: docs/spec/processing.md 1.2, 2.3, 2.4 and 5.1.
package article
