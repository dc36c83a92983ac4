package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hce/dc/internal/process/markup"
)

// glyph is what a page draws at one place: mostly one letter. Lengths are those of a system whose
// x axis is the base line of its text.
type glyph struct {
	text   string
	x0, x1 float64
	y      float64
	size   float64 // height of a letter
	dx, dy float64 // direction of the base line on the page
	mono   bool    // all letters of its font have one width
}

// layout collects the glyphs of the pages as rows. Glyphs come in the order in which the page
// draws them, which is the order of reading in almost all files.
type layout struct {
	glyphs []glyph // of the row that is open
	rows   []row
	page   int
	bytes  int
}

const (
	// maxRowGlyphs bounds the glyphs of one row.
	maxRowGlyphs = 1 << 14
	// rowBytes is what a row costs of the limit of a page, besides its text.
	rowBytes = 16
)

func (l *layout) isFull() bool { return l.bytes > markup.MaxBytes }

func (l *layout) newPage() {
	l.endRow()
	l.page++
}

// addGlyph adds a glyph whose text begins at the origin of m and ends at x1, y1.
func (l *layout) addGlyph(text string, m matrix, x1, y1 float64, mono bool) {
	length := math.Hypot(m[0], m[1])
	if length == 0 {
		return
	}
	dx, dy := m[0]/length, m[1]/length
	size := math.Abs(m[0]*m[3]-m[1]*m[2]) / length // letters may be skewed
	g := glyph{text: text, x0: m[4]*dx + m[5]*dy, x1: x1*dx + y1*dy, y: m[5]*dx - m[4]*dy, size: size, dx: dx, dy: dy, mono: mono}
	if g.x1 < g.x0 {
		g.x0, g.x1 = g.x1, g.x0
	}
	l.bytes += len(text)
	if len(l.glyphs) > 0 && (!l.glyphs[len(l.glyphs)-1].sameRow(g) || len(l.glyphs) >= maxRowGlyphs) {
		l.endRow()
	}
	if !l.composeAccent(g) {
		l.glyphs = append(l.glyphs, g)
	}
}

// moveTo says that the last glyph ends at x, y.
func (l *layout) moveTo(x, y float64) {
	if n := len(l.glyphs); n > 0 {
		g := &l.glyphs[n-1]
		g.x1 = max(g.x1, x*g.dx+y*g.dy)
	}
}

// sameRow reports whether next is in the row of g: on its base line, or raised or lowered near it.
func (g glyph) sameRow(next glyph) bool {
	larger := max(g.size, next.size)
	down := math.Abs(g.y - next.y)
	near := math.Abs(next.x0-g.x1) < larger || math.Abs(next.x1-g.x0) < larger
	return g.dx*next.dx+g.dy*next.dy > 0.99 && (down < 0.35*larger || down < 0.7*larger && near)
}

// accentMarks are the combining characters of accents that are glyphs of their own.
var accentMarks = map[rune]rune{
	'`': 0x300, '´': 0x301, 'ˆ': 0x302, '^': 0x302, '˜': 0x303, '~': 0x303, '¯': 0x304, '˘': 0x306, '˙': 0x307, '¨': 0x308,
	'˚': 0x30A, '°': 0x30A, '˝': 0x30B, 'ˇ': 0x30C, '¸': 0x327, '˛': 0x328,
}

// markOf returns the combining character of a glyph that is an accent, or 0.
func markOf(text string) rune {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case n == 0 || n < len(text):
		return 0
	case unicode.Is(unicode.Mn, r):
		return r
	}
	return accentMarks[r]
}

// composeAccent joins g with the last glyph if one is an accent that is drawn above or below the
// other, as fonts of LaTeX have it: "´", then "e" at the same place.
func (l *layout) composeAccent(g glyph) bool {
	if len(l.glyphs) == 0 {
		return false
	}
	last := &l.glyphs[len(l.glyphs)-1]
	switch before, after := markOf(last.text), markOf(g.text); {
	case after != 0 && last.coversAccent(g) && addAccent(&last.text, after):
		return true
	case before != 0 && g.coversAccent(*last) && addAccent(&g.text, before):
		*last = g
		return true
	}
	return false
}

// coversAccent reports whether the middle of an accent is above or below g.
func (g glyph) coversAccent(accent glyph) bool {
	width, middle := g.x1-g.x0, (accent.x0+accent.x1)/2
	return width > 0 && middle > g.x0+0.1*width && middle < g.x1-0.1*width || unicode.IsMark([]rune(accent.text)[0]) && middle == g.x1
}

// addAccent adds an accent to a letter.
func addAccent(letter *string, mark rune) bool {
	r, n := utf8.DecodeLastRuneInString(*letter)
	switch {
	case !unicode.IsLetter(r):
		return false
	case r == 'ı':
		r = 'i'
	case r == 'ȷ':
		r = 'j'
	}
	*letter = norm.NFC.String((*letter)[:len(*letter)-n] + string(r) + string(mark))
	return true
}

// endRow makes a row of the open glyphs.
func (l *layout) endRow() {
	if len(l.glyphs) == 0 {
		return
	}
	if r, ok := newRow(l.glyphs); ok {
		r.page = l.page
		l.rows = append(l.rows, r)
		l.bytes += rowBytes
	}
	l.glyphs = l.glyphs[:0]
}

// isBlank reports whether a text has no visible letter.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
