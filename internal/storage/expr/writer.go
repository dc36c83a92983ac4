package expr

import (
	"fmt"
	"regexp"
	"strings"
)

// class is what a written piece yields, as MySQL sees it.
type class uint8

const (
	classNull class = iota
	classInt
	classReal // doubles and decimals
	classText
	classDateTime // text 'YYYY-MM-DD hh:mm:ss'
	classDate     // text 'YYYY-MM-DD'
	classTime     // text '[-]hh:mm:ss', a span
)

// piece is a finished part of the text with the values bound in it.
type piece struct {
	text  string
	args  []any
	class class
	lit   bool // the whole piece is one bound value
	exact bool // compares with case
	bytes bool // and with trailing spaces
	key   bool // a Key column itself
	date  bool // a text that is a date or a time as a number
	float bool // a number that is a double for MySQL, not a decimal
	mask  bool // a 64-bit pattern whose top bit may be set: read it as unsigned
	small bool // an integer known to be 0 or more
}

// emitter writes the nodes of one dialect. Sub-selects, names and bounds are the
// writer's.
type emitter interface {
	value(n node) piece
	condition(n node) piece
	sortKey(n node) piece
	assign(kind Kind, n node) piece
}

// writer writes one tree for one scope. The first refusal stays in err; pieces
// made after it mean nothing.
type writer struct {
	scope  *Scope
	emit   emitter
	levels []*level // innermost last
	err    *Error

	aggregates bool // an aggregate may stand here
	inside     bool // within an aggregate's argument

	results []Field // of a whole SELECT
}

// level is one FROM and the names it gives.
type level struct {
	tables  []bound
	first   bool // a bare name is the first table's that has it (the caller's FROM)
	aliases map[string]node
}

// bound is a table of a FROM.
type bound struct {
	table              *Table
	database, name, as string // as: how columns are qualified
}

func newWriter(s Scope) *writer {
	w := &writer{scope: &s}
	top := &level{first: true}
	for i := range len(s.Joined) + 1 {
		t := &w.scope.Table
		if i > 0 {
			t = &w.scope.Joined[i-1]
		}
		top.tables = append(top.tables, w.bind(t, t.Alias))
	}
	w.levels = []*level{top}
	if s.Dialect == MySQL {
		w.emit = &mysqlWriter{writer: w}
	} else {
		w.emit = &sqliteWriter{writer: w}
	}
	return w
}

func (w *writer) bind(t *Table, alias string) bound {
	if alias != "" {
		return bound{table: t, name: alias, as: tick(alias)}
	}
	return bound{table: t, database: t.Database, name: t.Name, as: w.quote(t)}
}

func (w *writer) quote(t *Table) string {
	if w.scope.Quote != nil {
		return w.scope.Quote(t.Database, t.Name)
	}
	if t.Database == "" {
		return tick(t.Name)
	}
	return tick(t.Database) + "." + tick(t.Name)
}

func (w *writer) result(p piece) (SQL, error) {
	if w.err != nil {
		return SQL{}, w.err
	}
	return SQL{Text: p.text, Args: p.args}, nil
}

func (w *writer) fail(err *Error) piece {
	if w.err == nil {
		w.err = err
	}
	return piece{text: "NULL"}
}

// form joins texts and pieces to a new piece.
func (w *writer) form(c class, parts ...any) piece {
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
	// Some forms repeat an operand; nested, that would double with each level.
	if size > maxOutput || bound > maxBound {
		return w.fail(&Error{Part: "text", Reason: "becomes too long"})
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

// joined joins pieces with a separator.
func (w *writer) joined(c class, separator string, pieces []piece) piece {
	parts := make([]any, 0, 2*len(pieces))
	for i, p := range pieces {
		if i > 0 {
			parts = append(parts, separator)
		}
		parts = append(parts, p)
	}
	return w.form(c, parts...)
}

// bindValue is a piece of one bound value.
func bindValue(c class, v any) piece {
	return piece{text: "?", args: []any{v}, class: c, lit: true}
}

// resolved is a column found.
type resolved struct {
	text   string
	kind   Kind
	local  bool   // of the innermost FROM
	length string // the column that holds its length in bytes, written like text; "" without one
}

// column looks a name up, innermost FROM first.
func (w *writer) column(c *column) (resolved, bool) {
	for i := len(w.levels) - 1; i >= 0; i-- {
		l := w.levels[i]
		var found resolved
		hits := 0
		for _, b := range l.tables {
			if !b.named(c) {
				continue
			}
			kind, spelled, ok := b.table.column(c.name)
			if !ok {
				continue
			}
			if hits++; hits > 1 {
				if l.first {
					continue
				}
				w.fail(&Error{Part: "column " + tick(c.name), Reason: "is ambiguous"})
				return resolved{}, false
			}
			qualifier := ""
			if len(w.levels) > 1 || len(l.tables) > 1 {
				qualifier = b.as + "."
			}
			found = resolved{text: qualifier + tick(spelled), kind: kind, local: i == len(w.levels)-1}
			if length, ok := b.table.Lengths[spelled]; ok {
				found.length = qualifier + tick(length)
			}
		}
		if hits > 0 {
			if w.inside && !found.local {
				w.fail(refuse("outer column " + tick(c.name) + " in an aggregate"))
			}
			return found, true
		}
	}
	name := tick(c.name)
	if c.table != "" {
		name = tick(c.table) + "." + name
	}
	if c.database != "" {
		name = tick(c.database) + "." + name
	}
	w.fail(&Error{Part: "column " + name, Reason: "is not known"})
	return resolved{}, false
}

// named tells whether the qualifier of a column, if any, means this table.
func (b *bound) named(c *column) bool {
	if c.table == "" {
		return true
	}
	return strings.EqualFold(c.table, b.name) && (c.database == "" || strings.EqualFold(c.database, b.database))
}

// alias is the expression that a bare name of an ORDER BY, GROUP BY or HAVING
// means in a SELECT with named fields.
func (w *writer) alias(c *column) (node, bool) {
	if c.table != "" || len(w.levels) == 0 {
		return nil, false
	}
	n, ok := w.levels[len(w.levels)-1].aliases[strings.ToLower(c.name)]
	return n, ok
}

// withoutAliases writes while the innermost FROM gives no aliases: a field's
// own expression means columns alone.
func (w *writer) withoutAliases(write func() piece) piece {
	l := w.levels[len(w.levels)-1]
	saved := l.aliases
	l.aliases = nil
	defer func() { l.aliases = saved }()
	return write()
}

// source finds the table that a FROM names.
func (w *writer) source(s *source) *Table {
	var found *Table
	consider := func(t *Table) bool {
		if t.Name == "" || !strings.EqualFold(t.Name, s.name) {
			return false
		}
		if s.database != "" {
			if strings.EqualFold(t.Database, s.database) {
				found = t
				return true
			}
			return false
		}
		// Without a database the caller's own comes first.
		if found == nil || strings.EqualFold(t.Database, w.scope.Table.Database) {
			found = t
		}
		return false
	}
	if !consider(&w.scope.Table) {
		for i := range w.scope.Joined {
			consider(&w.scope.Joined[i])
		}
		for i := range w.scope.Foreign {
			consider(&w.scope.Foreign[i])
		}
	}
	if found == nil && w.scope.Find != nil {
		found = w.scope.Find(s.database, s.name)
	}
	if found == nil {
		name := tick(s.name)
		if s.database != "" {
			name = tick(s.database) + "." + name
		}
		reason := refuse("sub-select on " + name)
		if w.scope.Find != nil {
			reason = &Error{Part: "table " + name, Reason: "is not known"}
		}
		w.fail(reason)
	}
	return found
}

var aliasName = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_$]{0,63}$`)

// queryForm says where a SELECT stands.
type queryForm uint8

const (
	oneField  queryForm = iota // a scalar, or the right side of IN
	existence                  // EXISTS: the fields do not matter
	whole                      // a statement
)

func (w *writer) query(q *query, form queryForm) piece { return w.queryAs(q, form, nil) }

// queryAs writes a SELECT without parentheses around it. convert, when given,
// changes the one field; the piece has that field's class.
func (w *writer) queryAs(q *query, form queryForm, convert func(piece) piece) piece {
	if w.inside {
		return w.fail(refuse("sub-select in an aggregate"))
	}
	l := &level{}
	outer := w.aggregates
	w.levels = append(w.levels, l)
	defer func() {
		w.levels = w.levels[:len(w.levels)-1]
		w.aggregates = outer
	}()

	w.aggregates = false
	from := w.from(q, l)
	w.aggregates = true
	fields, c := w.fields(q, form, convert)
	parts := []any{"SELECT "}
	if q.distinct && form != existence {
		parts = append(parts, "DISTINCT ")
	}
	parts = append(parts, fields, from)
	w.aggregates = false
	if q.where != nil {
		parts = append(parts, " WHERE ", w.emit.condition(q.where))
	}
	l.aliases = aliases(q)
	if len(q.group) > 0 {
		parts = append(parts, " GROUP BY ", w.sortKeys(q.group))
		w.aggregates = true
	}
	if q.having != nil {
		parts = append(parts, " HAVING ", w.emit.condition(q.having))
	}
	// An ORDER BY of DISTINCT rows or of an aggregate's single row has no
	// meaning beyond the fields, but costs nothing either.
	if len(q.order) > 0 {
		parts = append(parts, " ORDER BY ", w.sortKeys(q.order))
	}
	if q.limit != nil {
		limit := q.limit.SQL()
		parts = append(parts, piece{text: limit.Text, args: limit.Args})
	}
	p := w.form(c.class, parts...)
	p.exact, p.bytes, p.float, p.mask, p.small = c.exact, c.bytes, c.float, c.mask, c.small
	return p
}

func aliases(q *query) map[string]node {
	named := map[string]node{}
	for _, f := range q.fields {
		if f.alias != "" && f.x != nil {
			named[strings.ToLower(f.alias)] = f.x
		}
	}
	return named
}

func (w *writer) from(q *query, l *level) piece {
	var parts []any
	for i := range q.from {
		s := &q.from[i]
		t := w.source(s)
		if t == nil {
			return piece{}
		}
		if s.alias != "" && !aliasName.MatchString(s.alias) {
			return w.fail(refuse("table alias " + tick(s.alias)))
		}
		b := w.bind(t, s.alias)
		for _, other := range l.tables {
			if strings.EqualFold(other.name, b.name) {
				return w.fail(&Error{Part: "table name " + tick(b.name), Reason: "is used twice in one FROM"})
			}
		}
		l.tables = append(l.tables, b)
		join := s.join
		if i == 0 {
			join = " FROM "
		}
		parts = append(parts, join, w.quote(t))
		if s.alias != "" {
			parts = append(parts, " AS ", tick(s.alias))
		}
		if s.on != nil {
			parts = append(parts, " ON ", w.emit.condition(s.on))
		}
	}
	return w.form(classNull, parts...)
}

// fields writes what a SELECT yields; the second piece tells its class.
func (w *writer) fields(q *query, form queryForm, convert func(piece) piece) (piece, piece) {
	if form == oneField && (len(q.fields) != 1 || q.fields[0].x == nil) {
		return w.fail(&Error{Part: "sub-select", Reason: "must have exactly one field"}), piece{}
	}
	var pieces []piece
	var last piece
	for _, f := range q.fields {
		if f.x == nil {
			star := w.star(f.table)
			if form == existence {
				star = piece{text: "1"}
			}
			if form == whole {
				w.results = append(w.results, w.starFields(f.table)...)
			}
			pieces = append(pieces, star)
			continue
		}
		last = w.emit.value(f.x)
		if convert != nil {
			last = convert(last)
		}
		if form == whole {
			w.results = append(w.results, Field{Name: label(&f), Time: last.class == classDateTime, Decimals: w.decimals(f.x)})
			last = w.form(last.class, last, " AS ", tick(label(&f)))
		}
		pieces = append(pieces, last)
	}
	return w.joined(classNull, ", ", pieces), last
}

// label is the name of a result column: the alias, a column's own name, or the
// field as it was written.
func label(f *field) string {
	name := f.label
	if c, ok := f.x.(*column); ok {
		name = c.name
	}
	if f.alias != "" {
		name = f.alias
	}
	if r := []rune(name); len(r) > 64 {
		name = string(r[:64])
	}
	if strings.TrimSpace(name) == "" {
		name = "value"
	}
	return name
}

func (w *writer) star(table string) piece {
	l := w.levels[len(w.levels)-1]
	if len(l.tables) == 0 {
		return w.fail(&Error{Part: "field *", Reason: "needs a FROM"})
	}
	if table == "" {
		return piece{text: "*"}
	}
	for _, b := range l.tables {
		if strings.EqualFold(b.name, table) {
			return piece{text: b.as + ".*"}
		}
	}
	return w.fail(&Error{Part: "table " + tick(table), Reason: "is not known"})
}

func (w *writer) sortKeys(keys []sortKey) piece {
	pieces := make([]piece, len(keys))
	for i, key := range keys {
		pieces[i] = w.emit.sortKey(key.x)
		if key.desc {
			pieces[i] = w.form(pieces[i].class, pieces[i], " DESC")
		}
	}
	return w.joined(classNull, ", ", pieces)
}

// argument writes the argument of an aggregate.
func (w *writer) argument(a *aggregate) piece {
	switch {
	case w.inside:
		return w.fail(refuse(a.name + " in an aggregate"))
	case !w.aggregates:
		return w.fail(refuse(a.name + " outside of a sub-select's fields"))
	case a.x == nil:
		return piece{text: "*"}
	}
	w.inside = true
	defer func() { w.inside = false }()
	return w.emit.value(a.x)
}

// rule looks up a function and checks the number of its arguments.
func (w *writer) rule(c *call) (rule, bool) {
	r := functions[c.name]
	if len(c.args) < r.min || len(c.args) > r.max {
		w.fail(&Error{Part: "function " + c.name, Reason: fmt.Sprintf("does not take %d arguments", len(c.args))})
		return rule{}, false
	}
	return r, true
}
