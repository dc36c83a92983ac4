package metadata

import (
	"bytes"
	"slices"
	"strings"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// Limits of candidates, so that a page of a million time elements costs no more than its parse.
const (
	maxStated = 60 // in JSON-LD, meta elements and microdata
	maxPlaces = 60 // elements
	linesUp   = 6  // before the title
	linesDown = 16 // behind it
	shortLine = 30 // bytes of a line that may be the label of the next one
	maxLabel  = 40 // bytes of the text before a date
)

// addStated adds a candidate that the page states for programs.
func (h *Head) addStated(c pubdate.Candidate) {
	if len(h.stated) < maxStated && strings.TrimSpace(c.Text) != "" {
		h.stated = append(h.stated, c)
	}
}

// StatesDate reports whether the page states a date of publication for programs.
func (h *Head) StatesDate() bool {
	return h.timeOfPage || slices.ContainsFunc(h.stated, func(c pubdate.Candidate) bool { return c.IsPublication() })
}

// DublinDate returns the date in Dublin Core as written, or "".
func (h *Head) DublinDate() string { return OneLine(h.dublinDate) }

// isDateName reports whether the name of a meta element in lower case may be that of a date.
func isDateName(name string) bool {
	for _, part := range [...]string{"date", "time", "publi", "issued", "created", "modif", "revis", "lastmod"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// readTime notes a time element.
func (h *Head) readTime(d *htmltree.Doc, i int) {
	n := &d.Nodes[i]
	if len(h.timeNodes) < maxPlaces {
		h.timeNodes = append(h.timeNodes, int32(i))
	}
	if name := d.Attr(n, htmltree.KeyItemprop); len(name) > 0 {
		h.readItem(d, i, name)
	} else if d.Has(n, htmltree.KeyPubdate) {
		h.timeOfPage = true
	} else if len(d.Attr(n, htmltree.KeyDatetime)) > 0 {
		h.Times++
	}
}

// maxAncestors bounds the way from an element with itemprop to its object.
const maxAncestors = 64

// readItem adds the date of an element with itemprop.
func (h *Head) readItem(d *htmltree.Doc, i int, name []byte) {
	if len(h.stated) >= maxStated || !bytes.HasPrefix(name, []byte("date")) && string(name) != "uploadDate" {
		return
	}
	n := &d.Nodes[i]
	value := d.Attr(n, htmltree.KeyContent)
	if len(value) == 0 {
		value = d.Attr(n, htmltree.KeyDatetime)
	}
	if len(value) == 0 {
		value = h.textOf(d, i)
	}
	c := pubdate.Candidate{Source: pubdate.Microdata, Name: htmltree.String(name), Text: htmltree.String(value)}
	for p, up := n.Parent, 0; p > 0 && up < maxAncestors; p, up = d.Nodes[p].Parent, up+1 {
		if t := d.Attr(&d.Nodes[p], htmltree.KeyItemtype); len(t) > 0 {
			c.Type, c.Role = htmltree.String(t), htmltree.String(d.Attr(&d.Nodes[p], htmltree.KeyItemprop))
			break
		}
	}
	h.addStated(c)
}

// textOf returns the start of the text in an element, with single blanks.
func (h *Head) textOf(d *htmltree.Doc, i int) []byte {
	from := len(h.scratch)
	for k := i + 1; k < int(d.Nodes[i].End) && k < i+12 && len(h.scratch)-from <= pubdate.MaxText; k++ {
		if c := &d.Nodes[k]; c.Tag == htmltree.TagText {
			if len(h.scratch) > from {
				h.scratch = append(h.scratch, ' ')
			}
			h.scratch, _ = outline.AppendWords(h.scratch, d.Text(c), false, 0)
		}
	}
	return h.scratch[from:len(h.scratch):len(h.scratch)]
}

// DateCandidates returns the texts that may be dates of the page. chosen are the lines of the article;
// nil: they are not known. The candidates live as long as the page.
func (h *Head) DateCandidates(o *outline.Outline, chosen []bool, pageURL string) []pubdate.Candidate {
	p := places{h: h, o: o, all: h.stated[:len(h.stated):len(h.stated)]}
	p.findArticle(chosen)
	for _, i := range h.timeNodes {
		value := o.Doc.Attr(&o.Doc.Nodes[i], htmltree.KeyDatetime)
		if len(value) == 0 {
			value = h.textOf(o.Doc, int(i))
		}
		p.addDate(pubdate.Time, i, value)
	}
	elements := 0
	for _, i := range o.Names {
		n := &o.Doc.Nodes[i]
		if hints, _, _ := o.Look(n); hints&(1<<outline.HintDate) == 0 || n.Tag == htmltree.TagTime || elements >= maxPlaces {
			continue
		}
		if text := h.textOf(o.Doc, int(i)); len(text) <= pubdate.MaxText/2 {
			p.addDate(pubdate.Element, i, text)
			elements++
		}
	}
	p.addLines()
	return append(p.all, pubdate.Candidate{Source: pubdate.URL, Text: pageURL})
}

// places collects the candidates in the text of a page.
type places struct {
	h           *Head
	o           *outline.Outline
	all         []pubdate.Candidate
	anchor      int // the line of the title, or the first one of the article
	first, last int // lines of the article; last < first: not known
}

func (p *places) findArticle(chosen []bool) {
	p.first, p.last = 0, -1
	for i, c := range chosen {
		if c && p.last < 0 {
			p.first = i
		}
		if c {
			p.last = i
		}
	}
	if p.anchor = int(p.o.Title); p.anchor < 0 {
		p.anchor = p.first
	}
}

// lineOf returns the line of a node: the first one that does not end before it.
func (p *places) lineOf(node int32) int {
	from, to := 0, len(p.o.Lines)
	for from < to {
		if middle := (from + to) / 2; p.o.Lines[middle].Last < node {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

// addDate adds the date of an element.
func (p *places) addDate(source pubdate.Source, node int32, text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	line := p.lineOf(node)
	p.all = append(p.all, pubdate.Candidate{
		Source: source, Name: p.elementNames(node), Text: htmltree.String(text), Before: p.textBefore(line, node), Line: line - p.anchor,
		Inside: line >= p.first-linesUp && line <= p.last+linesUp && p.last >= p.first,
	})
}

// elementNames returns class, id and itemprop of an element and its parent.
func (p *places) elementNames(node int32) string {
	d := p.o.Doc
	from := len(p.h.scratch)
	for _, i := range [...]int32{node, d.Nodes[node].Parent} {
		n := &d.Nodes[i]
		for _, key := range [...]htmltree.Key{htmltree.KeyClass, htmltree.KeyID, htmltree.KeyItemprop} {
			if v := d.Attr(n, key); len(v) > 0 {
				p.h.scratch = append(append(p.h.scratch, v...), ' ')
			}
		}
		if i == node && d.Has(n, htmltree.KeyPubdate) {
			p.h.scratch = append(p.h.scratch, "pubdate "...)
		}
	}
	return htmltree.String(p.h.scratch[from:])
}

// textBefore returns the end of the text before a node in its line, or else the short line before it.
func (p *places) textBefore(line int, node int32) string {
	if line >= len(p.o.Lines) {
		return ""
	}
	d, from := p.o.Doc, len(p.h.scratch)
	for k := max(p.o.Lines[line].First, node-12); k < node; k++ {
		if n := &d.Nodes[k]; n.Tag == htmltree.TagText {
			text := d.Text(n)
			p.h.scratch = append(append(p.h.scratch, text[max(0, len(text)-maxLabel):]...), ' ')
		}
	}
	if text := p.h.scratch[from:]; len(bytes.TrimSpace(text)) > 0 || line == 0 || p.o.Lines[line-1].Size > shortLine {
		return htmltree.String(text)
	}
	p.h.scratch = p.o.AppendText(p.h.scratch, &p.o.Lines[line-1])
	return htmltree.String(p.h.scratch[from:])
}

// addLines adds the short lines around the title that have the digits of a date.
func (p *places) addLines() {
	const leastDigits = 5
	for i := max(0, p.anchor-linesUp); i < min(len(p.o.Lines), p.anchor+linesDown); i++ {
		b := &p.o.Lines[i]
		if b.Size > pubdate.MaxText || b.Digits < leastDigits || i == int(p.o.Title) {
			continue
		}
		from := len(p.h.scratch)
		p.h.scratch = p.o.AppendText(p.h.scratch, b)
		p.all = append(p.all, pubdate.Candidate{Source: pubdate.Visible, Text: htmltree.String(p.h.scratch[from:]), Line: i - p.anchor})
	}
}
