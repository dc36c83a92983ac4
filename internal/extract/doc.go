// Package extract names the family of packages that read a fetched body and
// know nothing of where it came from: no files, no HTTP, no SQL, no clock.
//
//	charset   bytes and a Content-Type to UTF-8 text
//	tidy      broken HTML to well-formed HTML, in one pass of a tokenizer
//	cost      how much a tree of a page would take, before it is made
//	links     UTF-8 text to the URLs a page names, in one pass of a tokenizer
//	xpath     UTF-8 text to what an XPath expression finds, within bounds
//	article   UTF-8 text to title, plain text, Markdown and metadata
//
// They are apart because their costs are: charset, tidy and links start in no time
// and are all that crawler-task needs, while the extractors behind article
// bring tables that take tens of megabytes and a noticeable start-up time, which
// only processor-task should pay.
//
// A body goes through them in this order:
//
//	text, name, err := charset.Decode(body, header.Get("Content-Type"))
//	page := links.HTML(text, 1000)         // the crawler
//	art, err := article.Extract(text, url) // the processor
//
// Every function of the family is safe for use by many goroutines, bounded in
// memory by its input and turns hostile input into an error, never into a
// panic. Sources: crawling 4.13 and 5.1, processing 2.3 and 2.4.
package extract
