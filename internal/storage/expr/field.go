package expr

import "strings"

// Field is one result column of a SELECT, or all columns of a table.
type Field struct {
	Name string
	// Table is the table of a *, whose columns follow in their order. It is nil for a
	// single column, which the other members describe.
	Table *Table
	// Time marks a date and time, on SQLite a text 'YYYY-MM-DD hh:mm:ss'.
	Time bool
	// Decimals is the number of digits after the point of a DECIMAL in MySQL (sums
	// and means of whole numbers, quotients, casts), -1 for other values.
	Decimals int
}

// starFields returns the tables of * or table.*.
func (w *writer) starFields(table string) []Field {
	var fields []Field
	for _, b := range w.levels[len(w.levels)-1].tables {
		if table == "" || strings.EqualFold(b.name, table) {
			fields = append(fields, Field{Table: b.table})
		}
	}
	return fields
}

// decimals returns the scale of a DECIMAL, -1 for other values.
func (w *writer) decimals(n node) int {
	if scale, decimal := w.exact(n, false); decimal {
		return scale
	}
	return -1
}

// exact returns the scale of an exact number, -1 for other values, and whether the
// number is a DECIMAL. argument is true within the argument of an aggregate.
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
		if n.name == "IFNULL" {
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

// quotientDigits is the number of digits that MySQL adds to a quotient.
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
