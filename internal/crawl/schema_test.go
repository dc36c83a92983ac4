package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// schemaOf makes a URLS_SCHEMA with the values of one list and more members.
func schemaOf(more string, values ...string) string {
	return fmt.Sprintf(`{"type":1,"mode":1,"parameters":{"q":["%s"]}%s}`, strings.Join(values, `","`), more)
}

// queries returns the values of q in the requests that a server received, in order.
func queries(t *testing.T) (*server, func() []string) {
	var list []string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		list = append(list, r.URL.Query().Get("q"))
		page(w, "x")
	})
	return s, func() []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		got := list
		list = nil
		return got
	}
}

// TestSchema: the first URL replaces the template, the others become rows, and items as batch_insert
// says.
func TestSchema(t *testing.T) {
	tests := []struct {
		name   string
		schema string
		change func(*wire.Site)
		asked  []string // in the batch
		rows   []string // that wait
	}{
		{"one", `{"type":1,"mode":0,"parameters":{"q":["a","b"]}}`, nil, []string{"a"}, nil},
		{"a list", schemaOf("", "a", "b", "c"), nil, []string{"a"}, []string{"b", "c"}},
		{"no URL joins", schemaOf(`,"batch_insert":0`, "a", "b", "c"), nil, []string{"a"}, []string{"b", "c"}},
		{"all join", schemaOf(`,"batch_insert":1`, "a", "b", "c"), nil, []string{"a", "b", "c"}, nil},
		{"the first joins", schemaOf(`,"batch_insert":2`, "a", "b", "c"), nil, []string{"a", "b"}, []string{"c"}},
		{"max_items", schemaOf(`,"max_items":2`, "a", "b", "c"), nil, []string{"a"}, []string{"b"}},
		{"MaxURLs", schemaOf("", "a", "b", "c"), func(s *wire.Site) { s.MaxURLs = 2 }, []string{"a"}, []string{"b"}},
		{"values that need encoding", schemaOf(`,"batch_insert":1`, "a b", "ü"), nil, []string{"a b", "ü"}, nil},
		{"numbers in turn", `{"type":2,"mode":1,"batch_insert":1,"parameters":{"q":{"min":3,"max":9,"step":3}}}`, nil, []string{"3", "6", "9"}, nil},
		{"off", `{"type":0,"mode":1,"parameters":{"q":["a"]}}`, nil, []string{"%q%"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, asked := queries(t)
			w := newWorld(t)
			w.job.Config.SchemaDir = t.TempDir()
			site := w.addSite("s", "URLS_SCHEMA", tt.schema)
			if tt.change != nil {
				tt.change(site)
			}
			template := w.item("s", s.URL+"/?q=%q%", func(u *wire.URL) { u.Size, u.TagsCount, u.Priority = 99, 5, 3 })
			answer := w.run(batchOf(template))
			got := asked()
			for i, q := range got {
				if strings.HasPrefix(q, "%") || q == "" { // a macro is not an escape
					got[i] = "%q%"
				}
			}
			if !slices.Equal(got, tt.asked) || len(answer.Items) != len(tt.asked) {
				t.Errorf("asked for %v, want %v; %d items", got, tt.asked, len(answer.Items))
			}
			if tt.name == "off" {
				return
			}
			if row := w.row(template); row.Status != wire.StatusCrawled || row.BatchID != batchID {
				t.Errorf("template %+v", row)
			}
			var waiting []string
			for key, row := range w.URLs {
				if row.URLMd5 == template.URLID {
					continue
				}
				if row.URLMd5 != wire.Md5(row.URL) || key != "s "+row.URLMd5 || row.ParentMd5 != template.URLID || row.Priority != 3 || row.TagsCount != 0 {
					t.Errorf("row %s: %+v", key, row)
				}
				if row.Status == wire.StatusNew {
					waiting = append(waiting, strings.TrimPrefix(row.URL, s.URL+"/?q="))
				}
			}
			slices.Sort(waiting)
			if !slices.Equal(waiting, tt.rows) {
				t.Errorf("rows %v wait, want %v", waiting, tt.rows)
			}
			for _, it := range answer.Items {
				if it.URLID != wire.Md5(it.URL.URL) || it.URL.ErrorMask != 0 {
					t.Errorf("answered %+v", it.URL)
				}
			}
		})
	}
}

// TestSchemaMaxItems: items of a schema count.
func TestSchemaMaxItems(t *testing.T) {
	s, asked := queries(t)
	w := newWorld(t)
	w.addSite("s", "URLS_SCHEMA", schemaOf(`,"batch_insert":1`, "a", "b", "c"))
	b := batchOf(w.item("s", s.URL+"/?q=%q%"))
	b.MaxItems = 2
	answer := w.run(b)
	if got := asked(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("asked for %v", got)
	}
	if n := len(answer.Items); n != 2 || answer.Items[1].URL.ErrorMask != errormask.MaxItems {
		t.Errorf("%d items, %s", n, bitNames(answer.ErrorMask))
	}
}

// TestSchemaUsesValuesOnce: across batches, and if the task is killed after the values were stored.
func TestSchemaUsesValuesOnce(t *testing.T) {
	s, asked := queries(t)
	w := newWorld(t)
	w.job.Config.SchemaDir = t.TempDir()
	w.addSite("s", "URLS_SCHEMA", `{"type":1,"mode":0,"parameters":{"q":["a","b","c","d"]}}`)
	run := func() {
		if _, err := w.try(t.Context(), batchOf(w.item("s", s.URL+"/?q=%q%"))); err != nil && w.Fails["TakeSchema"] == nil {
			t.Fatal(err)
		}
	}
	run()
	run()
	w.Fails["TakeSchema"] = errors.New("killed")
	run()
	delete(w.Fails, "TakeSchema")
	run()
	if got, want := asked(), []string{"a", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
	// Values that cannot be stored are not used, and the template is not requested.
	w.job.Config.SchemaDir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(w.job.Config.SchemaDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run()
	if got := asked(); len(got) != 0 {
		t.Errorf("asked for %v", got)
	}
}

// TestSchemaSources: external parameters. The first valid source is used; it is requested through its
// host's gate.
func TestSchemaSources(t *testing.T) {
	tests := []struct {
		name, schema string // SOURCE is the host of the sources
		file         string
		asked        []string
		sources      []string
		bits         errormask.Mask
	}{
		{"the first", `{"type":1,"urls":["http://SOURCE/good"]}`, "", []string{"far"}, []string{"/good"}, 0},
		{"the second", `{"type":1,"urls":["http://SOURCE/missing","http://SOURCE/good","http://SOURCE/more"]}`, "", []string{"far"}, []string{"/missing", "/good"}, 0},
		{"over those of the property", `{"type":1,"parameters":{"q":["near"]},"urls":["http://SOURCE/good"]}`, "", []string{"far"}, []string{"/good"}, 0},
		{"no valid value", `{"type":1,"urls":["http://SOURCE/missing","http://SOURCE/broken"]}`, "", nil, []string{"/missing", "/broken"}, errormask.URLsSchema},
		{"no valid source, but own values", `{"type":1,"parameters":{"q":["near"]},"urls":["http://SOURCE/missing"]}`, "", []string{"near"}, []string{"/missing"}, errormask.URLsSchema},
		{"a file", `{"type":1,"urls":["http://SOURCE/good"],"file_path":"list.json"}`, `{"q":["filed"]}`, []string{"filed"}, nil, 0},
		{"a file that is not there", `{"type":1,"urls":["http://SOURCE/good"],"file_path":"list.json"}`, "", []string{"far"}, []string{"/good"}, 0},
		{"a file outside", `{"type":1,"file_path":"../list.json"}`, "", nil, nil, errormask.URLsSchema},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, asked := queries(t)
			source := pages(t, map[string]string{"/good": `{"q":["far"]}`, "/more": `{"q":["more"]}`, "/broken": "{"})
			w := newWorld(t)
			w.job.Config.SchemaDir = t.TempDir()
			if tt.file != "" {
				if err := os.WriteFile(filepath.Join(w.job.Config.SchemaDir, "list.json"), []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.addSite("s", "URLS_SCHEMA", strings.ReplaceAll(tt.schema, "SOURCE", source.host))
			const delay = 30
			template := w.item("s", s.URL+"/?q=%q%", func(u *wire.URL) { u.RequestDelay = delay })
			plain := w.item("s", s.URL+"/?q=plain%20text%20", func(u *wire.URL) { u.RequestDelay = delay })
			answer := w.run(batchOf(template, plain))
			got := asked()
			if want := append(slices.Clone(tt.asked), "plain text "); !slices.Equal(got, want) {
				t.Errorf("asked for %v, want %v", got, want)
			}
			if got := source.paths(); !slices.Equal(got, tt.sources) {
				t.Errorf("sources %v, want %v", got, tt.sources)
			}
			source.checkGaps(t, delay*time.Millisecond)
			row := w.row(template)
			if len(tt.asked) > 0 {
				row = w.URLs["s "+wire.Md5(s.URL+"/?q="+tt.asked[0])]
			}
			if row.ErrorMask != tt.bits || row.Status != wire.StatusCrawled || answer.ErrorMask != tt.bits {
				t.Errorf("%s, batch %s, row %+v", bitNames(row.ErrorMask), bitNames(answer.ErrorMask), row)
			}
			if row := w.row(plain); row.ErrorMask != 0 {
				t.Errorf("the plain URL has %s", bitNames(row.ErrorMask))
			}
		})
	}
}

// TestSchemaSourceIsAskedOnce: one request per batch for any number of templates.
func TestSchemaSourceIsAskedOnce(t *testing.T) {
	s, asked := queries(t)
	source := pages(t, map[string]string{"/good": `{"q":["a","b","c"]}`})
	w := newWorld(t)
	w.job.Config.SchemaDir = t.TempDir()
	w.addSite("s", "URLS_SCHEMA", `{"type":1,"urls":["`+source.URL+`/good"]}`)
	w.run(batchOf(w.item("s", s.URL+"/1?q=%q%"), w.item("s", s.URL+"/2?q=%q%"), w.item("s", s.URL+"/3?q=%q%")))
	if got := source.paths(); len(got) != 1 {
		t.Errorf("sources %v", got)
	}
	if got := asked(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("asked for %v", got)
	}
}

// TestSchemaInRealTime: siteObj of a site that is not stored may have a schema.
func TestSchemaInRealTime(t *testing.T) {
	s, asked := queries(t)
	w := newWorld(t)
	it := w.item("new", s.URL+"/?q=%q%")
	it.Properties = map[string]string{"URLS_SCHEMA": schemaOf(`,"batch_insert":1`, "a", "b"), "ROBOTS_MODE": "0"}
	answer := w.run(realTime(batchOf(it)))
	if got := asked(); !slices.Equal(got, []string{"a", "b"}) || len(answer.Items) != 2 {
		t.Errorf("asked for %v, %d items", got, len(answer.Items))
	}
	if len(w.Saves) != 0 || slices.Contains(w.Calls, "TakeSchema") {
		t.Error("rows are written")
	}
}

// TestSchemaWhenToldToStop: the template is handed back, without a fault.
func TestSchemaWhenToldToStop(t *testing.T) {
	var asked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		stop()
		<-r.Context().Done()
	})
	w := newWorld(t)
	w.addSite("s", "URLS_SCHEMA", `{"type":1,"urls":["`+s.URL+`/good"]}`)
	template := w.item("s", s.URL+"/?q=%q%")
	answer, err := w.try(ctx, batchOf(template))
	if err != nil || asked.Load() != 1 {
		t.Fatalf("%v, asked %d times", err, asked.Load())
	}
	if row := w.row(template); row.Status != wire.StatusNew || row.ErrorMask != 0 || len(answer.Items) != 1 {
		t.Errorf("row %+v, %d items", row, len(answer.Items))
	}
}
