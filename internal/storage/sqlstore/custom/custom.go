package custom

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
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// CustomMode is what SQL_CUSTOM may do (docs/spec/DECISIONS.md 4). The zero value is
// CustomOff.
type CustomMode string

const (
	CustomOff CustomMode = "off"
	// CustomRead allows one SELECT in the MySQL dialect on the tables of the
	// specification. The transaction cannot write.
	CustomRead CustomMode = "read"
	// CustomAll also allows INSERT, UPDATE and DELETE on one such table, and recounts the
	// counters of its site. Any other statement runs unchanged, in the dialect and with
	// the table names of the database. If it makes counters wrong, the client must call
	// F_RECALC.
	CustomAll CustomMode = "all"
)

// Limits of one SQL_CUSTOM with all its queries.
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

// Custom runs the queries of a client in one transaction (docs/spec/storage.md 4.21). If
// a query fails, ErrString has the reason, the result is empty, and all changes are
// undone that MySQL did not commit by itself. A row is a list of nulls, numbers and texts,
// or an object of them. A DECIMAL is a text; a date has a T between day and time
// (docs/spec/objects.md 4.3). A value without a JSON form is null.
func (s *Store) Custom(ctx context.Context, r wire.CustomRequest, mode CustomMode) (wire.CustomResponse, error) {
	answer := wire.CustomResponse{RID: r.RID, Query: r.Query, DBName: r.DBName, Result: []any{}}
	short, cancel := context.WithTimeout(ctx, s.db.Options.CustomTime)
	defer cancel()
	results, err := s.runCustom(short, r, mode)
	if err != nil {
		if ctx.Err() != nil || sqldb.Critical(err) {
			return answer, err
		}
		text := err.Error()
		if failed := (*customError)(nil); errors.As(err, &failed) {
			text = failed.Error()
		}
		if short.Err() != nil {
			text = fmt.Sprintf("the queries take longer than %v", s.db.Options.CustomTime)
		}
		answer.ErrString = &text
		return answer, nil
	}
	if r.List {
		answer.Result = tables.MapSlice(results, func(rows []any) any { return rows })
	} else {
		answer.Result = results[0]
	}
	return answer, nil
}

// customError is the error of a query, without the operation around it.
type customError struct{ err error }

func (e *customError) Error() string { return e.err.Error() }
func (e *customError) Unwrap() error { return e.err }

func (s *Store) runCustom(ctx context.Context, r wire.CustomRequest, mode CustomMode) ([][]any, error) {
	database := s.databaseOf(r.DBName)
	switch {
	case mode != CustomRead && mode != CustomAll:
		return nil, errCustomOff
	case r.Queries == nil:
		return nil, errCustomQuery
	case len(r.Queries) == 0:
		return nil, errCustomEmpty
	case database == "":
		return nil, fmt.Errorf("dbName %s is not the name of a database", strconv.Quote(tables.ClipText(r.DBName)))
	}
	for _, q := range r.Queries {
		if strings.TrimSpace(q) == "" {
			return nil, errCustomEmpty
		}
	}
	queries := func(all bool) func(t *tx) ([][]any, error) {
		return func(t *tx) ([][]any, error) {
			var results [][]any
			c := custom{tx: t, database: r.DBName, names: r.Names, all: all}
			for _, q := range r.Queries {
				rows, err := c.runStatement(q)
				if err != nil {
					return nil, &customError{err}
				}
				results = append(results, rows)
			}
			return results, nil
		}
	}
	results, err := tables.RunForResult(ctx, s.run.Read, "Custom", queries(false))
	if mode == CustomAll && tables.IsRefusal(err) {
		return tables.RunForResult(ctx, s.run.Update, "Custom", queries(true))
	}
	return results, err
}

// databaseOf returns the constant of package sqldb for a configured name or a name of the
// specification, or "".
func (s *Store) databaseOf(name string) string {
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

// custom is the state of one SQL_CUSTOM.
type custom struct {
	*tx
	database    string // the default database
	names       bool   // rows are objects
	all         bool   // other statements than a SELECT may run
	rows, bytes int    // size of the answer
}

func (c *custom) runStatement(text string) ([]any, error) {
	f := finder{tx: c.tx, database: c.database}
	scope := expr.Scope{Dialect: c.DB.Dialect(), Now: c.Time, Find: f.findTable, Quote: f.quoteTable}
	q, fields, err := scope.Query(text)
	if f.err != nil {
		return nil, f.err
	}
	if err == nil {
		return c.runSelect(f.withClause()+q.Text, q.Args, f.expandStars(fields))
	}
	if !c.all {
		return nil, err
	}
	f = finder{tx: c.tx, database: c.database}
	scope.Find, scope.Quote = f.findTable, f.quoteTable
	change, notChange := scope.Change(text)
	switch {
	case f.err != nil:
		return nil, f.err
	case notChange == nil:
		return []any{}, c.runChange(change, f.found[0])
	}
	rows, failed := c.runUnchanged(text)
	if failed != nil {
		return nil, fmt.Errorf("%w (as a SELECT: %v; as a change: %v)", failed, err, notChange)
	}
	return rows, nil
}

// runChange runs an INSERT, UPDATE or DELETE and recounts the counters of its site.
func (c *custom) runChange(change expr.Change, table *foundTable) error {
	extra := map[string]any{"CDate": c.Now}
	var own expr.SQL
	if table.site != "" {
		own, extra["Site_Id"] = tables.OfSite(table.site), table.site
	}
	q := change.Text(table.name, own, extra)
	// Each can be interrupted, Exec cannot.
	none := func(func(...any) error) error { return nil }
	if err := c.Each(q.Text, q.Args, none); err != nil || !table.counted {
		return err
	}
	return c.RecountSite(table.site)
}

// runSelect runs a SELECT with known columns.
func (c *custom) runSelect(text string, args []any, fields []expr.Field) ([]any, error) {
	rows := []any{}
	err := c.Each(text, args, c.appendRow(&rows, &fields))
	return rows, err
}

// runUnchanged runs a statement unchanged.
func (c *custom) runUnchanged(text string) ([]any, error) {
	rows := []any{}
	var fields []expr.Field
	columns := func(names, types []string) {
		for i, name := range names {
			fields = append(fields, expr.Field{Name: name, Time: types[i] == "DATETIME" || types[i] == "TIMESTAMP", Decimals: -1})
		}
	}
	err := c.Any(c.DB.Name(c.s.databaseOf(c.database)), text, columns, c.appendRow(&rows, &fields))
	return rows, err
}

func (c *custom) appendRow(rows *[]any, fields *[]expr.Field) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		row, err := c.readRow(*fields, scan)
		*rows = append(*rows, row)
		return err
	}
}

// readRow reads one row within the limits of the answer.
func (c *custom) readRow(fields []expr.Field, scan func(...any) error) (any, error) {
	values, err := tables.ScanValues(len(fields), scan)
	if err != nil {
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

// wireValue converts a database value to its form in the answer.
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
			whole, fraction := strconv.FormatInt(x, 10), strings.Repeat("0", f.Decimals)
			return strings.TrimSuffix(whole+"."+fraction, ".")
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
