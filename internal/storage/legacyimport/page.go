package legacyimport

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

const (
	pageBytes = 8 << 20  // of one page; its last row may exceed the limit
	valueMax  = 12 << 20 // bytes of one value: the most that a server takes in one statement
)

// table describes a query of one table.
type table struct {
	name     string // of the table in the counts of changes
	database string
	table    string
	key      string // column that orders the rows; "" for a list without pages
	columns  []schema.Column
	where    string // further condition, or ""
	args     []any  // of where
	order    string // of a list without pages
}

// readPage reads at most limit rows that follow the bookmark, converted to our columns. It
// drops the rows that keep refuses; keep may be nil and may change the row. The new
// bookmark is done after the last row. A missing table has no rows.
func (s *source) readPage(ctx context.Context, t table, from wire.Bookmark, limit int, keep func(schema.Patch) (bool, error)) (kept []schema.Patch, next wire.Bookmark, err error) {
	defer func() {
		if err != nil {
			kept, next, err = nil, from, fmt.Errorf("read %s.%s: %w", s.databaseName(t.database), t.table, err)
		}
	}()
	types, err := s.columnsOf(ctx, t.database, t.table)
	if err != nil || types == nil {
		return nil, wire.Bookmark{Done: true}, err
	}
	var page []schema.Patch
	bytes := 0
	next, whole, err := s.readRows(ctx, t, types, from, limit, func(p schema.Patch, size int) bool {
		page = append(page, p)
		bytes += size
		return bytes <= pageBytes
	})
	if err != nil {
		return nil, from, err
	}
	next.Done = whole && len(page) < limit
	if keep == nil {
		return page, next, nil
	}
	kept = page[:0]
	for _, p := range page {
		ok, err := keep(p)
		if err != nil {
			return nil, from, err
		}
		if ok {
			kept = append(kept, p)
		}
	}
	return kept, next, nil
}

// readRows calls each with every row and its size in bytes, until each returns false. whole
// reports that it never did.
func (s *source) readRows(ctx context.Context, t table, types map[string]string, from wire.Bookmark, limit int, each func(p schema.Patch, size int) bool) (next wire.Bookmark, whole bool, err error) {
	text, args, columns := s.buildQuery(t, types, from, limit)
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
		if !each(r.toPatch()) {
			return next, false, nil
		}
	}
	return next, true, rows.Err()
}

func (s *source) buildQuery(t table, types map[string]string, from wire.Bookmark, limit int) (text string, args []any, columns []schema.Column) {
	var b strings.Builder
	b.WriteString("SELECT ")
	for _, c := range t.columns {
		kind, exists := types[c.Name]
		if !exists {
			continue
		}
		columns = append(columns, c)
		name := "`" + c.Name + "`"
		if isBlob(kind) {
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
	b.WriteString(key + " FROM " + s.quotedName(t.database, t.table) + " WHERE " + where)
	if t.where != "" {
		b.WriteString(" AND " + t.where)
	}
	if order != "" {
		b.WriteString(" ORDER BY " + order)
	}
	b.WriteString(" LIMIT ? OFFSET ?")
	args = append(append(append(args, values...), t.args...), limit, from.Rows)
	return b.String(), args, columns
}

func isBlob(kind string) bool { return strings.HasSuffix(kind, "blob") }

// sameKey compares ASCII keys like the server: without case and trailing spaces.
func sameKey(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}

// row holds the scan targets of one query; each row overwrites the last one.
type row struct {
	s       *source
	t       table
	columns []schema.Column
	types   map[string]string
	values  []sql.RawBytes
	lengths []sql.NullInt64 // of blobs, by column
	key     sql.RawBytes
	targets []any
}

func newRow(s *source, t table, columns []schema.Column, types map[string]string) *row {
	r := &row{s: s, t: t, columns: columns, types: types, values: make([]sql.RawBytes, len(columns)), lengths: make([]sql.NullInt64, len(columns))}
	for i, c := range columns {
		r.targets = append(r.targets, &r.values[i])
		if isBlob(types[c.Name]) {
			r.targets = append(r.targets, &r.lengths[i])
		}
	}
	r.targets = append(r.targets, &r.key)
	return r
}

// toPatch returns the values of the scanned row, converted to our columns, and their size
// in bytes. Blobs above valueMax and columns that the table lacks are missing.
func (r *row) toPatch() (p schema.Patch, size int) {
	p = make(schema.Patch, len(r.columns))
	for i, c := range r.columns {
		raw := r.values[i]
		size += len(raw)
		column := r.t.name + "." + c.Name
		switch kind := r.types[c.Name]; {
		case isBlob(kind) && raw == nil:
			if r.lengths[i].Int64 > valueMax {
				r.s.countChanges(column+": too long, left out", 1)
			}
		case isBlob(kind):
			p[c.Name] = append([]byte{}, raw...)
		case c.Kind == schema.KindDate:
			p[c.Name] = r.s.convertDate(column, string(raw), kind, c)
		case c.Kind == schema.KindInt:
			p[c.Name] = r.s.convertInt(column, string(raw), c)
		case c.Kind == schema.KindFloat:
			f, err := strconv.ParseFloat(string(raw), 64)
			if err != nil { // NULL or out of range
				f = 0
			}
			p[c.Name] = f
		default:
			if c.Name == "URL" {
				c.Bounds = schema.Bounds{} // repair drops long URLs: a cut URL is another URL
			}
			p[c.Name] = r.s.convertText(column, string(raw), c)
		}
	}
	return p, size
}
