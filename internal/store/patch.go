package store

import (
	"errors"
	"slices"
	"strings"

	"hce/dc/internal/dc"
	"hce/dc/internal/expr"
)

// target is a table that patches are written to.
type target struct {
	object  string // how errors call the row: "Site", "URLNew[0]"
	table   string // quoted
	as      string // " AS name" by which expressions call it, or ""
	site    string // whose URLs sub-selects may read, or ""
	columns []dc.Column
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
	return &dc.FieldError{Object: g.object, Field: field, Value: value, Reason: err.Error()}
}

// refused reports whether err is the request's fault, not the database's.
func refused(err error) bool {
	var field *dc.FieldError
	var text *expr.Error
	return errors.As(err, &field) || errors.As(err, &text)
}

// isNow spares the most frequent expression the way through the parser.
func isNow(e dc.Expr) bool {
	return strings.EqualFold(strings.TrimSpace(string(e)), "NOW()")
}

// names are the columns of p in a fixed order, so that texts repeat and stay
// prepared.
func names(p dc.Patch) []string {
	list := make([]string, 0, len(p))
	for name := range p {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// insert puts one row; verb is "INSERT" or "INSERT OR IGNORE", whose inserted is
// false when the row is there. A creation date that is not given is now.
// Expressions may refer to the row itself: they are evaluated when it stands, and
// key chooses it then.
func (t *tx) insert(verb string, g target, p dc.Patch, key func(rowid int64) (where string, arg any)) (inserted bool, err error) {
	var columns []string
	var args []any
	later := dc.Patch{}
	if p["CDate"] == nil {
		p = clone(p)
		p["CDate"] = t.now
	}
	for _, name := range names(p) {
		value := p[name]
		if e, ok := value.(dc.Expr); ok {
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
	text := verb + " INTO " + g.table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	rowid, inserted, err := t.Insert(text, args...)
	if err != nil || !inserted || len(later) == 0 {
		return inserted, err
	}
	where, arg := key(rowid)
	_, err = t.set(g, later, nil, where, arg)
	return true, err
}

func byRow(rowid int64) (string, any) { return "rowid = ?", rowid }

func clone(p dc.Patch) dc.Patch {
	c := make(dc.Patch, len(p)+1)
	for k, v := range p {
		c[k] = v
	}
	return c
}

// set changes the rows that where chooses. Extra assignments, as "Crawled =
// Crawled + 1", come behind those of p. It tells how many rows it found; with
// nothing to set it finds none.
func (t *tx) set(g target, p dc.Patch, extra []string, where string, args ...any) (int64, error) {
	assign, values, err := t.assignments(g, p)
	if err != nil {
		return 0, err
	}
	assign = append(assign, extra...)
	if len(assign) == 0 {
		return 0, nil
	}
	text := "UPDATE " + g.table + g.as + " SET " + strings.Join(assign, ", ") + " WHERE " + where
	if g.site != "" {
		text = t.named(g.site, text)
	}
	return t.Exec(text, append(values, args...)...)
}

func (t *tx) assignments(g target, p dc.Patch) (assign []string, args []any, err error) {
	for _, name := range names(p) {
		value := p[name]
		switch x := value.(type) {
		case nil:
			if name == "CDate" {
				value = t.now
			}
		case dc.Expr:
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
