// Package links finds the URLs that a page contains.
//
// It reads the tokens of the page once, without a tree, and returns every HTML attribute
// with a URL, including srcset and meta refresh. It resolves nothing: the caller resolves
// links against the base element and the URL of the page.
//
//	page := links.HTML(text, 1000)
//	base := resolve(pageURL, page.Base)
//	for _, link := range page.Links {
//		consider(resolve(base, link.URL))
//	}
//
// Source: docs/spec/crawling.md 2.5 (step 37), 4.4 and 5.1; docs/spec/steps.md 1 #21.
package links
