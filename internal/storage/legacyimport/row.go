package legacyimport

import (
	"database/sql"
	"strconv"

	"hce/dc/internal/wire"
)

// row is one row while it is read.
type row struct {
	s       *Source
	t       table
	columns []wire.Column
	types   map[string]string
	values  []sql.RawBytes
	lengths []sql.NullInt64 // of blobs, by column
	key     sql.RawBytes
	targets []any
}

func newRow(s *Source, t table, columns []wire.Column, types map[string]string) *row {
	r := &row{s: s, t: t, columns: columns, types: types, values: make([]sql.RawBytes, len(columns)), lengths: make([]sql.NullInt64, len(columns))}
	for i, c := range columns {
		r.targets = append(r.targets, &r.values[i])
		if blob(types[c.Name]) {
			r.targets = append(r.targets, &r.lengths[i])
		}
	}
	r.targets = append(r.targets, &r.key)
	return r
}

// patch are the values, each fit for our column, and how many bytes they have. A
// blob that is too long is missing; so are columns that are not there.
func (r *row) patch() (p wire.Patch, size int) {
	p = make(wire.Patch, len(r.columns))
	for i, c := range r.columns {
		raw := r.values[i]
		size += len(raw)
		what := r.t.name + "." + c.Name
		switch kind := r.types[c.Name]; {
		case blob(kind) && raw == nil:
			if r.lengths[i].Int64 > valueMax {
				r.s.changed(what+": too long, left out", 1)
			}
		case blob(kind):
			p[c.Name] = append([]byte{}, raw...)
		case c.Kind == wire.KindDate:
			p[c.Name] = r.s.date(what, string(raw), kind, c)
		case c.Kind == wire.KindInt:
			p[c.Name] = r.s.whole(what, string(raw), c)
		case c.Kind == wire.KindFloat:
			f, err := strconv.ParseFloat(string(raw), 64)
			if err != nil { // NULL, or out of range
				f = 0
			}
			p[c.Name] = f
		default:
			if c.Name == "URL" {
				c.Bounds = wire.Bounds{} // a URL that is cut is another: repair leaves it out
			}
			p[c.Name] = r.s.text(what, string(raw), c)
		}
	}
	return p, size
}
