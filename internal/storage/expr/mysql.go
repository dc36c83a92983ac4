package expr

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// mysqlWriter writes the tree in MySQL's own language: what it adds is names
// that are looked up, bound literals and bound instants.
type mysqlWriter struct{ *writer }

func (w *mysqlWriter) condition(n node) piece  { return w.value(n) }
func (w *mysqlWriter) make(parts ...any) piece { return w.form(classNull, parts...) }
func (w *mysqlWriter) list(list []node) piece  { return w.joined(classNull, ", ", w.values(list)) }
func (w *mysqlWriter) typed(kind string, v any) piece {
	return w.make("CAST(", bindValue(classNull, v), " AS "+kind+")")
}

// sortKey writes a constant as NULL, which sorts nothing either: the driver puts
// bound values into the text, where a number would be a field's position.
func (w *mysqlWriter) sortKey(n node) piece {
	if p := w.value(n); p.text != "?" {
		return p
	}
	return piece{text: "NULL"}
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
		if n.op == "~" {
			return w.make("(~ ", w.bits(n.x), ")")
		}
		return w.make("("+n.op+" ", w.value(n.x), ")")
	case *binary:
		if bitwise[n.op] {
			return w.make("(", w.bits(n.l), " "+n.op+" ", w.places(n), ")")
		}
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
		return w.make("(", w.words(n.x), " "+negate(n.not)+"LIKE ", w.words(n.pattern), escapeClause(n.escape), ")")
	case *match:
		return w.make("(", w.words(n.x), " "+negate(n.not)+"REGEXP ", w.words(n.pattern), ")")
	case *call:
		return w.call(n)
	case *cast:
		return w.make("CAST(", w.value(n.x), " AS "+castType(n)+")")
	case *collate:
		if n.exact {
			return w.make("(CONVERT(", w.value(n.x), " USING utf8mb4) COLLATE utf8mb4_bin)")
		}
		return w.make("(CONVERT(", w.value(n.x), " USING utf8mb4) COLLATE utf8mb4_general_ci)")
	case *choice:
		return w.choice(n)
	case *aggregate:
		name := n.name + "("
		if n.distinct {
			name += "DISTINCT "
		}
		if strings.HasPrefix(n.name, "BIT_") {
			return w.make(name, w.bitsOf(n.x, w.argument(n)), ")")
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
		if l.s == "" {
			return bindValue(classNull, []byte{})
		}
		// Its digits stand in the text: a bound one would be a text only, and
		// for MariaDB so is x'41', where 0x41 is a number too.
		return piece{text: "0x" + hex.EncodeToString([]byte(l.s))}
	case litDateTime:
		return w.typed("DATETIME", l.s)
	case litDate:
		return w.typed("DATE", l.s)
	case litTime:
		return w.typed("TIME", l.s)
	}
	return piece{text: "NULL"}
}

var bitwise = map[string]bool{"&": true, "|": true, "^": true, "<<": true, ">>": true}

func (w *mysqlWriter) bits(n node) piece {
	if l, ok := n.(*literal); ok && l.kind == litText {
		return bindValue(classNull, leadingInt(l.s))
	}
	return w.bitsOf(n, w.value(n))
}

// bitsOf makes an operand of bits of a written node. MariaDB rounds there a text
// that MySQL cuts, and a double in another way; a cast means the same on both,
// and keeps all 64 bits of an integer.
func (w *mysqlWriter) bitsOf(n node, p piece) piece {
	if w.err != nil || exactBits(n) {
		return p
	}
	if r, ok := w.plain(n); ok && r.kind == Int {
		return p
	}
	return w.make("CAST(", p, " AS SIGNED)")
}

// places is the right operand of a bit operation. MariaDB shifts by the low 32
// bits of a number of places, MySQL by all.
func (w *mysqlWriter) places(n *binary) piece {
	p := w.bits(n.r)
	if l, ok := n.r.(*literal); n.op != "<<" && n.op != ">>" || ok && l.kind == litInt && l.i >= 0 && l.i < 64 {
		return p
	}
	return w.make("LEAST(CAST(", p, " AS UNSIGNED), 64)")
}

// exactBits tells nodes that yield integers or literal numbers, whatever is in them.
func exactBits(n node) bool {
	switch n := n.(type) {
	case *literal:
		return n.kind != litText
	case *cast:
		return n.to == "SIGNED" || n.to == "UNSIGNED"
	case *unary:
		return n.op != "-"
	case *binary:
		return !strings.Contains("+-*/%", n.op)
	case *logic, *isNull, *isTruth, *between, *in, *like, *match, *exists:
		return true
	}
	return false
}

// words writes an operand of a text operation, which ignores case with keys too:
// only comparisons of keys are exact.
func (w *mysqlWriter) words(n node) piece {
	p := w.value(n)
	if w.mayBeKey(n) {
		return w.make("CAST(", p, " AS CHAR)") // has the connection's collation
	}
	return p
}

// mayBeKey tells nodes that hand on the value of a column, if it is a key's.
func (w *mysqlWriter) mayBeKey(n node) bool {
	switch n := n.(type) {
	case *column:
		r, ok := w.plain(n)
		return ok && (r.kind == Key || r.kind == Blob)
	case *call:
		switch n.name {
		case "IF", "IFNULL", "COALESCE", "NULLIF", "GREATEST", "LEAST":
			return true
		}
	case *choice, *scalar, *aggregate:
		return true
	}
	return false
}

// plain finds the column that a node is.
func (w *mysqlWriter) plain(n node) (resolved, bool) {
	c, ok := n.(*column)
	if !ok || w.err != nil {
		return resolved{}, false
	}
	if _, aliased := w.alias(c); aliased {
		return resolved{}, false
	}
	return w.column(c)
}

// worded are the functions whose result depends on the case of a text, or is a
// text that may be compared; the number is that of arguments that are texts.
var worded = map[string]int{
	"SUBSTRING": 1, "SUBSTR": 1, "MID": 1, "SUBSTRING_INDEX": 2, "LEFT": 1, "RIGHT": 1, "CONCAT": maxArgs, "CONCAT_WS": maxArgs,
	"LOWER": 1, "LCASE": 1, "UPPER": 1, "UCASE": 1, "TRIM": 1, "LTRIM": 1, "RTRIM": 1, "REPLACE": 3, "REVERSE": 1,
	"LOCATE": 2, "INSTR": 2, "FIND_IN_SET": 2,
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
		case n.name == "CURDATE" || n.name == "CURRENT_DATE" || n.name == "UTC_DATE":
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
		// ADDDATE and SUBDATE are read otherwise where the interval is in parentheses.
		name := map[string]string{"ADDDATE": "DATE_ADD", "SUBDATE": "DATE_SUB"}[n.name]
		if name == "" {
			name = n.name
		}
		return w.make(name+"(", w.value(n.args[0]), ", INTERVAL ", w.value(n.args[1]), " "+unit+")")
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		return w.make(n.name+"("+n.unit+", ", w.list(n.args), ")")
	case "EXTRACT":
		return w.make("EXTRACT("+n.unit+" FROM ", w.value(n.args[0]), ")")
	case "POSITION":
		return w.make("POSITION(", w.words(n.args[0]), " IN ", w.words(n.args[1]), ")")
	case "CONVERT":
		return w.make("CAST(", w.words(n.args[0]), " AS CHAR)")
	case "LENGTH", "OCTET_LENGTH":
		if r, ok := w.plain(n.args[0]); ok && r.length != "" {
			return piece{text: r.length}
		}
	case "TRIM":
		switch {
		case len(n.args) == 2:
			return w.make("TRIM("+n.unit+" ", w.words(n.args[1]), " FROM ", w.words(n.args[0]), ")")
		case n.unit != "":
			return w.make("TRIM("+n.unit+" FROM ", w.words(n.args[0]), ")")
		}
	}
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		if i < worded[n.name] {
			args[i] = w.words(arg)
		} else {
			args[i] = w.value(arg)
		}
	}
	return w.make(n.name+"(", w.joined(classNull, ", ", args), ")")
}

// What a text means as a value of a column, by its beginning. A "?" in a text
// would count as a bound value.
const (
	intPattern   = "^ *[-+]{0,1}[0-9]+"
	floatPattern = "^ *[-+]{0,1}([0-9]+[.]{0,1}[0-9]*|[.][0-9]+)([eE][-+]{0,1}[0-9]+){0,1}"
	timePattern  = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]){0,1}"
)

// assign writes a value for a column. Strict mode makes an error of what a
// conversion drops, be it in a CAST: so literals are converted here, as for
// SQLite, and other texts are cut to what the column can take.
func (w *mysqlWriter) assign(kind Kind, n node) piece {
	lite := &sqliteWriter{w.writer}
	if l, ok := n.(*literal); ok && l.kind != litUint {
		return lite.assign(kind, n)
	}
	p, c := w.value(n), w.class(lite, n)
	switch {
	case kind == Time && c == classTime:
		return w.fail(&Error{Part: "value", Reason: "is not a date"})
	case c != classText:
		return p
	}
	switch kind {
	case Int:
		return w.cut(p, intPattern, "SIGNED", "0")
	case Float:
		return w.cut(p, floatPattern, "DOUBLE", "0")
	case Time:
		if call, ok := n.(*call); ok && (call.name == "DATE_ADD" || call.name == "DATE_SUB") {
			return p // a text of a date, or NULL
		}
		return w.cut(p, timePattern, "DATETIME", "NULL")
	}
	return p
}

// cut converts what a text begins with; other is the value of a text that does
// not begin so.
func (w *mysqlWriter) cut(p piece, pattern, kind, other string) piece {
	return w.make("IF(", p, " REGEXP '"+pattern+"', CAST(REGEXP_SUBSTR(", p, ", '"+pattern+"') AS "+kind+"), IF(", p, " IS NULL, NULL, "+other+"))")
}

// class asks the other writer what a node yields; classNull when it cannot say.
func (w *mysqlWriter) class(lite *sqliteWriter, n node) class {
	if w.err != nil {
		return classNull
	}
	w.emit = lite
	p := lite.value(n)
	w.emit = w
	if w.err != nil {
		w.err = nil
		return classNull
	}
	return p.class
}
