package writer

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// AppendMarkdown appends the chosen lines as CommonMark with tables. Links are absolute. Images are left out: no line of
// the page is made of them.
func (w *Writer) AppendMarkdown(dst []byte) []byte {
	m := &w.markdown
	m.startPage(dst, w.base)
	w.writeLines(m)
	return m.dst
}

// markdown is the sink that writes Markdown. It writes the blank line before a block when the block begins.
type markdown struct {
	dst    []byte
	base   *Base
	prefix []byte // of each line, by the open containers

	begun      bool // there is a block
	fresh      bool // the line has its prefix only
	paragraph  bool // the last block is a paragraph in the innermost container
	closedList byte // the marker of a list that ended right here
	lists      []listState

	// The line.
	lineAt    int
	label     bool
	heading   bool
	pending   []closing
	opened    bool // an opening mark is last
	closed    bool // a closing mark is last
	emphases  int
	del       bool
	code      bool
	lastTicks int // of the last code

	// The table.
	inTable bool
	columns int
	row     int
	cellAt  int
}

type listState struct {
	ordered bool
	marker  byte
	begun   bool
	tight   bool // its first item follows without a blank line
}

func (m *markdown) startPage(dst []byte, base *Base) {
	*m = markdown{dst: dst, base: base, prefix: m.prefix[:0], lists: m.lists[:0], pending: m.pending[:0]}
}

// writeNewline ends a line and begins another one with the prefix.
func (m *markdown) writeNewline() {
	m.dst = append(m.dst, '\n')
	m.dst = append(m.dst, m.prefix...)
}

// emptyLine writes a line that has only the marks of quotes.
func (m *markdown) emptyLine() {
	m.dst = append(m.dst, '\n')
	m.dst = append(m.dst, bytes.TrimRight(m.prefix, " ")...)
}

// separateBlock begins the line of a block or item.
func (m *markdown) separateBlock(tight bool) {
	if m.fresh {
		return
	}
	if m.begun {
		if !tight {
			m.emptyLine()
		}
		m.writeNewline()
	}
	m.begun, m.fresh = true, true
}

func (m *markdown) openContainer(c *container) {
	switch c.kind {
	case list:
		m.openList(c)
	case item:
		m.openItem(c)
	default:
		m.separateBlock(false)
		c.width = len("> ")
		m.dst = append(m.dst, "> "...)
		m.prefix = append(m.prefix, "> "...)
		m.closedList = 0
	}
	m.paragraph = m.paragraph && c.kind == list
}

// openList chooses the marker of a list: another one than that of the list right before it, which it would continue.
func (m *markdown) openList(c *container) {
	l := listState{ordered: c.ordered, marker: '-'}
	if c.ordered {
		l.marker = '.'
	}
	if m.closedList == l.marker {
		l.marker = '*'
		if c.ordered {
			l.marker = ')'
		}
	}
	// A list that does not begin with 1 cannot interrupt a paragraph.
	l.tight = len(m.lists) > 0 && m.paragraph && (!c.ordered || c.number == 1)
	m.lists = append(m.lists, l)
	m.closedList = 0
}

func (m *markdown) openItem(c *container) {
	l := &m.lists[len(m.lists)-1]
	m.separateBlock(l.begun || l.tight)
	l.begun = true
	from := len(m.dst)
	if l.ordered {
		m.dst = strconv.AppendInt(m.dst, int64(c.number%1_000_000_000), 10)
	}
	m.dst = append(m.dst, l.marker, ' ')
	c.width = len(m.dst) - from
	for range c.width {
		m.prefix = append(m.prefix, ' ')
	}
	m.closedList = 0
}

func (m *markdown) closeContainer(c *container) {
	m.prefix = m.prefix[:len(m.prefix)-c.width]
	m.closedList = 0
	if c.kind == list {
		m.closedList = m.lists[len(m.lists)-1].marker
		m.lists = m.lists[:len(m.lists)-1]
	}
	m.paragraph = false
}

func (m *markdown) openBlock(b block) {
	m.separateBlock(false)
	m.fresh, m.closedList = false, 0
	m.heading, m.label = b.level > 0, b.label
	for range b.level {
		m.dst = append(m.dst, '#')
	}
	if m.heading {
		m.dst = append(m.dst, ' ')
	}
	m.beginLine()
	if m.label {
		m.dst = append(m.dst, "**"...)
	}
}

func (m *markdown) beginLine() {
	m.lineAt, m.opened, m.closed, m.emphases = len(m.dst), false, false, 0
	m.pending = m.pending[:0]
}

// endLine writes what is pending, and escapes a mark at the beginning of the line.
func (m *markdown) endLine() {
	m.resolvePending(' ')
	if !m.heading && !m.inTable {
		m.dst = escapeStart(m.dst, m.lineAt)
	}
}

func (m *markdown) lineBreak() {
	m.endLine()
	if m.inTable {
		m.dst = append(m.dst, "<br>"...)
	} else {
		m.dst = append(m.dst, "  "...)
		m.writeNewline()
	}
	m.beginLine()
}

func (m *markdown) closeBlock(b block) {
	if m.label {
		m.resolvePending(' ')
		m.dst = append(m.dst, "**"...)
	}
	m.endLine()
	m.paragraph = b.level == 0
	m.label, m.heading = false, false
}

// writeListing writes code between fences that are longer than any in it.
func (m *markdown) writeListing(language, code []byte) {
	m.separateBlock(false)
	m.fresh, m.closedList, m.paragraph = false, 0, false
	ticks := max(3, longestRun(code, '`')+1)
	m.writeTicks(ticks)
	m.dst = append(m.dst, language...)
	for line := range bytes.SplitSeq(code, []byte("\n")) {
		if len(line) == 0 {
			m.emptyLine()
			continue
		}
		m.writeNewline()
		m.dst = append(m.dst, line...)
	}
	m.writeNewline()
	m.writeTicks(ticks)
}

func (m *markdown) writeTicks(n int) {
	for range n {
		m.dst = append(m.dst, '`')
	}
}

func (m *markdown) writeRule() {
	m.separateBlock(false)
	m.fresh, m.closedList, m.paragraph = false, 0, false
	m.dst = append(m.dst, "---"...)
}

func (m *markdown) writeImage(src, alt []byte, alone bool) {}

func (m *markdown) openTable(columns int) {
	m.separateBlock(false)
	m.fresh, m.closedList, m.paragraph = false, 0, false
	m.inTable, m.columns, m.row = true, columns, 0
}

func (m *markdown) closeTable() { m.inTable = false }

func (m *markdown) openRow() {
	if m.row > 0 {
		m.writeNewline()
	}
	m.dst = append(m.dst, '|')
}

func (m *markdown) openCell(head bool, span int) {
	m.dst = append(m.dst, ' ')
	m.cellAt = len(m.dst)
	m.beginLine()
}

func (m *markdown) closeCell(head bool, span int) {
	m.endLine()
	if len(m.dst) > m.cellAt {
		m.dst = append(m.dst, ' ')
	}
	m.dst = append(m.dst, '|')
	for range span - 1 {
		m.dst = append(m.dst, " |"...)
	}
}

// closeRow ends a row. The first one is the head of the table, as Markdown has no table without one.
func (m *markdown) closeRow() {
	if m.row == 0 {
		m.writeNewline()
		m.dst = append(m.dst, '|')
		for range m.columns {
			m.dst = append(m.dst, "---|"...)
		}
	}
	m.row++
}

// cellCode writes a line of code as a span.
func (m *markdown) cellCode(line []byte) {
	ticks := longestRun(line, '`') + 1
	m.writeTicks(ticks)
	if ticks > 1 {
		m.dst = append(m.dst, ' ')
	}
	m.dst = appendBars(m.dst, line)
	if ticks > 1 {
		m.dst = append(m.dst, ' ')
	}
	m.writeTicks(ticks)
	m.closed = false
}

// lastRune returns the last character of the line, or a blank at its beginning.
func (m *markdown) lastRune() rune {
	if len(m.dst) == m.lineAt {
		return ' '
	}
	r, _ := utf8.DecodeLastRune(m.dst[m.lineAt:])
	return r
}
