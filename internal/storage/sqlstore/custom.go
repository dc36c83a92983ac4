package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// CustomMode is what SQL_CUSTOM may do (docs/spec/DECISIONS.md 4). The zero value is
// CustomOff.
type CustomMode string

const (
	CustomOff CustomMode = "off"
	// CustomRead: one SELECT at a time, in the MySQL dialect, over the tables of
	// the specification, in a transaction that cannot write.
	CustomRead CustomMode = "read"
	// CustomAll: also INSERT, UPDATE and DELETE on one such table, after which the
	// counters of its site are counted anew; and any other statement, as it is, in
	// the database's own dialect and with its own names of tables. Counters that
	// the latter makes wrong are the asker's to mend (F_RECALC).
	CustomAll CustomMode = "all"
)

// Bounds of one SQL_CUSTOM, all its queries together.
const (
	customRows  = 10000
	customBytes = 16 << 20
)

var (
	errCustomOff   = errors.New("SQL_CUSTOM is switched off; SQLCustom of db-task.ini allows it")
	errCustomQuery = errors.New("query is not a text or a list of texts")
	errCustomEmpty = errors.New("query is empty")
	errCustomMuch  = fmt.Errorf("the answer has more than %d rows or %d bytes", customRows, customBytes)
)

// Custom runs the queries of a client one after the other, in one transaction
// (docs/spec/storage.md 4.21). What a query gets wrong stands in ErrString, and the result is
// empty then; nothing that the others changed stays, but for what MySQL commits
// by itself. Rows are lists of null, numbers and texts, or objects of them; a
// DECIMAL is a text, a date has a T between day and time (docs/spec/objects.md 4.3). Values
// without a form in JSON are null.
func (s *Store) Custom(ctx context.Context, r wire.CustomRequest, mode CustomMode) (wire.CustomResponse, error) {
	answer := wire.CustomResponse{RID: r.RID, Query: r.Query, DBName: r.DBName, Result: []any{}}
	short, cancel := context.WithTimeout(ctx, s.o.CustomTime)
	defer cancel()
	results, err := s.custom(short, r, mode)
	if err != nil {
		if ctx.Err() != nil || sqldb.Critical(err) {
			return answer, err
		}
		text := reasonOf(err)
		if short.Err() != nil {
			text = fmt.Sprintf("the queries take longer than %v", s.o.CustomTime)
		}
		answer.ErrString = &text
		return answer, nil
	}
	if !r.List {
		answer.Result = results[0]
		return answer, nil
	}
	for _, rows := range results {
		answer.Result = append(answer.Result, rows)
	}
	return answer, nil
}

// reasonOf leaves out where in the program an error was found.
func reasonOf(err error) string {
	var failed *customError
	if errors.As(err, &failed) {
		return failed.Error()
	}
	return err.Error()
}

// customError is what a query gets wrong.
type customError struct{ err error }

func (e *customError) Error() string { return e.err.Error() }
func (e *customError) Unwrap() error { return e.err }

func (s *Store) custom(ctx context.Context, r wire.CustomRequest, mode CustomMode) ([][]any, error) {
	database := s.database(r.DBName)
	switch {
	case mode != CustomRead && mode != CustomAll:
		return nil, errCustomOff
	case r.Queries == nil:
		return nil, errCustomQuery
	case len(r.Queries) == 0:
		return nil, errCustomEmpty
	case database == "":
		return nil, fmt.Errorf("dbName %s is not the name of a database", strconv.Quote(clip(r.DBName)))
	}
	for _, q := range r.Queries {
		if strings.TrimSpace(q) == "" {
			return nil, errCustomEmpty
		}
	}
	results, err := s.customIn(ctx, s.view, r, false)
	if mode == CustomAll && refused(err) {
		return s.customIn(ctx, s.update, r, true)
	}
	return results, err
}

// database is the constant of package sqldb for the name that a database has, or
// has in the specification; "" for another.
func (s *Store) database(name string) string {
	databases := append([]string{sqldb.Sites}, sqldb.SiteDatabases...)
	for _, database := range databases {
		if s.db.Name(database) == name {
			return database
		}
	}
	if slices.Contains(databases, name) {
		return name
	}
	return ""
}

// customIn runs the queries in one transaction.
func (s *Store) customIn(ctx context.Context, run func(context.Context, string, func(*tx) error) error, r wire.CustomRequest, all bool) ([][]any, error) {
	var results [][]any
	err := run(ctx, "Custom", func(t *tx) error {
		results = nil
		c := custom{tx: t, database: r.DBName, names: r.Names, all: all}
		for _, q := range r.Queries {
			rows, err := c.run(q)
			if err != nil {
				return &customError{err}
			}
			results = append(results, rows)
		}
		return nil
	})
	return results, err
}

// custom is one SQL_CUSTOM under way.
type custom struct {
	*tx
	database    string // where a table without a database is
	names       bool   // rows are objects
	all         bool   // what is no SELECT over the tables of the specification runs as it is
	rows, bytes int    // of the answer so far
}

func (c *custom) run(text string) ([]any, error) {
	f := finder{tx: c.tx, database: c.database}
	scope := expr.Scope{Dialect: c.DB.Dialect(), Now: c.time, Find: f.find, Quote: f.quote}
	q, fields, err := scope.Query(text)
	if f.err != nil {
		return nil, f.err
	}
	if err == nil {
		return c.read(f.with()+q.Text, q.Args, f.expand(fields))
	}
	if !c.all {
		return nil, err
	}
	f = finder{tx: c.tx, database: c.database}
	scope.Find, scope.Quote = f.find, f.quote
	change, notChange := scope.Change(text)
	switch {
	case f.err != nil:
		return nil, f.err
	case notChange == nil:
		return []any{}, c.change(change, f.found[0])
	}
	rows, failed := c.any(text)
	if failed != nil {
		return nil, fmt.Errorf("%w (as a SELECT: %v; as a change: %v)", failed, err, notChange)
	}
	return rows, nil
}

// change runs an INSERT, UPDATE or DELETE, and counts again what a site counts.
func (c *custom) change(change expr.Change, table *foundTable) error {
	extra := map[string]any{"CDate": c.now}
	var own expr.SQL
	if table.site != "" {
		own, extra["Site_Id"] = ofSite(table.site), table.site
	}
	q := change.Text(table.name, own, extra)
	// A query can be interrupted, and runs a change as well.
	none := func(func(...any) error) error { return nil }
	if err := c.Each(q.Text, q.Args, none); err != nil || !table.counted {
		return err
	}
	return c.recount(table.site)
}

// read runs a SELECT whose columns are known.
func (c *custom) read(text string, args []any, fields []expr.Field) ([]any, error) {
	rows := []any{}
	err := c.Each(text, args, func(scan func(...any) error) error {
		row, err := c.row(fields, scan)
		rows = append(rows, row)
		return err
	})
	return rows, err
}

// any runs a statement as it is.
func (c *custom) any(text string) ([]any, error) {
	rows := []any{}
	var fields []expr.Field
	columns := func(names, types []string) {
		for i, name := range names {
			fields = append(fields, expr.Field{Name: name, Time: types[i] == "DATETIME" || types[i] == "TIMESTAMP", Decimals: -1})
		}
	}
	err := c.Any(c.DB.Name(c.s.database(c.database)), text, columns, func(scan func(...any) error) error {
		row, err := c.row(fields, scan)
		rows = append(rows, row)
		return err
	})
	return rows, err
}

// row reads one row, within the bounds of the answer.
func (c *custom) row(fields []expr.Field, scan func(...any) error) (any, error) {
	values, targets := make([]any, len(fields)), make([]any, len(fields))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := scan(targets...); err != nil {
		return nil, err
	}
	c.rows++
	for i, f := range fields {
		values[i] = wireValue(values[i], f)
		c.bytes += 8
		if s, ok := values[i].(string); ok {
			c.bytes += len(s)
		}
		if c.names {
			c.bytes += len(f.Name)
		}
	}
	if c.rows > customRows || c.bytes > customBytes {
		return nil, errCustomMuch
	}
	if !c.names {
		return values, nil
	}
	object := make(map[string]any, len(fields))
	for i, f := range fields {
		object[f.Name] = values[i]
	}
	return object, nil
}

// wireValue is a value of the database as the answer carries it.
func wireValue(v any, f expr.Field) any {
	switch x := v.(type) {
	case time.Time:
		return x.Format("2006-01-02T15:04:05")
	case []byte:
		return wireText(string(x), f)
	case string:
		return wireText(x, f)
	case int64:
		if f.Decimals >= 0 {
			return decimal(strconv.FormatInt(x, 10), f.Decimals)
		}
	case float64:
		if f.Decimals >= 0 {
			return strconv.FormatFloat(x, 'f', f.Decimals, 64)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
	}
	return v
}

func wireText(s string, f expr.Field) string {
	if f.Time {
		return wire.ISO(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// decimal writes a whole number with its digits behind the point.
func decimal(whole string, decimals int) string {
	if decimals == 0 {
		return whole
	}
	return whole + "." + strings.Repeat("0", decimals)
}
