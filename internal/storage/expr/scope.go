package expr

import (
	"strings"
	"time"
)

// Dialect is the language that the tree is written in.
type Dialect int

const (
	SQLite Dialect = iota
	MySQL
)

// Kind is what a column holds. On SQLite the writer relies on it: Int columns
// hold integers, Float columns numbers, Text and Key columns texts, Time columns
// texts 'YYYY-MM-DD hh:mm:ss' in UTC; each may hold NULL.
type Kind int

const (
	Int Kind = iota
	Float
	Text
	// Key is a text that identifies a row (Id, Site_Id, URLMd5, ParentMd5). It
	// compares exactly on SQLite, case and trailing spaces included, so that
	// its index can serve; any other Text compares as in MySQL, without case.
	Key
	Time
	Blob
)

// Table is one table that a text may name.
type Table struct {
	Database, Name string
	// Alias is the name that the caller's own FROM gives the table, if any.
	Alias string
	// Columns are matched without ASCII case and written as spelled here.
	Columns map[string]Kind
	// Lengths names, for some of Columns as spelled there, the column that
	// stores their length in bytes. MySQL's text of LENGTH(column) reads it, so
	// that an index on it can serve; SQLite's indexes expressions itself.
	Lengths map[string]string
}

// Scope is what a text may mean: the tables it may read, the instant it is
// evaluated at, and the language it is written in. Its methods do not change it;
// goroutines may share one.
type Scope struct {
	Dialect Dialect
	// Now is the instant of NOW(), CURDATE() and their kin.
	Now time.Time
	// Table has the columns that bare names mean. It may be zero: then no
	// column is known.
	Table Table
	// Joined are further tables of the caller's FROM. With any, columns are
	// written with their table.
	Joined []Table
	// Foreign are the tables that sub-selects may read, besides the above.
	Foreign []Table
	// Find gives a table that a FROM names and that is not among the above, nil
	// when there is none. Database is "" when the text does not name it.
	Find func(database, table string) *Table
	// Quote writes a table's name for the dialect. nil quotes both parts.
	Quote func(database, table string) string
	// Macros replace %NAME%, keys given without the % signs, before parsing.
	// Their values are SQL text and are checked with the rest; Quoted makes one
	// of a plain text. Names not given here stay as they are.
	Macros map[string]string
}

// SQL is text with a "?" for each of Args, in order. Args are nil, int64,
// float64, string, []byte or, on MySQL, uint64.
type SQL struct {
	Text string
	Args []any
}

// Where writes a condition, in parentheses. White space alone gives zero SQL.
// A text of more than 64 KiB or one that is not understood gives an *Error.
func (s Scope) Where(text string) (SQL, error) {
	return s.expression(text, func(w *writer, n node) piece {
		p := w.emit.condition(n)
		return w.form(p.class, "(", p, ")")
	})
}

// Value writes one scalar expression for a SET or VALUES. A bare date or time
// stamp (2026-01-05, 2026-01-05 10:00:00, 2026-01-05T10:00:00Z) is that date,
// not arithmetic. White space alone gives zero SQL. Source: docs/spec/DECISIONS.md 1.6.
func (s Scope) Value(text string) (SQL, error) {
	if m, ok, err := plainDate(text); ok || err != nil {
		return SQL{Text: "?", Args: []any{m}}, err
	}
	return s.expression(text, func(w *writer, n node) piece { return w.emit.value(n) })
}

// Assign writes the value for a column of Table, converted to what the column's
// kind holds: CURDATE() for a Time column becomes midnight, '7' for an Int
// column a number. Otherwise it is Value. A literal that is no date is an
// *Error for a Time column.
func (s Scope) Assign(column, text string) (SQL, error) {
	kind, _, ok := s.Table.column(column)
	if !ok {
		return SQL{}, &Error{Part: "column " + tick(column), Reason: "is not known"}
	}
	switch m, ok, err := plainDate(text); {
	case err != nil:
		return SQL{}, err
	case ok:
		text = Quoted(m)
	}
	return s.expression(text, func(w *writer, n node) piece { return w.emit.assign(kind, n) })
}

// OrderBy writes the list that follows the words ORDER BY, without them. White
// space alone gives zero SQL.
func (s Scope) OrderBy(text string) (SQL, error) {
	text, err := expand(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, err
	}
	keys, err := trees.order(text)
	if err != nil {
		return SQL{}, err
	}
	w := newWriter(s)
	return w.result(w.sortKeys(keys))
}

// Select writes one whole SELECT over Table, Joined, Foreign and what Find gives
// (queries of a criterion's SQL). Each field gets the name that MySQL gives it.
func (s Scope) Select(text string) (SQL, error) {
	written, _, err := s.Query(text)
	return written, err
}

// Query is Select that also tells what the columns of the result are
// (SQL_CUSTOM).
func (s Scope) Query(text string) (SQL, []Field, error) {
	text, err := expand(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, nil, err
	}
	q, err := trees.query(text)
	if err != nil {
		return SQL{}, nil, err
	}
	written, result, err := s.query(q)
	if err != nil || s.Dialect == SQLite {
		return written, result, err
	}
	// The writer for SQLite is the one that knows of each piece what it is.
	s.Dialect = SQLite
	if _, known, err := s.query(q); err == nil {
		result = known
	}
	return written, result, nil
}

func (s Scope) query(q *query) (SQL, []Field, error) {
	w := newWriter(s)
	w.levels = nil // the statement has no row around it
	written, err := w.result(w.query(q, whole))
	return written, w.results, err
}

func (s Scope) expression(text string, write func(*writer, node) piece) (SQL, error) {
	text, err := expand(text, s.Macros)
	if err != nil || strings.TrimSpace(text) == "" {
		return SQL{}, err
	}
	root, err := trees.expression(text)
	if err != nil {
		return SQL{}, err
	}
	w := newWriter(s)
	return w.result(write(w, root))
}

// Quoted writes a text as a MySQL string literal, for values of Macros.
func Quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// column finds a column without regard to ASCII case and returns its spelling.
func (t *Table) column(name string) (Kind, string, bool) {
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

func tick(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
