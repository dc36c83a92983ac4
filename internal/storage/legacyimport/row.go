package legacyimport

import (
	"database/sql"
	"strconv"

	"hce/dc/internal/wire"
)

// row holds the scan targets of one query; each row overwrites the last one.
type row struct {
	s       *source
	t       table
	columns []wire.Column
	types   map[string]string
	values  []sql.RawBytes
	lengths []sql.NullInt64 // of blobs, by column
	key     sql.RawBytes
	targets []any
}

func newRow(s *source, t table, columns []wire.Column, types map[string]string) *row {
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

// patch returns the values of the scanned row, converted to our columns, and their size
// in bytes. Blobs above valueMax and columns that the table lacks are missing.
func (r *row) patch() (p wire.Patch, size int) {
	p = make(wire.Patch, len(r.columns))
	for i, c := range r.columns {
		raw := r.values[i]
		size += len(raw)
		column := r.t.name + "." + c.Name
		switch kind := r.types[c.Name]; {
		case isBlob(kind) && raw == nil:
			if r.lengths[i].Int64 > valueMax {
				r.s.changed(column+": too long, left out", 1)
			}
		case isBlob(kind):
			p[c.Name] = append([]byte{}, raw...)
		case c.Kind == wire.KindDate:
			p[c.Name] = r.s.date(column, string(raw), kind, c)
		case c.Kind == wire.KindInt:
			p[c.Name] = r.s.whole(column, string(raw), c)
		case c.Kind == wire.KindFloat:
			f, err := strconv.ParseFloat(string(raw), 64)
			if err != nil { // NULL or out of range
				f = 0
			}
			p[c.Name] = f
		default:
			if c.Name == "URL" {
				c.Bounds = wire.Bounds{} // repair drops long URLs: a cut URL is another URL
			}
			p[c.Name] = r.s.text(column, string(raw), c)
		}
	}
	return p, size
}
