package sqlstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// target is a table that a wire.Patch is written to.
type target struct {
	object  string   // name of the row in errors: "Site", "URLNew[0]"
	key     []string // columns of the unique key; nil if rows have only a number
	table   string   // quoted
	as      string   // " AS name", the name in expressions, or ""
	site    string   // the site whose tables sub-selects may read, or ""
	columns []wire.Column
	scope   expr.Scope
}

// newFieldError returns an error that names the field of a column as the request does.
func (g target) newFieldError(column, value string, err error) error {
	field := column
	for _, c := range g.columns {
		if c.Name == column {
			field = c.JSON
		}
	}
	return &wire.FieldError{Object: g.object, Field: field, Value: clipTo(value, 120), Reason: err.Error()}
}

// isRefusal reports whether the request caused err, not the database.
func isRefusal(err error) bool {
	var field *wire.FieldError
	var text *expr.Error
	return errors.As(err, &field) || errors.As(err, &text) || sqldb.BadValue(err)
}

// isNow recognises the most frequent expression without the parser.
func isNow(e wire.Expr) bool { return strings.EqualFold(strings.TrimSpace(string(e)), "NOW()") }

// needsParser returns the expression of a value that must pass the parser.
func needsParser(value any) (wire.Expr, bool) {
	e, ok := value.(wire.Expr)
	return e, ok && !isNow(e)
}

func hasExpressions(p wire.Patch) bool {
	for _, v := range p {
		if _, ok := needsParser(v); ok {
			return true
		}
	}
	return false
}

// sortedColumns are the sorted columns of p. A fixed order gives few statement texts, which
// stay prepared.
func sortedColumns(p wire.Patch) []string { return slices.Sorted(maps.Keys(p)) }

func clonePatch(p wire.Patch) wire.Patch {
	c := make(wire.Patch, len(p)+1)
	maps.Copy(c, p)
	return c
}

// insertRow inserts one row. Inserted is false if a row has its key. CDate defaults to the
// current time. Expressions are evaluated on the inserted row.
func (t *tx) insertRow(g target, p wire.Patch) (inserted bool, err error) {
	var columns []string
	var args []any
	later := wire.Patch{}
	if p["CDate"] == nil {
		p = clonePatch(p)
		p["CDate"] = t.now
	}
	for _, name := range sortedColumns(p) {
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
	text := "INSERT INTO " + g.table + " (" + strings.Join(columns, ", ") + ") VALUES (" + placeholders(len(columns)) + ")"
	rowid, inserted, err := t.Insert(text, args...)
	if err != nil || !inserted || len(later) == 0 {
		return inserted, err
	}
	where, values := t.DB.RowID()+" = ?", []any{rowid}
	if g.key != nil {
		where = strings.Join(g.key, " = ? AND ") + " = ?"
		values = mapSlice(g.key, func(name string) any { return p[name] })
	}
	_, err = t.updateRows(g, later, nil, where, values...)
	return true, err
}

// updateRows changes the rows of a condition and returns their number. Extra has more
// assignments, as "Crawled = Crawled + 1". Without assignments it returns 0.
func (t *tx) updateRows(g target, p wire.Patch, extra []string, where string, args ...any) (int64, error) {
	assign, values, err := t.buildAssignments(g, p)
	if err != nil {
		return 0, err
	}
	assign = append(assign, extra...)
	if len(assign) == 0 {
		return 0, nil
	}
	if hasExpressions(p) && (t.DB.Dialect() == expr.MySQL || g.computesNumbers(p)) {
		return t.setEvaluated(g, p, extra, where, args)
	}
	text := "UPDATE " + g.table + g.as + " SET " + strings.Join(assign, ", ") + " WHERE " + where
	if g.site != "" {
		text = t.withNamedTables(g.site, text)
	}
	return t.Exec(text, append(values, args...)...)
}

// setRow is set for one URL of g's site.
func (t *tx) setRow(g target, md5 string, p wire.Patch, extra ...string) error {
	_, err := t.updateRows(g, p, extra, "Site_Id = ? AND URLMd5 = ?", g.site, md5)
	return err
}

// setKeys is set for URLs of g's site.
func (t *tx) setKeys(g target, md5s []string, p wire.Patch, extra ...string) error {
	return forEachChunk(md5s, func(in string, args []any) error {
		_, err := t.updateRows(g, p, extra, "Site_Id = ? AND URLMd5 IN "+in, slices.Concat([]any{g.site}, args)...)
		return err
	})
}

// computesNumbers reports whether p has an expression for a number.
func (g target) computesNumbers(p wire.Patch) bool {
	return slices.ContainsFunc(sortedColumns(p), func(name string) bool {
		_, ok := needsParser(p[name])
		return ok && g.isNumeric(name)
	})
}

// isNumeric reports whether a column holds numbers.
func (g target) isNumeric(name string) bool {
	return slices.ContainsFunc(g.columns, func(c wire.Column) bool {
		return c.Name == name && (c.Kind == wire.KindInt || c.Kind == wire.KindFloat)
	})
}

// checkFits returns a value that an expression gave for a column. It refuses a number that the column
// cannot hold: SQLite would store it.
func (g target) checkFits(name, text string, value any) (any, error) {
	if !g.isNumeric(name) {
		return value, nil
	}
	c := g.columns[slices.IndexFunc(g.columns, func(c wire.Column) bool { return c.Name == name })]
	stored, ok := columnValue(value, c.Kind)
	if !ok || stored == nil || c.Fit(stored) != stored {
		return nil, g.newFieldError(name, text, fmt.Errorf("gives %v, which the column cannot hold", value))
	}
	return stored, nil
}

// setEvaluated is set with expressions on MySQL, and on SQLite with expressions for numbers. MySQL
// evaluates an assignment with the new values of the columns before it, and refuses one that reads
// the changed table. So the values are read first, then rows with equal values are changed together.
func (t *tx) setEvaluated(g target, p wire.Patch, extra []string, where string, args []any) (int64, error) {
	key := t.DB.RowID()
	if g.key != nil {
		key = g.key[len(g.key)-1]
	}
	plain := clonePatch(p)
	var columns []string
	var s statement
	s.appendText("SELECT " + key)
	for _, name := range sortedColumns(p) {
		e, ok := needsParser(p[name])
		if !ok {
			continue
		}
		delete(plain, name)
		v, err := g.scope.Assign(name, string(e))
		if err != nil {
			return 0, g.newFieldError(name, string(e), err)
		}
		if v.Text == "" {
			continue
		}
		columns = append(columns, name)
		if g.isNumeric(name) {
			v.Text += " + 0" // a date becomes a number
		}
		s.appendText(", "+v.Text, v.Args...)
	}
	s.appendText(" FROM "+g.table+g.as+" WHERE "+where+t.DB.ForUpdate(), args...)
	groups, err := t.equalRows(s, len(columns))
	if err != nil {
		return 0, err
	}
	var changed int64
	for _, group := range groups {
		values := clonePatch(plain)
		for i, name := range columns {
			e, _ := p[name].(wire.Expr)
			if values[name], err = g.checkFits(name, string(e), group.values[i]); err != nil {
				return changed, err
			}
		}
		err := forEachChunk(group.keys, func(in string, keys []any) error {
			n, err := t.updateRows(g, values, extra, "("+where+") AND "+key+" IN "+in, slices.Concat(args, keys)...)
			changed += n
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return changed, nil
}

// rowGroup has the keys of rows with equal values.
type rowGroup struct{ keys, values []any }

// equalRows reads rows of a key and n values, and groups them by their values.
func (t *tx) equalRows(s statement, n int) (groups []*rowGroup, err error) {
	byValues := map[string]*rowGroup{}
	err = t.Each(s.text.String(), s.args, func(scan func(...any) error) error {
		row, err := scanValues(n+1, scan)
		if err != nil {
			return err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		same := fmt.Sprintf("%q", row[1:])
		group := byValues[same]
		if group == nil {
			group = &rowGroup{values: row[1:]}
			byValues[same], groups = group, append(groups, group)
		}
		group.keys = append(group.keys, row[0])
		return nil
	})
	return groups, err
}

// scanValues reads a row of n columns of any type.
func scanValues(n int, scan func(...any) error) ([]any, error) {
	values, targets := make([]any, n), make([]any, n)
	for i := range values {
		targets[i] = &values[i]
	}
	return values, scan(targets...)
}

// buildAssignments returns "column = value" for each column of p, with its arguments. A
// blank expression assigns nothing.
func (t *tx) buildAssignments(g target, p wire.Patch) (assign []string, args []any, err error) {
	for _, name := range sortedColumns(p) {
		value := p[name]
		if e, ok := needsParser(value); ok {
			s, err := g.scope.Assign(name, string(e))
			if err != nil {
				return nil, nil, g.newFieldError(name, string(e), err)
			}
			if s.Text != "" {
				assign = append(assign, "`"+name+"` = "+s.Text)
				args = append(args, s.Args...)
			}
			continue
		}
		assign = append(assign, "`"+name+"` = ?")
		args = append(args, t.valueOf(name, value))
	}
	return assign, args, nil
}

// valueOf is the value of a column that needs no parser.
func (t *tx) valueOf(name string, value any) any {
	if _, now := value.(wire.Expr); now || value == nil && name == "CDate" {
		return t.now
	}
	return value
}
