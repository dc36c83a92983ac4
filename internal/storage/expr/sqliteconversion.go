package expr

import (
	"time"

	"hce/dc/internal/storage/expr/mysqlvalue"
)

// toNumber converts a text to its leading number, a date to YYYYMMDDhhmmss and a time
// to hhmmss.
func (w *sqliteWriter) toNumber(p piece) piece {
	switch p.class {
	case classText:
		if p.lit {
			q := numberPiece(mysqlvalue.LeadingNumber(p.args[0].(string)))
			q.float = true
			return q
		}
		if p.date {
			return w.newPiece(classInt, "my_number(", p, ")")
		}
		q := w.newPiece(classReal, "CAST(", p, " AS NUMERIC)")
		q.float = true
		return q
	case classDateTime, classDate, classTime:
		if p.lit {
			return bindValue(classInt, mysqlvalue.TimeNumber(p.args[0]))
		}
		return w.newPiece(classInt, "my_number(", p, ")")
	}
	return p
}

func numberPiece(v any) piece {
	if _, whole := v.(int64); whole {
		return bindValue(classInt, v)
	}
	return bindValue(classReal, v)
}

// toInteger converts a piece to an integer.
func (w *sqliteWriter) toInteger(p piece) piece {
	switch p.class {
	case classReal:
		if p.lit {
			return bindValue(classInt, mysqlvalue.Round(p.args[0].(float64)))
		}
		if p.float {
			return w.newPiece(classInt, "CAST(my_rint(", p, ") AS INTEGER)")
		}
		return w.newPiece(classInt, "CAST(round(", p, ") AS INTEGER)")
	case classText:
		if p.lit {
			return bindValue(classInt, mysqlvalue.LeadingInt(p.args[0].(string)))
		}
		if p.date {
			return w.toNumber(p)
		}
		return w.newPiece(classInt, "CAST(", p, " AS INTEGER)")
	case classDateTime, classDate, classTime:
		return w.toNumber(p)
	}
	return p
}

// toText converts a piece to a text.
func (w *sqliteWriter) toText(p piece) piece {
	switch p.class {
	case classInt:
		if p.lit {
			return bindValue(classText, mysqlvalue.Text(p.args[0]))
		}
		return w.newPiece(classText, "CAST(", p, " AS TEXT)")
	case classReal:
		if p.lit {
			return bindValue(classText, mysqlvalue.Text(p.args[0]))
		}
		return w.newPiece(classText, "my_text(", p, ")")
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
		m, ok := mysqlvalue.ParseMoment(p.args[0])
		if !ok {
			return p, false
		}
		return bindValue(classDateTime, m.Time.Format(time.DateTime)), true
	case p.class == classDate:
		return w.newPiece(classDateTime, "(", p, " || ' 00:00:00')"), true
	}
	return w.newPiece(classDateTime, "my_datetime(", p, ")"), true
}

// toComparableTime is dateTime for a comparison: an invalid date sorts before all dates.
func (w *sqliteWriter) toComparableTime(p piece) (piece, bool) {
	if p.class == classText && !p.lit {
		return w.newPiece(classDateTime, "my_instant(", p, ")"), true
	}
	if q, ok := w.dateTime(p); ok || p.class != classText {
		return q, ok
	}
	return bindValue(classDateTime, noInstant), true
}

// toSeconds converts a span of time, or a text or number that holds one, to seconds.
func (w *sqliteWriter) toSeconds(p piece) piece {
	if p.lit {
		d, ok := mysqlvalue.ParseSpan(p.args[0])
		if !ok {
			return piece{text: "NULL"}
		}
		return bindValue(classInt, int64(d))
	}
	return w.newPiece(classInt, "my_time_to_sec(", p, ")")
}

// withSharedClass gives a piece the common class and traits of unified pieces.
func withSharedClass(p piece, unified []piece) piece {
	precise := true
	for _, u := range unified {
		if u.class == classNull {
			continue
		}
		p.class = u.class
		precise = precise && u.isPrecise()
		p.exact = p.exact || u.exact
		p.bytes = p.bytes || u.bytes
		p.float = p.float || u.float
		p.decimal = p.decimal || u.decimal
		p.scale = max(p.scale, u.scale)
	}
	p.float = p.float && p.class == classReal
	p.decimal = p.decimal && precise
	if p.class != classText {
		p.exact, p.bytes = false, false
	}
	return p
}

// unifyPieces converts alternatives to the class that MySQL gives the whole expression.
func (w *sqliteWriter) unifyPieces(pieces []piece) []piece {
	common := classNull
	for _, p := range pieces {
		common = commonClass(common, p.class)
	}
	unified := make([]piece, len(pieces))
	for i, p := range pieces {
		switch {
		case p.class == classNull:
		case common == classText:
			p = w.toText(p)
		case common == classDateTime:
			p, _ = w.dateTime(p)
		case common == classReal:
			p = w.toNumber(p)
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
