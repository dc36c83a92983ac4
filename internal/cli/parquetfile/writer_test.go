package parquetfile

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// columns has one of each kind, in an order that is not that of the names.
var columns = []Column{{"url", Text}, {"status", Text}, {"size", Integer}, {"crawled", Time}, {"errors", Texts}}

// read reads what the tests write.
type read struct {
	URL     string     `parquet:"url"`
	Status  string     `parquet:"status"`
	Size    int64      `parquet:"size"`
	Crawled *time.Time `parquet:"crawled,optional,timestamp(millisecond)"`
	Errors  []string   `parquet:"errors,list"`
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// row returns the values of row i and what a reader has to see.
func row(i int) ([]any, read) {
	want := read{URL: fmt.Sprint("https://example.org/", i), Status: []string{"new", "crawled", ""}[i%3], Size: int64(i) << 30}
	if i%2 == 0 {
		at := noon.Add(time.Duration(i) * time.Second)
		want.Crawled = &at
	}
	for n := range i % 4 {
		want.Errors = append(want.Errors, fmt.Sprint("ERROR_", n))
	}
	values := []any{want.URL, want.Status, want.Size, nil, want.Errors}
	if want.Crawled != nil {
		values[3] = *want.Crawled
	}
	return values, want
}

// rows reads a file.
func rows(t *testing.T, file []byte) []read {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	if got := strings.Join(names, " "); got != "url status size crawled errors" {
		t.Errorf("columns %s", got)
	}
	list, err := parquet.Read[read](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if len(list[i].Errors) == 0 {
			list[i].Errors = nil
		}
	}
	return list
}

// write adds rows from first to before last, with a row group for each ten.
func write(t *testing.T, w *Writer, first, last int) {
	t.Helper()
	for i := first; i < last; i++ {
		values, _ := row(i)
		if err := w.Row(values); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := w.EndGroup(); err != nil || w.Size() != 0 {
				t.Fatal(w.Size(), err)
			}
		}
	}
}

func open(t *testing.T, out io.Writer, prior *io.SectionReader) *Writer {
	t.Helper()
	w, err := New(out, prior, columns)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A file that several writers have written, each behind the last row group of the one before, is the
// file that one writer writes.
func TestContinuedFile(t *testing.T) {
	const n = 47
	var whole bytes.Buffer
	one := open(t, &whole, nil)
	write(t, one, 0, n)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	got := rows(t, whole.Bytes())
	if len(got) != n {
		t.Fatalf("%d rows", len(got))
	}
	for i := range got {
		if _, want := row(i); !reflect.DeepEqual(got[i], want) {
			t.Errorf("row %d: %+v\nwant %+v", i, got[i], want)
		}
	}
	for _, kills := range [][]int{{0}, {10}, {10, 20, 30}, {0, 0, 40, 40}} {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			var file bytes.Buffer
			for _, at := range append(kills, n) {
				prior := io.NewSectionReader(bytes.NewReader(bytes.Clone(file.Bytes())), 0, int64(file.Len()))
				w := open(t, &file, prior)
				write(t, w, len(w.groups)*10, at)
				if at == n {
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
				} else if values, _ := row(at); w.Row(values) != nil { // lost: it is in no row group
					t.Fatal("a row is refused")
				}
			}
			if !bytes.Equal(file.Bytes(), whole.Bytes()) {
				t.Errorf("%d bytes, want %d", file.Len(), whole.Len())
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	var file bytes.Buffer
	if err := open(t, &file, nil).Close(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, file.Bytes()); len(got) != 0 {
		t.Errorf("%d rows", len(got))
	}
}

// Several pages in a row group, and bytes that are no UTF-8.
func TestLargeValues(t *testing.T) {
	var file bytes.Buffer
	w := open(t, &file, nil)
	const n = 3000
	for i := range n {
		if err := w.Row([]any{strings.Repeat("a", 2000) + "\xff", fmt.Sprintf("%0200d", i), int64(i), nil, []string(nil)}); err != nil {
			t.Fatal(err)
		}
	}
	if w.Size() < n*2200 || w.Close() != nil {
		t.Errorf("%d bytes", w.Size())
	}
	got := rows(t, file.Bytes())
	for i := range got {
		if got[i].Status != fmt.Sprintf("%0200d", i) || got[i].URL != strings.Repeat("a", 2000)+"\uFFFD" {
			t.Fatalf("row %d: %+v", i, got[i])
		}
	}
	if len(got) != n {
		t.Errorf("%d rows", len(got))
	}
}

// A file that something else has changed is not continued.
func TestChangedFile(t *testing.T) {
	var file bytes.Buffer
	write(t, open(t, &file, nil), 0, 20)
	good := file.Bytes()
	for name, bad := range map[string][]byte{
		"cut":          good[:len(good)-1],
		"one byte":     good[:1],
		"only magic":   []byte("PAR1\x00\x00\x00\x00"),
		"another file": []byte(strings.Repeat("{\"url\":\"a\"}\n", 100)),
		"first bytes":  append([]byte("RIFF"), good[4:]...),
		"long length":  append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff),
	} {
		if _, err := New(io.Discard, io.NewSectionReader(bytes.NewReader(bad), 0, int64(len(bad))), columns); err == nil {
			t.Errorf("%s: it is continued", name)
		}
	}
}

func TestWrongValues(t *testing.T) {
	w := open(t, io.Discard, nil)
	for i, bad := range []any{int64(1), nil, "1", "2026-01-01", "a"} {
		values, _ := row(1)
		values[i] = bad
		if err := w.Row(values); err == nil || !strings.Contains(err.Error(), columns[i].Name) {
			t.Errorf("%s takes %v: %v", columns[i].Name, bad, err)
		}
	}
}
