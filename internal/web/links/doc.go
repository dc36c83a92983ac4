// Package links finds the URLs that a page names.
//
// It reads the tokens of the page once, builds no tree, and takes every
// attribute of HTML whose value is a URL, srcset and meta refresh included. It
// resolves nothing: the caller has the URL of the page, the base element found
// here, and package canonical.
//
//	page := links.HTML(text, 1000)
//	base := resolve(pageURL, page.Base)
//	for _, link := range page.Links {
//		consider(resolve(base, link.URL))
//	}
//
// Source: docs/spec/crawling.md 2.5 (step 37), 4.4 and 5.1; docs/spec/steps.md 1 #21.
package links
