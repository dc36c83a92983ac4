package expr

import (
	"math"
	"strconv"
	"strings"
)

// mysqlWriter writes the tree in MySQL's own language: what it adds is names
// that are looked up, bound literals and bound instants.
type mysqlWriter struct{ *writer }

func (w *mysqlWriter) condition(n node) piece      { return w.value(n) }
func (w *mysqlWriter) sortKey(n node) piece        { return w.value(n) }
func (w *mysqlWriter) assign(_ Kind, n node) piece { return w.value(n) }
func (w *mysqlWriter) make(parts ...any) piece     { return w.form(classNull, parts...) }
func (w *mysqlWriter) list(list []node) piece      { return w.joined(classNull, ", ", w.values(list)) }
func (w *mysqlWriter) typed(kind string, v any) piece {
	return w.make("CAST(", bindValue(classNull, v), " AS "+kind+")")
}

func (w *mysqlWriter) values(list []node) []piece {
	pieces := make([]piece, len(list))
	for i, n := range list {
		pieces[i] = w.value(n)
	}
	return pieces
}

func (w *mysqlWriter) value(n node) piece {
	if w.err != nil {
		return piece{text: "NULL"}
	}
	switch n := n.(type) {
	case *literal:
		return w.literal(n)
	case *column:
		if aliased, ok := w.alias(n); ok {
			return w.withoutAliases(func() piece { return w.value(aliased) })
		}
		r, ok := w.column(n)
		if !ok {
			return piece{text: "NULL"}
		}
		return piece{text: r.text}
	case *unary:
		return w.make("("+n.op+" ", w.value(n.x), ")")
	case *binary:
		return w.make("(", w.value(n.l), " "+n.op+" ", w.value(n.r), ")")
	case *logic:
		return w.make("(", w.joined(classNull, " "+n.op+" ", w.values(n.xs)), ")")
	case *isNull:
		return w.make("(", w.value(n.x), " IS "+negate(n.not)+"NULL)")
	case *isTruth:
		return w.make("(", w.value(n.x), " IS "+negate(n.not)+strings.ToUpper(strconv.FormatBool(n.want))+")")
	case *between:
		return w.make("(", w.value(n.x), " "+negate(n.not)+"BETWEEN ", w.value(n.lo), " AND ", w.value(n.hi), ")")
	case *in:
		items := piece{}
		if n.sub != nil {
			items = w.query(n.sub, oneField)
		} else {
			items = w.list(n.list)
		}
		return w.make("(", w.value(n.x), " "+negate(n.not)+"IN (", items, "))")
	case *like:
		return w.make("(", w.value(n.x), " "+negate(n.not)+"LIKE ", w.value(n.pattern), escapeClause(n.escape), ")")
	case *match:
		return w.make("(", w.value(n.x), " "+negate(n.not)+"REGEXP ", w.value(n.pattern), ")")
	case *call:
		return w.call(n)
	case *cast:
		return w.make("CAST(", w.value(n.x), " AS "+castType(n)+")")
	case *collate:
		if !aliasName.MatchString(n.name) {
			return w.fail(refuse("collation " + n.name))
		}
		return w.make("(", w.value(n.x), " COLLATE "+n.name+")")
	case *choice:
		return w.choice(n)
	case *aggregate:
		name := n.name + "("
		if n.distinct {
			name += "DISTINCT "
		}
		return w.make(name, w.argument(n), ")")
	case *exists:
		return w.make("("+negate(n.not)+"EXISTS (", w.query(n.sub, existence), "))")
	case *scalar:
		return w.make("(", w.query(n.sub, oneField), ")")
	}
	return w.fail(refuse("expression"))
}

func (w *mysqlWriter) literal(l *literal) piece {
	switch l.kind {
	case litInt:
		return bindValue(classNull, l.i)
	case litUint:
		return bindValue(classNull, uint64(l.i))
	case litReal:
		return bindValue(classNull, l.f)
	case litText:
		return bindValue(classNull, l.s)
	case litBytes:
		return bindValue(classNull, []byte(l.s))
	case litDateTime:
		return w.typed("DATETIME", l.s)
	case litDate:
		return w.typed("DATE", l.s)
	case litTime:
		return w.typed("TIME", l.s)
	}
	return piece{text: "NULL"}
}

// escapeClause writes an ESCAPE, which takes no placeholder. The sign is one of
// ASCII; the backslash is MySQL's own default.
func escapeClause(sign string) string {
	switch sign {
	case `\`:
		return ""
	case "'":
		sign = "''"
	}
	return " ESCAPE '" + sign + "'"
}

func castType(n *cast) string {
	switch {
	case n.to == "DECIMAL":
		return "DECIMAL(" + strconv.Itoa(min(n.length, 65)) + ", " + strconv.Itoa(min(n.decimals, 30)) + ")"
	case n.length >= 0 && n.length <= math.MaxInt32:
		return n.to + "(" + strconv.Itoa(n.length) + ")"
	}
	return n.to
}

func (w *mysqlWriter) choice(n *choice) piece {
	parts := []any{"CASE"}
	if n.value != nil {
		parts = append(parts, " ", w.value(n.value))
	}
	for _, branch := range n.whens {
		parts = append(parts, " WHEN ", w.value(branch.test), " THEN ", w.value(branch.result))
	}
	if n.other != nil {
		parts = append(parts, " ELSE ", w.value(n.other))
	}
	return w.make(append(parts, " END")...)
}

// call writes a function. Instants are bound, so that a text means the same as
// on SQLite; the forms with words inside their parentheses are written out.
func (w *mysqlWriter) call(n *call) piece {
	if _, ok := w.rule(n); !ok {
		return piece{text: "NULL"}
	}
	switch n.name {
	case "NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "SYSDATE", "UTC_TIMESTAMP",
		"CURDATE", "CURRENT_DATE", "UTC_DATE", "CURTIME", "CURRENT_TIME", "UTC_TIME":
		if !wholeSeconds(n) {
			return w.fail(refuse(n.name + " with a fraction that is not 0 to 6"))
		}
		switch {
		case strings.HasSuffix(n.name, "DATE"):
			return w.typed("DATE", w.scope.now(classDate))
		case n.name == "CURTIME" || n.name == "CURRENT_TIME" || n.name == "UTC_TIME":
			return w.typed("TIME", w.scope.now(classTime))
		}
		return w.typed("DATETIME", w.scope.now(classDateTime))
	case "UNIX_TIMESTAMP":
		if len(n.args) == 0 {
			return bindValue(classNull, w.scope.Now.Unix())
		}
	case "DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE":
		unit := n.unit
		if unit == "" {
			unit = "DAY"
		}
		return w.make(n.name+"(", w.value(n.args[0]), ", INTERVAL ", w.value(n.args[1]), " "+unit+")")
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		return w.make(n.name+"("+n.unit+", ", w.list(n.args), ")")
	case "EXTRACT":
		return w.make("EXTRACT("+n.unit+" FROM ", w.value(n.args[0]), ")")
	case "POSITION":
		return w.make("POSITION(", w.value(n.args[0]), " IN ", w.value(n.args[1]), ")")
	case "CONVERT":
		return w.make("CAST(", w.value(n.args[0]), " AS CHAR)")
	case "TRIM":
		switch {
		case len(n.args) == 2:
			return w.make("TRIM("+n.unit+" ", w.value(n.args[1]), " FROM ", w.value(n.args[0]), ")")
		case n.unit != "":
			return w.make("TRIM("+n.unit+" FROM ", w.value(n.args[0]), ")")
		}
	}
	return w.make(n.name+"(", w.list(n.args), ")")
}
