package expr

import (
	"strings"

	"hce/dc/internal/storage/expr/mysqlvalue"
)

// mysqlWriter writes MySQL text. It replaces names by known names, and literals and
// instants by bound values.
type mysqlWriter struct{ *writer }

func (w *mysqlWriter) writeCondition(n node) piece   { return w.writeValue(n) }
func (w *mysqlWriter) joinPieces(parts ...any) piece { return w.newPiece(classNull, parts...) }
func (w *mysqlWriter) writeList(list []node) piece {
	return w.joinWith(classNull, ", ", w.writeValues(list))
}

// bindTyped binds a date or a time. MySQL would treat a plain bound value as a text.
func (w *mysqlWriter) bindTyped(c class, v string) piece {
	kinds := map[class]string{classDateTime: "DATETIME", classDate: "DATE", classTime: "TIME"}
	return w.joinPieces("CAST(", bindValue(classNull, v), " AS "+kinds[c]+")")
}

// sortKey writes a constant as NULL. The driver inserts bound values into the text,
// where MySQL would read a number as the position of a field.
func (w *mysqlWriter) sortKey(n node) piece {
	if p := w.writeValue(n); p.text != "?" {
		return p
	}
	return piece{text: "NULL"}
}

func (w *mysqlWriter) writeValues(list []node) []piece {
	pieces := make([]piece, len(list))
	for i, n := range list {
		pieces[i] = w.writeValue(n)
	}
	return pieces
}

func (w *mysqlWriter) writeValue(n node) piece {
	if w.err != nil {
		return piece{text: "NULL"}
	}
	switch n := n.(type) {
	case *literal:
		return w.writeLiteral(n)
	case *column:
		if aliased, ok := w.aliasedField(n); ok {
			return w.withoutAliases(func() piece { return w.writeValue(aliased) })
		}
		r, ok := w.resolveColumn(n)
		if !ok {
			return piece{text: "NULL"}
		}
		return piece{text: r.text}
	case *unary:
		if n.op == "~" {
			return w.joinPieces("(~ ", w.writeBits(n.x), ")")
		}
		return w.joinPieces("("+n.op+" ", w.writeValue(n.x), ")")
	case *binary:
		if n.op == "&" || n.op == "|" {
			return w.joinPieces("(", w.writeBits(n.l), " "+n.op+" ", w.writeBits(n.r), ")")
		}
		return w.joinPieces("(", w.writeValue(n.l), " "+n.op+" ", w.writeValue(n.r), ")")
	case *logic:
		return w.joinPieces("(", w.joinWith(classNull, " "+n.op+" ", w.writeValues(n.xs)), ")")
	case *isNull:
		return w.joinPieces("(", w.writeValue(n.x), " IS "+notPrefix(n.not)+"NULL)")
	case *between:
		return w.joinPieces("(", w.writeValue(n.x), " "+notPrefix(n.not)+"BETWEEN ", w.writeValue(n.lo), " AND ", w.writeValue(n.hi), ")")
	case *in:
		items := piece{}
		if n.sub != nil {
			items = w.writeQuery(n.sub, oneField)
		} else {
			items = w.writeList(n.list)
		}
		return w.joinPieces("(", w.writeValue(n.x), " "+notPrefix(n.not)+"IN (", items, "))")
	case *like:
		return w.joinPieces("(", w.writeTextOperand(n.x), " "+notPrefix(n.not)+"LIKE ", w.writeTextOperand(n.pattern), ")")
	case *call:
		return w.writeCall(n)
	case *cast:
		return w.joinPieces("CAST(", w.writeValue(n.x), " AS "+n.to+")")
	case *aggregate:
		name := n.name + "("
		if n.distinct {
			name += "DISTINCT "
		}
		if n.name == "BIT_OR" {
			return w.joinPieces(name, w.bitsOf(n.x, w.writeArgument(n)), ")")
		}
		return w.joinPieces(name, w.writeArgument(n), ")")
	case *exists:
		return w.joinPieces("("+notPrefix(n.not)+"EXISTS (", w.writeQuery(n.sub, existence), "))")
	case *scalar:
		return w.joinPieces("(", w.writeQuery(n.sub, oneField), ")")
	}
	return w.recordError(newRefusal("expression"))
}

func (w *mysqlWriter) writeLiteral(l *literal) piece {
	switch l.kind {
	case litInt:
		return bindValue(classNull, l.i)
	case litReal:
		return bindValue(classNull, l.f)
	case litText:
		return bindValue(classNull, l.s)
	}
	return piece{text: "NULL"}
}

func (w *mysqlWriter) writeBits(n node) piece {
	if l, ok := n.(*literal); ok && l.kind == litText {
		return bindValue(classNull, mysqlvalue.LeadingInt(l.s))
	}
	return w.bitsOf(n, w.writeValue(n))
}

// bitsOf converts the piece of a node to an operand of a bit operation. MariaDB rounds
// texts there, MySQL truncates them, and they round doubles differently. A cast means
// the same on both and keeps all 64 bits of an integer.
func (w *mysqlWriter) bitsOf(n node, p piece) piece {
	if w.err != nil || exactBits(n) {
		return p
	}
	if r, ok := w.plainColumn(n); ok && r.kind == Int {
		return p
	}
	return w.joinPieces("CAST(", p, " AS SIGNED)")
}

// exactBits reports nodes that are always integers or literal numbers.
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
	case *logic, *isNull, *between, *in, *like, *exists:
		return true
	}
	return false
}

// writeTextOperand writes an operand of a text operation. Such an operation ignores case, also
// for keys: only comparisons of keys are exact.
func (w *mysqlWriter) writeTextOperand(n node) piece {
	p := w.writeValue(n)
	if w.mayBeKey(n) {
		return w.joinPieces("CAST(", p, " AS CHAR)") // takes the collation of the connection
	}
	return p
}

// mayBeKey reports nodes that may return the value of a key column.
func (w *mysqlWriter) mayBeKey(n node) bool {
	switch n := n.(type) {
	case *column:
		r, ok := w.plainColumn(n)
		return ok && (r.kind == Key || r.kind == Blob)
	case *call:
		return n.name == "IF" || n.name == "IFNULL"
	case *scalar, *aggregate:
		return true
	}
	return false
}

// plainColumn returns the column of a node that consists of one column.
func (w *mysqlWriter) plainColumn(n node) (resolved, bool) {
	c, ok := n.(*column)
	if !ok || w.err != nil {
		return resolved{}, false
	}
	if _, aliased := w.aliasedField(c); aliased {
		return resolved{}, false
	}
	return w.resolveColumn(c)
}

// worded counts the leading text arguments of functions that return a text.
var worded = map[string]int{"SUBSTRING": 1, "SUBSTR": 1, "MID": 1, "LEFT": 1, "RIGHT": 1, "CONCAT": maxArgs, "CONCAT_WS": maxArgs}

// writeCall writes a function. It binds instants, so that both databases see one time.
func (w *mysqlWriter) writeCall(n *call) piece {
	if c, ok := instants[n.name]; ok {
		return w.bindTyped(c, w.instantText(n, c))
	}
	switch n.name {
	case "DATE_ADD", "DATE_SUB":
		return w.joinPieces(n.name+"(", w.writeValue(n.args[0]), ", INTERVAL ", w.writeValue(n.args[1]), " "+n.unit+")")
	case "TIMESTAMPDIFF":
		return w.joinPieces(n.name+"("+n.unit+", ", w.writeList(n.args), ")")
	case "LENGTH":
		if r, ok := w.plainColumn(n.args[0]); ok && r.length != "" {
			return piece{text: r.length}
		}
	}
	args := make([]piece, len(n.args))
	for i, arg := range n.args {
		if i < worded[n.name] {
			args[i] = w.writeTextOperand(arg)
		} else {
			args[i] = w.writeValue(arg)
		}
	}
	return w.joinPieces(n.name+"(", w.joinWith(classNull, ", ", args), ")")
}

// These patterns match the start of a text that a column can store. They contain no
// "?" because that would count as a bound value.
const (
	intPattern   = "^ *[-+]{0,1}[0-9]+"
	floatPattern = "^ *[-+]{0,1}([0-9]+[.]{0,1}[0-9]*|[.][0-9]+)([eE][-+]{0,1}[0-9]+){0,1}"
	timePattern  = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]){0,1}"
)

// writeAssigned writes a value for a column. In strict mode a conversion that drops
// characters is an error, even in a CAST. assign therefore converts literals itself,
// as for SQLite, and cuts other texts to a form that the column accepts.
func (w *mysqlWriter) writeAssigned(kind Kind, n node) piece {
	lite := &sqliteWriter{w.writer}
	if _, ok := n.(*literal); ok {
		return lite.writeAssigned(kind, n)
	}
	p, c := w.writeValue(n), w.classOf(lite, n)
	switch {
	case kind == Time && c == classTime:
		return w.recordError(&Error{Part: "value", Reason: "is not a date"})
	case c != classText:
		return p
	}
	switch kind {
	case Int:
		return w.writeMatchedStart(p, intPattern, "SIGNED", "0")
	case Float:
		return w.writeMatchedStart(p, floatPattern, "DOUBLE", "0")
	case Time:
		if call, ok := n.(*call); ok && (call.name == "DATE_ADD" || call.name == "DATE_SUB") {
			return p // the text of a date, or NULL
		}
		return w.writeMatchedStart(p, timePattern, "DATETIME", "NULL")
	}
	return p
}

// writeMatchedStart converts the start of a text that matches pattern. A text without a match gives
// other.
func (w *mysqlWriter) writeMatchedStart(p piece, pattern, kind, other string) piece {
	return w.joinPieces("IF(", p, " REGEXP '"+pattern+"', CAST(REGEXP_SUBSTR(", p, ", '"+pattern+"') AS "+kind+"), IF(", p, " IS NULL, NULL, "+other+"))")
}

// classOf returns the class of a node as the SQLite writer knows it, classNull if unknown.
func (w *mysqlWriter) classOf(lite *sqliteWriter, n node) class {
	if w.err != nil {
		return classNull
	}
	w.emit = lite
	p := lite.writeValue(n)
	w.emit = w
	if w.err != nil {
		w.err = nil
		return classNull
	}
	return p.class
}
