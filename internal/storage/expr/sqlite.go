package expr

import "strings"

// sqliteWriter writes SQLite text with MySQL's meaning. It knows the class of each
// piece before it sees a row, so it writes conversions only where MySQL converts.
type sqliteWriter struct{ *writer }

func (w *sqliteWriter) value(n node) piece {
	if w.err != nil {
		return piece{text: "NULL"}
	}
	switch n := n.(type) {
	case *literal:
		return literalPiece(n)
	case *column:
		return w.columnPiece(n)
	case *unary:
		return w.unary(n)
	case *binary:
		return w.binary(n)
	case *logic:
		xs := make([]piece, len(n.xs))
		for i, x := range n.xs {
			xs[i] = w.condition(x)
		}
		return w.form(classInt, "(", w.joined(classInt, " "+n.op+" ", xs), ")")
	case *isNull:
		return w.form(classInt, "(", w.value(n.x), " IS ", negate(n.not), "NULL)")
	case *between:
		return w.between(n)
	case *in:
		return w.in(n)
	case *like:
		return w.like(n)
	case *call:
		return functions[n.name].sqlite(w, n)
	case *cast:
		return w.cast(n)
	case *aggregate:
		return w.aggregate(n)
	case *exists:
		return w.form(classInt, "(", negate(n.not), "EXISTS (", w.query(n.sub, existence), "))")
	case *scalar:
		p := w.query(n.sub, oneField)
		q := w.form(p.class, "(", p, ")")
		q.traits = p.traits
		return q
	}
	return w.fail(refuse("expression"))
}

// condition writes a node as a condition. MySQL accepts any value as a condition.
func (w *sqliteWriter) condition(n node) piece {
	p := w.value(n)
	if p.class >= classText {
		return w.number(p)
	}
	return p
}

func (w *sqliteWriter) sortKey(n node) piece {
	p := w.value(n)
	switch {
	case p.class == classText && !p.exact:
		return w.folded(p)
	case p.class == classText && !p.bytes:
		return w.trimmed(p)
	case p.class == classTime:
		return w.seconds(p)
	}
	return p
}

func (w *sqliteWriter) assign(kind Kind, n node) piece {
	p := w.value(n)
	if p.class == classNull {
		return p
	}
	switch kind {
	case Int:
		return w.bits(p)
	case Float:
		return w.number(p)
	case Time:
		q, ok := w.dateTime(p)
		if !ok || p.class == classTime {
			return w.fail(&Error{Part: "value", Reason: "is not a date"})
		}
		return q
	case Blob:
		return p
	}
	return w.text(p)
}

func negate(not bool) string {
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
	if n, ok := w.alias(c); ok {
		return w.withoutAliases(func() piece { return w.value(n) })
	}
	r, ok := w.column(c)
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

func (w *sqliteWriter) unary(n *unary) piece {
	switch n.op {
	case "NOT":
		return w.form(classInt, "(NOT ", w.condition(n.x), ")")
	case "~":
		return w.form(classInt, "(~", w.bits(w.value(n.x)), ")")
	}
	x := w.number(w.value(n.x))
	p := w.form(x.class, "(-", x, ")")
	p.float = x.float
	return p
}

func (w *sqliteWriter) binary(n *binary) piece {
	switch n.op {
	case "=", "<>", "<", "<=", ">", ">=":
		return w.compare(n.op, w.value(n.l), w.value(n.r))
	case "&", "|":
		return w.form(classInt, "(", w.bits(w.value(n.l)), " "+n.op+" ", w.bits(w.value(n.r)), ")")
	}
	return w.arithmetic(n.op, w.value(n.l), w.value(n.r))
}

func (w *sqliteWriter) arithmetic(op string, l, r piece) piece {
	scale, decimal := exactScale(op, l, r)
	l, r = w.number(l), w.number(r)
	p := w.calculation(op, l, r)
	p.float, p.decimal, p.scale = l.float || r.float, decimal, scale
	return p
}

// quotientDigits is the number of digits that MySQL adds to a quotient.
const quotientDigits = 4

// exactScale returns the scale of the result of an operator if it is a DECIMAL.
func exactScale(op string, l, r piece) (scale int, decimal bool) {
	switch {
	case !l.precise() || !r.precise():
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

func (w *sqliteWriter) calculation(op string, l, r piece) piece {
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
			return w.form(classReal, "(", l, " / ", r, ")")
		}
		return w.form(classReal, "(CAST(", l, " AS REAL) / ", r, ")")
	case "DIV":
		if c == classInt {
			return w.form(classInt, "(", l, " / ", r, ")")
		}
		return w.form(classInt, "CAST((", l, " / ", r, ") AS INTEGER)")
	case "%":
		if c == classInt {
			return w.form(classInt, "(", l, " % ", r, ")")
		}
		return w.form(classReal, "my_mod(", l, ", ", r, ")")
	}
	return w.form(c, "(", l, " "+op+" ", r, ")")
}

func (w *sqliteWriter) like(n *like) piece {
	x, pattern := w.text(w.value(n.x)), w.text(w.value(n.pattern))
	parts := []any{"(", x, " ", negate(n.not), "LIKE ", pattern}
	escaped := true
	if pattern.lit {
		s, _ := pattern.args[0].(string)
		if len(s) > maxPattern {
			return w.fail(&Error{Part: "LIKE pattern", Reason: "is too long"})
		}
		escaped = strings.Contains(s, `\`)
	}
	if escaped {
		parts = append(parts, " ESCAPE ", bindValue(classText, `\`))
	}
	return w.form(classInt, append(parts, ")")...)
}

func (w *sqliteWriter) cast(n *cast) piece {
	p := w.value(n.x)
	switch n.to {
	case "SIGNED", "UNSIGNED":
		return w.bits(p)
	case "DATETIME":
		return w.form(classDateTime, "my_datetime(", p, ")")
	case "DATE":
		return w.form(classDate, "my_date(", p, ")")
	}
	p = w.text(p)
	p.class = classText // even for NULL
	p.exact, p.bytes = false, false
	return p
}

func (w *sqliteWriter) aggregate(n *aggregate) piece {
	x := w.argument(n)
	distinct := ""
	if n.distinct {
		distinct = "DISTINCT "
	}
	if x.class == classText && !x.exact {
		if n.name == "COUNT" && n.distinct {
			x = w.folded(x)
		} else {
			x = w.form(classText, x, " COLLATE NOCASE")
		}
	}
	switch n.name {
	case "COUNT":
		return w.form(classInt, "count("+distinct, x, ")")
	case "SUM", "AVG":
		precise, scale := x.precise(), x.scale
		x = w.number(x)
		p := w.form(x.class, strings.ToLower(n.name)+"("+distinct, x, ")")
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
		p := w.form(x.class, strings.ToLower(n.name)+"(", x, ")")
		p.traits = x.traits
		return p
	}
	return w.form(classInt, "my_bit_or(", w.bits(x), ")")
}
