package writer

import (
	"bytes"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// table sums up a table without the tables in it.
type table struct {
	node               int32
	rows, cells, heads int
	most               int // cells of the longest row
	nested             bool
	layout             bool // the page says that it is no data
}

// findTables sums up the tables of the page in one walk.
func (w *Writer) findTables() {
	w.tables = w.tables[:0]
	any := false
	for i := range w.outline.Boxes {
		any = any || w.outline.Boxes[i].Tag == htmltree.TagTable
	}
	if !any {
		return
	}
	nodes := w.outline.Doc.Nodes
	var open []int // tables around the node
	var width []int
	for i := range nodes {
		for len(open) > 0 && int32(i) >= nodes[w.tables[open[len(open)-1]].node].End {
			open, width = open[:len(open)-1], width[:len(width)-1]
		}
		n := &nodes[i]
		if n.Tag == htmltree.TagTable {
			if len(open) > 0 {
				w.tables[open[len(open)-1]].nested = true
			}
			role := w.outline.Doc.Attr(n, htmltree.KeyRole)
			w.tables = append(w.tables, table{node: int32(i), layout: string(role) == "presentation" || string(role) == "none"})
			open, width = append(open, len(w.tables)-1), append(width, 0)
			continue
		}
		if len(open) > 0 {
			w.tables[open[len(open)-1]].countTag(n.Tag, &width[len(width)-1])
		}
	}
}

func (t *table) countTag(tag htmltree.Tag, width *int) {
	switch tag {
	case htmltree.TagTr:
		t.rows++
		*width = 0
		return
	case htmltree.TagTh:
		t.heads++
	case htmltree.TagTd:
	default:
		return
	}
	t.cells++
	*width++
	t.most = max(t.most, *width)
}

// tableOf returns the sums of the table at a node.
func (w *Writer) tableOf(node int32) *table {
	lo, hi := 0, len(w.tables)
	for lo < hi {
		if mid := (lo + hi) / 2; w.tables[mid].node < node {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return &w.tables[lo]
}

// isDataTable reports whether a table has data: rows of short cells, not a layout.
func (w *Writer) isDataTable(x int32) bool {
	b := &w.outline.Boxes[x]
	t := w.tableOf(b.Node)
	lines := int(b.End - b.Start)
	switch {
	case t.layout || t.most < 2 || t.rows*t.most > 20*t.cells+1000:
		return false
	case t.nested:
		return t.heads > 0 && t.rows > 1 && lines <= 6*t.cells
	case t.rows < 2 || t.cells < 4:
		return t.heads > 0 && t.heads < t.cells && lines <= 2*t.cells
	}
	return lines <= 3*t.cells || t.heads > 0 && lines <= 12*t.cells
}

// writeTable writes the data table of box x, whose first chosen line is i, and returns the line behind it.
func (w *Writer) writeTable(x int32, i int) int {
	o := w.outline
	nodes := o.Doc.Nodes
	first, end := i, int(o.Boxes[x].End)
	node := o.Boxes[x].Node
	columns := w.countColumns(w.tableOf(node))
	w.resetRows(columns)
	w.sink.openTable(columns)
	for k := node + 1; k < nodes[node].End; k++ {
		switch nodes[k].Tag {
		case htmltree.TagTable, htmltree.TagCaption:
			k = nodes[k].End - 1
		case htmltree.TagTr:
			i = w.writeRow(k, i, columns)
			k = nodes[k].End - 1
		}
	}
	w.sink.closeTable()
	for i = first; i < end; {
		if w.places[o.Lines[i].Box].row != 0 || !w.isWritten(i) {
			i++
			continue
		}
		i = w.writeParagraph(i, block{}) // a caption between or behind the rows
	}
	return end
}

func (w *Writer) resetRows(columns int) {
	w.rows = w.rows[:0]
	for range columns {
		w.rows = append(w.rows, 0)
	}
}

// countColumns returns the columns of a table, with those that spans cover. It sets noSpans if spans make the table much
// larger than its cells.
func (w *Writer) countColumns(t *table) (columns int) {
	w.noSpans = false
	w.rows = w.rows[:0]
	work := 0
	for i := t.node + 1; i < w.outline.Doc.Nodes[t.node].End; i++ {
		n := &w.outline.Doc.Nodes[i]
		switch n.Tag {
		case htmltree.TagTable, htmltree.TagCaption:
			i = n.End - 1
		case htmltree.TagTr:
			width := w.widthOf(i)
			columns = max(columns, width)
			if work += width; work > 8*t.cells+1000 {
				w.noSpans = true
				return t.most
			}
			i = n.End - 1
		}
	}
	if t.rows*columns > 8*t.cells+1000 {
		w.noSpans = true
		return t.most
	}
	return columns
}

// widthOf returns the columns up to the last cell of a row, and keeps in rows how far its cells reach down.
func (w *Writer) widthOf(row int32) int {
	column := 0
	w.forEachCell(row, func(c int32) {
		for column < len(w.rows) && w.rows[column] > 0 {
			column++
		}
		column = w.coverCells(column, w.cellSpan(c, htmltree.KeyColspan), w.cellSpan(c, htmltree.KeyRowspan))
	})
	w.nextRow()
	return column
}

// forEachCell calls f for the cells of the row at a node.
func (w *Writer) forEachCell(row int32, f func(c int32)) {
	nodes := w.outline.Doc.Nodes
	for c := row + 1; c < nodes[row].End; c = max(c+1, nodes[c].End) {
		if t := nodes[c].Tag; t == htmltree.TagTd || t == htmltree.TagTh {
			f(c)
		}
	}
}

// cellSpan returns the columns or rows that a cell covers, at most 64.
func (w *Writer) cellSpan(c int32, key htmltree.Key) int {
	if w.noSpans {
		return 1
	}
	n := 0
	for _, x := range w.outline.Doc.Attr(&w.outline.Doc.Nodes[c], key) {
		if !outline.IsDigit(x) || n > 64 {
			break
		}
		n = n*10 + int(x-'0')
	}
	return max(1, min(n, 64))
}

// writeRow writes the row at a node, from line i on, and returns the line behind it. A row without chosen lines is left out.
func (w *Writer) writeRow(row int32, i, columns int) int {
	lines := w.outline.Lines
	for i < len(lines) && lines[i].First < row {
		i++
	}
	any := false
	last := i
	for end := w.outline.Doc.Nodes[row].End; last < len(lines) && lines[last].First < end; last++ {
		any = any || w.isWritten(last)
	}
	if !any {
		w.widthOf(row)
		return last
	}
	w.sink.openRow()
	column := 0
	w.forEachCell(row, func(c int32) {
		column = w.writeCovered(column)
		span := max(1, min(w.cellSpan(c, htmltree.KeyColspan), columns-column))
		head := w.outline.Doc.Nodes[c].Tag == htmltree.TagTh
		w.sink.openCell(head, span)
		i = w.writeCell(c, i)
		w.sink.closeCell(head, span)
		column = w.coverCells(column, span, w.cellSpan(c, htmltree.KeyRowspan))
	})
	for column = w.writeCovered(column); column < columns; column = w.writeCovered(column + 1) {
		w.emptyCell()
	}
	w.nextRow()
	w.sink.closeRow()
	return last
}

// coverCells notes that a cell covers columns and rows, and returns the column behind it.
func (w *Writer) coverCells(column, span, down int) int {
	for range span {
		if column == len(w.rows) {
			w.rows = append(w.rows, 0)
		}
		w.rows[column] = max(w.rows[column], down)
		column++
	}
	return column
}

func (w *Writer) nextRow() {
	for k := range w.rows {
		w.rows[k] = max(0, w.rows[k]-1)
	}
}

// writeCovered writes empty cells for those that a cell of a row above covers, and returns the next free column.
func (w *Writer) writeCovered(column int) int {
	for column < len(w.rows) && w.rows[column] > 0 {
		w.emptyCell()
		column++
	}
	return column
}

func (w *Writer) emptyCell() {
	w.sink.openCell(false, 1)
	w.sink.closeCell(false, 1)
}

// writeCell writes the lines of a cell, from line i on, and returns the line behind it.
func (w *Writer) writeCell(c int32, i int) int {
	o := w.outline
	end := o.Doc.Nodes[c].End
	last := place{row: -1}
	for ; i < len(o.Lines) && o.Lines[i].First < end; i++ {
		p := w.places[o.Lines[i].Box]
		if !w.isWritten(i) || o.Lines[i].First <= c || p.leaf != 0 && p.leaf == last.leaf {
			continue
		}
		switch {
		case last.row < 0:
		case p.row == last.row && p.cell != last.cell:
			w.sink.writeMark(" | ") // cells of a table in a cell
		default:
			w.sink.lineBreak()
		}
		last = p
		w.inline.resetSpans()
		if p.leaf != 0 {
			w.cellCode(p.leaf)
		} else {
			w.writeLine(i)
		}
	}
	return i
}

// cellCode writes the listing of a box in a cell.
func (w *Writer) cellCode(leaf int32) {
	w.code = w.outline.AppendCode(w.code[:0], w.outline.Boxes[leaf].Node)
	begun := false
	for line := range bytes.SplitSeq(w.code, []byte("\n")) {
		if line = bytes.TrimRight(line, " \t"); len(line) == 0 {
			continue
		}
		if begun {
			w.sink.lineBreak()
		}
		begun = true
		w.sink.cellCode(line)
	}
}
