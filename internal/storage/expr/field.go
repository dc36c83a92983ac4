package expr

import "strings"

// Field is one column of the result of a SELECT, or all columns of a table.
type Field struct {
	Name string
	// Table is the one whose columns * stands for, in their order there; nil for
	// a column, which the rest describes.
	Table *Table
	// Time: a moment, as text 'YYYY-MM-DD hh:mm:ss' on SQLite.
	Time bool
	// Decimals are the digits behind the point of what is a DECIMAL in MySQL, -1
	// for another value: sums and means of whole numbers, quotients, casts.
	Decimals int
}

// starFields are the tables that * or table.* stands for.
func (w *writer) starFields(table string) []Field {
	var fields []Field
	for _, b := range w.levels[len(w.levels)-1].tables {
		if table == "" || strings.EqualFold(b.name, table) {
			fields = append(fields, Field{Table: b.table})
		}
	}
	return fields
}

// decimals is the scale of a DECIMAL, -1 for what is none.
func (w *writer) decimals(n node) int {
	if scale, decimal := w.exact(n, false); decimal {
		return scale
	}
	return -1
}

// exact tells of an exact number how many digits it has behind the point, and
// whether it is a DECIMAL; scale is -1 for any other value. Argument: the value
// may be the argument of an aggregate.
func (w *writer) exact(n node, argument bool) (scale int, decimal bool) {
	switch n := n.(type) {
	case *literal:
		if n.decimal {
			return n.scale, true
		}
	case *cast:
		if n.to == "DECIMAL" {
			return n.decimals, true
		}
	case *aggregate:
		switch n.name {
		case "SUM", "AVG":
			scale, _ := w.exact(n.x, true)
			if scale >= 0 && n.name == "AVG" {
				scale += quotientDigits
			}
			return scale, scale >= 0
		case "MIN", "MAX":
			return w.exact(n.x, true)
		}
	case *binary:
		if strings.Contains("+-*/", n.op) {
			return w.exactBinary(n, argument)
		}
	case *call:
		if n.name == "IFNULL" || n.name == "COALESCE" {
			return w.widest(n.args, argument)
		}
	}
	inside := w.inside
	w.inside = inside || argument
	defer func() { w.inside = inside }()
	if w.emit.value(n).class == classInt {
		return 0, false
	}
	return -1, false
}

// quotientDigits are those that MySQL adds to a quotient.
const quotientDigits = 4

func (w *writer) exactBinary(n *binary, argument bool) (scale int, decimal bool) {
	l, ldecimal := w.exact(n.l, argument)
	r, rdecimal := w.exact(n.r, argument)
	switch {
	case l < 0 || r < 0:
		return -1, false
	case n.op == "/":
		return l + quotientDigits, true
	case n.op == "*":
		return l + r, ldecimal || rdecimal
	}
	return max(l, r), ldecimal || rdecimal
}

func (w *writer) widest(list []node, argument bool) (scale int, decimal bool) {
	for _, n := range list {
		s, d := w.exact(n, argument)
		if s < 0 {
			return -1, false
		}
		scale, decimal = max(scale, s), decimal || d
	}
	return scale, decimal
}
