// Package htmltree parses HTML: a page becomes one array of nodes in document order.
//
//	var d htmltree.Doc
//	d.Parse(page) // UTF-8; d can be used for the next page
//	for i := range d.Nodes {
//		if n := &d.Nodes[i]; n.Tag == htmltree.TagA {
//			href := d.Attr(n, htmltree.KeyHref)
//		}
//	}
//
// It follows the HTML standard, chapters 13.2.5 (tokenization) and 13.2.6 (tree construction), without scripts, and passes the
// same tests of html5lib as golang.org/x/net/html at an eighth of its time: it builds no node by itself, copies no text
// without character references, and keeps only the attributes of [Key]. Names of elements that mean nothing here are
// [TagOther]; [Doc.Name] has them as written. As long as each node is the last of the page, which is so on most pages,
// the nodes are in document order at once. The first node that belongs elsewhere (in front of a table, or moved by misnested
// formatting) links them, and the end of the page puts them in order.
//
// Work and memory are linear in the size of the page: elements nest to 500 levels, 64 formatting elements are
// remembered, and the number of formatting elements that are opened again is bounded. x/net/html stays for XPath, CSS
// and templates, which need a tree of pointers.
package htmltree
