package expr

import "strings"

// sqliteWriter writes SQLite text with MySQL's meaning. It knows the class of each
// piece before it sees a row, so it writes conversions only where MySQL converts.
type sqliteWriter struct{ *writer }

func (w *sqliteWriter) writeValue(n node) piece {
	if w.err != nil {
		return piece{text: "NULL"}
	}
	switch n := n.(type) {
	case *literal:
		return literalPiece(n)
	case *column:
		return w.columnPiece(n)
	case *unary:
		return w.writeUnary(n)
	case *binary:
		return w.writeBinary(n)
	case *logic:
		xs := make([]piece, len(n.xs))
		for i, x := range n.xs {
			xs[i] = w.writeCondition(x)
		}
		return w.newPiece(classInt, "(", w.joinWith(classInt, " "+n.op+" ", xs), ")")
	case *isNull:
		return w.newPiece(classInt, "(", w.writeValue(n.x), " IS ", notPrefix(n.not), "NULL)")
	case *between:
		return w.writeBetween(n)
	case *in:
		return w.writeIn(n)
	case *like:
		return w.writeLike(n)
	case *call:
		return functions[n.name].sqlite(w, n)
	case *cast:
		return w.writeCast(n)
	case *aggregate:
		return w.writeAggregate(n)
	case *exists:
		return w.newPiece(classInt, "(", notPrefix(n.not), "EXISTS (", w.writeQuery(n.sub, existence), "))")
	case *scalar:
		p := w.writeQuery(n.sub, oneField)
		q := w.newPiece(p.class, "(", p, ")")
		q.traits = p.traits
		return q
	}
	return w.recordError(newRefusal("expression"))
}

// writeCondition writes a node as a condition. MySQL accepts any value as a condition.
func (w *sqliteWriter) writeCondition(n node) piece {
	p := w.writeValue(n)
	if p.class >= classText {
		return w.toNumber(p)
	}
	return p
}

func (w *sqliteWriter) sortKey(n node) piece {
	p := w.writeValue(n)
	switch {
	case p.class == classText && !p.exact:
		return w.foldText(p)
	case p.class == classText && !p.bytes:
		return w.trimSpaces(p)
	case p.class == classTime:
		return w.toSeconds(p)
	}
	return p
}

func (w *sqliteWriter) writeAssigned(kind Kind, n node) piece {
	p := w.writeValue(n)
	if p.class == classNull {
		return p
	}
	switch kind {
	case Int:
		return w.toInteger(p)
	case Float:
		return w.toNumber(p)
	case Time:
		q, ok := w.dateTime(p)
		if !ok || p.class == classTime {
			return w.recordError(&Error{Part: "value", Reason: "is not a date"})
		}
		return q
	case Blob:
		return p
	}
	return w.toText(p)
}

func notPrefix(not bool) string {
	if not {
		return "NOT "
	}
	return ""
}

func literalPiece(l *literal) piece {
	switch l.kind {
	case litInt:
		return bindValue(classInt, l.i)
	case litReal:
		p := bindValue(classReal, l.f)
		p.decimal, p.scale = l.decimal, l.scale
		return p
	case litText:
		return bindValue(classText, l.s)
	}
	return piece{text: "NULL"}
}

func (w *sqliteWriter) columnPiece(c *column) piece {
	if n, ok := w.aliasedField(c); ok {
		return w.withoutAliases(func() piece { return w.writeValue(n) })
	}
	r, ok := w.resolveColumn(c)
	if !ok {
		return piece{text: "NULL"}
	}
	p := piece{text: r.text}
	switch r.kind {
	case Int:
		p.class = classInt
	case Float:
		p.class, p.float = classReal, true
	case Time:
		p.class = classDateTime
	case Key:
		p.class, p.exact, p.key = classText, true, true
	case Blob:
		p.class, p.exact, p.bytes = classText, true, true
	default:
		p.class = classText
	}
	return p
}

func (w *sqliteWriter) writeUnary(n *unary) piece {
	switch n.op {
	case "NOT":
		return w.newPiece(classInt, "(NOT ", w.writeCondition(n.x), ")")
	case "~":
		return w.newPiece(classInt, "(~", w.toInteger(w.writeValue(n.x)), ")")
	}
	x := w.toNumber(w.writeValue(n.x))
	p := w.newPiece(x.class, "(-", x, ")")
	p.float = x.float
	return p
}

func (w *sqliteWriter) writeBinary(n *binary) piece {
	switch n.op {
	case "=", "<>", "<", "<=", ">", ">=":
		return w.writeComparison(n.op, w.writeValue(n.l), w.writeValue(n.r))
	case "&", "|":
		return w.newPiece(classInt, "(", w.toInteger(w.writeValue(n.l)), " "+n.op+" ", w.toInteger(w.writeValue(n.r)), ")")
	}
	return w.writeArithmetic(n.op, w.writeValue(n.l), w.writeValue(n.r))
}

func (w *sqliteWriter) writeArithmetic(op string, l, r piece) piece {
	scale, decimal := exactScale(op, l, r)
	l, r = w.toNumber(l), w.toNumber(r)
	p := w.writeCalculation(op, l, r)
	p.float, p.decimal, p.scale = l.float || r.float, decimal, scale
	return p
}

// quotientDigits is the number of digits that MySQL adds to a quotient.
const quotientDigits = 4

// exactScale returns the scale of the result of an operator if it is a DECIMAL.
func exactScale(op string, l, r piece) (scale int, decimal bool) {
	switch {
	case !l.isPrecise() || !r.isPrecise():
		return 0, false
	case op == "/":
		return l.scale + quotientDigits, true
	case op == "*":
		return l.scale + r.scale, l.decimal || r.decimal
	case op == "+" || op == "-":
		return max(l.scale, r.scale), l.decimal || r.decimal
	}
	return 0, false
}

func (w *sqliteWriter) writeCalculation(op string, l, r piece) piece {
	c := classReal
	if l.class <= classInt && r.class <= classInt {
		c = classInt
	}
	switch op {
	case "/":
		if l.lit {
			if i, ok := l.args[0].(int64); ok {
				l = bindValue(classReal, float64(i))
			}
			return w.newPiece(classReal, "(", l, " / ", r, ")")
		}
		return w.newPiece(classReal, "(CAST(", l, " AS REAL) / ", r, ")")
	case "DIV":
		if c == classInt {
			return w.newPiece(classInt, "(", l, " / ", r, ")")
		}
		return w.newPiece(classInt, "CAST((", l, " / ", r, ") AS INTEGER)")
	case "%":
		if c == classInt {
			return w.newPiece(classInt, "(", l, " % ", r, ")")
		}
		return w.newPiece(classReal, "my_mod(", l, ", ", r, ")")
	}
	return w.newPiece(c, "(", l, " "+op+" ", r, ")")
}

func (w *sqliteWriter) writeLike(n *like) piece {
	x, pattern := w.toText(w.writeValue(n.x)), w.toText(w.writeValue(n.pattern))
	parts := []any{"(", x, " ", notPrefix(n.not), "LIKE ", pattern}
	escaped := true
	if pattern.lit {
		s, _ := pattern.args[0].(string)
		if len(s) > maxPattern {
			return w.recordError(&Error{Part: "LIKE pattern", Reason: "is too long"})
		}
		escaped = strings.Contains(s, `\`)
	}
	if escaped {
		parts = append(parts, " ESCAPE ", bindValue(classText, `\`))
	}
	return w.newPiece(classInt, append(parts, ")")...)
}

func (w *sqliteWriter) writeCast(n *cast) piece {
	p := w.writeValue(n.x)
	switch n.to {
	case "SIGNED", "UNSIGNED":
		return w.toInteger(p)
	case "DATETIME":
		return w.newPiece(classDateTime, "my_datetime(", p, ")")
	case "DATE":
		return w.newPiece(classDate, "my_date(", p, ")")
	}
	p = w.toText(p)
	p.class = classText // even for NULL
	p.exact, p.bytes = false, false
	return p
}

func (w *sqliteWriter) writeAggregate(n *aggregate) piece {
	x := w.writeArgument(n)
	distinct := ""
	if n.distinct {
		distinct = "DISTINCT "
	}
	if x.class == classText && !x.exact {
		if n.name == "COUNT" && n.distinct {
			x = w.foldText(x)
		} else {
			x = w.newPiece(classText, x, " COLLATE NOCASE")
		}
	}
	switch n.name {
	case "COUNT":
		return w.newPiece(classInt, "count("+distinct, x, ")")
	case "SUM", "AVG":
		precise, scale := x.isPrecise(), x.scale
		x = w.toNumber(x)
		p := w.newPiece(x.class, strings.ToLower(n.name)+"("+distinct, x, ")")
		if n.name == "AVG" {
			p.class = classReal
			scale += quotientDigits
		}
		p.float = x.float
		if precise {
			p.decimal, p.scale = true, scale
		}
		return p
	case "MIN", "MAX":
		p := w.newPiece(x.class, strings.ToLower(n.name)+"(", x, ")")
		p.traits = x.traits
		return p
	}
	return w.newPiece(classInt, "my_bit_or(", w.toInteger(x), ")")
}
