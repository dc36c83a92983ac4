package xpath

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

const (
	// MaxExpr is the longest expression, in bytes.
	MaxExpr = 4 << 10

	// maxSteps is how many moves of a cursor one evaluation may take.
	maxSteps = 8 << 20

	// maxResult bounds one text of the result and all of them, in bytes.
	maxResult = 64 << 10
	maxSum    = 16 << 20
)

// Expr is a compiled expression. Goroutines may share it.
type Expr struct {
	text  string
	x     *xpath.Expr
	nodes bool // it gives nodes, not a value
}

// Compile reads an expression of at most MaxExpr bytes.
func Compile(text string) (e *Expr, err error) {
	if len(text) > MaxExpr {
		return nil, fmt.Errorf("xpath.Compile: expression of %d bytes, where %d are the limit", len(text), MaxExpr)
	}
	defer func() { // the library panics on some
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("xpath.Compile: %.80q: %v", text, r)
		}
	}()
	x, err := xpath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("xpath.Compile: %.80q: %w", text, err)
	}
	e = &Expr{text: text, x: x}
	empty := &Document{&html.Node{Type: html.DocumentNode}}
	_, e.nodes = x.Evaluate(&cursor{htmlquery.CreateXPathNavigator(empty.root), &budget{context.Background(), maxSteps}}).(*xpath.NodeIterator)
	return e, nil
}

// Texts gives the values of the attributes and the texts of the other nodes that
// the expression finds, in document order as far as XPath gives one, at most max;
// empty ones and those longer than 64 KiB are left out. An expression that gives a
// string or a number gives that one text, a truth value none. When the steps or
// ctx are over, what was found so far comes with ErrCostly or the error of ctx.
func (e *Expr) Texts(ctx context.Context, doc *Document, max int) (texts []string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = fmt.Errorf("xpath.Texts: %.80q: %w", e.text, r.err)
		default:
			err = fmt.Errorf("xpath.Texts: %.80q: %v", e.text, r)
		}
	}()
	root := &cursor{htmlquery.CreateXPathNavigator(doc.root), &budget{ctx, maxSteps}}
	root.step(checkEvery) // a context that is over already
	if !e.nodes {
		// An evaluation for a value leaves its marks in the library's
		// expression, so each has its own.
		x, err := xpath.Compile(e.text)
		if err != nil {
			return nil, fmt.Errorf("xpath.Texts: %.80q: %w", e.text, err)
		}
		switch v := x.Evaluate(root).(type) {
		case string:
			if v != "" && len(v) <= maxResult && max > 0 {
				texts = append(texts, v)
			}
		case float64:
			if max > 0 {
				texts = append(texts, strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		return texts, nil
	}
	sum := 0
	for it := e.x.Select(root); len(texts) < max && it.MoveNext(); {
		text := it.Current().Value()
		if text == "" || len(text) > maxResult {
			continue
		}
		if sum += len(text); sum > maxSum {
			panic(stop{ErrCostly})
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// stop is the panic that ends an evaluation: the library has no other way out.
type stop struct{ err error }

// checkEvery is after how many steps the context is asked.
const checkEvery = 4096

// budget is what one evaluation may use.
type budget struct {
	ctx  context.Context
	left int
}

// cursor is a place in a document whose moves are counted.
type cursor struct {
	*htmlquery.NodeNavigator
	*budget
}

// step counts n moves.
func (b *budget) step(n int) {
	before := b.left / checkEvery
	b.left -= n
	if b.left < 0 {
		panic(stop{ErrCostly})
	}
	if b.left/checkEvery != before {
		if err := b.ctx.Err(); err != nil {
			panic(stop{err})
		}
	}
}

func (c *cursor) Copy() xpath.NodeNavigator {
	c.step(4) // it costs memory too
	return &cursor{c.NodeNavigator.Copy().(*htmlquery.NodeNavigator), c.budget}
}

// Value costs what the text below the node costs to put together.
func (c *cursor) Value() string {
	text := c.NodeNavigator.Value()
	c.step(1 + len(text)/32)
	return text
}

func (c *cursor) MoveTo(other xpath.NodeNavigator) bool {
	c.step(1)
	o, ok := other.(*cursor)
	if !ok {
		panic(stop{errors.New("cursor of another document")})
	}
	return c.NodeNavigator.MoveTo(o.NodeNavigator)
}

// MoveToFirst costs a step for each node that it passes.
func (c *cursor) MoveToFirst() bool {
	moved := false
	for c.MoveToPrevious() {
		moved = true
	}
	return moved
}

func (c *cursor) MoveToParent() bool        { c.step(1); return c.NodeNavigator.MoveToParent() }
func (c *cursor) MoveToNextAttribute() bool { c.step(1); return c.NodeNavigator.MoveToNextAttribute() }
func (c *cursor) MoveToChild() bool         { c.step(1); return c.NodeNavigator.MoveToChild() }
func (c *cursor) MoveToNext() bool          { c.step(1); return c.NodeNavigator.MoveToNext() }
func (c *cursor) MoveToPrevious() bool      { c.step(1); return c.NodeNavigator.MoveToPrevious() }
