package export

import (
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/parquetfile"
	"hce/dc/internal/web/dates"
)

// RowGroup is the size of the values of a row group, in bytes: what a kill costs at most, and a
// measure of the memory. Tests make it smaller.
var RowGroup int64 = 16 << 20

// parquet writes a table in Parquet, with the values of jsonl. A date is a moment in UTC: a day is its
// midnight, and a time without a zone counts as UTC. The column dateText says what is stated.
type parquet struct {
	w      *parquetfile.Writer
	fields []string
	s      Settings
	row    []any
}

func newParquet(out Output, s Settings) (Writer, error) {
	t := &parquet{fields: s.chosenFields(parquetFields), s: s}
	var columns []parquetfile.Column
	for _, name := range t.fields {
		columns = append(columns, parquetfile.Column{Name: name, Kind: fieldOf(name).kind})
	}
	var err error
	t.w, err = parquetfile.New(out.W, out.Prior, columns)
	return t, err
}

func (t *parquet) Page(p *pages.Page) error {
	t.row = t.row[:0]
	for _, name := range t.fields {
		value := fieldOf(name).value(p, t.s)
		switch v := value.(type) {
		case dates.Value:
			value = v.UTC()
		case objects:
			value = v.asTexts()
		}
		t.row = append(t.row, value)
	}
	return t.w.Row(t.row)
}

// Full reports whether the row group has its size.
func (t *parquet) Full() bool { return t.w.Size() >= RowGroup }

func (t *parquet) Flush() error { return t.w.EndGroup() }
func (t *parquet) End() error   { return t.w.Close() }
