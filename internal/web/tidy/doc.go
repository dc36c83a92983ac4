// Package tidy repairs invalid HTML: the property HTML_RECOVER.
//
// Tidy rewrites a text so that every element is closed in the right order, inside one html,
// head and body, with quoted attributes and escaped text. Check reports whether the text
// contains a page at all.
//
//	if mode == 1 || mode == 2 && tidy.Check(text) != nil {
//		text, err = tidy.Tidy(text)
//	}
//
// It makes one pass over the tokens with a stack of open elements, without a tree: by the
// HTML standard, unclosed formatting elements are reopened in each paragraph, so that 80 kB
// of text can give a tree of a gigabyte. The result differs from the standard in two
// points: formatting elements end with the element around them, and text between table rows
// stays there. Sources: docs/spec/crawling.md 2.5 step 34 and 2.7, HTML standard 13.1.2.
package tidy
