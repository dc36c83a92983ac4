package expr

import "strings"

// alignOperands converts two operands to the type in which MySQL compares them.
func (w *sqliteWriter) alignOperands(a, b piece) (piece, piece) {
	dated := func(p piece) bool { return p.class == classDateTime || p.class == classDate }
	numeric := func(p piece) bool { return p.class == classInt || p.class == classReal }
	switch {
	case a.class == classNull || b.class == classNull:
		return a, b
	case a.class == classDate && b.class == classDate:
		return a, b
	case dated(a) && dated(b), dated(a) && b.class == classText, a.class == classText && dated(b),
		dated(a) && numeric(b) && b.lit, numeric(a) && a.lit && dated(b):
		p, ok := w.toComparableTime(a)
		q, also := w.toComparableTime(b)
		if ok && also {
			return p, q
		}
		return w.toNumber(a), w.toNumber(b)
	case a.class == classTime && (b.class == classTime || b.class == classText || numeric(b) && b.lit),
		b.class == classTime && (a.class == classText || numeric(a) && a.lit):
		return w.toSeconds(a), w.toSeconds(b)
	case a.class == classText && b.class == classText:
		switch {
		case a.bytes || b.bytes:
			return a, b
		case a.exact || b.exact:
			return w.trimSpaces(a), w.trimSpaces(b)
		}
		return w.foldText(a), w.foldText(b)
	}
	return w.toNumber(a), w.toNumber(b)
}

// trimSpaces drops trailing spaces, which MySQL's collations ignore. Key columns hold
// no trailing spaces and stay unchanged, so that their index applies.
func (w *sqliteWriter) trimSpaces(p piece) piece {
	switch {
	case p.lit:
		s, _ := p.args[0].(string)
		return bindValue(classText, strings.TrimRight(s, " "))
	case p.key:
		return p
	}
	return w.newPiece(classText, "rtrim(", p, ")")
}

// foldText converts a text to the form that MySQL's collation orders. It uses capital
// letters because "_" sorts after them; SQLite's NOCASE sorts "_" before letters.
func (w *sqliteWriter) foldText(p piece) piece {
	if p.lit {
		s, _ := p.args[0].(string)
		return bindValue(classText, upperASCII(strings.TrimRight(s, " ")))
	}
	return w.newPiece(classText, "upper(rtrim(", p, "))")
}

// upperASCII equals SQLite's upper function.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}, s)
}

func (w *sqliteWriter) writeComparison(op string, a, b piece) piece {
	l, r := w.alignOperands(a, b)
	return w.newPiece(classInt, "(", l, " "+op+" ", r, ")")
}

func (w *sqliteWriter) writeBetween(n *between) piece {
	sides := unifyCollation([]piece{w.writeValue(n.x), w.writeValue(n.lo), w.writeValue(n.hi)})
	x, lo, hi := sides[0], sides[1], sides[2]
	a, l := w.alignOperands(x, lo)
	b, h := w.alignOperands(x, hi)
	if a.text == b.text && !a.lit {
		return w.newPiece(classInt, "(", a, " ", notPrefix(n.not), "BETWEEN ", l, " AND ", h, ")")
	}
	p := w.newPiece(classInt, "(", w.writeComparison(">=", x, lo), " AND ", w.writeComparison("<=", x, hi), ")")
	if n.not {
		p = w.newPiece(classInt, "(NOT ", p, ")")
	}
	return p
}

func (w *sqliteWriter) writeIn(n *in) piece {
	x := w.writeValue(n.x)
	if n.sub != nil {
		return w.inQuery(n, x)
	}
	sides := []piece{x}
	for _, item := range n.list {
		sides = append(sides, w.writeValue(item))
	}
	sides = unifyCollation(sides)
	x = sides[0]
	// MySQL chooses the type of each comparison separately: one list for each type.
	type group struct {
		left  piece
		items []piece
	}
	var groups []*group
	for _, item := range sides[1:] {
		l, r := w.alignOperands(x, item)
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
		lists[i] = w.newPiece(classInt, g.left, " IN (", w.joinWith(classNull, ", ", g.items), ")")
	}
	p := w.newPiece(classInt, "(", w.joinWith(classInt, " OR ", lists), ")")
	if n.not {
		p = w.newPiece(classInt, "(NOT ", p, ")")
	}
	return p
}

// unifyCollation makes all texts exact if one of them is.
func unifyCollation(pieces []piece) []piece {
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
		l, r := w.alignOperands(x, f)
		left = l
		return r
	})
	return w.newPiece(classInt, "(", left, " ", notPrefix(n.not), "IN (", sub, "))")
}
