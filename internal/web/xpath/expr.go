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
	// MaxExpr bounds an expression, in bytes.
	MaxExpr = 4 << 10

	// maxSteps bounds the cursor moves of one evaluation.
	maxSteps = 8 << 20

	// Bounds of one result text and of all of them, in bytes.
	maxResult = 64 << 10
	maxSum    = 16 << 20
)

// Expr is a compiled expression. Goroutines may share it.
type Expr struct {
	text  string
	x     *xpath.Expr
	nodes bool // the result is a node set
}

// Compile compiles an expression of at most MaxExpr bytes.
func Compile(text string) (e *Expr, err error) {
	if len(text) > MaxExpr {
		return nil, fmt.Errorf("compile XPath: expression of %d bytes; the limit is %d", len(text), MaxExpr)
	}
	defer func() { // the library panics on some expressions
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("compile XPath %.80q: %v", text, r)
		}
	}()
	x, err := xpath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("compile XPath %.80q: %w", text, err)
	}
	e = &Expr{text: text, x: x}
	empty := &Document{&html.Node{Type: html.DocumentNode}}
	_, e.nodes = x.Evaluate(&cursor{htmlquery.CreateXPathNavigator(empty.root), &budget{context.Background(), maxSteps}}).(*xpath.NodeIterator)
	return e, nil
}

// Texts returns at most max texts: the values of attributes and the texts of other nodes
// that the expression finds, in document order. It skips empty texts and those above 64
// KiB. A string or number is one text; a boolean gives none. If the evaluation exceeds its
// bounds or ctx ends, Texts returns the texts so far with ErrCostly or the error of ctx.
func (e *Expr) Texts(ctx context.Context, doc *Document, max int) (texts []string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = fmt.Errorf("evaluate XPath %.80q: %w", e.text, r.err)
		default:
			err = fmt.Errorf("evaluate XPath %.80q: %v", e.text, r)
		}
	}()
	root := &cursor{htmlquery.CreateXPathNavigator(doc.root), &budget{ctx, maxSteps}}
	root.step(checkEvery) // check ctx at once
	if !e.nodes {
		// An evaluation for a value changes the library's expression, so each needs its
		// own.
		x, err := xpath.Compile(e.text)
		if err != nil {
			return nil, fmt.Errorf("evaluate XPath %.80q: %w", e.text, err)
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

// stop is the panic that ends an evaluation, because the library has no other way.
type stop struct{ err error }

// checkEvery is the number of steps between two checks of the context.
const checkEvery = 4096

// budget bounds one evaluation.
type budget struct {
	ctx  context.Context
	left int
}

// cursor is a position in a document. Its moves use the budget.
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
	c.step(4) // copies cost memory too
	return &cursor{c.NodeNavigator.Copy().(*htmlquery.NodeNavigator), c.budget}
}

// Value costs a step for each 32 bytes of the text below the node.
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
