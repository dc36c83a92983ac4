// Package tidy makes broken HTML well-formed: HTML_RECOVER.
//
// Tidy writes a text anew in which every element that begins also ends, in the
// right order, inside one html, head and body; attributes are quoted, signs are
// escaped. Check tells whether there is a page to speak of at all.
//
//	if mode == 1 || mode == 2 && tidy.Check(text) != nil {
//		text, err = tidy.Tidy(text)
//	}
//
// It is one pass over the tokens of golang.org/x/net/html with a stack of open
// elements, and not the tree builder of that library: by the HTML standard
// formatting elements that were left open are opened again in each paragraph, so
// 80 kB of text can stand for a tree of a gigabyte. Here they are closed with the
// element around them and not opened again; that, and text between the rows of a
// table, which stays where it is, are the differences.
//
// Neighbours: package charset makes the text; package links reads links from the
// untidied one. Sources: docs/spec/crawling.md 2.5 step 34 and 2.7, HTML standard 13.1.2.
package tidy
