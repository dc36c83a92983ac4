package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
)

const root = "https://example.org/"

// job exports a new site with n pages.
func job(t *testing.T, format string, n int) (Job, *storestest.Stores) {
	t.Helper()
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	for i := range n {
		stores.AddPage(site, fmt.Sprintf("%sdocs/p%d?a=1&b=2", root, i), fmt.Sprintf("Title %d, \"quoted\"", i), "line\nnext <b>")
	}
	f, err := Find(format)
	if err != nil {
		t.Fatal(err)
	}
	return Job{Reader: pages.Reader{Service: stores, Where: f.Where}, Sites: []string{site}, Format: f}, stores
}

// text runs a job that writes to stdout.
func exported(t *testing.T, j Job) string {
	t.Helper()
	var out bytes.Buffer
	j.Stdout = &out
	if _, err := Run(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestJSONL(t *testing.T) {
	j, _ := job(t, "jsonl", 3)
	lines := strings.Split(strings.TrimSpace(exported(t, j)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"url":"https://example.org/docs/p`) {
		t.Fatalf("%q", lines)
	}
	var page map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &page); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"text": "line\nnext <b>", "date": "2026-01-02T03:04:05", "crawled": "2026-03-04T05:06:07Z", "status": "processed", "httpCode": 200.0, "contentType": "text/html"} {
		if page[key] != want {
			t.Errorf("%s is %v, want %v", key, page[key], want)
		}
	}
	if len(page) != len(jsonFields) {
		t.Errorf("%d fields", len(page))
	}
	j.Settings = Settings{Fields: []string{"text", "html", "links", "tag:title", "tag:price"}, Markdown: true}
	if got := exported(t, j); !strings.Contains(got, `{"text":"# Title `) || !strings.Contains(got, `"html":"<title>`) || !strings.Contains(got, `"links":[],"tag:title":["Title `) || !strings.Contains(got, `"tag:price":[]}`) {
		t.Error(got)
	}
}

// A list of objects of a template is a list in each table: of objects, or of their texts.
func TestListsOfObjects(t *testing.T) {
	page := &pages.Page{Result: &result.Result{}}
	page.Result.Add(result.Tag{Name: "goods", Data: []string{`[{"name":"Rope","price":"12"},{"name":"a, b"}]`}, Type: result.TypeRecords})
	s := Settings{Fields: []string{"tag:goods"}}
	for format, want := range map[string]string{
		"jsonl": `{"tag:goods":[{"name":"Rope","price":"12"},{"name":"a, b"}]}` + "\n",
		"csv":   "tag:goods\n" + `"[{""name"":""Rope"",""price"":""12""},{""name"":""a, b""}]"` + "\n",
	} {
		f, err := Find(format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := f.Open(Output{W: &out}, s)
		if err == nil {
			err = errors.Join(w.Page(page), w.Flush(), w.End())
		}
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, out.String(), err, want)
		}
	}
	w, err := newParquet(Output{W: &bytes.Buffer{}}, s)
	if err == nil {
		err = errors.Join(w.Page(page), w.Flush(), w.End())
	}
	if row := w.(*parquet).row; err != nil || !slices.Equal(row[0].([]string), []string{`{"name":"Rope","price":"12"}`, `{"name":"a, b"}`}) {
		t.Errorf("parquet: %q, %v", row, err)
	}
}

func TestCSV(t *testing.T) {
	j, _ := job(t, "csv", 2)
	rows, err := csv.NewReader(strings.NewReader(exported(t, j))).ReadAll()
	if err != nil || len(rows) != 3 || !slices.Equal(rows[0], csvFields) || !strings.Contains(rows[1][1], `"quoted"`) || rows[1][3] != "2026-01-02T03:04:05" {
		t.Errorf("%q, %v", rows, err)
	}
}

func TestSitemap(t *testing.T) {
	j, _ := job(t, "sitemap", 2)
	var set struct {
		URLs []struct {
			Loc string `xml:"loc"`
		} `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	}
	if err := xml.Unmarshal([]byte(exported(t, j)), &set); err != nil || len(set.URLs) != 2 || !strings.HasSuffix(set.URLs[0].Loc, "?a=1&b=2") {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestFolders(t *testing.T) {
	for format, want := range map[string]string{"md": "---\nurl: \"https://example.org/docs/p0?a=1&b=2\"\n", "files": "<title>Title 0"} {
		t.Run(format, func(t *testing.T) {
			j, _ := job(t, format, 1)
			j.Out = filepath.Join(t.TempDir(), "out")
			n, err := Run(t.Context(), j, nil)
			if err != nil || n != 1 {
				t.Fatal(n, err)
			}
			found, err := filepath.Glob(j.Out + "/example.org/docs/p0~*")
			if err != nil || len(found) != 1 {
				t.Fatalf("%q %v", found, err)
			}
			got, err := os.ReadFile(found[0])
			if err != nil || !strings.Contains(strings.ReplaceAll(string(got), `\u0026`, "&"), want) {
				t.Errorf("%s: %s %v", found[0], got, err)
			}
			if _, err := Run(t.Context(), j, nil); !errors.Is(err, ErrExists) {
				t.Errorf("a folder with files: %v", err)
			}
		})
	}
	j, _ := job(t, "md", 1)
	if _, err := Run(t.Context(), j, nil); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Error(err)
	}
}

// An export that is interrupted after any portion continues and gives the same file.
func TestContinues(t *testing.T) {
	defer func(size int64) { RowGroup = size }(RowGroup)
	RowGroup = 1 // each portion is a row group
	for _, format := range []string{"jsonl", "csv", "sitemap", "parquet"} {
		t.Run(format, func(t *testing.T) {
			const n = 120 // several portions
			j, _ := job(t, format, n)
			want := exported(t, j)
			j.Out = filepath.Join(t.TempDir(), "pages")
			for i := 0; ; i++ {
				ctx, stop := context.WithCancel(t.Context())
				count, err := Run(ctx, j, func(int64) {
					stop() // with the first portion of each run
				})
				stop()
				if err == nil {
					if i == 0 || count != n {
						t.Errorf("%d pages after %d interruptions", count, i)
					}
					break
				}
				if !errors.Is(err, context.Canceled) || i > n {
					t.Fatal(err)
				}
				// Bytes behind the saved position, as a kill leaves them, are cut off.
				f, err := os.OpenFile(j.Out, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString(`{"url":"half a`)
				}
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
			}
			got, err := os.ReadFile(j.Out)
			if err != nil || string(got) != want {
				t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
			}
			if left, _ := filepath.Glob(j.Out + ".*"); len(left) > 0 {
				t.Errorf("files are left: %q", left)
			}
		})
	}
}

func TestOutputsThatExist(t *testing.T) {
	j, _ := job(t, "jsonl", 120)
	j.Out = filepath.Join(t.TempDir(), "pages.jsonl")
	ctx, stop := context.WithCancel(t.Context())
	if _, err := Run(ctx, j, func(int64) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	other := j
	other.Settings.Markdown = true
	if _, err := Run(t.Context(), other, nil); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("other settings: %v", err)
	}
	if err := os.Truncate(j.Out, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), j, nil); err == nil || !strings.Contains(err.Error(), "it has 3 bytes") {
		t.Errorf("a shorter file: %v", err)
	}
	other.Force = true
	if n, err := Run(t.Context(), other, nil); err != nil || n != 120 {
		t.Errorf("force: %d pages, %v", n, err)
	}
	if _, err := Run(t.Context(), j, nil); !errors.Is(err, ErrExists) {
		t.Errorf("a whole file: %v", err)
	}
}

func TestNames(t *testing.T) {
	if _, err := Find("jsnol"); err == nil || !strings.Contains(err.Error(), "did you mean jsonl?") {
		t.Error(err)
	}
	if err := CheckFields([]string{"url", "tittle"}); err == nil || !strings.Contains(err.Error(), "did you mean title?") {
		t.Error(err)
	}
	if err := CheckFields([]string{"url", "title", "url"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
	for _, names := range [][]string{jsonFields, csvFields} {
		if err := CheckFields(names); err != nil {
			t.Error(err)
		}
	}
}

func TestFileName(t *testing.T) {
	const md5 = "0123456789abcdef0123456789abcdef"
	for text, want := range map[string]string{
		"https://example.org/":                  "example.org/index~0123456789abcdef.html",
		"https://example.org/a/b.html?x=1":      "example.org/a/b~0123456789abcdef.html",
		"https://example.org/a/":                "example.org/a/index~0123456789abcdef.html",
		"http://h:8080/../../etc/passwd":        "h_8080/_/_/etc/passwd~0123456789abcdef.html",
		"http://h/%2e%2e/x":                     "h/_2e_2e/x~0123456789abcdef.html",
		"http://h/-rf/.ssh/a b":                 "h/rf/ssh/a_20b~0123456789abcdef.html",
		"http://h/" + strings.Repeat("x", 300):  "h/" + strings.Repeat("x", 80) + "~0123456789abcdef.html",
		"http://h/" + strings.Repeat("d/", 100): "h/" + strings.Repeat("d/", 11) + "index~0123456789abcdef.html",
		"://":                                   md5 + ".html",
	} {
		if got := FileName(text, md5, ".html"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := FileName("http://h/a.pdf", md5, ""); got != "h/a~0123456789abcdef.pdf" {
		t.Error(got)
	}
}

// Two pages of a large site whose keys begin with the same 8 letters keep names of their own, and a
// site cannot name a folder like the file of another page.
func TestFileNamesStayApart(t *testing.T) {
	a, b := FileName("http://h/?id=1", "01234567aa0000000000000000000000", ".html"), FileName("http://h/?id=2", "01234567bb0000000000000000000000", ".html")
	if a == b {
		t.Errorf("two pages have the name %s", a)
	}
	key := wire.Md5("http://h/x")
	file := FileName("http://h/x", key, ".html")
	for _, text := range []string{"http://h/" + filepath.Base(file) + "/y", "http://h/x%7E" + key[:16] + ".html/y"} {
		if name := FileName(text, wire.Md5(text), ".html"); filepath.Dir(name) == file {
			t.Errorf("%s needs the file %s as a folder", text, file)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, seed := range []string{"https://a/../..", "http://h/%00/%2e%2e/", "http://h/.//./", "::", "http://h/a\\..\\b", "http:///x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name := FileName(text, wire.Md5(text), ".md"); !filepath.IsLocal(name) || strings.ContainsAny(name, "\x00\n\\ ") {
			t.Errorf("%q became %q", text, name)
		}
	})
}

// No cell of CSV runs in a spreadsheet; numbers stay numbers, and --raw keeps all texts.
func TestCellsOfCSV(t *testing.T) {
	for _, c := range []struct{ title, cell string }{
		{"plain", "plain"}, {"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@SUM(A1)", "'@SUM(A1)"}, {"\t=1", "'\t=1"}, {"\n=1", "'\n=1"},
		{"＝1", "'＝1"}, {"a=b", "a=b"}, {"'=x", "'=x"},
	} {
		for raw, want := range map[bool]string{false: c.cell, true: c.title} {
			page := &pages.Page{URL: wire.URL{Size: -7}, Result: &result.Result{}}
			page.Result.Add(result.Tag{Name: "title", Data: []string{c.title}})
			page.Result.Add(result.Tag{Name: "many", Data: []string{c.title, "second"}})
			var out bytes.Buffer
			w, err := newCSV(Output{W: &out}, Settings{Fields: []string{"title", "size", "tag:many"}, Raw: raw})
			if err == nil {
				err = errors.Join(w.Page(page), w.Flush())
			}
			rows, readErr := csv.NewReader(&out).ReadAll()
			if err != nil || readErr != nil || len(rows) != 2 || rows[1][0] != want || rows[1][1] != "-7" || rows[1][2] != want+" second" {
				t.Errorf("raw %t: %q, %v %v, want %q", raw, rows, err, readErr, want)
			}
		}
	}
}

// Several sites are one output: each row says its site, equal URLs stay apart, and a kill at any portion loses nothing.
func TestSeveralSites(t *testing.T) {
	const each = 60 // more than a portion
	j, stores := job(t, "jsonl", each)
	second := stores.NewSite("https://second.example/")
	for i := range each {
		stores.AddPage(second, fmt.Sprintf("%sdocs/p%d?a=1&b=2", root, i), "Other", "text")
	}
	j.Sites = append(j.Sites, second)
	for _, format := range []string{"jsonl", "md", "warc"} {
		var err error
		if j.Format, err = Find(format); err != nil {
			t.Fatal(err)
		}
		j.Out = filepath.Join(t.TempDir(), "out")
		if n, runs := killedRuns(t, j); n != 2*each || runs < 2 {
			t.Errorf("%s: %d pages in %d runs", format, n, runs)
		}
		switch format {
		case "jsonl":
			text, err := os.ReadFile(j.Out)
			if err != nil || bytes.Count(text, []byte(`"site":"`+second)) != each || bytes.Count(text, []byte("\n")) != 2*each {
				t.Errorf("%v: %d lines", err, bytes.Count(text, []byte("\n")))
			}
		case "md":
			for _, site := range j.Sites {
				if found, err := filepath.Glob(filepath.Join(j.Out, site, "example.org", "docs", "*.md")); err != nil || len(found) != each {
					t.Errorf("%d files of %s: %v", len(found), site, err)
				}
			}
		}
	}
}

// killedRuns repeats an export that ends in its second portion, until it is complete.
func killedRuns(t *testing.T, j Job) (pages int64, runs int) {
	t.Helper()
	for runs = 1; runs < 50; runs++ {
		ctx, cancel := context.WithCancel(t.Context())
		portions := 0
		n, err := Run(ctx, j, func(int64) {
			if portions++; portions > 1 { // each run writes one at least
				cancel()
			}
		})
		cancel()
		if err == nil {
			return n, runs
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	return 0, runs
}
