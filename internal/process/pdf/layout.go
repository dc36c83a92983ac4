package pdf

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/process/markup"
)

// layout puts pieces of text together to paragraphs. Pieces come in the order in which the
// page draws them, which is the reading order in almost all files; columns stay apart.
type layout struct {
	blocks []*block
	bytes  int
	piece  int  // where the part of the last block begins that was drawn from left to right
	open   bool // the last block may go on

	// The last piece, in a system whose x axis is its base line.
	dx, dy    float64 // direction
	start     float64 // x of the first piece of the line
	column    float64 // start of the first of the lines that begin near it
	right     float64 // the largest end of them
	end, y    float64
	size, gap float64 // height of a letter; distance of the last two lines, 0: none
}

// block is a paragraph.
type block struct {
	text  []byte
	size  float64
	item  bool // it begins with the mark of a list
	lines int  // line breaks in it
}

// maxHeading is the longest heading in bytes.
const maxHeading = 200

func (l *layout) full() bool { return l.bytes > markup.MaxBytes }

func (l *layout) newPage() { l.open, l.column, l.right = false, math.Inf(-1), 0 }

// mark is the mark of an item of a list, at the beginning of its line.
var mark = regexp.MustCompile(`^\s*(?:[•◦▪▫‣●○■□➢✓]|[-–—*](?:\s|$)|\(?[0-9]{1,3}[.)](?:\s|$))`)

// add adds a piece of text that begins at the origin of m and ends at x1, y1.
func (l *layout) add(text string, m matrix, x1, y1 float64) {
	length := math.Hypot(m[0], m[1])
	if length == 0 {
		return
	}
	dx, dy := m[0]/length, m[1]/length
	size := math.Abs(m[0]*m[3]-m[1]*m[2]) / length // letters may be skewed
	x, y := m[4]*dx+m[5]*dy, m[5]*dx-m[4]*dy
	end := x1*dx + y1*dy
	switch turned := dx*l.dx+dy*l.dy < 0.99; {
	case !l.open || turned:
		l.begin(size)
		l.start, l.gap = x, 0
	default:
		l.join(text, x, y, size)
	}
	if b := l.last(); len(b.text) == 0 {
		b.item = mark.MatchString(text)
	}
	if math.Abs(l.start-l.column) > 4*size {
		l.column, l.right = l.start, end
	}
	l.right = max(l.right, end)
	l.write(text)
	l.dx, l.dy, l.end, l.y = dx, dy, end, y
	if strings.TrimSpace(text) != "" {
		l.size = size
	}
}

// moveTo says that the last piece ends at x, y.
func (l *layout) moveTo(x, y float64) { l.end = x*l.dx + y*l.dy }

// join decides what is between the last piece and a text at x, y: nothing, a space, or a new
// paragraph.
func (l *layout) join(text string, x, y, size float64) {
	larger := max(size, l.size)
	down, gap := l.y-y, x-l.end
	switch b := l.last(); {
	case math.Abs(down) < 0.35*larger, math.Abs(down) < 0.7*larger && math.Abs(gap) < larger: // or raised
		if gap < -larger {
			l.flush()
		}
		if gap > 0.17*min(size, larger) || gap < -larger {
			l.space()
		}
		return
	case down < 0, down > 2.2*larger, l.gap > 0 && down > 1.25*l.gap, math.Abs(size-l.size) > 0.15*larger:
		l.begin(size)
		l.gap = 0
	case mark.MatchString(text), l.short() && begins(text):
		l.begin(size)
		l.gap = down
	case x > l.start+0.8*size && x < l.start+6*size && l.gap > 0 && !(b.item && b.lines == 0): // the first line is indented
		l.begin(size)
	default:
		l.newLine()
		l.gap = down
	}
	l.start = x
}

// short reports whether the last line ends far before others of its column.
func (l *layout) short() bool { return l.end-l.start < 0.7*(l.right-l.start) }

// begins reports whether text may begin a sentence.
func begins(text string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(text))
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// flush puts the letters of what was drawn from left to right in their order of reading.
func (l *layout) flush() {
	if len(l.blocks) == 0 {
		return
	}
	b := l.last()
	if part := string(b.text[min(l.piece, len(b.text)):]); hasRightToLeft(part) {
		b.text = append(b.text[:l.piece], turned(part)...)
	}
	l.piece = len(b.text)
}

func (l *layout) begin(size float64) {
	l.flush()
	l.piece = 0
	l.blocks = append(l.blocks, &block{size: size})
	l.bytes += 64
	l.open = true
}

func (l *layout) last() *block { return l.blocks[len(l.blocks)-1] }

func (l *layout) write(text string) {
	b := l.last()
	b.text = append(b.text, text...)
	l.bytes += len(text)
}

func (l *layout) space() {
	if b := l.last(); len(b.text) > 0 && b.text[len(b.text)-1] != ' ' {
		l.write(" ")
	}
}

// newLine joins two lines of a paragraph. A hyphen at the end of a line within a word goes.
func (l *layout) newLine() {
	l.flush()
	b := l.last()
	b.lines++
	s := bytes.TrimRight(b.text, " ")
	for _, hyphen := range []string{"-", "\u00AD", "\u2010"} {
		rest, found := bytes.CutSuffix(s, []byte(hyphen))
		if r, _ := utf8.DecodeLastRune(rest); found && unicode.IsLower(r) {
			b.text, l.piece = rest, len(rest)
			return
		}
	}
	l.space()
	l.piece = len(b.text)
}

// writeTo writes the paragraphs to a page.
func (l *layout) writeTo(page *markup.Page) {
	l.flush()
	body := l.bodySize()
	for _, b := range l.blocks {
		text := strings.Join(strings.Fields(string(b.text)), " ")
		switch {
		case text == "":
		case b.size > 1.2*body && len(text) < maxHeading && strings.IndexFunc(text, unicode.IsLetter) >= 0:
			page.Block("h2", text)
		default:
			page.Block("p", text)
		}
	}
}

// bodySize returns the size of most letters.
func (l *layout) bodySize() float64 {
	letters := map[int]int{}
	most := 0
	for _, b := range l.blocks {
		key := int(math.Round(b.size * 2))
		letters[key] += len(b.text)
		if letters[key] > letters[most] {
			most = key
		}
	}
	return float64(most) / 2
}
