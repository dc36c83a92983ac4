package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// target is a table that patches are written to.
type target struct {
	object  string   // how errors call the row: "Site", "URLNew[0]"
	key     []string // columns that tell a row; nil: only the order in which it came
	table   string   // quoted
	as      string   // " AS name" by which expressions call it, or ""
	site    string   // whose URLs sub-selects may read, or ""
	columns []wire.Column
	scope   expr.Scope
}

// fail names the field of a column, in the words of the request.
func (g target) fail(column, value string, err error) error {
	field := column
	for _, c := range g.columns {
		if c.Name == column {
			field = c.JSON
		}
	}
	if len(value) > 120 {
		value = strings.ToValidUTF8(value[:120], "") + "..."
	}
	return &wire.FieldError{Object: g.object, Field: field, Value: value, Reason: err.Error()}
}

// refused reports whether err is the request's fault, not the database's.
func refused(err error) bool {
	var field *wire.FieldError
	var text *expr.Error
	return errors.As(err, &field) || errors.As(err, &text) || sqldb.BadValue(err)
}

// isNow spares the most frequent expression the way through the parser.
func isNow(e wire.Expr) bool {
	return strings.EqualFold(strings.TrimSpace(string(e)), "NOW()")
}

// names are the columns of p in a fixed order, so that texts repeat and stay
// prepared.
func names(p wire.Patch) []string {
	list := make([]string, 0, len(p))
	for name := range p {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// insert puts one row; inserted is false when there is one with its key. A
// creation date that is not given is now. Expressions may refer to the row
// itself: they are evaluated when it stands.
func (t *tx) insert(g target, p wire.Patch) (inserted bool, err error) {
	var columns []string
	var args []any
	later := wire.Patch{}
	if p["CDate"] == nil {
		p = clone(p)
		p["CDate"] = t.now
	}
	for _, name := range names(p) {
		value := p[name]
		if e, ok := value.(wire.Expr); ok {
			if !isNow(e) {
				later[name] = e
				if name != "CDate" {
					continue
				}
			}
			value = t.now
		}
		columns = append(columns, "`"+name+"`")
		args = append(args, value)
	}
	text := "INSERT INTO " + g.table + " (" + strings.Join(columns, ", ") + ") VALUES (" + holes(len(columns)) + ")"
	rowid, inserted, err := t.Insert(text, args...)
	if err != nil || !inserted || len(later) == 0 {
		return inserted, err
	}
	where, values := t.DB.RowID()+" = ?", []any{rowid}
	if g.key != nil {
		where, values = strings.Join(g.key, " = ? AND ")+" = ?", nil
		for _, name := range g.key {
			values = append(values, p[name])
		}
	}
	_, err = t.set(g, later, nil, where, values...)
	return true, err
}

func clone(p wire.Patch) wire.Patch {
	c := make(wire.Patch, len(p)+1)
	for k, v := range p {
		c[k] = v
	}
	return c
}

// set changes the rows that where chooses. Extra assignments, as "Crawled =
// Crawled + 1", come behind those of p. It tells how many rows it found; with
// nothing to set it finds none.
func (t *tx) set(g target, p wire.Patch, extra []string, where string, args ...any) (int64, error) {
	assign, values, err := t.assignments(g, p)
	if err != nil {
		return 0, err
	}
	assign = append(assign, extra...)
	if len(assign) == 0 {
		return 0, nil
	}
	if t.DB.Dialect() == expr.MySQL && hasExpressions(p) {
		return t.setFound(g, p, extra, where, args)
	}
	text := "UPDATE " + g.table + g.as + " SET " + strings.Join(assign, ", ") + " WHERE " + where
	if g.site != "" {
		text = t.named(g.site, text)
	}
	return t.Exec(text, append(values, args...)...)
}

func hasExpressions(p wire.Patch) bool {
	for _, v := range p {
		if e, ok := v.(wire.Expr); ok && !isNow(e) {
			return true
		}
	}
	return false
}

// setFound is set with expressions on MySQL, which would give an expression the
// new values of the columns before it, and refuses one that reads the table it
// changes. Values are read first; rows that get the same ones are changed
// together.
func (t *tx) setFound(g target, p wire.Patch, extra []string, where string, args []any) (int64, error) {
	key := t.DB.RowID()
	if g.key != nil {
		key = g.key[len(g.key)-1]
	}
	plain := clone(p)
	var columns []string
	var s statement
	s.add("SELECT " + key)
	for _, name := range names(p) {
		e, ok := p[name].(wire.Expr)
		if !ok || isNow(e) {
			continue
		}
		delete(plain, name)
		v, err := g.scope.Assign(name, string(e))
		if err != nil {
			return 0, g.fail(name, string(e), err)
		}
		if v.Text == "" {
			continue
		}
		columns = append(columns, name)
		s.add(", "+v.Text, v.Args...)
	}
	s.add(" FROM "+g.table+g.as+" WHERE "+where+t.DB.ForUpdate(), args...)
	type group struct {
		values []any
		keys   []any
	}
	var groups []*group
	byValues := map[string]*group{}
	err := t.Each(s.text.String(), s.args, func(scan func(...any) error) error {
		row := make([]any, len(columns)+1)
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		same := fmt.Sprintf("%q", row[1:])
		found := byValues[same]
		if found == nil {
			found = &group{values: row[1:]}
			byValues[same], groups = found, append(groups, found)
		}
		found.keys = append(found.keys, row[0])
		return nil
	})
	if err != nil {
		return 0, err
	}
	var changed int64
	for _, found := range groups {
		values := clone(plain)
		for i, name := range columns {
			values[name] = found.values[i]
		}
		err := chunks(found.keys, func(in string, keys []any) error {
			n, err := t.set(g, values, extra, "("+where+") AND "+key+" IN ("+in+")", append(slices.Clone(args), keys...)...)
			changed += n
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return changed, nil
}

func (t *tx) assignments(g target, p wire.Patch) (assign []string, args []any, err error) {
	for _, name := range names(p) {
		value := p[name]
		switch x := value.(type) {
		case nil:
			if name == "CDate" {
				value = t.now
			}
		case wire.Expr:
			if isNow(x) {
				value = t.now
				break
			}
			s, err := g.scope.Assign(name, string(x))
			if err != nil {
				return nil, nil, g.fail(name, string(x), err)
			}
			if s.Text == "" {
				continue
			}
			assign = append(assign, "`"+name+"` = "+s.Text)
			args = append(args, s.Args...)
			continue
		}
		assign = append(assign, "`"+name+"` = ?")
		args = append(args, value)
	}
	return assign, args, nil
}
