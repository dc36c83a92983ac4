package writer

// sink receives the blocks of a page in reading order. Slices are valid during the call.
type sink interface {
	openContainer(c *container)  // a quote, a list or an item
	closeContainer(c *container) // the innermost one

	openBlock(b block) // a heading or a paragraph
	lineBreak()        // in a paragraph or a cell
	closeBlock(b block)
	writeListing(language, code []byte)
	writeRule()

	openTable(columns int)
	openRow()
	openCell(head bool, span int) // span: columns that the cell covers
	cellCode(line []byte)         // a line of code in a cell
	closeCell(head bool, span int)
	closeRow()
	closeTable()

	openSpan(s *span, next []byte) // next: the text that follows
	closeSpan(s *span)
	writeWord(s []byte, next byte, spaced bool) // next: the byte behind it in the text of the page, 0 at its end
	writeMark(s string)                         // a quotation mark or a bracket next to a word
	writeFormula(tex []byte, display, spaced bool)
	writeImage(src, alt []byte, alone bool) // alone: between two blocks
}

// container is an element that holds blocks.
type container struct {
	kind    uint8
	box     int32
	ordered bool // of a list
	number  int  // of an item of an ordered list; of a list: of its first item
	width   int  // bytes of its prefix in Markdown
}

const (
	quote = iota
	list
	item
)

// block is a heading or a paragraph.
type block struct {
	level int  // of a heading; 0: a paragraph
	label bool // it names what follows, such as a term or a summary
}

// span is an inline element. It is opened at its first word.
type span struct {
	kind    uint8
	written bool
	end     int32
	href    []byte
	ticks   int    // the longest run of backticks in code
	after   string // what follows it
	at      int    // where its mark begins in Markdown
	mark    string // its mark in Markdown; "": none was written
}

const (
	spanEm = iota
	spanStrong
	spanCode
	spanDel
	spanSup
	spanSub
	spanLink
	spanMarks // no element of the output, but marks around its text
	spanKinds
)
