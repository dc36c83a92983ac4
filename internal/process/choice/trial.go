package choice

import (
	"strings"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// Trial is a page whose blocks are looked at one by one.
type Trial struct {
	d htmltree.Doc
	o outline.Outline
	v view
	s pageStats
	c contextSums
	h metadata.Head
	u string
}

// Read reads a page.
func (t *Trial) Read(src []byte, pageURL string) int {
	t.u = pageURL
	t.d.Parse(src)
	t.h.Read(&t.d, pageURL)
	t.o.Read(&t.d)
	t.h.FindTitle(&t.o)
	t.v = view{&t.o}
	t.s = t.v.findCores()
	return len(t.o.Lines)
}

// Text is the text of a block.
func (t *Trial) Text(i int) string { return string(t.o.AppendText(nil, &t.o.Lines[i])) }

// IsTitle reports whether a block is the title.
func (t *Trial) IsTitle(i int) bool { return int32(i) == t.o.Title }

// Features returns the features of a block.
func (t *Trial) Features(i int, names *[]string) []float32 {
	v := vector{names: names}
	t.v.addFeatures(&v, i, &t.s)
	return v.f
}

// Context returns the further features of all blocks, given the probabilities of the first model.
func (t *Trial) Context(p []float32, names *[]string) [][]float32 {
	t.c.p = p
	t.v.sumContext(&t.c)
	var all [][]float32
	for i := range t.o.Lines {
		v := vector{}
		if i == 0 {
			v.names = names
		}
		t.v.addContext(&v, i, &t.c)
		all = append(all, v.f)
	}
	return all
}

// Describe is for a look at a block.
func (t *Trial) Describe(i int) (kind int, size, linked int32, path string) {
	b := &t.o.Lines[i]
	x := b.Box
	for x > 0 && len(path) < 300 {
		n := &t.d.Nodes[t.o.Boxes[x].Node]
		path += " " + tagName(n.Tag) + "." + string(t.d.Attr(n, htmltree.KeyClass))
		x = t.o.Boxes[x].Parent
	}
	return int(b.Kind), b.Size, b.Linked, path
}

func tagName(t htmltree.Tag) string {
	for n, x := range htmltree.TagNames {
		if x == t {
			return n
		}
	}
	return "?"
}

// Page returns the features of the page.
func (t *Trial) Page(names *[]string) []float32 {
	v := vector{names: names}
	t.v.pageFeatures(&v, &t.s, &t.h, t.u)
	return v.f
}

// SetTypes sets what the page may be.
func (t *Trial) SetTypes(p []float32) { copy(t.s.types[:], p) }

// Choice is a simple selector: a name, and a class, id or role.
type Choice struct {
	Tag   htmltree.Tag
	Key   htmltree.Key
	Value string
}

// Choices reads selectors such as "div.body, a#top, main[role=main]".
func Choices(s string) (list []Choice) {
	for _, p := range strings.Split(s, ",") {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		c := Choice{}
		name := p
		if i := strings.IndexAny(p, ".#["); i >= 0 {
			name = p[:i]
			switch p[i] {
			case '.':
				c.Key, c.Value = htmltree.KeyClass, p[i+1:]
			case '#':
				c.Key, c.Value = htmltree.KeyID, p[i+1:]
			case '[':
				c.Key, c.Value = htmltree.KeyRole, strings.TrimSuffix(strings.TrimPrefix(p[i+1:], "role="), "]")
			}
		}
		c.Tag = htmltree.TagNames[name]
		list = append(list, c)
	}
	return list
}

func fitsChoice(d *htmltree.Doc, n *htmltree.Node, list []Choice) bool {
	for _, c := range list {
		if n.Tag != c.Tag {
			continue
		}
		if c.Value == "" {
			return true
		}
		v := string(d.Attr(n, c.Key))
		if c.Key != htmltree.KeyClass && v == c.Value {
			return true
		}
		if c.Key == htmltree.KeyClass && strings.Contains(" "+v+" ", " "+c.Value+" ") {
			return true
		}
	}
	return false
}

// Inside tells which blocks are in the first element that main finds, and in none that drop finds.
func markInside(o *outline.Outline, main, drop []Choice) []bool {
	d := o.Doc
	list := make([]bool, len(o.Lines))
	at := int32(-1)
	for _, c := range main {
		for i := range d.Nodes {
			if d.Nodes[i].Tag > htmltree.TagOther && fitsChoice(d, &d.Nodes[i], []Choice{c}) {
				at = int32(i)
				break
			}
		}
		if at >= 0 {
			break
		}
	}
	if at < 0 {
		return nil
	}
	for i := range o.Lines {
		f := o.Lines[i].First
		list[i] = f > at && f < d.Nodes[at].End
		for p := d.Nodes[f].Parent; p > at && list[i]; p = d.Nodes[p].Parent {
			if fitsChoice(d, &d.Nodes[p], drop) {
				list[i] = false
			}
		}
	}
	return list
}

// Inside is for labels.
func (t *Trial) Inside(main, drop string) []bool {
	return markInside(&t.o, Choices(main), Choices(drop))
}
