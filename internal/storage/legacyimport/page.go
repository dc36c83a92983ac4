package legacyimport

import (
	"context"
	"strings"

	"hce/dc/internal/wire"
)

const (
	pageBytes = 8 << 20  // of one page; the last row may go beyond
	valueMax  = 12 << 20 // bytes of one value: what a server takes in one statement
)

// table is one to be read in pages.
type table struct {
	name     string // by which changes are counted
	database string
	table    string
	key      string // column that rows are ordered by; "" for a list without pages
	columns  []wire.Column
	where    string // further condition, or ""
	args     []any
	order    string // of a list without pages
}

// page reads rows from a bookmark on, as they are there. A table that is not
// there has none. The bookmark that it gives is done when no row is left.
func (s *Source) page(ctx context.Context, t table, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	types, err := s.columnsOf(ctx, t.database, t.table)
	if err != nil || types == nil {
		return nil, wire.Bookmark{Done: true}, err
	}
	var page []wire.Patch
	bytes := 0
	next, whole, err := s.read(ctx, t, types, from, most, func(p wire.Patch, size int) bool {
		page = append(page, p)
		bytes += size
		return bytes <= pageBytes
	})
	if err != nil {
		return nil, from, err
	}
	next.Done = whole && len(page) < most
	return page, next, nil
}

// read gives each the rows of a page and how many bytes they have, as long as it
// returns true; whole says that it always did.
func (s *Source) read(ctx context.Context, t table, types map[string]string, from wire.Bookmark, most int, each func(p wire.Patch, size int) bool) (next wire.Bookmark, whole bool, err error) {
	text, args, columns := s.query(t, types, from, most)
	rows, err := s.pool.QueryContext(ctx, text, args...)
	if err != nil {
		return from, false, err
	}
	defer rows.Close()
	next = from
	r := newRow(s, t, columns, types)
	for rows.Next() {
		if err := rows.Scan(r.targets...); err != nil {
			return from, false, err
		}
		if key := string(r.key); sameKey(key, next.Key) && (next.Rows > 0 || t.key == "") {
			next.Rows++
		} else {
			next = wire.Bookmark{Key: key, Rows: 1}
		}
		if !each(r.patch()) {
			return next, false, nil
		}
	}
	return next, true, rows.Err()
}

func (s *Source) query(t table, types map[string]string, from wire.Bookmark, most int) (text string, args []any, columns []wire.Column) {
	var b strings.Builder
	b.WriteString("SELECT ")
	for _, c := range t.columns {
		kind, there := types[c.Name]
		if !there {
			continue
		}
		columns = append(columns, c)
		name := "`" + c.Name + "`"
		if blob(kind) {
			name = "CASE WHEN LENGTH(" + name + ") <= ? THEN " + name + " END, LENGTH(" + name + ")"
			args = append(args, valueMax)
		}
		b.WriteString(name + ", ")
	}
	where, order, values := "1 = 1", t.order, []any{}
	key := "''"
	if t.key != "" {
		key, order = "`"+t.key+"`", "`"+t.key+"`"
		if from.Rows > 0 {
			where, values = key+" >= ?", []any{from.Key}
		}
	}
	b.WriteString(key + " FROM " + s.quoted(t.database, t.table) + " WHERE " + where)
	if t.where != "" {
		b.WriteString(" AND " + t.where)
	}
	if order != "" {
		b.WriteString(" ORDER BY " + order)
	}
	b.WriteString(" LIMIT ? OFFSET ?")
	args = append(append(append(args, values...), t.args...), most, from.Rows)
	return b.String(), args, columns
}

func blob(kind string) bool { return strings.HasSuffix(kind, "blob") }

// sameKey compares as the server does with keys of ASCII.
func sameKey(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}
