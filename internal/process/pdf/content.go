package pdf

import (
	"math"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// matrix is a transformation [a b c d e f] (ISO 32000-1 8.3.3).
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// multiply returns the transformation m followed by n.
func (m matrix) multiply(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the graphics state that has to do with text.
type state struct {
	ctm                       matrix
	font                      *font
	size, scale               float64
	char, word, leading, rise float64
}

func newState() state { return state{ctm: identity, scale: 1} }

const (
	maxOperands = 512 // of one operator; the elements of an array count
	maxStates   = 64  // saved graphics states
)

// interpreter draws the text of content streams (ISO 32000-1 8, 9).
type interpreter struct {
	*document
	state
	saved      []state
	text, line matrix
	marked     int     // open marked contents
	actual     *string // text of the marked content that actualAt began; nil: as drawn
	actualAt   int
}

// runContent interprets the content of a page or a form.
func (in *interpreter) runContent(content []byte, resources types.Dict, depth int) {
	l := lexer{text: content}
	var operands []token
	dicts := 0
	actual := false // ActualText comes next
	for {
		t := l.nextToken()
		switch {
		case t.kind == ended || in.layout.isFull():
			in.cut = in.cut || t.kind != ended
			return
		case t.kind == opened && t.text == "<":
			dicts++
		case t.kind == closed && dicts > 0:
			dicts--
		case dicts > 0:
			if actual && t.kind == text && in.actual == nil {
				s := replaceSymbols(textOf(t.text), "")
				in.actual, in.actualAt = &s, in.marked
			}
			actual = t.kind == name && t.text == "ActualText"
		case t.kind == opened, t.kind == closed:
		case t.kind != operator:
			if len(operands) < maxOperands {
				operands = append(operands, t)
			}
		case t.text == "TJ":
			in.showAll(operands)
			operands = operands[:0]
		case t.text == "ID":
			l.skipImage()
			operands = operands[:0]
		case t.text == "Do":
			if len(operands) > 0 && depth < maxDepth {
				in.drawForm(operands[len(operands)-1].text, resources, depth)
			}
			operands = operands[:0]
		default:
			in.executeOperator(t.text, operands, resources)
			operands = operands[:0]
		}
	}
}

// drawForm draws a form (ISO 32000-1 8.10).
func (in *interpreter) drawForm(key string, resources types.Dict, depth int) {
	object := in.resolveDict(resources["XObject"])[key]
	form := in.resolveDict(object)
	if form == nil || in.resolveName(form["Subtype"]) != "Form" || !in.chargeBytes(0) {
		return
	}
	if own := in.resolveDict(form["Resources"]); own != nil {
		resources = own
	}
	before, saved, text, line := in.state, in.saved, in.text, in.line
	in.saved = nil
	if m := in.resolveArray(form["Matrix"]); len(m) == 6 {
		var x matrix
		for i := range x {
			x[i], _ = in.resolveNumber(m[i])
		}
		in.ctm = x.multiply(in.ctm)
	}
	in.runContent(in.decodeStream(object), resources, depth+1)
	in.state, in.saved, in.text, in.line = before, saved, text, line
}

// executeOperator executes an operator. Missing operands are 0.
func (in *interpreter) executeOperator(op string, operands []token, resources types.Dict) {
	n := func(i int) float64 {
		if i < len(operands) {
			return operands[i].value
		}
		return 0
	}
	matrixOf := func() matrix { return matrix{n(0), n(1), n(2), n(3), n(4), n(5)} }
	switch op {
	case "q":
		if len(in.saved) < maxStates {
			in.saved = append(in.saved, in.state)
		}
	case "Q":
		if last := len(in.saved) - 1; last >= 0 {
			in.state, in.saved = in.saved[last], in.saved[:last]
		}
	case "BMC", "BDC":
		in.marked++
	case "EMC":
		if in.marked--; in.marked <= in.actualAt {
			in.actual = nil
		}
	case "cm":
		in.ctm = matrixOf().multiply(in.ctm)
	case "BT":
		in.text, in.line = identity, identity
	case "Tf":
		if len(operands) == 2 {
			in.font, in.size = in.fontOf(resources, operands[0].text), n(1)
		}
	case "Tc":
		in.char = n(0)
	case "Tw":
		in.word = n(0)
	case "Tz":
		in.scale = n(0) / 100
	case "TL":
		in.leading = n(0)
	case "Ts":
		in.rise = n(0)
	case "Tm":
		in.text = matrixOf()
		in.line = in.text
	case "Td":
		in.moveLine(n(0), n(1))
	case "TD":
		in.leading = -n(1)
		in.moveLine(n(0), n(1))
	case "T*":
		in.moveLine(0, -in.leading)
	case "Tj":
		in.showAll(operands)
	case "'":
		in.moveLine(0, -in.leading)
		in.showAll(operands)
	case `"`:
		in.word, in.char = n(0), n(1)
		in.moveLine(0, -in.leading)
		in.showAll(operands[min(2, len(operands)):])
	}
}

// moveLine begins a line at an offset from the current one.
func (in *interpreter) moveLine(x, y float64) {
	in.line = matrix{1, 0, 0, 1, x, y}.multiply(in.line)
	in.text = in.line
}

// showAll shows strings. Numbers between them move the position.
func (in *interpreter) showAll(operands []token) {
	for _, o := range operands {
		switch o.kind {
		case text:
			in.showString(o.text)
		case number:
			in.advanceText(-o.value / 1000 * in.size * in.scale)
		}
	}
}

func (in *interpreter) advanceText(x float64) { in.text = matrix{1, 0, 0, 1, x, 0}.multiply(in.text) }

// showString shows a string with the current font.
func (in *interpreter) showString(s string) {
	if in.font == nil {
		return
	}
	tracked := in.char > 0.2*in.size && len(s) >= 3*in.font.codeLength(s) // the letters of words are apart
	m := in.text.multiply(in.ctm)
	at := 0.0
	for len(s) > 0 {
		text, n, width := in.font.nextCode(s)
		width = width / 1000 * in.size
		step := width + in.char
		if s[:n] == " " {
			if step += in.word; step < 0.1*in.size { // it is not visible
				text = ""
			}
		}
		if s = s[n:]; in.char < 0.2*in.size || tracked && len(s) > 0 {
			width += in.char
		}
		in.addGlyph(text, m, at, at+width*in.scale)
		at += step * in.scale
	}
	in.advanceText(at)
}

// addGlyph adds a glyph to the layout. m is the system of the text; the glyph goes from x0 to x1 in it.
func (in *interpreter) addGlyph(text string, m matrix, x0, x1 float64) {
	if in.actual != nil { // instead of all glyphs
		text, *in.actual = *in.actual, ""
	}
	start := matrix{in.size * in.scale, 0, 0, in.size, x0, in.rise}.multiply(m)
	end := matrix{1, 0, 0, 1, x1, in.rise}.multiply(m)
	switch {
	case !isFinite(start) || !isFinite(end):
	case text != "":
		in.layout.addGlyph(text, start, end[4], end[5], in.font.mono)
	case in.actual != nil:
		in.layout.moveTo(end[4], end[5])
	}
}

func isFinite(m matrix) bool {
	for _, v := range m {
		if math.IsNaN(v) || math.Abs(v) > 1e9 {
			return false
		}
	}
	return true
}
