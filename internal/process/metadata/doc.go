// Package metadata reads what a page says about itself: titles, authors, dates, descriptions,
// languages and the name of its site.
//
//	var head metadata.Head
//	head.Read(&doc, pageURL)       // one pass over the nodes
//	head.FindTitle(&page)          // the line of the outline that is the title
//	title, authors := head.PageTitle(&page), head.Author(&page)
//
// Sources are the elements of the head, meta elements anywhere (OpenGraph, Dublin Core, citation_* and
// others), JSON-LD, microdata, and the lines near the title. Values are parts of the page: they are
// valid as long as its text. All lists are bounded; a page takes time linear in its size.
// Source: docs/spec/processing.md 2.2, 2.3, 2.5.
package metadata
