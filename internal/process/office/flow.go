package office

import (
	"fmt"
	"strings"

	"hce/dc/internal/process/markup"
)

// flow writes the blocks of a document to a page: paragraphs, lists and tables.
type flow struct {
	page   *markup.Page
	open   []*paragraph // a note or a text box is inside of a paragraph
	later  []*paragraph // those that follow the open one
	lists  []string     // the open lists, each with an open item
	tables int          // the open tables
	rows   int          // of the open table
	filled bool         // the open cell has text
}

// paragraph is the text and the place of one paragraph.
type paragraph struct {
	html    strings.Builder
	heading int  // 1 to 6; 0: no heading
	item    int  // level in a list from 1; 0: no item
	ordered bool // the list is numbered
	link    bool // an a element is open
}

// maxLevel bounds the levels of lists.
const maxLevel = 9

func (f *flow) begin() *paragraph {
	p := &paragraph{}
	f.open = append(f.open, p)
	return p
}

// current returns the innermost open paragraph, or nil.
func (f *flow) current() *paragraph {
	if len(f.open) == 0 {
		return nil
	}
	return f.open[len(f.open)-1]
}

func (f *flow) words(text string) {
	if p := f.current(); p != nil {
		p.html.WriteString(markup.Text(text))
	}
}

func (f *flow) lineBreak() {
	if p := f.current(); p != nil {
		p.html.WriteString("<br>")
	}
}

// link begins a link. Links do not nest.
func (f *flow) link(address string) {
	if p := f.current(); p != nil {
		f.endLink()
		tag := markup.Anchor(address)
		p.html.WriteString(tag)
		p.link = tag != ""
	}
}

func (f *flow) endLink() {
	if p := f.current(); p != nil && p.link {
		p.html.WriteString("</a>")
		p.link = false
	}
}

// end writes the current paragraph, and then those that were inside of it.
func (f *flow) end() {
	p := f.current()
	if p == nil {
		return
	}
	f.endLink()
	f.open = f.open[:len(f.open)-1]
	if len(f.open) > 0 {
		f.later = append(f.later, p)
		return
	}
	f.write(p)
	for _, p := range f.later {
		f.write(p)
	}
	f.later = nil
}

func (f *flow) write(p *paragraph) {
	html := strings.TrimSpace(p.html.String())
	switch {
	case html == "":
	case f.tables > 0: // a cell of Markdown has one line
		if f.filled {
			f.page.Raw("<br>")
		}
		f.page.Raw(html)
		f.filled = true
	case p.heading > 0:
		f.endLists(0)
		f.page.Raw(fmt.Sprintf("<h%d>%s</h%d>\n", min(p.heading, 6), html, min(p.heading, 6)))
	case p.item > 0:
		f.item(min(p.item, maxLevel), p.ordered)
		f.page.Raw(html)
	default:
		f.endLists(0)
		f.page.Raw("<p>" + html + "</p>\n")
	}
}

// item begins an item of a list.
func (f *flow) item(level int, ordered bool) {
	tag := "ul"
	if ordered {
		tag = "ol"
	}
	f.endLists(level)
	if len(f.lists) == level && f.lists[level-1] == tag {
		f.page.Raw("</li>\n<li>")
		return
	}
	f.endLists(level - 1)
	for len(f.lists) < level {
		f.lists = append(f.lists, tag)
		f.page.Raw("<" + tag + "><li>")
	}
}

// endLists ends lists until level are open.
func (f *flow) endLists(level int) {
	for len(f.lists) > level {
		last := len(f.lists) - 1
		f.page.Raw("</li></" + f.lists[last] + ">\n")
		f.lists = f.lists[:last]
	}
}

// table, row and cell begin parts of a table. A table inside of a cell belongs to the cell.
// Markdown needs a head, so the first row is one.
func (f *flow) table() {
	if f.tables++; f.tables == 1 {
		f.endLists(0)
		f.rows = 0
		f.page.Raw("<table>")
	}
}

func (f *flow) endTable() {
	if f.tables > 0 {
		if f.tables--; f.tables == 0 {
			f.page.Raw("</table>\n")
		}
	}
}

func (f *flow) row() {
	if f.tables == 1 {
		f.rows++
		f.page.Raw("<tr>")
	}
}

func (f *flow) endRow() {
	if f.tables == 1 {
		f.page.Raw("</tr>\n")
	}
}

func (f *flow) cell() {
	if f.tables == 1 {
		f.page.Raw("<" + f.cellTag() + ">")
		f.filled = false
	}
}

func (f *flow) endCell() {
	if f.tables == 1 {
		f.page.Raw("</" + f.cellTag() + ">")
	}
}

func (f *flow) cellTag() string {
	if f.rows > 1 {
		return "td"
	}
	return "th"
}

// finish writes what is open.
func (f *flow) finish() {
	for f.current() != nil {
		f.end()
	}
	f.endLists(0)
}
