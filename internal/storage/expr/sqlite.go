package expr

import (
	"math"
	"strings"
)

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
		return w.truth(w.form(classInt, "(", w.joined(classInt, " "+n.op+" ", xs), ")"))
	case *isNull:
		return w.truth(w.form(classInt, "(", w.value(n.x), " IS ", negate(n.not), "NULL)"))
	case *isTruth:
		word := "FALSE)"
		if n.want {
			word = "TRUE)"
		}
		return w.truth(w.form(classInt, "(", w.condition(n.x), " IS ", negate(n.not), word))
	case *between:
		return w.between(n)
	case *in:
		return w.in(n)
	case *like:
		return w.like(n)
	case *match:
		return w.match(n)
	case *call:
		r, ok := w.rule(n)
		if !ok {
			return piece{text: "NULL"}
		}
		return r.sqlite(w, n)
	case *cast:
		return w.cast(n)
	case *collate:
		p := w.text(w.value(n.x))
		p.exact = n.exact
		return p
	case *choice:
		return w.choice(n)
	case *aggregate:
		return w.aggregate(n)
	case *exists:
		return w.truth(w.form(classInt, "(", negate(n.not), "EXISTS (", w.query(n.sub, existence), "))"))
	case *scalar:
		p := w.query(n.sub, oneField)
		q := w.form(p.class, "(", p, ")")
		q.exact, q.bytes, q.float, q.mask, q.small = p.exact, p.bytes, p.float, p.mask, p.small
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
	case p.class == classInt && p.mask: // flips the top bit: unsigned order as signed order
		return w.form(classInt, "my_xor(", p, ", ", bindValue(classInt, int64(math.MinInt64)), ")")
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
		switch {
		case !ok || p.class == classTime:
			return w.fail(&Error{Part: "value", Reason: "is not a date"})
		case !q.lit && strings.Contains(q.text, "'SECOND'"): // may hold a fraction
			return w.form(classDateTime, "substr(", q, ", 1, 19)")
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

// truth marks a piece whose value is 0, 1 or NULL.
func (w *sqliteWriter) truth(p piece) piece {
	p.class, p.small = classInt, true
	return p
}

func literalPiece(l *literal) piece {
	switch l.kind {
	case litInt:
		p := bindValue(classInt, l.i)
		p.small = l.i >= 0
		return p
	case litUint:
		p := bindValue(classInt, l.i)
		p.mask = true
		return p
	case litReal:
		return bindValue(classReal, l.f)
	case litText:
		return bindValue(classText, l.s)
	case litBytes:
		p := bindValue(classText, l.s)
		p.exact, p.bytes, p.mask = true, true, true // mask: as a number, its bytes
		return p
	case litDateTime:
		return bindValue(classDateTime, l.s)
	case litDate:
		return bindValue(classDate, l.s)
	case litTime:
		return bindValue(classTime, l.s)
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
		p.class, p.small = classInt, true
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
		return w.truth(w.form(classInt, "(NOT ", w.condition(n.x), ")"))
	case "~":
		p := w.form(classInt, "(~", w.bits(w.value(n.x)), ")")
		p.mask = true
		return p
	}
	x := w.number(w.value(n.x))
	p := w.form(x.class, "(-", x, ")")
	p.float = x.float
	return p
}

func (w *sqliteWriter) binary(n *binary) piece {
	switch n.op {
	case "=", "<>", "<", "<=", ">", ">=", "<=>":
		return w.compare(n.op, w.value(n.l), w.value(n.r))
	case "XOR":
		return w.truth(w.form(classInt, "((", w.condition(n.l), " <> 0) <> (", w.condition(n.r), " <> 0))"))
	case "&", "|", "^", "<<", ">>":
		return w.bitwise(n.op, w.value(n.l), w.value(n.r))
	}
	return w.arithmetic(n.op, w.value(n.l), w.value(n.r))
}

func (w *sqliteWriter) arithmetic(op string, l, r piece) piece {
	l, r = w.number(l), w.number(r)
	p := w.calculation(op, l, r)
	p.float = l.float || r.float
	return p
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

// bitwise works on 64-bit patterns, like MySQL's unsigned integers. It sets mask on
// results that may have their top bit set.
func (w *sqliteWriter) bitwise(op string, l, r piece) piece {
	l, r = w.bits(l), w.bits(r)
	p := piece{}
	switch op {
	case "&":
		p = w.form(classInt, "(", l, " & ", r, ")")
		p.small = l.small || r.small
	case "|":
		p = w.form(classInt, "(", l, " | ", r, ")")
		p.small = l.small && r.small
	case "^":
		p = w.form(classInt, "my_xor(", l, ", ", r, ")")
		p.small = l.small && r.small
	case "<<":
		p = w.form(classInt, "my_shift_left(", l, ", ", r, ")")
	case ">>":
		if n, ok := literalInt(r); ok && l.small && n >= 0 && n < 64 {
			p = w.form(classInt, "(", l, " >> ", r, ")")
		} else {
			p = w.form(classInt, "my_shift_right(", l, ", ", r, ")")
		}
		p.small = l.small
	}
	p.mask = !p.small
	return p
}

func (w *sqliteWriter) like(n *like) piece {
	x, pattern := w.text(w.value(n.x)), w.text(w.value(n.pattern))
	parts := []any{"(", x, " ", negate(n.not), "LIKE ", pattern}
	needed := true
	if pattern.lit {
		s, _ := pattern.args[0].(string)
		if len(s) > maxPattern {
			return w.fail(&Error{Part: "LIKE pattern", Reason: "is too long"})
		}
		needed = strings.Contains(s, n.escape)
	}
	if needed && n.escape != "" {
		parts = append(parts, " ESCAPE ", bindValue(classText, n.escape))
	}
	return w.truth(w.form(classInt, append(parts, ")")...))
}

func (w *sqliteWriter) match(n *match) piece {
	x, pattern := w.text(w.value(n.x)), w.text(w.value(n.pattern))
	if pattern.lit {
		if _, err := compilePattern(textOf(pattern.args[0])); err != nil {
			return w.fail(&Error{Part: "REGEXP pattern", Reason: "is not a regular expression"})
		}
	}
	p := w.form(classInt, "my_regexp(", x, ", ", pattern, ")")
	if n.not {
		p = w.form(classInt, "(NOT ", p, ")")
	}
	return w.truth(p)
}

func (w *sqliteWriter) cast(n *cast) piece {
	p := w.value(n.x)
	switch n.to {
	case "SIGNED":
		p = w.bits(p)
		p.mask, p.small = false, false
		return p
	case "UNSIGNED":
		p = w.bits(p)
		p.mask = !p.small
		return p
	case "DOUBLE":
		p = w.form(classReal, "CAST(", w.number(p), " AS REAL)")
		p.float = true
		return p
	case "DECIMAL":
		return w.form(classReal, "my_decimal(", w.number(p), ", ", bindValue(classInt, int64(n.length)), ", ", bindValue(classInt, int64(n.decimals)), ")")
	case "DATETIME":
		return w.form(classDateTime, "my_datetime(", p, ")")
	case "DATE":
		return w.form(classDate, "my_date(", p, ")")
	case "TIME":
		return w.form(classTime, "my_time(", p, ")")
	}
	p = w.text(p)
	p.class = classText // even for NULL
	if n.length >= 0 {
		p = w.form(classText, "my_left(", p, ", ", bindValue(classInt, int64(n.length)), ")")
	}
	p.exact = n.to == "BINARY"
	p.bytes = p.exact
	return p
}

func (w *sqliteWriter) choice(n *choice) piece {
	results := make([]piece, 0, len(n.whens)+1)
	for _, branch := range n.whens {
		results = append(results, w.value(branch.result))
	}
	if n.other != nil {
		results = append(results, w.value(n.other))
	}
	results = w.unify(results)
	parts := []any{"CASE"}
	tests := make([]piece, len(n.whens))
	if n.value == nil {
		for i, branch := range n.whens {
			tests[i] = w.condition(branch.test)
		}
	} else {
		var subject piece
		tests, subject = w.tests(n)
		parts = append(parts, subject)
	}
	for i := range n.whens {
		parts = append(parts, " WHEN ", tests[i], " THEN ", results[i])
	}
	if n.other != nil {
		parts = append(parts, " ELSE ", results[len(results)-1])
	}
	p := w.form(classNull, append(parts, " END")...)
	return shared(p, results)
}

// tests writes the WHENs of a CASE with a value. If all comparisons use one type, the
// value follows the word CASE. Otherwise each WHEN repeats it.
func (w *sqliteWriter) tests(n *choice) (tests []piece, subject piece) {
	x := w.value(n.value)
	tests = make([]piece, len(n.whens))
	same := true
	for i, branch := range n.whens {
		l, r := w.align(x, w.value(branch.test))
		l = w.form(l.class, " ", l)
		if i == 0 {
			subject = l
		}
		same = same && l.text == subject.text && !x.lit
		tests[i] = r
	}
	if same {
		return tests, subject
	}
	for i, branch := range n.whens {
		tests[i] = w.compare("=", x, w.value(branch.test))
	}
	return tests, piece{}
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
		p := w.form(classInt, "count("+distinct, x, ")")
		p.small = true
		return p
	case "SUM", "AVG":
		x = w.number(x)
		p := w.form(x.class, strings.ToLower(n.name)+"("+distinct, x, ")")
		if p.float = x.float; n.name == "AVG" {
			p.class = classReal
		}
		return p
	case "MIN", "MAX":
		p := w.form(x.class, strings.ToLower(n.name)+"(", w.unsigned(x), ")")
		p.exact, p.bytes, p.float, p.small = x.exact, x.bytes, x.float, x.small
		return p
	}
	p := w.form(classInt, "my_bit_or(", w.bits(x), ")")
	p.mask = true
	return p
}
