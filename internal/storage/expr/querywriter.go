package expr

import (
	"regexp"
	"strings"
)

// source finds the table of a FROM.
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
		// Without a database name, a table of the caller's database wins.
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

// queryForm is the place of a SELECT.
type queryForm uint8

const (
	oneField  queryForm = iota // a scalar or the right side of IN
	existence                  // EXISTS, which ignores the fields
	whole                      // a statement
)

func (w *writer) query(q *query, form queryForm) piece { return w.queryAs(q, form, nil) }

// queryAs writes a SELECT without parentheses. If convert is not nil, it converts the
// single field. The piece has the class of that field.
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
	if len(q.order) > 0 {
		parts = append(parts, " ORDER BY ", w.sortKeys(q.order))
	}
	if q.limit != nil {
		limit := q.limit.SQL()
		parts = append(parts, piece{text: limit.Text, args: limit.Args})
	}
	p := w.form(c.class, parts...)
	p.traits = c.traits
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

// fields writes the fields of a SELECT. The second piece carries the class.
func (w *writer) fields(q *query, form queryForm, convert func(piece) piece) (piece, piece) {
	if form == oneField && (len(q.fields) != 1 || q.fields[0].x == nil) {
		return w.fail(&Error{Part: "sub-select", Reason: "must have exactly one field"}), piece{}
	}
	var pieces []piece
	var last piece
	for _, f := range q.fields {
		if f.x == nil {
			star := w.star(f.table, form)
			if form == existence {
				star = piece{text: "1"}
			}
			pieces = append(pieces, star)
			continue
		}
		last = w.emit.value(f.x)
		if convert != nil {
			last = convert(last)
		}
		if form == whole {
			w.results = append(w.results, Field{Name: label(&f), Time: last.class == classDateTime, Decimals: last.decimals()})
			last = w.form(last.class, last, " AS ", tick(label(&f)))
		}
		pieces = append(pieces, last)
	}
	return w.joined(classNull, ", ", pieces), last
}

// label returns the name of a result column: the alias, the name of the column, or the
// text of the field.
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

// star writes * or table.*.
func (w *writer) star(table string, form queryForm) piece {
	star := piece{}
	for _, b := range w.levels[len(w.levels)-1].tables {
		switch {
		case table == "":
			star.text = "*"
		case strings.EqualFold(b.name, table):
			star.text = b.as + ".*"
		default:
			continue
		}
		if form == whole {
			w.results = append(w.results, Field{Table: b.table})
		}
	}
	switch {
	case star.text != "":
		return star
	case table == "":
		return w.fail(&Error{Part: "field *", Reason: "needs a FROM"})
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
