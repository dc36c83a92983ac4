package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// part is a line of a paragraph, or a table.
type part struct {
	row
	table [][]string // rows of cells; nil: a line
}

const (
	maxColumns = 40
	leastProse = 25 // letters of most lines of a column of text
)

// mark is the mark of an item of a list, at the beginning of its line.
var mark = regexp.MustCompile(`^\s*(?:[•◦▪▫‣●○■□➢✓∙⁃]|[-–—*](?:\s|$)|\(?[0-9]{1,3}[.)](?:\s|$)|\(?[a-z][.)](?:\s|$)|\[[0-9A-Za-z+]{1,8}\](?:\s|$))`)

// leaders are the dots between an entry of a list of contents and its page.
var leaders = regexp.MustCompile(`(?:[.·] ?){4,}\s*([0-9ivxlcIVXLC]{1,8})$`)

// arrangeRows finds tables, and columns of text that are drawn line by line.
func arrangeRows(rows []row) []part {
	var parts []part
	for len(rows) > 0 {
		if rows[0].hasCells() {
			if n, columns := findRegion(rows); n > 1 {
				parts = append(parts, readRegion(rows[:n], columns)...)
				rows = rows[n:]
				continue
			}
		}
		parts = append(parts, part{row: rows[0]})
		rows = rows[1:]
	}
	return parts
}

// hasCells reports whether r may be the row of a table.
func (r row) hasCells() bool {
	return len(r.cells) > 1 && !r.mono && !(len(r.cells) == 2 && mark.MatchString(r.cells[0].text+" ")) && !leaders.MatchString(r.rowText())
}

// span is a part of the x axis.
type span struct{ from, to float64 }

// findRegion returns the number of rows at the start that have the same columns, and these columns.
func findRegion(rows []row) (int, []span) {
	columns := fitCells(nil, rows[0])
	n, last, some := 1, 1, 1
	for ; n < len(rows); n++ {
		before, r := rows[n-1], rows[n]
		down := before.y - r.y
		if r.page != before.page || r.mono || leaders.MatchString(r.rowText()) || r.dx*before.dx+r.dy*before.dy < 0.99 || down <= 0 || down > 3*max(r.size, before.size) || abs(r.size-before.size) > 0.15*r.size {
			break
		}
		next := fitCells(columns, r)
		if next == nil {
			break
		}
		columns = next
		if len(r.cells) > 1 {
			last, some = n+1, some+1
		} else if r.cells[0].x0 > columns[0].to { // another line of a cell
			last = n + 1
		}
	}
	if some < 2 {
		return 1, nil
	}
	columns = nil // without the rows behind the region
	for _, r := range rows[:last] {
		columns = fitCells(columns, r)
	}
	return last, columns
}

// fitCells adds the cells of a row to columns. It returns nil if a cell is in two columns.
func fitCells(columns []span, r row) []span {
	next := slices.Clone(columns)
	for _, c := range r.sortedCells() {
		from := 0 // the columns from here to there have a common part with the cell
		for from < len(next) && next[from].to <= c.x0 {
			from++
		}
		to := from
		for to < len(next) && next[to].from < c.x1 {
			to++
		}
		switch to - from {
		case 0:
			next = slices.Insert(next, from, span{c.x0, c.x1})
		case 1:
			next[from] = span{min(next[from].from, c.x0), max(next[from].to, c.x1)}
		default:
			return nil
		}
	}
	if len(next) > maxColumns {
		return nil
	}
	return next
}

// sortedCells returns the cells from left to right.
func (r row) sortedCells() []cell {
	if r.fromRight {
		cells := slices.Clone(r.cells)
		slices.Reverse(cells)
		return cells
	}
	return r.cells
}

// columnOf returns the column of a cell.
func columnOf(columns []span, c cell) int {
	best, most := 0, math.Inf(-1)
	for i, s := range columns {
		if common := min(c.x1, s.to) - max(c.x0, s.from); common > most {
			best, most = i, common
		}
	}
	return best
}

// readRegion reads rows with common columns: columns of text one after the other, or a table.
func readRegion(rows []row, columns []span) []part {
	byColumn := make([][]row, len(columns))
	for _, r := range rows {
		for _, c := range r.cells {
			line := r
			line.cells = []cell{c}
			i := columnOf(columns, c)
			byColumn[i] = append(byColumn[i], line)
		}
	}
	if len(columns) <= 3 && len(rows) >= 4 && !slices.ContainsFunc(byColumn, func(lines []row) bool { return !isProse(lines) }) {
		var parts []part
		for _, lines := range byColumn {
			for _, line := range lines {
				parts = append(parts, part{row: line})
			}
		}
		return parts
	}
	return []part{{row: rows[len(rows)-1], table: cellsOf(rows, columns)}}
}

// isProse reports whether most lines of a column are long and end near its right side.
func isProse(lines []row) bool {
	left, right := math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		left, right = min(left, line.leftEdge()), max(right, line.rightEdge())
	}
	long := 0
	for _, line := range lines {
		letters := utf8.RuneCountInString(line.cells[0].text)
		if wide := letters < len(line.cells[0].text)/2; wide { // such as Chinese
			letters *= 2
		}
		if letters >= leastProse && line.rightEdge() > right-0.15*(right-left) {
			long++
		}
	}
	return len(lines) >= 4 && 2*long > len(lines)
}

// addLine adds a line to the text of a cell.
func addLine(text, line string) string { return strings.Trim(text+"\n"+line, "\n") }

// cellsOf returns the texts of a table, with line breaks. A row without a first cell near the row above goes on
// with the cells of that row.
func cellsOf(rows []row, columns []span) [][]string {
	least, most := math.Inf(1), 0.0
	for i, r := range rows[1:] {
		least, most = min(least, rows[i].y-r.y), max(most, rows[i].y-r.y)
	}
	var table [][]string
	for i, r := range rows {
		texts := make([]string, len(columns))
		for _, c := range r.cells {
			k := columnOf(columns, c)
			texts[k] = addLine(texts[k], c.text)
		}
		if i > 0 && texts[0] == "" && rows[i-1].y-r.y < 1.15*least && (len(r.cells) == 1 || most > 1.15*least) {
			last := table[len(table)-1]
			for k, text := range texts {
				last[k] = addLine(last[k], text)
			}
			continue
		}
		table = append(table, texts)
	}
	if rows[0].fromRight {
		for _, texts := range table {
			slices.Reverse(texts)
		}
	}
	return table
}
