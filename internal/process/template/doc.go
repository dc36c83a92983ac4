// Package template extracts the tags of a page by the templates of a site: JSON with XPath
// and CSS rules (docs/spec/processing.md 3).
//
//	set, err := template.Parse(property)              // the property template
//	list, problems := set.For(urlField)               // those whose condition holds
//	r, problems := list[0].Apply(ctx, doc, options)   // one result of one template
//	items, problems := list[0].Items(ctx, doc, options) // SCRAPER_MULTI_ITEMS
//	i, problems := set.Choose(list, results)          // the result to keep
//
// A rule that cannot be followed gives a [Problem] with an error bit and a message that
// names template, tag and rule; the other rules go on. With Options.Trace, Apply and Items
// also record what each rule found and why its value was used or not.
//
// The package does no I/O and reads no clock. Its cost is bounded for every page and template.
package template
