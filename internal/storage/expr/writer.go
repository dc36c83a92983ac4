package expr

import "strings"

// class is the type of a piece as MySQL sees it.
type class uint8

const (
	classNull class = iota
	classInt
	classReal // doubles and decimals
	classText
	classDateTime // text 'YYYY-MM-DD hh:mm:ss'
	classDate     // text 'YYYY-MM-DD'
	classTime     // text '[-]hh:mm:ss', a span of time
)

// piece is a written part of the text with its bound values.
type piece struct {
	text  string
	args  []any
	class class
	lit   bool // one bound value
	key   bool // a Key column
	date  bool // a text that holds a date, or a time as a number
	traits
}

// traits describe the value of a piece in addition to its class.
type traits struct {
	exact   bool // text: comparisons respect case
	bytes   bool // text: comparisons respect case and trailing spaces
	float   bool // a number that is a double in MySQL
	decimal bool // a number that is a DECIMAL in MySQL with scale digits after the point
	scale   int
}

// isPrecise reports integers and decimals, which have a scale.
func (p piece) isPrecise() bool { return p.decimal || p.class == classInt && !p.float }

// fieldDecimals is the Decimals of a Field.
func (p piece) fieldDecimals() int {
	if p.decimal {
		return p.scale
	}
	return -1
}

// emitter writes the nodes of one dialect. The writer handles sub-selects, names and
// limits.
type emitter interface {
	writeValue(n node) piece
	writeCondition(n node) piece
	sortKey(n node) piece
	writeAssigned(kind Kind, n node) piece
}

// writer writes one tree for one scope. err keeps the first refusal; later pieces are
// invalid.
type writer struct {
	scope  *Scope
	emit   emitter
	levels []*level // innermost last
	err    error

	aggregates bool // an aggregate is allowed here
	inside     bool // within the argument of an aggregate

	results []Field // columns of a whole SELECT
}

// level is one FROM and its names.
type level struct {
	tables  []bound
	first   bool // the caller's FROM: the first table that has a bare name wins
	aliases map[string]node
}

// bound is one table of a FROM.
type bound struct {
	table              *Table
	database, name, as string // as qualifies columns
}

func newWriter(s Scope) *writer {
	w := &writer{scope: &s}
	top := &level{first: true}
	for i := range len(s.Joined) + 1 {
		t := &w.scope.Table
		if i > 0 {
			t = &w.scope.Joined[i-1]
		}
		top.tables = append(top.tables, w.bindTable(t, t.Alias))
	}
	w.levels = []*level{top}
	if s.Dialect == MySQL {
		w.emit = &mysqlWriter{writer: w}
	} else {
		w.emit = &sqliteWriter{writer: w}
	}
	return w
}

func (w *writer) bindTable(t *Table, alias string) bound {
	if alias != "" {
		return bound{table: t, name: alias, as: quoteBackticks(alias)}
	}
	return bound{table: t, database: t.Database, name: t.Name, as: w.quoteTable(t)}
}

func (w *writer) quoteTable(t *Table) string {
	if w.scope.Quote != nil {
		return w.scope.Quote(t.Database, t.Name)
	}
	if t.Database == "" {
		return quoteBackticks(t.Name)
	}
	return quoteBackticks(t.Database) + "." + quoteBackticks(t.Name)
}

func (w *writer) finishSQL(p piece) (SQL, error) {
	if w.err != nil {
		return SQL{}, w.err
	}
	return SQL{Text: p.text, Args: p.args}, nil
}

func (w *writer) recordError(err *Error) piece {
	if w.err == nil {
		w.err = err
	}
	return piece{text: "NULL"}
}

// newPiece joins texts and pieces into a new piece.
func (w *writer) newPiece(c class, parts ...any) piece {
	size, bound := 0, 0
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			size += len(part)
		case piece:
			size += len(part.text)
			bound += len(part.args)
		}
	}
	// Some forms repeat an operand, so the size can double with each level.
	if size > maxOutput || bound > maxBound {
		return w.recordError(&Error{Part: "text", Reason: "becomes too long"})
	}
	var text strings.Builder
	text.Grow(size)
	args := make([]any, 0, bound)
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			text.WriteString(part)
		case piece:
			text.WriteString(part.text)
			args = append(args, part.args...)
		}
	}
	return piece{text: text.String(), args: args, class: c}
}

// joinWith joins pieces with a separator.
func (w *writer) joinWith(c class, separator string, pieces []piece) piece {
	parts := make([]any, 0, 2*len(pieces))
	for i, p := range pieces {
		if i > 0 {
			parts = append(parts, separator)
		}
		parts = append(parts, p)
	}
	return w.newPiece(c, parts...)
}

// bindValue returns a piece of one bound value.
func bindValue(c class, v any) piece {
	return piece{text: "?", args: []any{v}, class: c, lit: true}
}

// resolved is a known column.
type resolved struct {
	text   string
	kind   Kind
	local  bool   // in the innermost FROM
	length string // text of the column with its length in bytes, "" if none
}

// resolveColumn looks up a name, starting at the innermost FROM.
func (w *writer) resolveColumn(c *column) (resolved, bool) {
	for i := len(w.levels) - 1; i >= 0; i-- {
		l := w.levels[i]
		var found resolved
		hits := 0
		for _, b := range l.tables {
			if !b.isNamedBy(c) {
				continue
			}
			kind, spelled, ok := b.table.findColumn(c.name)
			if !ok {
				continue
			}
			if hits++; hits > 1 {
				if l.first {
					continue
				}
				w.recordError(&Error{Part: "column " + quoteBackticks(c.name), Reason: "is ambiguous"})
				return resolved{}, false
			}
			qualifier := ""
			if len(w.levels) > 1 || len(l.tables) > 1 {
				qualifier = b.as + "."
			}
			found = resolved{text: qualifier + quoteBackticks(spelled), kind: kind, local: i == len(w.levels)-1}
			if length, ok := b.table.Lengths[spelled]; ok {
				found.length = qualifier + quoteBackticks(length)
			}
		}
		if hits > 0 {
			if w.inside && !found.local {
				w.recordError(newRefusal("outer column " + quoteBackticks(c.name) + " in an aggregate"))
			}
			return found, true
		}
	}
	name := quoteBackticks(c.name)
	if c.table != "" {
		name = quoteBackticks(c.table) + "." + name
	}
	if c.database != "" {
		name = quoteBackticks(c.database) + "." + name
	}
	w.recordError(&Error{Part: "column " + name, Reason: "is not known"})
	return resolved{}, false
}

// isNamedBy reports whether the qualifier of a column, if any, means this table.
func (b *bound) isNamedBy(c *column) bool {
	if c.table == "" {
		return true
	}
	return strings.EqualFold(c.table, b.name) && (c.database == "" || strings.EqualFold(c.database, b.database))
}

// aliasedField returns the field that a bare name in ORDER BY, GROUP BY or HAVING refers to.
func (w *writer) aliasedField(c *column) (node, bool) {
	if c.table != "" || len(w.levels) == 0 {
		return nil, false
	}
	n, ok := w.levels[len(w.levels)-1].aliases[strings.ToLower(c.name)]
	return n, ok
}

// withoutAliases calls write with no aliases: names in the expression of a field are
// columns.
func (w *writer) withoutAliases(write func() piece) piece {
	l := w.levels[len(w.levels)-1]
	saved := l.aliases
	l.aliases = nil
	defer func() { l.aliases = saved }()
	return write()
}

// writeArgument writes the argument of an aggregate.
func (w *writer) writeArgument(a *aggregate) piece {
	switch {
	case w.inside:
		return w.recordError(newRefusal(a.name + " in an aggregate"))
	case !w.aggregates:
		return w.recordError(newRefusal(a.name + " outside of a sub-select's fields"))
	case a.x == nil:
		return piece{text: "*"}
	}
	w.inside = true
	defer func() { w.inside = false }()
	return w.emit.writeValue(a.x)
}
