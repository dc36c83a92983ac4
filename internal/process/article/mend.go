package article

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"

	"hce/dc/internal/process/author"
)

// Engines lose parts of an article and keep parts of the page around it. mend corrects a choice
// by the structure of the page:
//
//   - The core is the smallest element with nearly all of the chosen prose.
//   - Inside of the core, paragraphs, headings, items, cells and listings belong to the article,
//     unless they are furniture or mostly links. So does a lead between the title and the core.
//   - Furniture, lines that only lead to other pages, lines of dates and names above the first
//     paragraph, headings without a text below them, and short texts outside of the core do not.
//
// The constants are sizes in bytes. Source: docs/extractors.md.

const (
	coreShare  = 0.9 // of the chosen prose is inside of the core
	byLineSize = 80  // longest line with an author or a date
	labelSize  = 30  // longest label, such as a user's name
	teaserSize = 400 // longest text of a card that leads to another page
	lostShare  = 0.5 // mend never drops more than this share of a choice
)

// mender is the state of one mend.
type mender struct {
	*outline
	c     choice
	core  int   // box
	top   int   // the title above the first prose; -1: none
	first int   // the first block of prose in the core
	last  int   // the last one
	own   bool  // most of the chosen prose is in p elements and the like
	added []int // boxes of tables next to the core
}

// mend returns a corrected choice. It returns c if the choice has no prose.
func (o *outline) mend(c choice) choice {
	m := mender{outline: o, c: append(choice(nil), c...)}
	if !m.findCore() {
		return c
	}
	m.complete()
	before := m.c.size(o)
	kept := append(choice(nil), m.c...)
	m.drop()
	if float64(m.c.size(o)) < lostShare*float64(before) {
		return kept
	}
	return m.c
}

// findCore finds the core of the choice and its first and last prose. It returns false if
// there is no prose.
func (m *mender) findCore() bool {
	sums := m.sums(func(i int) bool { return m.c[i] && m.blocks[i].prose() })
	whole := sums[len(m.blocks)]
	if whole == 0 {
		return false
	}
	m.core = 0
	for number, x := range m.boxes {
		if x.parent == m.core && float64(sums[x.end]-sums[x.start]) >= coreShare*float64(whole) && !m.paragraph(x) {
			m.core = number
		}
	}
	x := m.boxes[m.core]
	m.first, m.last = -1, -1
	paragraphs := 0
	for i := x.start; i < x.end; i++ {
		if m.c[i] && m.blocks[i].prose() {
			if m.first < 0 {
				m.first = i
			}
			m.last = i
			if m.blocks[i].kind == paragraph {
				paragraphs += m.blocks[i].size
			}
		}
	}
	m.own = 2*paragraphs > sums[x.end]-sums[x.start]
	if m.top = m.title; m.top > m.first {
		m.top = -1 // a heading of something else
	}
	return m.first >= 0
}

// paragraph reports whether a box is one paragraph: the core is the element around it.
func (m *mender) paragraph(x box) bool { return x.node.DataAtom == atom.P || x.end-x.start < 2 }

// sums returns the sums of the sizes of the blocks before each block for which is holds.
func (o *outline) sums(is func(i int) bool) []int {
	sums := make([]int, len(o.blocks)+1)
	for i := range o.blocks {
		sums[i+1] = sums[i]
		if is(i) {
			sums[i+1] += o.blocks[i].size
		}
	}
	return sums
}

// complete adds what the engine lost.
func (m *mender) complete() {
	x := m.boxes[m.core]
	start, end := x.start, x.end
	if m.wide(x) {
		start, end = m.first, m.last+1
	}
	for i := start; i < end; i++ {
		if b := &m.blocks[i]; !m.c[i] && m.belongs(b, i) && (i > m.first || b.prose()) && (i < m.last || m.follows(i)) {
			m.c[i] = true
		}
	}
	for i := m.top + 1; m.top >= 0 && i < m.first; i++ {
		if m.lead(i) {
			m.c[i] = true
		}
	}
	if m.top >= 0 && m.titled {
		m.c[m.top] = true // for Markdown; the text begins below
	}
	m.tables()
}

// tables adds tables and definition lists next to the core, such as the data of a product.
func (m *mender) tables() {
	core := m.boxes[m.core]
	for number, x := range m.boxes {
		if x.parent != core.parent || x.start < core.end || x.start > core.end+2 || x.end-x.start < 4 {
			continue
		}
		switch x.node.DataAtom {
		case atom.Table, atom.Dl:
		default:
			continue
		}
		linked := 0
		for i := x.start; i < x.end; i++ {
			linked += m.blocks[i].linked
		}
		if 5*linked > m.sizes[x.end]-m.sizes[x.start] {
			continue
		}
		for i := x.start; i < x.end; i++ {
			m.c[i] = m.c[i] || !m.blocks[i].dull
		}
		m.added = append(m.added, number)
	}
}

// wide reports whether a core is the whole page rather than an article.
func (m *mender) wide(x box) bool {
	switch x.node.DataAtom {
	case 0, atom.Body, atom.Html:
		return true
	}
	return false
}

// follows reports whether a block after the last chosen prose stands where that does: in the
// same element, or in one of the same tag and class, such as the next answer of a forum.
func (m *mender) follows(i int) bool {
	last := m.boxes[m.parent(m.last)]
	class := attr(last.node, "class")
	for x, up := m.blocks[i].box, 0; x > m.core && up < 3; x, up = m.boxes[x].parent, up+1 {
		n := m.boxes[x]
		if n.parent == m.parent(m.last) || class != "" && n.node.Data == last.node.Data && attr(n.node, "class") == class {
			return true
		}
	}
	return false
}

// belongs reports whether a block that the engine did not choose is part of the article by its
// kind. It is inside of the core.
func (m *mender) belongs(b *block, i int) bool {
	if b.dull || b.linky() || i == m.title || m.aside(i) {
		return false
	}
	switch b.kind {
	case paragraph, heading, item, cell, listing:
		return true
	case plain:
		return !m.own && b.prose() || m.subheading(b, i)
	}
	return false
}

// lead reports whether a block between the title and the first paragraph is a lead.
func (m *mender) lead(i int) bool {
	b := &m.blocks[i]
	if b.dull && !b.weak || b.linky() || b.kind == item || b.kind == cell || b.kind == caption || m.aside(i) {
		return false
	}
	return b.size >= 2*shortSize && b.sentence() || b.size >= longSize && (b.kind == paragraph || b.kind == heading)
}

// drop removes what is not part of the article.
func (m *mender) drop() {
	for i := range m.blocks {
		if m.c[i] && m.foreign(&m.blocks[i], i) {
			m.c[i] = false
		}
	}
	m.dropHeadings()
}

// foreign reports whether a chosen block is not part of the article.
func (m *mender) foreign(b *block, i int) bool {
	switch {
	case b.dull && !b.weak, b.kind == caption, m.aside(i):
		return true
	case i == m.top:
		return false // Markdown has it
	case i < m.top && !b.prose():
		return true
	case slices.ContainsFunc(m.added, func(x int) bool { return m.within(b.box, x) }):
		return false
	case !m.within(b.box, m.core):
		return m.outside(b, i)
	case b.kind == item || b.kind == cell || b.kind == listing:
		return b.linky() && i > m.last && b.kind == item
	case b.kind == heading:
		return false
	}
	return m.line(b, i)
}

// outside reports whether a chosen block outside of the core is foreign.
func (m *mender) outside(b *block, i int) bool {
	switch {
	case i > m.last:
		return b.size < longSize
	case i > m.first || m.lead(i) || b.kind == heading:
		return false
	case b.kind == item:
		return b.linky() || b.size < 2*shortSize
	}
	return true
}

// line reports whether a line of text inside of the core is foreign.
func (m *mender) line(b *block, i int) bool {
	leads := b.linked*10 >= b.size*9 && b.size < 3*longSize || b.linked*5 >= b.size*3 && b.size < 3*longSize/2
	credited := b.size < byLineSize && !b.sentence() && i < m.last && (author.Credited(m.text(i)) != "" || dateInText.MatchString(m.text(i)))
	switch {
	case leads, credited:
		return true
	case i < m.first:
		return !b.sentence() && (b.size < labelSize || b.size < byLineSize && b.kind == plain)
	case b.kind == plain && b.size < labelSize && !b.sentence():
		return !m.lineOfText(b) && !m.subheading(b, i)
	}
	return false
}

// lineOfText reports whether a short line is part of a text whose lines are separated by br.
func (m *mender) lineOfText(b *block) bool {
	x := m.boxes[b.box]
	if x.end-x.start >= 5 {
		return true
	}
	for i := x.start; i < x.end; i++ {
		if m.blocks[i].box == b.box && m.blocks[i].prose() {
			return true
		}
	}
	return false
}

// subheading reports whether a short line stands between paragraphs as their neighbour, like a
// heading.
func (m *mender) subheading(b *block, i int) bool {
	if i <= m.first || i >= m.last || m.boxes[b.box].end-m.boxes[b.box].start != 1 {
		return false
	}
	up := m.parent(i)
	return m.blocks[i-1].prose() && m.blocks[i+1].prose() && m.parent(i-1) == up && m.parent(i+1) == up
}

// dropHeadings removes headings without a text below them.
func (m *mender) dropHeadings() {
	below := 0 // level of the next heading, if there is no text before it; 0: there is no text
	text := false
	for i := len(m.c) - 1; i >= 0; i-- {
		switch {
		case !m.c[i] || i == m.top:
		case m.blocks[i].kind != heading:
			text = true
		case i > m.last, !text && (below == 0 || m.level(i) >= below):
			m.c[i] = false
		default:
			text, below = false, m.level(i)
		}
	}
}

// level returns the level of a heading, 1 to 6.
func (m *mender) level(i int) int {
	name := m.boxes[m.blocks[i].box].node.Data
	if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
		return int(name[1] - '0')
	}
	return 6
}

// cards marks cards that lead to other pages: neighbouring boxes with a link and little else.
func (o *outline) cards() {
	found := map[int][]int{}
	for number, x := range o.boxes {
		if o.isCard(x) {
			found[x.parent] = append(found[x.parent], number)
		}
	}
	for _, list := range found {
		if len(list) < 2 {
			continue
		}
		for _, number := range list {
			x := o.boxes[number]
			for i := x.start; i < x.end; i++ {
				o.blocks[i].dull = true
			}
		}
	}
}

// isCard reports whether a box is like a card: its first line is a link, and little text follows.
func (o *outline) isCard(x box) bool {
	if x.end-x.start < 2 || x.end-x.start > 5 || o.sizes[x.end]-o.sizes[x.start] > teaserSize {
		return false
	}
	switch x.node.DataAtom {
	case atom.Div, atom.Article, atom.Section, atom.Li:
	default:
		return false
	}
	return o.blocks[x.start].linked*10 >= o.blocks[x.start].size*9 && o.blocks[x.start].size >= 10
}

// findTitle finds the block with the title of the page.
func (o *outline) findTitle(titles ...string) {
	best, largest := 0, 0 // largest counts the h1 elements
	for i, title := range titles {
		if titles[i] = strings.ToLower(title); len(title) > 4*maxTitle {
			titles[i] = "" // each block is compared with it
		}
	}
	for i := range o.blocks {
		b := &o.blocks[i]
		if b.size > 2*maxTitle || b.dull && b.kind != heading {
			continue
		}
		rank := 0
		node := o.boxes[b.box].node.DataAtom
		if node == atom.H1 {
			rank = 1
			largest++
		}
		if text := strings.ToLower(o.text(i)); isTitle(text, titles) {
			rank += 2
			if b.kind == heading {
				rank += 2
			}
		}
		if rank > best {
			best, o.title = rank, i
		}
	}
	o.titled = best > 1 || largest == 1
}

// The name of a site after and before a title.
var (
	startsSite = regexp.MustCompile(`^\s*[|·•«»:｜_-]|^\s+[–—-]`)
	endsSite   = regexp.MustCompile(`[|·•«»:｜_-]\s*$|[–—-]\s+$`)
)

// isTitle reports whether a text is one of the titles, or a title with the name of the site. All
// are in lower case.
func isTitle(text string, titles []string) bool {
	for _, title := range titles {
		if title == "" || text == "" {
			continue
		}
		before, isEnd := strings.CutSuffix(title, text)
		after, isStart := strings.CutPrefix(title, text)
		switch {
		case text == title,
			len(text) >= 12 && 2*len(text) > len(title) && (isStart || isEnd),
			len(text) >= 8 && isStart && startsSite.MatchString(after),
			len(text) >= 8 && isEnd && endsSite.MatchString(before):
			return true
		}
	}
	return false
}
