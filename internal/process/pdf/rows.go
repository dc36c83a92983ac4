package pdf

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// row is a line of text with one base line. Cells are parts of it with a wide gap between them.
type row struct {
	page   int
	cells  []cell
	y      float64
	size   float64
	dx, dy float64
	mono   bool // all letters have one width

	fromRight bool // most letters are read from right to left
}

// cell is a part of a row. Its text has the marks of raised and lowered parts.
type cell struct {
	text   string
	x0, x1 float64
}

// Marks of raised and lowered parts in texts. Characters for private use are in no text of a font.
const (
	supStart, supEnd = "\uE000", "\uE001"
	subStart, subEnd = "\uE002", "\uE003"
)

var levelMarks = strings.NewReplacer(supStart, "<sup>", supEnd, "</sup>", subStart, "<sub>", subEnd, "</sub>")

const (
	wordGap = 0.17 // distance of words, in sizes
	cellGap = 1.0  // distance of cells
)

func (r row) leftEdge() float64  { return min(r.cells[0].x0, r.cells[len(r.cells)-1].x0) }
func (r row) rightEdge() float64 { return max(r.cells[0].x1, r.cells[len(r.cells)-1].x1) }

// readingStart and end are the places of the first and the last letter, on an axis in the direction of reading.
func (r row) readingStart() float64 {
	if r.fromRight {
		return -r.rightEdge()
	}
	return r.leftEdge()
}

func (r row) readingEnd() float64 {
	if r.fromRight {
		return -r.leftEdge()
	}
	return r.rightEdge()
}

// isApart reports whether no part of r is below or above other.
func (r row) isApart(other row) bool {
	return r.leftEdge() > other.rightEdge()+r.size || r.rightEdge() < other.leftEdge()-r.size
}

// rowText returns the text of the row.
func (r row) rowText() string {
	texts := make([]string, len(r.cells))
	for i, c := range r.cells {
		texts[i] = c.text
	}
	return strings.Join(texts, " ")
}

// newRow makes a row. It reports false if there is no visible letter.
func newRow(glyphs []glyph) (row, bool) {
	base, ok := baseOf(glyphs)
	if !ok {
		return row{}, false
	}
	r := row{y: base.y, size: base.size, dx: base.dx, dy: base.dy, mono: true}
	right := 0
	for _, g := range glyphs {
		r.mono = r.mono && (g.mono || isBlank(g.text))
		right += directionOf(g.text)
	}
	if hasRightToLeftGlyph(glyphs) {
		r.fromRight = right < 0
		r.cells = cellsFromRight(glyphs, base, r.fromRight)
	} else {
		w := rowWriter{base: base, mono: r.mono}
		for _, g := range inOrder(glyphs) {
			w.addGlyph(g)
		}
		r.cells = w.finishRow()
	}
	return r, len(r.cells) > 0
}

// baseOf returns the first glyph of the size that most letters of a row have.
func baseOf(glyphs []glyph) (glyph, bool) {
	var base glyph
	most, found := 0, false
	for i := 0; i < len(glyphs); {
		n, k := 0, i
		for ; k < len(glyphs) && glyphs[k].size == glyphs[i].size && glyphs[k].y == glyphs[i].y; k++ {
			if !isBlank(glyphs[k].text) {
				n++
			}
		}
		if n > most || n == most && n > 0 && glyphs[i].size > base.size {
			base, most, found = glyphs[i], n, true
		}
		i = k
	}
	return base, found
}

// inOrder returns the glyphs from left to right, where parts of a row were drawn in another order.
// Parts above each other stay as they were drawn; a part that is drawn twice to look bold is once in
// the result.
func inOrder(glyphs []glyph) []glyph {
	starts := []int{0}
	for i := 1; i < len(glyphs); i++ {
		if glyphs[i].x0 < glyphs[i-1].x0-0.5*glyphs[i].size && glyphs[i].y == glyphs[i-1].y {
			starts = append(starts, i)
		}
	}
	if len(starts) == 1 {
		return glyphs
	}
	parts := make([][]glyph, len(starts))
	for i, start := range starts {
		end := len(glyphs)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		parts[i] = glyphs[start:end]
	}
	parts = slices.CompactFunc(parts, drawnAgain)
	slices.SortStableFunc(parts, func(a, b []glyph) int {
		switch {
		case a[len(a)-1].x1 <= b[0].x0+0.1*b[0].size:
			return -1
		case b[len(b)-1].x1 <= a[0].x0+0.1*a[0].size:
			return 1
		}
		return 0
	})
	return slices.Concat(parts...)
}

// drawnAgain reports whether b is the text of a at nearly the same place.
func drawnAgain(a, b []glyph) bool {
	return len(a) == len(b) && slices.EqualFunc(a, b, func(a, b glyph) bool {
		return a.text == b.text && a.x0-b.x0 < 0.2*a.size && b.x0-a.x0 < 0.2*a.size
	})
}

// rowWriter writes glyphs from left to right as cells.
type rowWriter struct {
	base  glyph
	mono  bool // gaps are spaces; there is one cell
	turns bool // the text is turned later
	cells []cell
	b     strings.Builder
	x0    float64
	last  glyph
	some  bool
	level string // mark that ends the raised or lowered part, or ""
	space bool   // the text ends with a space
}

func (w *rowWriter) addGlyph(g glyph) {
	gap := g.x0 - w.last.x1
	switch {
	case !w.some || g.text == "":
	case w.mono:
		w.writeSpaces(gap)
	case gap > cellGap*w.base.size:
		w.endCell()
	case gap > wordGap*min(g.size, w.last.size), gap < -max(g.size, w.last.size):
		w.setLevel("", "")
		w.writeText(" ")
	}
	if !isBlank(g.text) {
		w.setLevel(w.levelOf(g, gap))
	}
	if !w.some {
		w.some, w.x0 = true, g.x0
	}
	if isBlank(g.text) && !w.mono {
		w.setLevel("", "")
	}
	w.writeText(g.text)
	if w.last = g; w.b.Len() == 0 {
		w.some = false // a cell begins with a letter
	}
}

// writeSpaces writes the gap between two letters of one width.
func (w *rowWriter) writeSpaces(gap float64) {
	width := max(w.last.x1-w.last.x0, 0.3*w.base.size)
	for n := int(gap/width + 0.5); n > 0 && n < 200; n-- {
		w.b.WriteByte(' ')
	}
}

// writeText writes text. Spaces come once, and not at the start of a cell.
func (w *rowWriter) writeText(text string) {
	if isBlank(text) && !w.mono {
		if w.b.Len() == 0 || w.space || text == "" {
			return
		}
		text = " "
	}
	w.space = strings.HasSuffix(text, " ")
	w.b.WriteString(text)
}

// levelOf returns the marks of a raised or lowered glyph.
func (w *rowWriter) levelOf(g glyph, gap float64) (start, end string) {
	up := (g.y - w.base.y) / w.base.size
	small := g.size < 0.9*w.base.size
	switch r, _ := utf8.DecodeRuneInString(g.text); {
	case w.mono || w.level == "" && w.b.Len() > 0 && gap < -0.15*w.base.size: // the logo of LaTeX
	case w.turns && !fromLeft(r):
	case small && up > 0.12, up > 0.25 && unicode.IsDigit(r):
		return supStart, supEnd
	case small && up < -0.08:
		return subStart, subEnd
	}
	return "", ""
}

// setLevel begins a raised or lowered part, or ends one.
func (w *rowWriter) setLevel(start, end string) {
	if w.level == end {
		return
	}
	w.b.WriteString(w.level)
	w.b.WriteString(start)
	w.level = end
	w.space = false
}

func (w *rowWriter) endCell() {
	w.setLevel("", "")
	if text := strings.TrimRight(w.b.String(), " "); text != "" {
		w.cells = append(w.cells, cell{text, w.x0, w.last.x1})
	}
	w.b.Reset()
	w.some, w.space = false, false
}

func (w *rowWriter) finishRow() []cell {
	w.endCell()
	return w.cells
}
