package tables

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// KeysOf returns the keys of URLs, in their order.
func KeysOf(urls []wire.URL) []string {
	return MapSlice(urls, func(u wire.URL) string { return u.URLMd5 })
}

// StorableURL reports whether a URL can be stored unchanged. A changed URL would name
// another page.
func StorableURL(text string) bool {
	return text != "" && len(text) <= MaxURL && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// OfKeys selects the rows of a site by key. The list of keys of ExecIn and EachIn
// follows it.
const OfKeys = " WHERE Site_Id = ? AND URLMd5 IN "

// ChunkSizes are the lengths of key lists in one statement. Few lengths give few
// statement texts, which stay prepared.
var ChunkSizes = []int{8, 64, 500}

// ForEachChunk calls do with a list of placeholders, as "(?, ?)", and its values until all
// keys are passed. It repeats the last key to fill a list.
func ForEachChunk[K any](keys []K, do func(in string, args []any) error) error {
	for len(keys) > 0 {
		size := ChunkSizes[len(ChunkSizes)-1]
		for _, s := range ChunkSizes {
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
		if err := do("("+Placeholders(size)+")", args); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// Placeholders returns n placeholders: "?, ?, ?".
func Placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// SortUnique returns the keys sorted and without duplicates.
func SortUnique(keys []string) []string { return slices.Compact(slices.Sorted(slices.Values(keys))) }

// MapSlice returns f of each element.
func MapSlice[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// URLKey returns the key of a URL.
func URLKey(u *wire.URL) string { return u.URLMd5 }

// ExecIn runs text, which ends before its list of keys, for all keys. It returns the
// number of changed rows.
func ExecIn[K any](t *Tx, keys []K, text string, args ...any) (changed int64, err error) {
	err = ForEachChunk(keys, func(in string, values []any) error {
		n, err := t.Exec(text+in, slices.Concat(args, values)...)
		changed += n
		return err
	})
	return changed, err
}

// EachIn calls row for the rows of text, which ends before its list of keys.
func EachIn[K any](t *Tx, keys []K, text string, args []any, row RowFunc) error {
	return ForEachChunk(keys, func(in string, values []any) error { return t.Each(text+in, slices.Concat(args, values), row) })
}

// RowFunc reads one row with the scan function of its query.
type RowFunc = func(scan func(...any) error) error

// EachRow returns a RowFunc that passes each row to do. Fields returns the scan targets of
// one row.
func EachRow[T any](fields func(*T) []any, do func(T) error) RowFunc {
	return func(scan func(...any) error) error {
		var row T
		if err := scan(fields(&row)...); err != nil {
			return err
		}
		return do(row)
	}
}

// AppendTo returns a RowFunc that appends each row to list.
func AppendTo[T any](list *[]T, fields func(*T) []any) RowFunc {
	return EachRow(fields, func(row T) error {
		*list = append(*list, row)
		return nil
	})
}

// ScanPair returns a RowFunc for rows of two columns.
func ScanPair[A, B any](do func(A, B)) RowFunc {
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

// SingleTarget is the only field of a row of one column.
func SingleTarget[T any](v *T) []any { return []any{v} }

// FieldsOf are the scan targets of a whole row.
func FieldsOf[T any](columns []schema.Column) func(*T) []any {
	return func(row *T) []any { return schema.Targets(row, columns) }
}

// ReadColumn reads a query of one column.
func ReadColumn[T any](t *Tx, text string, args ...any) (list []T, err error) {
	err = t.Each(text, args, AppendTo(&list, SingleTarget[T]))
	return list, err
}

// NamedColumn reads a named query of one column.
func NamedColumn[T any](t *Tx, name string, args ...any) (list []T, err error) {
	err = t.All(name, args, AppendTo(&list, SingleTarget[T]))
	return list, err
}

// ReadURLs reads rows of a site by key. Missing keys are not in the map.
func (t *Tx) ReadURLs(site string, md5s []string) (map[string]wire.URL, error) {
	found := make(map[string]wire.URL, len(md5s))
	err := ForEachChunk(md5s, func(in string, args []any) error {
		return t.EachURL("SELECT "+URLColumnList+" FROM "+t.SiteTable(sqldb.URLs, site)+OfKeys+in, slices.Concat([]any{site}, args),
			func(u wire.URL) { found[u.URLMd5] = u })
	})
	return found, err
}

// EachURL reads the rows of a query for URLColumnList.
func (t *Tx) EachURL(text string, args []any, each func(wire.URL)) error {
	var row wire.URL
	targets := schema.Targets(&row, wire.URLColumns)
	return t.Each(text, args, func(scan func(...any) error) error {
		row.SiteSelect = wire.SelectNone
		if err := scan(targets...); err != nil {
			return err
		}
		each(row)
		return nil
	})
}

// KeysWithRow returns the keys that have a row in a table of a site.
func (t *Tx) KeysWithRow(database, site string, md5s []string) (map[string]bool, error) {
	return t.KeysFromQuery(md5s, "SELECT URLMd5 FROM "+t.SiteTable(database, site)+OfKeys, site)
}

// KeysFromQuery returns the keys that a query returns, which ends before its list of keys.
func (t *Tx) KeysFromQuery(keys []string, text string, args ...any) (map[string]bool, error) {
	found := make(map[string]bool, len(keys))
	err := EachIn(t, keys, text, args, func(scan func(...any) error) error {
		var key string
		err := scan(&key)
		found[key] = true
		return err
	})
	return found, err
}

// DeleteKeys deletes the rows of keys from a table of a site.
func (t *Tx) DeleteKeys(database, site string, md5s []string) error {
	_, err := ExecIn(t, md5s, "DELETE FROM "+t.SiteTable(database, site)+OfKeys, site)
	return err
}

// DoAll runs named statements whose only argument is the site.
func (t *Tx) DoAll(site string, names ...string) error {
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

// InsertText appends the values of the first rows to head, as "INSERT INTO t (a, b)".
// It returns the statement, its arguments and the number of rows in it.
func InsertText(head string, rows [][]any) (text string, args []any, n int) {
	for _, n = range rowSizes {
		if n == 1 || n <= len(rows) && textSize(rows[:n]) <= maxInsert {
			break
		}
	}
	row := "(" + Placeholders(len(rows[0])) + ")"
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

// InsertRows inserts rows of the same columns, several with one statement.
func (t *Tx) InsertRows(head string, rows [][]any) error { return t.WriteRows(head, rows, "") }

// WriteRows is InsertRows with the end of the statement.
func (t *Tx) WriteRows(head string, rows [][]any, end string) error {
	for len(rows) > 0 {
		text, args, n := InsertText(head, rows)
		if _, err := t.Exec(text+end, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Statement is an SQL text in progress, with its arguments.
type Statement struct {
	Text strings.Builder
	Args []any
}

// AppendText appends text, and args for its placeholders.
func (s *Statement) AppendText(text string, args ...any) {
	s.Text.WriteString(text)
	s.Args = append(s.Args, args...)
}

// AddConditions adds the conditions that are not empty. Each is in its own parentheses.
func (s *Statement) AddConditions(conditions ...expr.SQL) {
	word := " WHERE "
	for _, c := range conditions {
		if c.Text != "" {
			s.AppendText(word+c.Text, c.Args...)
			word = " AND "
		}
	}
}

// OfSite is the condition that a row belongs to a site.
func OfSite(site string) expr.SQL { return expr.SQL{Text: "(Site_Id = ?)", Args: []any{site}} }

// MissingURLs returns the URLs whose keys have no row, each key once, in their order.
func (t *Tx) MissingURLs(site string, urls []*wire.URL) ([]*wire.URL, error) {
	found, err := t.KeysWithRow(sqldb.URLs, site, MapSlice(urls, URLKey))
	var list []*wire.URL
	for _, u := range urls {
		if !found[u.URLMd5] {
			found[u.URLMd5] = true
			list = append(list, u)
		}
	}
	return list, err
}

// FrequencyRow returns a RowFunc for rows of wire.FreqColumns.
func FrequencyRow(do func(wire.FreqRow) error) RowFunc {
	return EachRow(FieldsOf[wire.FreqRow](wire.FreqColumns), do)
}
