package expr

import (
	"regexp"
	"strings"
)

// findTable finds the table of a FROM.
func (w *writer) findTable(s *source) *Table {
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
		name := quoteBackticks(s.name)
		if s.database != "" {
			name = quoteBackticks(s.database) + "." + name
		}
		reason := newRefusal("sub-select on " + name)
		if w.scope.Find != nil {
			reason = &Error{Part: "table " + name, Reason: "is not known"}
		}
		w.recordError(reason)
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

func (w *writer) writeQuery(q *query, form queryForm) piece { return w.queryAs(q, form, nil) }

// queryAs writes a SELECT without parentheses. If convert is not nil, it converts the
// single field. The piece has the class of that field.
func (w *writer) queryAs(q *query, form queryForm, convert func(piece) piece) piece {
	if w.inside {
		return w.recordError(newRefusal("sub-select in an aggregate"))
	}
	l := &level{}
	outer := w.aggregates
	w.levels = append(w.levels, l)
	defer func() {
		w.levels = w.levels[:len(w.levels)-1]
		w.aggregates = outer
	}()

	w.aggregates = false
	from := w.writeFrom(q, l)
	w.aggregates = true
	fields, c := w.writeFields(q, form, convert)
	parts := []any{"SELECT "}
	if q.distinct && form != existence {
		parts = append(parts, "DISTINCT ")
	}
	parts = append(parts, fields, from)
	w.aggregates = false
	if q.where != nil {
		parts = append(parts, " WHERE ", w.emit.writeCondition(q.where))
	}
	l.aliases = fieldsByAlias(q)
	if len(q.group) > 0 {
		parts = append(parts, " GROUP BY ", w.sortKeys(q.group))
		w.aggregates = true
	}
	if q.having != nil {
		parts = append(parts, " HAVING ", w.emit.writeCondition(q.having))
	}
	if len(q.order) > 0 {
		parts = append(parts, " ORDER BY ", w.sortKeys(q.order))
	}
	if q.limit != nil {
		limit := q.limit.SQL()
		parts = append(parts, piece{text: limit.Text, args: limit.Args})
	}
	p := w.newPiece(c.class, parts...)
	p.traits = c.traits
	return p
}

func fieldsByAlias(q *query) map[string]node {
	named := map[string]node{}
	for _, f := range q.fields {
		if f.alias != "" && f.x != nil {
			named[strings.ToLower(f.alias)] = f.x
		}
	}
	return named
}

func (w *writer) writeFrom(q *query, l *level) piece {
	var parts []any
	for i := range q.from {
		s := &q.from[i]
		t := w.findTable(s)
		if t == nil {
			return piece{}
		}
		if s.alias != "" && !aliasName.MatchString(s.alias) {
			return w.recordError(newRefusal("table alias " + quoteBackticks(s.alias)))
		}
		b := w.bindTable(t, s.alias)
		for _, other := range l.tables {
			if strings.EqualFold(other.name, b.name) {
				return w.recordError(&Error{Part: "table name " + quoteBackticks(b.name), Reason: "is used twice in one FROM"})
			}
		}
		l.tables = append(l.tables, b)
		join := s.join
		if i == 0 {
			join = " FROM "
		}
		parts = append(parts, join, w.quoteTable(t))
		if s.alias != "" {
			parts = append(parts, " AS ", quoteBackticks(s.alias))
		}
		if s.on != nil {
			parts = append(parts, " ON ", w.emit.writeCondition(s.on))
		}
	}
	return w.newPiece(classNull, parts...)
}

// writeFields writes the fields of a SELECT. The second piece carries the class.
func (w *writer) writeFields(q *query, form queryForm, convert func(piece) piece) (piece, piece) {
	if form == oneField && (len(q.fields) != 1 || q.fields[0].x == nil) {
		return w.recordError(&Error{Part: "sub-select", Reason: "must have exactly one field"}), piece{}
	}
	var pieces []piece
	var last piece
	for _, f := range q.fields {
		if f.x == nil {
			star := w.writeStar(f.table, form)
			if form == existence {
				star = piece{text: "1"}
			}
			pieces = append(pieces, star)
			continue
		}
		last = w.emit.writeValue(f.x)
		if convert != nil {
			last = convert(last)
		}
		if form == whole {
			w.results = append(w.results, Field{Name: resultLabel(&f), Time: last.class == classDateTime, Decimals: last.fieldDecimals()})
			last = w.newPiece(last.class, last, " AS ", quoteBackticks(resultLabel(&f)))
		}
		pieces = append(pieces, last)
	}
	return w.joinWith(classNull, ", ", pieces), last
}

// resultLabel returns the name of a result column: the alias, the name of the column, or the
// text of the field.
func resultLabel(f *field) string {
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

// writeStar writes * or table.*.
func (w *writer) writeStar(table string, form queryForm) piece {
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
		return w.recordError(&Error{Part: "field *", Reason: "needs a FROM"})
	}
	return w.recordError(&Error{Part: "table " + quoteBackticks(table), Reason: "is not known"})
}

func (w *writer) sortKeys(keys []sortKey) piece {
	pieces := make([]piece, len(keys))
	for i, key := range keys {
		pieces[i] = w.emit.sortKey(key.x)
		if key.desc {
			pieces[i] = w.newPiece(pieces[i].class, pieces[i], " DESC")
		}
	}
	return w.joinWith(classNull, ", ", pieces)
}
