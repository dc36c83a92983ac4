package feed

import (
	"slices"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// Limits of the attributes that each entry inherits. They are low because every entry's
// document repeats them.
const (
	maxInherited      = 24
	maxInheritedBytes = 256
)

// format is the difference between the kinds of XML feeds.
type format interface {
	// parseEntry parses a document with one entry; false if gofeed finds no entry.
	parseEntry(doc string, n *node, o Options) (Entry, bool)
	// parseHead parses a document without entries.
	parseHead(doc string, f *Feed) (*object, bool)
}

// xmlFeed is the state of one parse.
type xmlFeed struct {
	Options
	format  format
	feed    Feed
	root    *node
	channel *node // nil outside the channel
	head    *tree // everything except the entries
}

func parseXML(text []byte, o Options) (Feed, error) { return parseXMLWithin(text, o, maxAllNodes) }

// parseXMLWithin stops after the entry that exceeds the given number of nodes.
func parseXMLWithin(text []byte, o Options, nodes int) (Feed, error) {
	r := loosexml.NewReader(text, "item", "entry")
	root, ok := r.Root(func(t loosexml.Token) bool { return rootKind(t) != None })
	if !ok {
		return Feed{}, ErrNoFeed
	}
	kind := rootKind(root)
	x := &xmlFeed{Options: o, feed: Feed{Kind: kind}, root: inheritedTag(root)}
	x.format = rssFormat{}
	if kind == Atom {
		x.format = atomFormat{}
	}
	x.head = newTree(x.root)
	x.readEntries(r, root.Depth, nodes)
	x.parseOutside()
	return x.feed, nil
}

// rootKind returns the kind of the feed that begins with the tag t, or None.
func rootKind(t loosexml.Token) Kind {
	switch t.Local() {
	case "rss":
		return RSS
	case "feed":
		return Atom
	case "rdf":
		// RDF has many uses; a feed has a namespace of RSS 1.0, 0.9 or 1.1.
		for _, a := range t.Attrs {
			if v := strings.ToLower(a.Value); strings.Contains(v, "/rss/") || strings.Contains(v, "netscape.com/rdf/simple") || strings.Contains(v, "/rss1.1") {
				return RSS
			}
		}
	}
	return None
}

// inheritedTag returns the start tag t with the attributes that affect its content.
func inheritedTag(t loosexml.Token) *node {
	n := &node{name: t.Name}
	for _, a := range t.Attrs {
		matters := isDeclaration(a.Name) || a.Name == "xml:base" || a.Name == "xml:lang" || a.Name == "version"
		if matters && len(a.Value) <= maxInheritedBytes && len(n.attrs) < maxInherited {
			n.attrs = append(n.attrs, a)
		}
	}
	return n
}

// readEntries reads the document from after the start of the root to its end.
func (x *xmlFeed) readEntries(r *loosexml.Reader, rootDepth, nodesLeft int) {
	var item *tree
	var itemDepth int
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch {
		case item != nil && t.Kind == loosexml.End && t.Depth == itemDepth:
			x.addEntry(item)
			nodesLeft -= item.nodes
			item = nil
		case item != nil:
			item.addToken(t)
		case t.Kind == loosexml.End && t.Depth == rootDepth:
			return
		case t.Kind == loosexml.Start && x.isEntry(t, rootDepth):
			if len(x.feed.Items) == x.MaxItems || nodesLeft <= 0 {
				x.feed.Cut = true
				return
			}
			item, itemDepth = newTree(&node{name: t.Name}), t.Depth
			if item.reserveNode(tokenSize(t)) {
				item.root.attrs = t.Attrs
			}
		default:
			if t.Depth == rootDepth+1 && t.Local() == "channel" {
				switch t.Kind {
				case loosexml.Start:
					x.channel = inheritedTag(t)
				case loosexml.End:
					x.channel = nil
				}
			}
			x.head.addToken(t)
		}
	}
}

// isEntry reports whether t starts an entry: a child of the root or of the channel. Deeper
// elements of that name belong to extensions.
func (x *xmlFeed) isEntry(t loosexml.Token, rootDepth int) bool {
	name := "item"
	if x.feed.Kind == Atom {
		name = "entry"
	}
	return t.Local() == name && (t.Depth == rootDepth+1 || x.channel != nil && t.Depth == rootDepth+2)
}

// addEntry parses the entry and appends it to the feed, unless gofeed cannot read it.
func (x *xmlFeed) addEntry(item *tree) {
	if item.cut {
		x.feed.Cut = true
	}
	n := item.root
	e, ok := recoverParse(func() (Entry, bool) { return x.format.parseEntry(x.entryDocument(n, true), n, x.Options) })
	if !ok { // the namespace hides the names from gofeed
		e, ok = recoverParse(func() (Entry, bool) { return x.format.parseEntry(x.entryDocument(n, false), n, x.Options) })
	}
	if !ok {
		return
	}
	if e.Data == nil {
		e.Data, _ = originalObject(n).encodeJSON()
	}
	x.feed.Items = append(x.feed.Items, e)
}

// recoverParse calls a parser on untrusted input. A panic gives false.
func recoverParse[T any](parse func() (T, bool)) (result T, ok bool) {
	defer func() {
		if recover() != nil {
			result, ok = *new(T), false
		}
	}()
	return parse()
}

// entryDocument returns a feed with the single entry n. With namespaces it has the tags of the
// feed. Without, it has plain tags without attributes, and n and its children lose the
// prefix of n.
func (x *xmlFeed) entryDocument(n *node, namespaces bool) string {
	if namespaces {
		if x.channel != nil {
			return wrapNode(n, x.root, x.channel)
		}
		return wrapNode(n, x.root)
	}
	n = withoutPrefix(n, loosexml.Prefix(n.name))
	n.attrs = nil
	if x.feed.Kind == RSS {
		return wrapNode(n, &node{name: "rss"}, &node{name: "channel"})
	}
	return wrapNode(n, &node{name: "feed"})
}

// wrapNode writes n inside the tags of around.
func wrapNode(n *node, around ...*node) string {
	w := writer{declarations: 3 * maxInherited}
	for _, tag := range around {
		w.writeStartTag(tag)
	}
	w.writeNode(n)
	for _, tag := range slices.Backward(around) {
		w.writeEndTag(tag)
	}
	return w.String()
}

// withoutPrefix returns a copy of n without that prefix in its names.
func withoutPrefix(n *node, prefix string) *node {
	c := *n
	if n.name != "" && loosexml.Prefix(n.name) == prefix {
		c.name = loosexml.Local(n.name)
	}
	c.children = make([]*node, len(n.children))
	for i, child := range n.children {
		c.children[i] = withoutPrefix(child, prefix)
	}
	return &c
}

// parseOutside reads everything outside the entries.
func (x *xmlFeed) parseOutside() {
	if x.head.cut {
		x.feed.Cut = true
	}
	read := func(root *node) (*object, bool) {
		return recoverParse(func() (*object, bool) { return x.format.parseHead(wrapNode(root), &x.feed) })
	}
	standard, ok := read(x.root)
	if !ok || x.feed.Title == "" && x.feed.Link == "" { // a namespace hides the names, as in entryDocument
		bare := withoutPrefix(x.root, loosexml.Prefix(x.root.name))
		bare.attrs = nil
		if standard, ok = read(bare); !ok {
			standard = &object{}
		}
	}
	if !x.ZeroItem {
		return
	}
	var o *object
	if x.Standard {
		o = standard
	} else {
		o = originalObject(x.headNode())
	}
	zero := Entry{URL: x.feed.Link, Title: x.feed.Title, Date: x.feed.Updated}
	zero.Data, _ = o.encodeJSON()
	x.feed.Items = append([]Entry{zero}, x.feed.Items...)
}

// headNode returns the element that describes the feed.
func (x *xmlFeed) headNode() *node {
	if channel := x.root.firstChild("channel"); channel != nil {
		return channel
	}
	return x.root
}

func tokenSize(t loosexml.Token) int {
	n := len(t.Name)
	for _, a := range t.Attrs {
		n += len(a.Name) + len(a.Value)
	}
	return n
}

// isURL reports whether text is an absolute web URL.
func isURL(text string) bool {
	scheme, _, absolute := strings.Cut(text, "://")
	return absolute && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
