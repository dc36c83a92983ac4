package sitemap

import (
	"strconv"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// Elements of a sitemap, in lower case.
const (
	elementPages   = "urlset"
	elementIndex   = "sitemapindex"
	elementPage    = "url"
	elementSitemap = "sitemap"
)

// maxLeadingTags is how many tags may precede the root: some servers print warnings there.
const maxLeadingTags = 50

// parser is the state of one parse.
type parser struct {
	Options
	sitemap Sitemap
	kind    string // of the entries: elementPage or elementSitemap
	entry   *Entry // nil between entries
	depth   int    // of the entry's tags
	path    []string
	bare    string // text directly inside the entry
	field   field
}

// field is the element whose text is collected.
type field struct {
	name  string // "" without one
	depth int
	text  strings.Builder
}

func parseXML(text []byte, o Options) (Sitemap, error) {
	r := loosexml.NewReader(text, elementPage, elementSitemap)
	root, err := findRoot(r)
	if err != nil {
		return Sitemap{}, err
	}
	p := &parser{Options: o}
	if root.Local() == elementIndex {
		p.kind, p.sitemap.Index = elementSitemap, true
	}
	if root.Local() == elementPage || root.Local() == elementSitemap { // entries without a root
		p.start(root)
	}
	for t, ok := r.Next(); ok && !p.sitemap.Cut; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Start:
			p.start(t)
		case loosexml.Text:
			p.text(t)
		case loosexml.End:
			p.end(t)
		}
	}
	return p.sitemap, nil
}

// findRoot reads up to the root of a sitemap.
func findRoot(r *loosexml.Reader) (loosexml.Token, error) {
	for tags := 0; tags < maxLeadingTags; {
		t, ok := r.Next()
		if !ok {
			break
		}
		if t.Kind != loosexml.Start {
			continue
		}
		switch t.Local() {
		case elementPages, elementIndex, elementPage, elementSitemap:
			return t, nil
		case "rss", "feed", "rdf":
			return t, ErrFeed
		case "html":
			return t, ErrNoSitemap
		}
		tags++
	}
	return loosexml.Token{}, ErrNoSitemap
}

func (p *parser) start(t loosexml.Token) {
	local := t.Local()
	if p.entry == nil {
		if local != elementPage && local != elementSitemap {
			return
		}
		if p.kind == "" || len(p.sitemap.Entries) == 0 { // the first entry decides for all
			p.kind = local
			p.sitemap.Index = local == elementSitemap
		}
		if local == p.kind {
			p.entry = &Entry{Priority: -1}
			p.depth = t.Depth
			p.path = p.path[:0]
			p.bare = ""
		}
		return
	}
	if p.field.name != "" {
		return // an element inside a text
	}
	parent := ""
	if len(p.path) > 0 {
		parent = p.path[len(p.path)-1]
	}
	p.path = append(p.path, local)
	switch {
	case parent == "" && !isExtension(t.Name):
		switch local {
		case "loc", "lastmod", "priority":
			p.open(local, t.Depth)
		}
	case parent == "news" && local == "publication_date":
		p.open("published", t.Depth)
	}
}

// isExtension reports whether the prefix of name is that of a known extension.
func isExtension(name string) bool {
	switch strings.ToLower(loosexml.Prefix(name)) {
	case "image", "video", "news", "xhtml", "mobile":
		return true
	}
	return false
}

func (p *parser) open(name string, depth int) {
	p.field.name, p.field.depth = name, depth
	p.field.text.Reset()
}

func (p *parser) text(t loosexml.Token) {
	switch {
	case p.entry == nil:
	case p.field.name != "":
		if p.field.text.Len() <= maxFieldBytes { // a longer one is dropped as a whole
			p.field.text.WriteString(t.Text[:min(len(t.Text), maxFieldBytes+1)])
		}
	case t.Depth == p.depth && p.bare == "" && len(t.Text) <= maxFieldBytes:
		p.bare = strings.TrimSpace(t.Text)
	}
}

func (p *parser) end(t loosexml.Token) {
	switch {
	case p.entry == nil:
	case p.field.name != "" && t.Depth == p.field.depth:
		if !t.Cut { // a truncated URL is a different URL
			p.set(p.field.name, p.field.text.String())
		}
		p.field.name = ""
		p.path = p.path[:len(p.path)-1]
	case p.field.name != "":
	case t.Depth == p.depth:
		if t.Cut {
			p.bare = ""
		}
		p.add()
	case len(p.path) > 0:
		p.path = p.path[:len(p.path)-1]
	}
}

// set sets a field of the entry. The first valid loc counts.
func (p *parser) set(name, text string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxFieldBytes {
		return
	}
	e := p.entry
	switch name {
	case "loc":
		if e.Loc == "" {
			e.Loc = text
		}
	case "lastmod":
		if t := parseTime(text); !t.IsZero() {
			e.LastMod = t
		}
	case "published":
		if e.LastMod.IsZero() {
			e.LastMod = parseTime(text)
		}
	case "priority":
		e.Priority = parsePriority(text)
	}
}

// add ends the entry. Without a loc, its text may be the URL.
func (p *parser) add() {
	e := *p.entry
	p.entry = nil
	if e.Loc == "" && isURL([]byte(p.bare)) {
		e.Loc = p.bare
	}
	switch {
	case e.Loc == "":
	case len(p.sitemap.Entries) == p.MaxEntries:
		p.sitemap.Cut = true
	default:
		p.sitemap.Entries = append(p.sitemap.Entries, e)
	}
}

// parsePriority returns -1 for anything but a number from 0 to 1.
func parsePriority(text string) float64 {
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return -1
	}
	return v
}
