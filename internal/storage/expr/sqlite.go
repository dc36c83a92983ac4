package expr

import (
	"math"
	"strings"
)

// sqliteWriter writes MySQL's meaning in SQLite's language. Each node becomes a
// piece whose class is known before any row is seen, so that conversions are
// written only where MySQL would convert.
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
		// SQLite's IS [NOT] TRUE and FALSE mean the same.
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

// condition writes a node as a condition: MySQL takes any value as one.
func (w *sqliteWriter) condition(n node) piece {
	p := w.value(n)
	switch p.class {
	case classText:
		return w.number(p)
	case classDateTime, classDate, classTime:
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
	case p.class == classInt && p.mask: // turns the top bit: unsigned order as signed
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
		case !q.lit && strings.Contains(q.text, "'SECOND'"): // may have a fraction
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

// truth marks a piece that yields 0, 1 or NULL.
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
		p.exact, p.bytes, p.mask = true, true, true // mask: a number by its bytes
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

// bitwise works on patterns of 64 bits, as MySQL's unsigned integers do. The
// results of plain columns and literals stay plain; what may have its top bit
// set is marked.
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
	case "^": // a xor b
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

func literalInt(p piece) (int64, bool) {
	if !p.lit {
		return 0, false
	}
	n, ok := p.args[0].(int64)
	return n, ok
}

// unsigned reads a pattern with the top bit set as the number that MySQL sees.
func (w *sqliteWriter) unsigned(p piece) piece {
	if p.class != classInt || !p.mask {
		return p
	}
	return w.form(classInt, "my_unsigned(", p, ")")
}

// number converts to a number: texts by their leading digits, dates to
// YYYYMMDDhhmmss, times to hhmmss.
func (w *sqliteWriter) number(p piece) piece {
	switch p.class {
	case classInt:
		return w.unsigned(p)
	case classText:
		if p.lit {
			return literalNumber(p)
		}
		if p.date {
			return w.form(classInt, "my_number(", p, ")")
		}
		q := w.form(classReal, "CAST(", p, " AS NUMERIC)")
		q.float = true
		return q
	case classDateTime, classDate, classTime:
		if p.lit {
			return bindValue(classInt, momentNumber(p.args[0]))
		}
		return w.form(classInt, "my_number(", p, ")")
	}
	return p
}

func literalNumber(p piece) piece {
	s, _ := p.args[0].(string)
	if p.mask {
		return numberPiece(bytesNumber(s))
	}
	q := numberPiece(leadingNumber(s))
	q.float = true
	return q
}

func numberPiece(v any) piece {
	switch v := v.(type) {
	case int64:
		p := bindValue(classInt, v)
		p.small = v >= 0
		return p
	case uint64:
		p := bindValue(classInt, int64(v))
		p.small, p.mask = v <= math.MaxInt64, v > math.MaxInt64
		return p
	}
	return bindValue(classReal, v)
}

// bits converts to a 64-bit pattern.
func (w *sqliteWriter) bits(p piece) piece {
	switch p.class {
	case classReal:
		if p.lit {
			return numberPiece(roundInt(p.args[0].(float64)))
		}
		if p.float {
			return w.form(classInt, "CAST(my_rint(", p, ", ", bindValue(classInt, int64(0)), ") AS INTEGER)")
		}
		return w.form(classInt, "CAST(round(", p, ") AS INTEGER)")
	case classText:
		if p.lit {
			if q := literalNumber(p); q.class == classInt {
				return q
			}
			return numberPiece(leadingInt(p.args[0].(string)))
		}
		if p.date {
			return w.number(p)
		}
		return w.form(classInt, "CAST(", p, " AS INTEGER)")
	case classDateTime, classDate, classTime:
		return w.number(p)
	}
	return p
}

// text converts to a text.
func (w *sqliteWriter) text(p piece) piece {
	switch p.class {
	case classInt:
		if p.lit && !p.mask {
			return bindValue(classText, textOf(p.args[0]))
		}
		if p.mask {
			return w.form(classText, "my_unsigned_text(", p, ")")
		}
		return w.form(classText, "CAST(", p, " AS TEXT)")
	case classReal:
		if p.lit {
			return bindValue(classText, textOf(p.args[0]))
		}
		return w.form(classText, "my_text(", p, ")")
	case classText:
		p.mask = false
		return p
	case classDateTime, classDate, classTime:
		p.class = classText
	}
	return p
}

// dateTime converts to 'YYYY-MM-DD hh:mm:ss'. It reports false for a literal
// that is no date.
func (w *sqliteWriter) dateTime(p piece) (piece, bool) {
	switch {
	case p.class == classDateTime || p.class == classNull:
		return p, true
	case p.lit:
		m, ok := parseMoment(p.args[0])
		if !ok {
			return p, false
		}
		return bindValue(classDateTime, m.dateTimeText()), true
	case p.class == classDate:
		return w.form(classDateTime, "(", p, " || ' 00:00:00')"), true
	}
	return w.form(classDateTime, "my_datetime(", p, ")"), true
}

// instant is dateTime for a comparison: a text that is no date is before all.
func (w *sqliteWriter) instant(p piece) (piece, bool) {
	if p.class == classText && !p.lit {
		return w.form(classDateTime, "my_instant(", p, ")"), true
	}
	if q, ok := w.dateTime(p); ok || p.class != classText {
		return q, ok
	}
	return bindValue(classDateTime, noInstant), true
}

// seconds converts a span of time, or a text or number that means one.
func (w *sqliteWriter) seconds(p piece) piece {
	if p.lit {
		d, ok := parseClock(p.args[0])
		if !ok {
			return piece{text: "NULL"}
		}
		return numberPiece(d.seconds())
	}
	return w.form(classReal, "my_seconds(", p, ")")
}

// align converts two operands to what MySQL compares them as.
func (w *sqliteWriter) align(a, b piece) (piece, piece) {
	dated := func(p piece) bool { return p.class == classDateTime || p.class == classDate }
	numeric := func(p piece) bool { return p.class == classInt || p.class == classReal }
	switch {
	case a.class == classNull || b.class == classNull:
		return a, b
	case a.class == classDate && b.class == classDate:
		return a, b
	case dated(a) && dated(b), dated(a) && b.class == classText, a.class == classText && dated(b),
		dated(a) && numeric(b) && b.lit, numeric(a) && a.lit && dated(b):
		p, ok := w.instant(a)
		q, also := w.instant(b)
		if ok && also {
			return p, q
		}
		return w.number(a), w.number(b)
	case a.class == classTime && (b.class == classTime || b.class == classText || numeric(b) && b.lit),
		b.class == classTime && (a.class == classText || numeric(a) && a.lit):
		return w.seconds(a), w.seconds(b)
	case a.class == classText && b.class == classText:
		switch {
		case a.bytes || b.bytes:
			return a, b
		case a.exact || b.exact:
			return w.trimmed(a), w.trimmed(b)
		}
		return w.folded(a), w.folded(b)
	}
	return w.number(a), w.number(b)
}

// trimmed drops trailing spaces, which MySQL's collations do not compare. Keys
// are taken to have none, so that their index can serve.
func (w *sqliteWriter) trimmed(p piece) piece {
	switch {
	case p.lit:
		s, _ := p.args[0].(string)
		return bindValue(classText, strings.TrimRight(s, " "))
	case p.key:
		return p
	}
	return w.form(classText, "rtrim(", p, ")")
}

// folded is a text as MySQL's collation orders it. It compares capital letters:
// "_" comes after them, where SQLite's NOCASE has it before.
func (w *sqliteWriter) folded(p piece) piece {
	if p.lit {
		s, _ := p.args[0].(string)
		return bindValue(classText, upperASCII(strings.TrimRight(s, " ")))
	}
	return w.form(classText, "upper(rtrim(", p, "))")
}

// upperASCII is SQLite's upper.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}, s)
}

func (w *sqliteWriter) compare(op string, a, b piece) piece {
	if a.mask && b.mask && a.class == classInt && b.class == classInt && (op == "=" || op == "<>" || op == "<=>") {
		a.mask, b.mask = false, false // patterns are equal or not, whatever their sign
	}
	l, r := w.align(a, b)
	if op == "<=>" {
		op = "IS"
	}
	return w.truth(w.form(classInt, "(", l, " "+op+" ", r, ")"))
}

func (w *sqliteWriter) between(n *between) piece {
	sides := collated([]piece{w.value(n.x), w.value(n.lo), w.value(n.hi)})
	x, lo, hi := sides[0], sides[1], sides[2]
	a, l := w.align(x, lo)
	b, h := w.align(x, hi)
	if a.text == b.text && !a.lit {
		return w.truth(w.form(classInt, "(", a, " ", negate(n.not), "BETWEEN ", l, " AND ", h, ")"))
	}
	p := w.form(classInt, "(", w.compare(">=", x, lo), " AND ", w.compare("<=", x, hi), ")")
	if n.not {
		p = w.form(classInt, "(NOT ", p, ")")
	}
	return w.truth(p)
}

func (w *sqliteWriter) in(n *in) piece {
	x := w.value(n.x)
	if n.sub != nil {
		return w.inQuery(n, x)
	}
	sides := []piece{x}
	for _, item := range n.list {
		sides = append(sides, w.value(item))
	}
	sides = collated(sides)
	x = sides[0]
	// Items that MySQL compares in different ways make separate lists.
	type group struct {
		left  piece
		items []piece
	}
	var groups []*group
	for _, item := range sides[1:] {
		l, r := w.align(x, item)
		var g *group
		for _, known := range groups {
			if known.left.text == l.text && (!l.lit || known.left.args[0] == l.args[0]) {
				g = known
			}
		}
		if g == nil {
			g = &group{left: l}
			groups = append(groups, g)
		}
		g.items = append(g.items, r)
	}
	lists := make([]piece, len(groups))
	for i, g := range groups {
		lists[i] = w.form(classInt, g.left, " IN (", w.joined(classNull, ", ", g.items), ")")
	}
	p := w.form(classInt, "(", w.joined(classInt, " OR ", lists), ")")
	if n.not {
		p = w.form(classInt, "(NOT ", p, ")")
	}
	return w.truth(p)
}

// collated lets all texts compare exactly when one of them does.
func collated(pieces []piece) []piece {
	exact := false
	for _, p := range pieces {
		exact = exact || p.exact && !p.bytes
	}
	for i := range pieces {
		if pieces[i].class == classText && exact {
			pieces[i].exact = true
		}
	}
	return pieces
}

func (w *sqliteWriter) inQuery(n *in, x piece) piece {
	left := x
	sub := w.queryAs(n.sub, oneField, func(f piece) piece {
		l, r := w.align(x, f)
		left = l
		return r
	})
	return w.truth(w.form(classInt, "(", left, " ", negate(n.not), "IN (", sub, "))"))
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
	p.class = classText // a NULL too
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

// tests writes the WHENs of a CASE with a value. When all of them compare it the
// same way, the value stands once, after the word CASE; else each WHEN compares.
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

// shared gives a piece the class and marks that unified pieces have in common.
func shared(p piece, unified []piece) piece {
	p.small = true
	for _, u := range unified {
		if u.class == classNull {
			continue
		}
		p.class = u.class
		p.small = p.small && u.small
		p.exact = p.exact || u.exact
		p.bytes = p.bytes || u.bytes
		p.float = p.float || u.float
		p.mask = p.mask || u.mask
	}
	if p.class != classReal {
		p.float = false
	}
	if p.class != classInt {
		p.small, p.mask = false, false
	}
	if p.class != classText {
		p.exact, p.bytes = false, false
	}
	return p
}

// unify converts alternatives to the one class that MySQL gives their whole.
func (w *sqliteWriter) unify(pieces []piece) []piece {
	common := classNull
	for _, p := range pieces {
		common = commonClass(common, p.class)
	}
	masks, negative := false, false
	for _, p := range pieces {
		masks = masks || p.class == classInt && p.mask
		negative = negative || p.class == classInt && !p.mask && !p.small
	}
	unified := make([]piece, len(pieces))
	for i, p := range pieces {
		switch {
		case p.class == classNull:
		case common == classInt && masks && negative: // no pattern holds both
			p = w.unsigned(p)
			p.mask = false
		case common == classText:
			p = w.text(p)
		case common == classDateTime:
			p, _ = w.dateTime(p)
		case common == classReal:
			p = w.number(p)
			p.class = classReal
		}
		unified[i] = p
	}
	return unified
}

func commonClass(a, b class) class {
	switch {
	case a == classNull || a == b:
		return b
	case b == classNull:
		return a
	case a <= classReal && b <= classReal:
		return classReal
	case (a == classDate || a == classDateTime) && (b == classDate || b == classDateTime):
		return classDateTime
	}
	return classText
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
	case "SUM":
		x = w.number(x)
		p := w.form(x.class, "sum("+distinct, x, ")")
		p.float = x.float
		return p
	case "AVG":
		x = w.number(x)
		p := w.form(classReal, "avg("+distinct, x, ")")
		p.float = x.float
		return p
	case "MIN", "MAX":
		p := w.form(x.class, strings.ToLower(n.name)+"(", w.unsigned(x), ")")
		p.exact, p.bytes, p.float, p.small = x.exact, x.bytes, x.float, x.small
		return p
	}
	p := w.form(classInt, "my_"+strings.ToLower(n.name)+"(", w.bits(x), ")")
	p.mask = true
	return p
}
