// Package fallback fills tags that the extraction left empty with what is known of the page.
//
//	fallback.Title(&result, asked, titleElement) // the template asks for title
//	fallback.Link(&result, pageURL)              // source_url, and link without a canonical one
//
// Source: docs/spec/processing.md 2.2, 6.2 #23.
package fallback

import (
	"strings"

	"hce/dc/internal/wire/result"
)

// Title sets the tag title to the text of the title element, if the template asks for it and
// it is empty or a default.
func Title(r *result.Result, asked bool, element string) {
	t := r.Tag("title")
	if !asked || t != nil && t.First() != "" && !t.Default {
		return
	}
	setTag(r, "title", strings.Join(strings.Fields(element), " "))
}

// Link sets source_url to the URL of the page, and link too if the page states no canonical
// one.
func Link(r *result.Result, pageURL string) {
	if r.First("link") == "" {
		setTag(r, "link", pageURL)
	}
	setTag(r, "source_url", pageURL)
}

func setTag(r *result.Result, name, value string) {
	r.Add(result.Tag{Name: name, Data: []string{value}, Extractor: result.Service})
}
