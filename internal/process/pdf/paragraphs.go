package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// paragraphs puts rows together to paragraphs, headings and lists, in the order in which the
// pages draw them.
type paragraphs struct {
	blocks []*block

	last   row     // the last line
	open   bool    // the last block may go on
	start  float64 // x of the last line
	column float64 // start of the first of the lines that begin near it
	right  float64 // the largest end of them
	gap    float64 // distance of the last two lines, 0: none
}

// block is a paragraph, code, or a table.
type block struct {
	lines []string
	table [][]string
	size  float64
	item  bool    // it begins with the mark of a list
	code  bool    // lines of letters of one width
	left  float64 // of code: the least x
	first []float64
	width float64 // of a letter of code
}

// maxHeading is the longest heading in bytes.
const maxHeading = 200

// newParagraphs reads the rows of all pages.
func newParagraphs(rows []row) *paragraphs {
	p := &paragraphs{}
	rows = dropMargins(rows)
	if mostlyMono(rows) {
		for i := range rows {
			rows[i].mono = false
		}
	}
	for _, part := range arrangeRows(rows) {
		if part.table != nil {
			p.blocks = append(p.blocks, &block{table: part.table, size: part.size})
			p.open, p.last = false, part.row
			continue
		}
		p.addRow(part.row)
	}
	return p
}

// mostlyMono reports whether most of a document has letters of one width, as if typewritten.
func mostlyMono(rows []row) bool {
	mono, all := 0, 0
	for _, r := range rows {
		n := len(r.rowText())
		if all += n; r.mono {
			mono += n
		}
	}
	return 2*mono > all
}

// addRow adds a line.
func (p *paragraphs) addRow(r row) {
	text := r.rowText()
	switch {
	case r.mono && !p.inText(r):
		p.addCode(r)
		return
	case !p.open || p.currentBlock().code || r.dx*p.last.dx+r.dy*p.last.dy < 0.99:
		p.beginParagraph(r)
		p.gap = 0
	case r.page != p.last.page:
		p.turnPage(r, text)
	default:
		p.joinRow(r, text)
	}
	b := p.currentBlock()
	b.lines = append(b.lines, text)
	if len(b.lines) == 1 {
		b.item = mark.MatchString(text)
	}
	if p.start = r.readingStart(); math.Abs(p.start-p.column) > 4*r.size || r.page != p.last.page {
		p.column, p.right = p.start, r.readingEnd()
	}
	p.right = max(p.right, r.readingEnd())
	p.last = r
}

// inText reports whether a line of letters of one width continues a paragraph.
func (p *paragraphs) inText(r row) bool {
	down := p.last.y - r.y
	return p.open && !p.currentBlock().code && r.page == p.last.page && !p.endsShort() && p.gap > 0 && down > 0 && down < 1.1*p.gap && math.Abs(r.readingStart()-p.start) < 0.5*r.size
}

func (p *paragraphs) currentBlock() *block { return p.blocks[len(p.blocks)-1] }

func (p *paragraphs) beginParagraph(r row) {
	p.blocks = append(p.blocks, &block{size: r.size})
	p.open = true
}

// turnPage decides whether a paragraph goes on at the top of a page or a column.
func (p *paragraphs) turnPage(r row, text string) {
	if p.gap = 0; !p.goesOn(r, text) {
		p.beginParagraph(r)
	}
}

// goesOn reports whether the text of r continues a sentence at another place.
func (p *paragraphs) goesOn(r row, text string) bool {
	before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(p.last.rowText(), " "))
	after, _ := utf8.DecodeRuneInString(text)
	if len(p.currentBlock().lines) < 2 || utf8.RuneCountInString(p.last.rowText()) < 20 {
		return false
	}
	return math.Abs(r.size-p.last.size) < 0.1*r.size && !p.endsShort() && unicode.IsLower(after) && (unicode.IsLetter(before) || strings.ContainsRune(",-\u00AD\u2010", before))
}

// joinRow decides whether a line continues the last paragraph.
func (p *paragraphs) joinRow(r row, text string) {
	larger := max(r.size, p.last.size)
	down := p.last.y - r.y
	switch b := p.currentBlock(); {
	case down < 0:
		p.turnPage(r, text)
	case p.cutsWord(text) && down < 5*larger && !r.isApart(p.last): // around a picture
		p.gap = 0
	case down > 2.2*larger, r.isApart(p.last), p.gap > 0 && down > 1.25*p.gap, math.Abs(r.size-p.last.size) > 0.15*larger:
		p.beginParagraph(r)
		p.gap = 0
	case mark.MatchString(text), leaders.MatchString(text), leaders.MatchString(p.last.rowText()), p.endsShort() && beginsSentence(text):
		p.beginParagraph(r)
		p.gap = down
	case r.readingStart() > p.start+0.8*r.size && r.readingStart() < p.start+6*r.size && p.gap > 0 && !(b.item && len(b.lines) == 1): // the first line is indented
		p.beginParagraph(r)
	case down > 0.5*larger:
		p.gap = down
	}
}

// endsShort reports whether the last line ends far before others of its column.
func (p *paragraphs) endsShort() bool { return p.last.readingEnd()-p.start < 0.7*(p.right-p.start) }

// cutsWord reports whether a hyphen cuts a word at the end of the last line.
func (p *paragraphs) cutsWord(text string) bool {
	before, after, ok := cutWord(p.last.rowText(), text)
	return ok && words(nil).isCut(before, after, false)
}

// beginsSentence reports whether text may begin a sentence.
func beginsSentence(text string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(text))
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// addCode adds a line of letters of one width. Its indentation is that of the page.
func (p *paragraphs) addCode(r row) {
	down := p.last.y - r.y
	if !p.open || !p.currentBlock().code || r.page == p.last.page && (down < 0 || down > 2.6*r.size) {
		p.beginParagraph(r)
		b := p.currentBlock()
		b.code, b.left = true, r.leftEdge()
	} else if r.page == p.last.page && p.gap > 0 && down > 1.7*p.gap {
		p.currentBlock().lines, p.currentBlock().first = append(p.currentBlock().lines, ""), append(p.currentBlock().first, r.leftEdge())
	}
	b := p.currentBlock()
	if p.gap == 0 || down > 0 && down < p.gap {
		p.gap = max(down, 0)
	}
	text := r.rowText()
	if n := utf8.RuneCountInString(text); b.width == 0 && n > 0 {
		b.width = (r.rightEdge() - r.leftEdge()) / float64(n)
	}
	b.left = min(b.left, r.leftEdge())
	b.lines, b.first = append(b.lines, text), append(b.first, r.leftEdge())
	p.last, p.start = r, r.readingStart()
}
