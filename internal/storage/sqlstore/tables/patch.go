package tables

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// ColumnValue converts a database value to the type in a schema.Patch. Ok is false if the
// column cannot hold it.
func ColumnValue(raw any, kind schema.Kind) (value any, ok bool) {
	if b, is := raw.([]byte); is {
		raw = string(b)
	}
	if raw == nil {
		return nil, true
	}
	text := fmt.Sprint(raw)
	switch kind {
	case schema.KindInt:
		if n, is := raw.(int64); is {
			return n, true
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(text, 64) // a DECIMAL of MySQL
		return int64(math.Round(f)), err == nil && math.Abs(f) < math.MaxInt64
	case schema.KindFloat:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	return text, true
}

// Target is a table that a schema.Patch is written to.
type Target struct {
	Object  string   // name of the row in errors: "Site", "URLNew[0]"
	Key     []string // columns of the unique key; nil if rows have only a number
	Table   string   // quoted
	As      string   // " AS name", the name in expressions, or ""
	Site    string   // the site whose tables sub-selects may read, or ""
	Columns []schema.Column
	Scope   expr.Scope
}

// NewFieldError returns an error that names the field of a column as the request does.
func (g Target) NewFieldError(column, value string, err error) error {
	field := column
	for _, c := range g.Columns {
		if c.Name == column {
			field = c.JSON
		}
	}
	return &lenient.FieldError{Object: g.Object, Field: field, Value: clipTo(value, 120), Reason: err.Error()}
}

// IsRefusal reports whether the request caused err, not the database.
func IsRefusal(err error) bool {
	var field *lenient.FieldError
	var text *expr.Error
	return errors.As(err, &field) || errors.As(err, &text) || sqldb.BadValue(err)
}

// isNow recognises the most frequent expression without the parser.
func isNow(e schema.Expr) bool { return strings.EqualFold(strings.TrimSpace(string(e)), "NOW()") }

// NeedsParser returns the expression of a value that must pass the parser.
func NeedsParser(value any) (schema.Expr, bool) {
	e, ok := value.(schema.Expr)
	return e, ok && !isNow(e)
}

// HasExpressions reports whether a value of p must pass the parser.
func HasExpressions(p schema.Patch) bool {
	for _, v := range p {
		if _, ok := NeedsParser(v); ok {
			return true
		}
	}
	return false
}

// SortedColumns are the sorted columns of p. A fixed order gives few statement texts, which
// stay prepared.
func SortedColumns(p schema.Patch) []string { return slices.Sorted(maps.Keys(p)) }

// ClonePatch returns a copy of p that is not nil.
func ClonePatch(p schema.Patch) schema.Patch {
	c := make(schema.Patch, len(p)+1)
	maps.Copy(c, p)
	return c
}

// InsertRow inserts one row. Inserted is false if a row has its key. CDate defaults to the
// current time. Expressions are evaluated on the inserted row.
func (t *Tx) InsertRow(g Target, p schema.Patch) (inserted bool, err error) {
	var columns []string
	var args []any
	later := schema.Patch{}
	if p["CDate"] == nil {
		p = ClonePatch(p)
		p["CDate"] = t.Now
	}
	for _, name := range SortedColumns(p) {
		value := p[name]
		if e, ok := value.(schema.Expr); ok {
			if !isNow(e) {
				later[name] = e
				if name != "CDate" {
					continue
				}
			}
			value = t.Now
		}
		columns = append(columns, "`"+name+"`")
		args = append(args, value)
	}
	text := "INSERT INTO " + g.Table + " (" + strings.Join(columns, ", ") + ") VALUES (" + Placeholders(len(columns)) + ")"
	rowid, inserted, err := t.Insert(text, args...)
	if err != nil || !inserted || len(later) == 0 {
		return inserted, err
	}
	where, values := t.DB.RowID()+" = ?", []any{rowid}
	if g.Key != nil {
		where = strings.Join(g.Key, " = ? AND ") + " = ?"
		values = MapSlice(g.Key, func(name string) any { return p[name] })
	}
	_, err = t.UpdateRows(g, later, nil, where, values...)
	return true, err
}

// UpdateRows changes the rows of a condition and returns their number. Extra has more
// assignments, as "Crawled = Crawled + 1". Without assignments it returns 0.
func (t *Tx) UpdateRows(g Target, p schema.Patch, extra []string, where string, args ...any) (int64, error) {
	assign, values, err := t.BuildAssignments(g, p)
	if err != nil {
		return 0, err
	}
	assign = append(assign, extra...)
	if len(assign) == 0 {
		return 0, nil
	}
	if HasExpressions(p) && (t.DB.Dialect() == expr.MySQL || g.computesNumbers(p)) {
		return t.setEvaluated(g, p, extra, where, args)
	}
	text := "UPDATE " + g.Table + g.As + " SET " + strings.Join(assign, ", ") + " WHERE " + where
	if g.Site != "" {
		text = t.WithNamedTables(g.Site, text)
	}
	return t.Exec(text, append(values, args...)...)
}

// SetRow is UpdateRows for one URL of g's site.
func (t *Tx) SetRow(g Target, md5 string, p schema.Patch, extra ...string) error {
	_, err := t.UpdateRows(g, p, extra, "Site_Id = ? AND URLMd5 = ?", g.Site, md5)
	return err
}

// SetKeys is UpdateRows for URLs of g's site.
func (t *Tx) SetKeys(g Target, md5s []string, p schema.Patch, extra ...string) error {
	return ForEachChunk(md5s, func(in string, args []any) error {
		_, err := t.UpdateRows(g, p, extra, "Site_Id = ? AND URLMd5 IN "+in, slices.Concat([]any{g.Site}, args)...)
		return err
	})
}

// computesNumbers reports whether p has an expression for a number.
func (g Target) computesNumbers(p schema.Patch) bool {
	return slices.ContainsFunc(SortedColumns(p), func(name string) bool {
		_, ok := NeedsParser(p[name])
		return ok && g.isNumeric(name)
	})
}

// isNumeric reports whether a column holds numbers.
func (g Target) isNumeric(name string) bool {
	return slices.ContainsFunc(g.Columns, func(c schema.Column) bool {
		return c.Name == name && (c.Kind == schema.KindInt || c.Kind == schema.KindFloat)
	})
}

// checkFits returns a value that an expression gave for a column. It refuses a number that the column
// cannot hold: SQLite would store it.
func (g Target) checkFits(name, text string, value any) (any, error) {
	if !g.isNumeric(name) {
		return value, nil
	}
	c := g.Columns[slices.IndexFunc(g.Columns, func(c schema.Column) bool { return c.Name == name })]
	stored, ok := ColumnValue(value, c.Kind)
	if !ok || stored == nil || c.Fit(stored) != stored {
		return nil, g.NewFieldError(name, text, fmt.Errorf("gives %v, which the column cannot hold", value))
	}
	return stored, nil
}

// setEvaluated is UpdateRows with expressions on MySQL, and on SQLite with expressions for numbers. MySQL
// evaluates an assignment with the new values of the columns before it, and refuses one that reads
// the changed table. So the values are read first, then rows with equal values are changed together.
func (t *Tx) setEvaluated(g Target, p schema.Patch, extra []string, where string, args []any) (int64, error) {
	key := t.DB.RowID()
	if g.Key != nil {
		key = g.Key[len(g.Key)-1]
	}
	plain := ClonePatch(p)
	var columns []string
	var s Statement
	s.AppendText("SELECT " + key)
	for _, name := range SortedColumns(p) {
		e, ok := NeedsParser(p[name])
		if !ok {
			continue
		}
		delete(plain, name)
		v, err := g.Scope.Assign(name, string(e))
		if err != nil {
			return 0, g.NewFieldError(name, string(e), err)
		}
		if v.Text == "" {
			continue
		}
		columns = append(columns, name)
		if g.isNumeric(name) {
			v.Text += " + 0" // a date becomes a number
		}
		s.AppendText(", "+v.Text, v.Args...)
	}
	s.AppendText(" FROM "+g.Table+g.As+" WHERE "+where+t.DB.ForUpdate(), args...)
	groups, err := t.equalRows(s, len(columns))
	if err != nil {
		return 0, err
	}
	var changed int64
	for _, group := range groups {
		values := ClonePatch(plain)
		for i, name := range columns {
			e, _ := p[name].(schema.Expr)
			if values[name], err = g.checkFits(name, string(e), group.values[i]); err != nil {
				return changed, err
			}
		}
		err := ForEachChunk(group.keys, func(in string, keys []any) error {
			n, err := t.UpdateRows(g, values, extra, "("+where+") AND "+key+" IN "+in, slices.Concat(args, keys)...)
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
func (t *Tx) equalRows(s Statement, n int) (groups []*rowGroup, err error) {
	byValues := map[string]*rowGroup{}
	err = t.Each(s.Text.String(), s.Args, func(scan func(...any) error) error {
		row, err := ScanValues(n+1, scan)
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

// ScanValues reads a row of n columns of any type.
func ScanValues(n int, scan func(...any) error) ([]any, error) {
	values, targets := make([]any, n), make([]any, n)
	for i := range values {
		targets[i] = &values[i]
	}
	return values, scan(targets...)
}

// BuildAssignments returns "column = value" for each column of p, with its arguments. A
// blank expression assigns nothing.
func (t *Tx) BuildAssignments(g Target, p schema.Patch) (assign []string, args []any, err error) {
	for _, name := range SortedColumns(p) {
		value := p[name]
		if e, ok := NeedsParser(value); ok {
			s, err := g.Scope.Assign(name, string(e))
			if err != nil {
				return nil, nil, g.NewFieldError(name, string(e), err)
			}
			if s.Text != "" {
				assign = append(assign, "`"+name+"` = "+s.Text)
				args = append(args, s.Args...)
			}
			continue
		}
		assign = append(assign, "`"+name+"` = ?")
		args = append(args, t.ValueOf(name, value))
	}
	return assign, args, nil
}

// ValueOf is the value of a column that needs no parser.
func (t *Tx) ValueOf(name string, value any) any {
	if _, now := value.(schema.Expr); now || value == nil && name == "CDate" {
		return t.Now
	}
	return value
}
