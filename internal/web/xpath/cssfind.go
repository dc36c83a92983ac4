package xpath

import (
	"context"
	"fmt"

	"golang.org/x/net/html"
)

// Find is like Expr.Find.
func (s *CSS) Find(ctx context.Context, doc *Document, l Limits) (matches []Match, err error) {
	if l.Matches <= 0 {
		return nil, nil
	}
	steps, used := l.Take()
	f := &finder{budget: &budget{ctx, steps}, choices: s.choices, most: l.Matches, sizes: map[*html.Node]int{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = fmt.Errorf("evaluate CSS %.80q: %w", s.text, r.err)
		default:
			err = fmt.Errorf("evaluate CSS %.80q: %v", s.text, r)
		}
		used(max(f.left, 0))
		matches = f.matches
	}()
	if err := ctx.Err(); err != nil {
		panic(stop{err})
	}
	none := make([]uint64, len(s.choices))
	f.visitChildren(doc.Root(), none, none)
	return
}

// finder is one evaluation.
type finder struct {
	*budget
	choices []choice
	most    int
	matches []Match
	sizes   map[*html.Node]int // nodes below an element, as far as they are known
}

// visitChildren visits the elements below n. Bit i of a state of choice c says that an element
// matches the parts 0 to i: parent is that of n, above that of n and of all elements above.
func (f *finder) visitChildren(n *html.Node, parent, above []uint64) {
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count++
	}
	size := len(f.choices)
	previous, earlier := make([]uint64, size), make([]uint64, size)
	for c := n.FirstChild; c != nil && len(f.matches) < f.most; c = c.NextSibling {
		f.countSteps(1)
		if c.Type != html.ElementNode {
			continue
		}
		this, all := make([]uint64, size), make([]uint64, size)
		for i := range f.choices {
			this[i] = f.matchChoice(&f.choices[i], c, count, parent[i], above[i], previous[i], earlier[i])
			all[i] = above[i] | this[i]
		}
		f.addMatches(c, this)
		f.visitChildren(c, this, all)
		for i := range previous {
			previous[i] = this[i]
			earlier[i] |= this[i]
		}
	}
}

// matchChoice returns the state of element n for one choice.
func (f *finder) matchChoice(c *choice, n *html.Node, siblings int, parent, above, previous, earlier uint64) (state uint64) {
	for i := range c.parts {
		p := &c.parts[i]
		before := uint64(1) << max(i-1, 0)
		open := true
		switch p.combinator {
		case ' ':
			open = above&before != 0
		case '>':
			open = parent&before != 0
		case '+':
			open = previous&before != 0
		case '~':
			open = earlier&before != 0
		}
		if open && f.matchesPart(p, n, siblings) {
			state |= 1 << i
		}
	}
	return state
}

// Costs of a look at a sibling, and at a node below: 16 and 4 are as much as a step.
const (
	siblingsPerStep = 16
	nodesPerStep    = 4
)

func (f *finder) matchesPart(p *part, n *html.Node, siblings int) bool {
	f.countSteps(1)
	if p.cheap != nil && !p.cheap.Match(n) {
		return false
	}
	if p.costly == nil {
		return true
	}
	if p.siblings {
		f.countSteps(siblings / siblingsPerStep)
	}
	if p.below {
		f.countSteps(f.subtreeSize(n) / nodesPerStep)
	}
	return p.costly.Match(n)
}

// subtreeSize returns the nodes and 32-byte pieces of text below n.
func (f *finder) subtreeSize(n *html.Node) int {
	size, known := f.sizes[n]
	if !known {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			f.countSteps(1)
			size += 1 + len(c.Data)/32 + f.subtreeSize(c)
		}
		f.sizes[n] = size
	}
	return size
}

// addMatches adds the matches of element n.
func (f *finder) addMatches(n *html.Node, state []uint64) {
	for i := range f.choices {
		c := &f.choices[i]
		if state[i]&(1<<(len(c.parts)-1)) == 0 {
			continue
		}
		switch {
		case c.attr != "":
			for _, a := range n.Attr {
				if a.Key == c.attr {
					f.matches = append(f.matches, Match{Node: n, Attr: a.Key, Text: a.Val})
				}
			}
		case c.texts:
			for t := n.FirstChild; t != nil; t = t.NextSibling {
				if t.Type == html.TextNode && len(f.matches) < f.most {
					f.matches = append(f.matches, Match{Node: t})
				}
			}
		default:
			f.matches = append(f.matches, Match{Node: n})
		}
		return
	}
}
