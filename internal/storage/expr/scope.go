package expr

import (
	"strings"
	"time"

	"hce/dc/internal/storage/expr/mysqlvalue"
	"hce/dc/internal/wire"
)

// Dialect is the SQL language of the written text.
type Dialect int

const (
	SQLite Dialect = iota
	MySQL
)

// Kind is the type of a column. On SQLite, Int columns hold integers, Float columns
// numbers, Text and Key columns texts, and Time columns texts 'YYYY-MM-DD hh:mm:ss'
// in UTC. Every column may hold NULL.
type Kind int

const (
	Int Kind = iota
	Float
	Text
	// Key is a text that identifies a row (Id, Site_Id, URLMd5, ParentMd5). On
	// SQLite it compares case and trailing spaces, so that its index applies. Text
	// compares as in MySQL, without case.
	Key
	Time
	Blob
)

// Table is one table that a text may name.
type Table struct {
	Database, Name string
	// Alias is the name of the table in the caller's FROM, "" if none.
	Alias string
	// Columns match without ASCII case. The written text uses this spelling.
	Columns map[string]Kind
	// Lengths maps some of Columns to the column that stores their length in bytes.
	// On MySQL LENGTH(column) reads it, so that its index applies. SQLite needs none:
	// it has indexes on expressions.
	Lengths map[string]string
}

// Scope holds the tables that a text may read, the time of its evaluation, and the
// dialect of the result. Its methods do not change it. Goroutines may share a Scope.
type Scope struct {
	Dialect Dialect
	// Now is the result of NOW(); CURDATE() and CURTIME() are parts of it.
	Now time.Time
	// Table holds the columns of bare names. With a zero Table no column is known.
	Table Table
	// Joined are further tables of the caller's FROM. If there are any, all written
	// columns are qualified.
	Joined []Table
	// Foreign are additional tables that sub-selects may read.
	Foreign []Table
	// Find returns any other table that a FROM names, nil if it is unknown. database
	// is "" if the text does not name it. Find may be nil.
	Find func(database, table string) *Table
	// Quote writes the name of a table for the dialect. nil quotes both parts.
	Quote func(database, table string) string
	// Macros replaces %NAME% before parsing. Keys are names without the % signs,
	// values are SQL text and are checked with the rest; Quoted converts a plain
	// text. Unknown names stay unchanged.
	Macros map[string]string
}

// SQL is a text with one "?" for each of Args, in order. Args are nil, int64,
// float64, string, []byte or, on MySQL, uint64.
type SQL struct {
	Text string
	Args []any
}

// Field is one result column of a SELECT, or all columns of a table.
type Field struct {
	Name string
	// Table is the table of a *, whose columns follow in their order. It is nil for a
	// single column, which the other members describe.
	Table *Table
	// Time marks a date and time, on SQLite a text 'YYYY-MM-DD hh:mm:ss'.
	Time bool
	// Decimals is the number of digits after the point of a DECIMAL in MySQL (sums
	// and means of whole numbers, quotients, casts), -1 for other values.
	Decimals int
}

// Where writes a condition in parentheses. A blank text gives zero SQL. A text above
// 64 KiB or one that is not supported gives an *Error.
func (s Scope) Where(text string) (SQL, error) {
	return s.writeExpression(text, func(w *writer, n node) piece {
		p := w.emit.writeCondition(n)
		return w.newPiece(p.class, "(", p, ")")
	})
}

// Value writes one scalar expression for a SET or VALUES. A bare date or time stamp
// (2026-01-05, 2026-01-05 10:00:00, 2026-01-05T10:00:00Z) is a date, not a
// subtraction. A blank text gives zero SQL. Source: docs/spec/DECISIONS.md 1.6.
func (s Scope) Value(text string) (SQL, error) {
	if m, ok, err := plainDate(text); ok || err != nil {
		return SQL{Text: "?", Args: []any{m}}, err
	}
	return s.writeExpression(text, func(w *writer, n node) piece { return w.emit.writeValue(n) })
}

// Assign is Value with a conversion to the kind of a column of Table: in a Time column
// CURDATE() becomes midnight, in an Int column '7' becomes a number. A literal that is
// not a date gives an *Error for a Time column.
func (s Scope) Assign(column, text string) (SQL, error) {
	kind, _, ok := s.Table.findColumn(column)
	if !ok {
		return SQL{}, &Error{Part: "column " + quoteBackticks(column), Reason: "is not known"}
	}
	switch m, ok, err := plainDate(text); {
	case err != nil:
		return SQL{}, err
	case ok:
		text = wire.QuotedSQL(m)
	}
	return s.writeExpression(text, func(w *writer, n node) piece { return w.emit.writeAssigned(kind, n) })
}

// plainDate returns a text that is one date or time stamp as 'YYYY-MM-DD hh:mm:ss', and true. An invalid date gives
// an *Error.
func plainDate(text string) (string, bool, error) {
	text = strings.TrimSpace(text)
	stamp, isStamp, valid := mysqlvalue.ParseStamp(text)
	if isStamp && !valid {
		return "", false, &Error{Part: "value " + text, Reason: "is not a date"}
	}
	return stamp, isStamp, nil
}

// OrderBy writes the list after the words ORDER BY. A blank text gives zero SQL.
func (s Scope) OrderBy(text string) (SQL, error) {
	text, err := expandMacros(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, err
	}
	keys, err := cachedTree(trees, 'o', text, parseOrder)
	if err != nil {
		return SQL{}, err
	}
	w := newWriter(s)
	return w.finishSQL(w.sortKeys(keys))
}

// Select writes one SELECT over all tables of the scope (queries in the SQL of a
// criterion). Result columns have the names that MySQL gives them.
func (s Scope) Select(text string) (SQL, error) {
	written, _, err := s.Query(text)
	return written, err
}

// Query is Select that also describes the columns of the result (SQL_CUSTOM).
func (s Scope) Query(text string) (SQL, []Field, error) {
	text, err := expandMacros(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, nil, err
	}
	q, err := cachedTree(trees, 'q', text, parseQuery)
	if err != nil {
		return SQL{}, nil, err
	}
	written, result, err := s.writeQuery(q)
	if err != nil || s.Dialect == SQLite {
		return written, result, err
	}
	// Only the SQLite writer knows the class of each piece.
	s.Dialect = SQLite
	if _, known, err := s.writeQuery(q); err == nil {
		result = known
	}
	return written, result, nil
}

func (s Scope) writeQuery(q *query) (SQL, []Field, error) {
	w := newWriter(s)
	w.levels = nil // a statement has no outer row
	written, err := w.finishSQL(w.writeQuery(q, whole))
	return written, w.results, err
}

func (s Scope) writeExpression(text string, write func(*writer, node) piece) (SQL, error) {
	text, err := expandMacros(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, err
	}
	root, err := cachedTree(trees, 'e', text, parseExpression)
	if err != nil {
		return SQL{}, err
	}
	w := newWriter(s)
	return w.finishSQL(write(w, root))
}

// findColumn finds a column, ignoring ASCII case, and returns its kind and spelling.
func (t *Table) findColumn(name string) (Kind, string, bool) {
	if kind, ok := t.Columns[name]; ok {
		return kind, name, true
	}
	for spelled, kind := range t.Columns {
		if strings.EqualFold(spelled, name) {
			return kind, spelled, true
		}
	}
	return 0, "", false
}

func quoteBackticks(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
