package article

import (
	"strings"
	"unicode"
)

// The Default engine runs go-trafilatura. Its choice is doubtful if it has less than half of the
// prose of the page that is not furniture. Then go-readability runs too, and the choice with
// more prose is taken, if it is clearly more. If both have little, all prose of the page is taken.
const (
	doubtShare = 0.5
	littlePart = 0.3
	clearly    = 1.3
)

// choose returns the blocks of the article, or nil if the page has none. f is what the engine found.
func (p *Page) choose(f *found) choice {
	o := p.outline()
	whole := o.prose(nil)
	p.compared = &Comparison{Prose: whole}
	best := p.better(nil, o.mendAny(f.choice), "go-trafilatura")
	if f.choice == nil && f.node != nil && len(nodeText(f.node)) >= fewBytes && whole < fewBytes {
		return nil // the text is in a script
	}
	if float64(o.prose(best)) < doubtShare*float64(whole) {
		if other, err := p.run(Readability); err == nil {
			best = p.better(best, o.mendAny(other.choice), "go-readability")
		}
		if float64(o.prose(best)) < littlePart*float64(whole) {
			best = p.better(best, o.mendAny(o.all()), "all prose")
		}
	}
	return o.stated(best, p.head.body)
}

// prose returns the bytes of the prose in a choice. nil: in the page.
func (o *outline) prose(c choice) (n int) {
	for i := range o.blocks {
		if (c == nil || c[i]) && o.blocks[i].prose() {
			n += o.blocks[i].size
		}
	}
	return n
}

// mendAny is mend for a choice that may be nil. It returns a choice of no block for nil.
func (o *outline) mendAny(c choice) choice {
	if c == nil {
		return make(choice, len(o.blocks))
	}
	return o.mend(c)
}

// better returns b, the choice of an engine, if a is nil or b clearly has more prose, otherwise a.
func (p *Page) better(a, b choice, engine string) choice {
	o, one := p.outline(), Candidate{Engine: engine}
	one.Prose = o.prose(b)
	one.Chosen = a == nil || float64(one.Prose) > clearly*float64(o.prose(a))
	if one.Chosen {
		for i := range p.compared.Candidates {
			p.compared.Candidates[i].Chosen = false
		}
		a = b
	}
	p.compared.Candidates = append(p.compared.Candidates, one)
	return a
}

// Comparison is what the Default engine compared. Prose is measured in bytes.
type Comparison struct {
	Prose      int         `json:"prose"` // of the page without its furniture
	Candidates []Candidate `json:"candidates"`
	Whole      bool        `json:"whole"` // none is an article: the text is that of the whole page
}

// Candidate is the choice of one engine.
type Candidate struct {
	Engine string `json:"engine"`
	Prose  int    `json:"prose"`
	Chosen bool   `json:"chosen"`
}

// Compared returns what the Default engine compared, or nil if it did not run on a tree.
func (p *Page) Compared() *Comparison { return p.compared }

// all returns all blocks that can be part of an article.
func (o *outline) all() choice {
	c := make(choice, len(o.blocks))
	for i := range o.blocks {
		b := &o.blocks[i]
		c[i] = b.prose() || !b.dull && !b.linky() && b.kind != plain && b.kind != caption
	}
	return c
}

const (
	statedShare  = 0.7 // of a text in JSON-LD must be in the page, to be believed
	wholeShare   = 0.6 // of the size of a choice, from which on a text in JSON-LD is the whole article
	leastBody    = 300 // bytes of a text in JSON-LD
	leastMatch   = 20  // letters of a block that is looked up in it
	sampleLength = 48  // letters at both ends of a block that are looked up

	maxLookups = 64 << 20 // bytes of such a text, times the blocks of the page
)

// stated corrects a choice by the text of the article that the page states in JSON-LD. Blocks
// with that text are part of the article; if it is the whole article, blocks before and after
// it are not.
func (o *outline) stated(c choice, body string) choice {
	if len(body) < leastBody || len(c) == 0 || len(body)*len(c) > maxLookups {
		return c
	}
	letters := lettersOf(body)
	matched, size := make(choice, len(c)), 0
	for i := range o.blocks {
		b := &o.blocks[i]
		if b.size >= leastMatch && i != o.title && contained(letters, lettersOf(o.text(i))) {
			matched[i] = true
			size += b.size
		}
	}
	if float64(size) < statedShare*float64(len(body)) {
		return c
	}
	start, end := matched.span()
	cut := float64(len(body)) >= wholeShare*float64(c.size(o))
	for i := range c {
		switch {
		case matched[i]:
			c[i] = true
		case cut && i != o.title && (i >= end || i < start && (i < o.title || !o.blocks[i].prose())):
			c[i] = false
		}
	}
	return c
}

// lettersOf returns the letters and digits of a text, in lower case.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// contained reports whether a block is part of a text, by the letters at its ends.
func contained(letters, block string) bool {
	if len(block) < leastMatch {
		return false
	}
	if len(block) <= 2*sampleLength {
		return strings.Contains(letters, block)
	}
	return strings.Contains(letters, block[:sampleLength]) && strings.Contains(letters, block[len(block)-sampleLength:])
}
