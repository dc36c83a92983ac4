// Package extractor runs the extractors of a page and merges what they find.
//
//	lists, err := extractor.ParseLists(modules)       // PROCESSOR_PROPERTIES.modules, or ""
//	names, err := lists.Names("regular")              // algorithm_name
//	set, err := extractor.New(names, extractor.Options{})
//	results, err := set.Dynamic(ctx, page)
//	// results[0] is merged: the first value of each tag. One result for each extractor follows.
//
// All extractors read one tree of the page, which stays unchanged. docs/extractors.md lists
// their names, libraries and tags. Source: docs/spec/processing.md 1.4, 2.3, 5.1.
package extractor
