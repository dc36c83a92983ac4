package expr

import "math"

func literalInt(p piece) (int64, bool) {
	if !p.lit {
		return 0, false
	}
	n, ok := p.args[0].(int64)
	return n, ok
}

// unsigned converts a pattern to the unsigned number that MySQL sees.
func (w *sqliteWriter) unsigned(p piece) piece {
	if p.class != classInt || !p.mask {
		return p
	}
	return w.form(classInt, "my_unsigned(", p, ")")
}

// number converts a text to its leading number, a date to YYYYMMDDhhmmss and a time
// to hhmmss.
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

// bits converts a piece to a 64-bit pattern.
func (w *sqliteWriter) bits(p piece) piece {
	switch p.class {
	case classReal:
		if p.lit {
			return numberPiece(roundInt(p.args[0].(float64)))
		}
		if p.float {
			return w.form(classInt, "CAST(my_rint(", p, ") AS INTEGER)")
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

// text converts a piece to a text.
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

// dateTime converts a piece to 'YYYY-MM-DD hh:mm:ss'. It returns false for a literal
// with an invalid date.
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

// instant is dateTime for a comparison: an invalid date sorts before all dates.
func (w *sqliteWriter) instant(p piece) (piece, bool) {
	if p.class == classText && !p.lit {
		return w.form(classDateTime, "my_instant(", p, ")"), true
	}
	if q, ok := w.dateTime(p); ok || p.class != classText {
		return q, ok
	}
	return bindValue(classDateTime, noInstant), true
}

// seconds converts a span of time, or a text or number that holds one, to seconds.
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

// shared gives a piece the common class and marks of unified pieces.
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

// unify converts alternatives to the class that MySQL gives the whole expression.
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
		case common == classInt && masks && negative: // no 64-bit pattern holds both
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
