package sqlstore

import (
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// ofKeys selects the rows of a site by key. The list of keys of execIn and eachIn
// follows it.
const ofKeys = " WHERE Site_Id = ? AND URLMd5 IN "

// chunkSizes are the lengths of key lists in one statement. Few lengths give few
// statement texts, which stay prepared.
var chunkSizes = []int{8, 64, 500}

// forEachChunk calls do with a list of placeholders, as "(?, ?)", and its values until all
// keys are passed. It repeats the last key to fill a list.
func forEachChunk[K any](keys []K, do func(in string, args []any) error) error {
	for len(keys) > 0 {
		size := chunkSizes[len(chunkSizes)-1]
		for _, s := range chunkSizes {
			if len(keys) <= s {
				size = s
				break
			}
		}
		n := min(size, len(keys))
		args := make([]any, size)
		for i := range args {
			args[i] = keys[min(i, n-1)]
		}
		if err := do("("+placeholders(size)+")", args); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// placeholders returns n placeholders: "?, ?, ?".
func placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// sortUnique returns the keys sorted and without duplicates.
func sortUnique(keys []string) []string { return slices.Compact(slices.Sorted(slices.Values(keys))) }

// mapSlice returns f of each element.
func mapSlice[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func urlKey(u *wire.URL) string { return u.URLMd5 }

// execIn runs text, which ends before its list of keys, for all keys. It returns the
// number of changed rows.
func execIn[K any](t *tx, keys []K, text string, args ...any) (changed int64, err error) {
	err = forEachChunk(keys, func(in string, values []any) error {
		n, err := t.Exec(text+in, slices.Concat(args, values)...)
		changed += n
		return err
	})
	return changed, err
}

// eachIn calls row for the rows of text, which ends before its list of keys.
func eachIn[K any](t *tx, keys []K, text string, args []any, row rowFunc) error {
	return forEachChunk(keys, func(in string, values []any) error { return t.Each(text+in, slices.Concat(args, values), row) })
}

// rowFunc reads one row with the scan function of its query.
type rowFunc = func(scan func(...any) error) error

// eachRow returns a rowFunc that passes each row to do. Fields returns the scan targets of
// one row.
func eachRow[T any](fields func(*T) []any, do func(T) error) rowFunc {
	return func(scan func(...any) error) error {
		var row T
		if err := scan(fields(&row)...); err != nil {
			return err
		}
		return do(row)
	}
}

// appendTo returns a rowFunc that appends each row to list.
func appendTo[T any](list *[]T, fields func(*T) []any) rowFunc {
	return eachRow(fields, func(row T) error {
		*list = append(*list, row)
		return nil
	})
}

// scanPair returns a rowFunc for rows of two columns.
func scanPair[A, B any](do func(A, B)) rowFunc {
	return func(scan func(...any) error) error {
		var a A
		var b B
		if err := scan(&a, &b); err != nil {
			return err
		}
		do(a, b)
		return nil
	}
}

// singleTarget is the only field of a row of one column.
func singleTarget[T any](v *T) []any { return []any{v} }

// fieldsOf are the scan targets of a whole row.
func fieldsOf[T any](columns []wire.Column) func(*T) []any {
	return func(row *T) []any { return wire.Targets(row, columns) }
}

// readColumn reads a query of one column.
func readColumn[T any](t *tx, text string, args ...any) (list []T, err error) {
	err = t.Each(text, args, appendTo(&list, singleTarget[T]))
	return list, err
}

// namedColumn reads a named query of one column.
func namedColumn[T any](t *tx, name string, args ...any) (list []T, err error) {
	err = t.All(name, args, appendTo(&list, singleTarget[T]))
	return list, err
}

// readURLs reads rows of a site by key. Missing keys are not in the map.
func (t *tx) readURLs(site string, md5s []string) (map[string]wire.URL, error) {
	found := make(map[string]wire.URL, len(md5s))
	err := forEachChunk(md5s, func(in string, args []any) error {
		return t.eachURL("SELECT "+urlColumns+" FROM "+t.siteTable(sqldb.URLs, site)+ofKeys+in, slices.Concat([]any{site}, args),
			func(u wire.URL) { found[u.URLMd5] = u })
	})
	return found, err
}

// eachURL reads the rows of a query for urlColumns.
func (t *tx) eachURL(text string, args []any, each func(wire.URL)) error {
	var row wire.URL
	targets := wire.Targets(&row, wire.URLColumns)
	return t.Each(text, args, func(scan func(...any) error) error {
		row.SiteSelect = wire.SelectNone
		if err := scan(targets...); err != nil {
			return err
		}
		each(row)
		return nil
	})
}

// keysWithRow returns the keys that have a row in a table of a site.
func (t *tx) keysWithRow(database, site string, md5s []string) (map[string]bool, error) {
	return t.keysFromQuery(md5s, "SELECT URLMd5 FROM "+t.siteTable(database, site)+ofKeys, site)
}

// keysFromQuery returns the keys that a query returns, which ends before its list of keys.
func (t *tx) keysFromQuery(keys []string, text string, args ...any) (map[string]bool, error) {
	found := make(map[string]bool, len(keys))
	err := eachIn(t, keys, text, args, func(scan func(...any) error) error {
		var key string
		err := scan(&key)
		found[key] = true
		return err
	})
	return found, err
}

// deleteKeys deletes the rows of keys from a table of a site.
func (t *tx) deleteKeys(database, site string, md5s []string) error {
	_, err := execIn(t, md5s, "DELETE FROM "+t.siteTable(database, site)+ofKeys, site)
	return err
}

// doAll runs named statements whose only argument is the site.
func (t *tx) doAll(site string, names ...string) error {
	for _, name := range names {
		if _, err := t.Of(site).Do(name, site); err != nil {
			return err
		}
	}
	return nil
}

// rowSizes are the numbers of rows in one INSERT. Few numbers give few statement
// texts, which stay prepared.
var rowSizes = []int{64, 32, 16, 8, 4, 2, 1}

// maxInsert bounds the bytes of text in one INSERT of several rows.
const maxInsert = 1 << 20

// insertText appends the values of the first rows to head, as "INSERT INTO t (a, b)".
// It returns the statement, its arguments and the number of rows in it.
func insertText(head string, rows [][]any) (text string, args []any, n int) {
	for _, n = range rowSizes {
		if n == 1 || n <= len(rows) && textSize(rows[:n]) <= maxInsert {
			break
		}
	}
	row := "(" + placeholders(len(rows[0])) + ")"
	return head + " VALUES " + row + strings.Repeat(", "+row, n-1), slices.Concat(rows[:n]...), n
}

func textSize(rows [][]any) (size int) {
	for _, row := range rows {
		for _, value := range row {
			switch v := value.(type) {
			case []byte:
				size += len(v)
			case string:
				size += len(v)
			}
		}
	}
	return size
}

// insertRows inserts rows of the same columns, several with one statement.
func (t *tx) insertRows(head string, rows [][]any) error { return t.writeRows(head, rows, "") }

// writeRows is insertRows with the end of the statement.
func (t *tx) writeRows(head string, rows [][]any, end string) error {
	for len(rows) > 0 {
		text, args, n := insertText(head, rows)
		if _, err := t.Exec(text+end, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// statement is an SQL text in progress, with its arguments.
type statement struct {
	text strings.Builder
	args []any
}

func (s *statement) appendText(text string, args ...any) {
	s.text.WriteString(text)
	s.args = append(s.args, args...)
}

// addConditions adds the conditions that are not empty. Each is in its own parentheses.
func (s *statement) addConditions(conditions ...expr.SQL) {
	word := " WHERE "
	for _, c := range conditions {
		if c.Text != "" {
			s.appendText(word+c.Text, c.Args...)
			word = " AND "
		}
	}
}

func ofSite(site string) expr.SQL { return expr.SQL{Text: "(Site_Id = ?)", Args: []any{site}} }

// createdAt is the place of CDate in a row.
var createdAt = slices.IndexFunc(wire.URLColumns, func(c wire.Column) bool { return c.Name == "CDate" })

// addURLs inserts complete rows of a site and counts them. The keys must be new and
// unique. Values are adapted to their columns (wire.Column.Fit), because most rows are
// links of pages.
func (t *tx) addURLs(site string, urls []*wire.URL) error {
	if len(urls) == 0 {
		return nil
	}
	rows := make([][]any, len(urls))
	for i, u := range urls {
		u.SiteID = site
		rows[i] = wire.FitRow(u, wire.URLColumns)
		if u.CDate == "" {
			u.CDate, rows[i][createdAt] = wire.Date(t.now), t.now
		}
	}
	columns, rows := withoutDefaults(rows)
	if err := t.insertRows("INSERT INTO "+t.siteTable(sqldb.URLs, site)+" ("+columnList(columns)+")", rows); err != nil {
		return err
	}
	added, err := t.tallyOf(site, urls)
	if err != nil {
		return err
	}
	if err := t.addDifference(site, tally{}, added); err != nil {
		return err
	}
	for _, u := range urls {
		if err := t.statisticsOf(site).recordInsert(u.URLMd5, u.Status, u); err != nil {
			return err
		}
	}
	return nil
}

// ownDefaults are the columns of URLs whose default in the database is not 0, ” or NULL.
var ownDefaults = []string{"Site_Id", "Status", "RequestDelay", "ProcessingDelay", "HTTPTimeout", "CDate", "MaxURLsFromPage"}

// withoutDefaults leaves out the columns in which all rows have the default of the database: most
// columns of a new link. To pass and to parse them is half of the work of an INSERT.
func withoutDefaults(rows [][]any) (columns []wire.Column, short [][]any) {
	var kept []int
	for i, c := range wire.URLColumns {
		differs := func(row []any) bool { return !isZero(row[i]) }
		if slices.Contains(ownDefaults, c.Name) || slices.ContainsFunc(rows, differs) {
			columns, kept = append(columns, c), append(kept, i)
		}
	}
	short = mapSlice(rows, func(row []any) []any { return mapSlice(kept, func(i int) any { return row[i] }) })
	return columns, short
}

func isZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		return v == ""
	}
	return false
}

// missingURLs returns the URLs whose keys have no row, each key once, in their order.
func (t *tx) missingURLs(site string, urls []*wire.URL) ([]*wire.URL, error) {
	found, err := t.keysWithRow(sqldb.URLs, site, mapSlice(urls, urlKey))
	var list []*wire.URL
	for _, u := range urls {
		if !found[u.URLMd5] {
			found[u.URLMd5] = true
			list = append(list, u)
		}
	}
	return list, err
}
