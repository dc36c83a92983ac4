package xpath

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/antchfx/htmlquery"
	"golang.org/x/net/html"
)

// Match is what an expression finds: a node, an attribute, or a text that it computes.
type Match struct {
	Node *html.Node // the node, or the element of the attribute; nil: a computed text
	Attr string     // the name of the attribute; "": the node itself
	Text string     // the value of the attribute, the computed text, or the text of a node
}

// Selector finds parts of a document. Goroutines may share it.
type Selector interface {
	// Matches returns at most max matches in document order, with the texts of nodes.
	Matches(ctx context.Context, doc *Document, max int) ([]Match, error)

	// Find returns the matches without the texts of nodes.
	Find(ctx context.Context, doc *Document, l Limits) ([]Match, error)
}

// Matches returns at most max matches in document order: the nodes that the expression finds,
// each once and with its text, or its value if that is a string or a number. If the evaluation or
// the texts exceed their bounds or ctx ends, Matches returns the
// matches so far with ErrCostly or the error of ctx.
func (e *Expr) Matches(ctx context.Context, doc *Document, max int) ([]Match, error) {
	return withTexts(e, ctx, doc, max)
}

// Matches is like Expr.Matches.
func (s *CSS) Matches(ctx context.Context, doc *Document, max int) ([]Match, error) {
	return withTexts(s, ctx, doc, max)
}

func withTexts(s Selector, ctx context.Context, doc *Document, max int) ([]Match, error) {
	list, err := s.Find(ctx, doc, Limits{Matches: max})
	sum := 0
	for i := range list {
		if m := &list[i]; m.Node != nil && m.Attr == "" {
			m.Text = htmlquery.CreateXPathNavigator(m.Node).Value()
		}
		if sum += len(list[i].Text); sum > maxSum {
			return list[:i], fmt.Errorf("texts of the matches: %w", ErrCostly)
		}
	}
	return list, err
}

// Limits bound an evaluation.
type Limits struct {
	Matches int  // most matches
	Steps   *int // steps left, shared by several evaluations; nil: those of one evaluation
}

// Take returns the steps that one evaluation may use, and a function that counts them: its
// argument is how many of them are left.
func (l Limits) Take() (steps int, used func(left int)) {
	if l.Steps == nil {
		return maxSteps, func(int) {}
	}
	steps = min(maxSteps, max(*l.Steps, 0))
	return steps, func(left int) { *l.Steps -= steps - left }
}

// Find returns what the expression finds, in document order, each node once, without the texts
// of nodes. A string or number is one match. If the evaluation exceeds its bounds or ctx
// ends, Find returns the matches so far with ErrCostly or the error of ctx.
func (e *Expr) Find(ctx context.Context, doc *Document, l Limits) (matches []Match, err error) {
	if l.Matches <= 0 {
		return nil, nil
	}
	steps, used := l.Take()
	b := &budget{ctx, steps}
	err = e.runGuarded(b, func() { e.collectMatches(rootOf(doc, b), doc, l.Matches, &matches) })
	used(max(b.left, 0))
	return matches, err
}

// FindIn evaluates the expression at each of the nodes, as Find does at the document. The result has
// one list for each node.
func (e *Expr) FindIn(ctx context.Context, doc *Document, nodes []*html.Node, l Limits) (lists [][]Match, err error) {
	steps, used := l.Take()
	b := &budget{ctx, steps}
	lists = make([][]Match, len(nodes))
	err = e.runGuarded(b, func() {
		at := rootOf(doc, b)
		for _, i := range doc.sortedIndexes(nodes) {
			at.seekNode(nodes[i])
			e.collectMatches(at.Copy().(*cursor), doc, l.Matches, &lists[i])
		}
	})
	used(max(b.left, 0))
	return lists, err
}

// collectMatches appends what the expression finds at a cursor, at most most matches.
func (e *Expr) collectMatches(at *cursor, doc *Document, most int, matches *[]Match) {
	type key struct {
		node *html.Node
		attr string
	}
	seen := map[key]bool{}
	e.evaluateAt(at, func(c *cursor) bool {
		m := Match{Node: c.Current()}
		if c.isAttribute() {
			m.Attr, m.Text = c.LocalName(), c.NodeNavigator.Value()
		}
		if k := (key{m.Node, m.Attr}); !seen[k] {
			seen[k] = true
			*matches = append(*matches, m)
		}
		return len(*matches) < most
	}, func(text string) {
		if text != "" {
			*matches = append(*matches, Match{Text: text})
		}
	})
	if e.sort && len(*matches) > 1 {
		slices.SortStableFunc(*matches, func(a, b Match) int { return cmp.Compare(doc.placeOf(a.Node), doc.placeOf(b.Node)) })
	}
}
