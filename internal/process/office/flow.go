package office

import (
	"fmt"
	"strconv"
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
	sheet  bool         // tables are sheets of numbers

	cellHTML, rowHTML   strings.Builder // of the open cell and row
	spans               string          // attributes of the open cell
	cellTimes, rowTimes int
	empty               int // cells without text at the end of the open row

	code bool // a pre element is open
}

// paragraph is the text and the place of one paragraph.
type paragraph struct {
	html    strings.Builder
	heading int  // 1 to 6; 0: no heading
	item    int  // level in a list from 1; 0: no item
	ordered bool // the list is numbered
	pre     bool // a line of code: spaces count
	link    bool // an a element is open
}

// maxLevel bounds the levels of lists.
const maxLevel = 9

func (f *flow) beginParagraph() *paragraph {
	p := &paragraph{}
	f.open = append(f.open, p)
	return p
}

// currentParagraph returns the innermost open paragraph, or nil.
func (f *flow) currentParagraph() *paragraph {
	if len(f.open) == 0 {
		return nil
	}
	return f.open[len(f.open)-1]
}

func (f *flow) writeWords(text string) {
	f.writeHTML(markup.Text(text))
}

// writeHTML writes HTML to the current paragraph.
func (f *flow) writeHTML(html string) {
	if p := f.currentParagraph(); p != nil {
		p.html.WriteString(html)
	}
}

// writeRaised writes text as a sup or sub element, or as it is for the tag "".
func (f *flow) writeRaised(tag, text string) {
	if strings.TrimSpace(text) == "" || tag == "" {
		f.writeWords(text)
		return
	}
	f.writeHTML("<" + tag + ">" + markup.Text(text) + "</" + tag + ">")
}

// joinLevels joins elements that programs split.
var joinLevels = strings.NewReplacer("</sup><sup>", "", "</sub><sub>", "")

func (f *flow) lineBreak() {
	if p := f.currentParagraph(); p != nil {
		p.html.WriteString("<br>")
	}
}

// beginLink begins a link. Links do not nest.
func (f *flow) beginLink(address string) {
	if p := f.currentParagraph(); p != nil {
		f.endLink()
		tag := markup.Anchor(address)
		p.html.WriteString(tag)
		p.link = tag != ""
	}
}

func (f *flow) endLink() {
	if p := f.currentParagraph(); p != nil && p.link {
		p.html.WriteString("</a>")
		p.link = false
	}
}

// endParagraph writes the current paragraph, and then those that were inside of it.
func (f *flow) endParagraph() {
	p := f.currentParagraph()
	if p == nil {
		return
	}
	f.endLink()
	f.open = f.open[:len(f.open)-1]
	if len(f.open) > 0 {
		f.later = append(f.later, p)
		return
	}
	f.writeParagraph(p)
	for _, p := range f.later {
		f.writeParagraph(p)
	}
	f.later = nil
}

func (f *flow) writeParagraph(p *paragraph) {
	html := joinLevels.Replace(p.html.String())
	if p.pre && f.tables == 0 {
		f.writeCode(html)
		return
	}
	html = trimBreaks(html)
	f.endCode()
	switch {
	case html == "":
	case f.tables > 0: // a cell of Markdown has one line
		if f.cellHTML.Len() > 0 {
			f.cellHTML.WriteString("<br>")
		}
		f.cellHTML.WriteString(html)
	case p.heading > 0:
		f.endLists(0)
		f.page.Raw(fmt.Sprintf("<h%d>%s</h%d>\n", min(p.heading, 6), html, min(p.heading, 6)))
	case p.item > 0:
		f.beginItem(min(p.item, maxLevel), p.ordered)
		f.page.Raw(html)
	default:
		f.endLists(0)
		f.page.Raw("<p>" + html + "</p>\n")
	}
}

// trimBreaks removes white space and line breaks at the start and the end of a paragraph.
func trimBreaks(html string) string {
	for {
		before := html
		html = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(html), "<br>"), "<br>")
		if html == before {
			return html
		}
	}
}

// writeCode writes a paragraph of code. Several are one block.
func (f *flow) writeCode(html string) {
	f.endLists(0)
	html = strings.ReplaceAll(html, "<br>", "\n")
	if f.code {
		f.page.Raw("\n" + html)
		return
	}
	f.page.Raw("<pre>" + html)
	f.code = true
}

func (f *flow) endCode() {
	if f.code {
		f.page.Raw("</pre>\n")
		f.code = false
	}
}

// beginItem begins an item of a list.
func (f *flow) beginItem(level int, ordered bool) {
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

// beginTable, row and cell begin parts of a table. A table inside of a cell belongs to the cell.
// Markdown needs a head, so the first row is one.
func (f *flow) beginTable() {
	if f.tables++; f.tables == 1 {
		f.endLists(0)
		f.endCode()
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

func (f *flow) beginRow(times string) {
	if f.tables == 1 {
		f.rowTimes, f.empty = repeatCount(times), 0
		f.rowHTML.Reset()
	}
}

// endRow writes the row. Sheets have many rows without text.
func (f *flow) endRow() {
	if f.tables != 1 || f.page.Cut || f.sheet && f.rowHTML.Len() == 0 {
		return
	}
	f.rows++
	for range f.rowTimes {
		f.page.Raw("<tr>" + f.rowHTML.String() + "</tr>\n")
	}
}

// beginCell begins a cell. spans are the attributes colspan and rowspan, or "".
func (f *flow) beginCell(spans, times string) {
	if f.tables == 1 {
		f.spans, f.cellTimes = spans, repeatCount(times)
		f.cellHTML.Reset()
	}
}

// endCell adds the cell to its row. Cells of sheets without text count if another one follows.
func (f *flow) endCell() {
	if f.tables != 1 || f.page.Cut {
		return
	}
	if f.sheet && f.cellHTML.Len() == 0 {
		f.empty += f.cellTimes
		return
	}
	tag := f.cellTag()
	f.rowHTML.WriteString(strings.Repeat("<"+tag+"></"+tag+">", min(f.empty, maxRepeated)))
	f.empty = 0
	for range f.cellTimes {
		f.rowHTML.WriteString("<" + tag + f.spans + ">" + f.cellHTML.String() + "</" + tag + ">")
	}
}

// maxRepeated bounds how often one element repeats a cell or a row.
const maxRepeated = 256

// repeatCount returns how often a cell or a row is there. More than maxRepeated fill a sheet only.
func repeatCount(times string) int {
	if n, err := strconv.Atoi(times); err == nil && n > 1 && n <= maxRepeated {
		return n
	}
	return 1
}

// spanAttribute returns an attribute of a cell that goes over several columns or rows, or "".
func spanAttribute(name, count string) string {
	if n, err := strconv.Atoi(count); err == nil && n > 1 && n <= 1000 {
		return fmt.Sprintf(` %s="%d"`, name, n)
	}
	return ""
}

func (f *flow) cellTag() string {
	if f.rows > 0 {
		return "td"
	}
	return "th"
}

// finishFlow writes what is open.
func (f *flow) finishFlow() {
	for f.currentParagraph() != nil {
		f.endParagraph()
	}
	f.endLists(0)
	f.endCode()
}
