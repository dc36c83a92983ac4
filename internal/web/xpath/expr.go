package xpath

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

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
	sort  bool // the nodes may be found out of document order
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
	if err == nil {
		err = checkWhole(text)
	}
	if err != nil {
		return nil, fmt.Errorf("compile XPath %.80q: %w", text, err)
	}
	e = &Expr{text: text, x: x, sort: strings.Contains(text, "|") || strings.Contains(text, "::") || strings.Contains(text, "..")}
	empty := &html.Node{Type: html.DocumentNode}
	switch x.Evaluate(&cursor{htmlquery.CreateXPathNavigator(empty), &budget{context.Background(), maxSteps}}).(type) {
	case *xpath.NodeIterator:
		e.nodes = true
	case bool:
		return nil, fmt.Errorf("compile XPath %.80q: it gives true or false, and no text; a condition belongs into brackets, as in //p[. = 'x']", text)
	}
	return e, nil
}

// checkWhole refuses an expression with a rest behind it, such as "//h1]" or "for $x in //p return $x", of
// which the library compiles the beginning alone. In parentheses it sees the rest.
func checkWhole(text string) error {
	depth, quote := 0, rune(0)
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return errors.New("a parenthesis is closed that was not opened")
			}
		}
	}
	if _, err := xpath.Compile("(" + text + ")"); err != nil {
		return fmt.Errorf("something follows the expression, or it is no XPath 1.0: %w", err)
	}
	return nil
}

// Texts returns at most max texts: the values of attributes and the texts of other nodes
// that the expression finds, in the order of the evaluation. It skips empty texts and those
// above 64 KiB. A string or number is one text. If the evaluation
// exceeds its bounds or ctx ends, Texts returns the texts so far with ErrCostly or the error
// of ctx.
func (e *Expr) Texts(ctx context.Context, doc *Document, max int) (texts []string, err error) {
	if max <= 0 {
		return nil, nil
	}
	sum := 0
	add := func(text string) bool {
		if text == "" || len(text) > maxResult {
			return true
		}
		if sum += len(text); sum > maxSum {
			panic(stop{ErrCostly})
		}
		texts = append(texts, text)
		return len(texts) < max
	}
	b := &budget{ctx, maxSteps}
	err = e.runGuarded(b, func() {
		e.evaluateAt(rootOf(doc, b), func(c *cursor) bool { return add(c.Value()) }, func(text string) { add(text) })
	})
	return texts, err
}

// runGuarded runs an evaluation with a budget. The error says why it ended early.
func (e *Expr) runGuarded(b *budget, evaluate func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = fmt.Errorf("evaluate XPath %.80q: %w", e.text, r.err)
		default:
			err = fmt.Errorf("evaluate XPath %.80q: %v", e.text, r)
		}
	}()
	if err := b.ctx.Err(); err != nil {
		panic(stop{err})
	}
	evaluate()
	return nil
}

// evaluateAt calls node for each node that the expression finds at a cursor until it returns false, or
// value with its string or number.
func (e *Expr) evaluateAt(at *cursor, node func(*cursor) bool, value func(string)) {
	if e.nodes {
		for it := e.x.Select(at); it.MoveNext(); {
			if !node(it.Current().(*cursor)) {
				break
			}
		}
		return
	}
	// An evaluation for a value changes the library's expression, so each needs its own.
	x, err := xpath.Compile(e.text)
	if err != nil {
		panic(err)
	}
	switch v := x.Evaluate(at).(type) {
	case string:
		value(v)
	case float64:
		if !math.IsNaN(v) {
			value(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
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

// countSteps counts n moves.
func (b *budget) countSteps(n int) {
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

// rootOf returns a cursor at the document.
func rootOf(doc *Document, b *budget) *cursor {
	return &cursor{htmlquery.CreateXPathNavigator(doc.root), b}
}

// seekNode moves on to a node that does not come before the cursor in the document.
func (c *cursor) seekNode(n *html.Node) {
	for c.Current() != n {
		if !c.MoveToChild() && !c.MoveToNext() && !c.leaveSubtree() {
			panic(stop{errors.New("node of another document")})
		}
	}
}

// leaveSubtree moves to the next node behind the ancestors of the cursor. It returns false at the end.
func (c *cursor) leaveSubtree() bool {
	for c.MoveToParent() {
		if c.MoveToNext() {
			return true
		}
	}
	return false
}

func (c *cursor) Copy() xpath.NodeNavigator {
	c.countSteps(4) // copies cost memory too
	return &cursor{c.NodeNavigator.Copy().(*htmlquery.NodeNavigator), c.budget}
}

// Value costs a step for each 32 bytes of the text below the node.
func (c *cursor) Value() string {
	text := c.NodeNavigator.Value()
	c.countSteps(1 + len(text)/32)
	return text
}

func (c *cursor) MoveTo(other xpath.NodeNavigator) bool {
	c.countSteps(1)
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

// isAttribute reports whether the cursor is at an attribute.
func (c *cursor) isAttribute() bool { return c.NodeType() == xpath.AttributeNode }

func (c *cursor) MoveToParent() bool { c.countSteps(1); return c.NodeNavigator.MoveToParent() }
func (c *cursor) MoveToNextAttribute() bool {
	c.countSteps(1)
	return c.NodeNavigator.MoveToNextAttribute()
}
func (c *cursor) MoveToChild() bool    { c.countSteps(1); return c.NodeNavigator.MoveToChild() }
func (c *cursor) MoveToNext() bool     { c.countSteps(1); return c.NodeNavigator.MoveToNext() }
func (c *cursor) MoveToPrevious() bool { c.countSteps(1); return c.NodeNavigator.MoveToPrevious() }
