package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/files"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02", text)
	if err != nil {
		panic(err)
	}
	return t
}

// library are documents of all kinds and of several languages.
var library = []search.Document{
	{Kind: search.Pages, URL: "http://a.example.org/both", Title: "Trees of_the_park", Language: "en", Text: "An oak and a maple grow in the garden, and between them is a long wall of old bricks that nobody repairs.", Date: at("2024-03-01")},
	{Kind: search.Pages, URL: "http://a.example.org/oak", Title: "Oak oak oak", Language: "en", Text: "Oak. Oak. Oak.", Date: at("2023-03-01")},
	{Kind: search.Pages, URL: "http://b.example.org:8080/maple", Title: "Maple", Language: "en", Text: "The maples are red.", Description: "About maples", Date: at("2022-03-01")},
	{Kind: search.Pages, URL: "http://de.example/baum", Title: "Bäume", Language: "de", Text: "Die Häuser stehen hinter den Bäumen."},
	{Kind: search.Pages, URL: "http://es.example/arbol", Title: "Sistemas Operativos", Description: "Futura página oficial de la cátedra", Language: "es", Text: "Los sistemas operativos administran procesos."},
	{Kind: search.Pages, URL: "http://fr.example/arbre", Title: "L'arbre", Language: "fr", Text: "Les maisons continuent derrière l'arbre."},
	{Kind: search.Pages, URL: "http://ru.example/derevo", Title: "Деревья", Text: "Старые деревья стоят за домом."},
	{Kind: search.Pages, URL: "http://ja.example/ki", Title: "検索", Language: "ja", Text: "全文検索エンジンの仕組みを説明します。"},
	{Kind: search.Pages, URL: "http://mirror.example/oak", Title: "Oak oak oak", Language: "en", Text: "Oak. Oak. Oak.", Hash: "same"},
	{Kind: search.Pages, URL: "http://mirror2.example/oak", Title: "Oak oak oak", Language: "en", Text: "Oak. Oak. Oak.", Hash: "same"},
	{Kind: search.Images, URL: "http://a.example.org/img/logo_utn.bmp", Size: 23600, MIMEType: "image/bmp"},
	{Kind: search.Images, URL: "http://a.example.org/img/photo.jpg", Size: 10},
	{Kind: search.Documents, URL: "http://a.example.org/100%_discount.txt", Size: 3},
	{Kind: search.Documents, URL: "http://a.example.org/operating_system_7th_ed-silberschatz_emule.pdf", Size: 63 << 20, Text: "Processes and threads.", Language: "en", Date: at("2008-05-15")},
}

func emptyIndex(t testing.TB) *Index {
	t.Helper()
	x, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func filled(t *testing.T) *Index {
	t.Helper()
	x := emptyIndex(t)
	if err := x.Apply(Change{Put: library}); err != nil {
		t.Fatal(err)
	}
	return x
}

// find returns the paths, without host, of the results.
// storeDocument stores one document.
func storeDocument(x *Index, d search.Document) error {
	return x.Apply(Change{Put: []search.Document{d}})
}

func find(t *testing.T, r *reader, kind search.Kind, text string) string {
	t.Helper()
	reply := r.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: kind, Text: text, Limit: 10})
	if reply.Error != "" {
		t.Fatalf("%s: %s", text, reply.Error)
	}
	var list []string
	for _, h := range reply.Hits {
		list = append(list, h.URL[strings.LastIndexByte(h.URL, '/')+1:])
	}
	if len(list) != reply.Count {
		t.Errorf("%s: %d hits, count %d", text, len(list), reply.Count)
	}
	return strings.Join(list, " ")
}

func TestQuestions(t *testing.T) {
	x := filled(t)
	p, i, d := search.Pages, search.Images, search.Documents
	for _, c := range []struct {
		name string
		kind search.Kind
		text string
		want string
	}{
		{"one word", p, "garden", "both"},
		{"in another form", p, "gardens", "both"},
		{"a word inside of a name in the title", p, "park", "both"},
		{"either, those with both first", p, "oak + maple", "both maple oak oak"},
		{"the same with a blank", p, "maple oak", "both maple oak oak"},
		{"the first and not both", p, "maple - oak", "maple"},
		{"no such word", p, "granite", ""},
		{"only excluded words", p, "oak - oak", ""},
		{"phrase", p, `"old bricks"`, "both"},
		{"words of no phrase", p, `"bricks old"`, ""},
		{"description", p, "cátedra", "arbol"},
		{"host", p, "oak site:a.example.org", "oak both"},
		{"hosts below", p, "maple site:example.org", "maple both"},
		{"host with port", p, "maple site:b.example.org:8080", "maple"},
		{"host without port", p, "maple site:b.example.org", "maple"},
		{"no other host", p, "maple site:ample.org", ""},
		{"before", p, "maple before:2023", "maple"},
		{"after", p, "maple after:2024-03-01", "both"},
		{"between", p, "oak after:2023 before:2024", "oak"},
		{"only a filter", p, "site:de.example", "baum"},
		{"German", p, "Baum haus", "baum"},
		{"Spanish", p, "sistema operativo", "arbol"},
		{"French with elision", p, "arbre", "arbre"},
		{"Russian by its script", p, "дерево", "derevo"},
		{"Japanese", p, "検索エンジン", "ki"},
		{"image by a part of its name", i, "logo", "logo_utn.bmp"},
		{"image by a part of a word", i, "ogo_ut", "logo_utn.bmp"},
		{"image by format", i, "jpg", "photo.jpg"},
		{"document by name", d, "silberschatz", "operating_system_7th_ed-silberschatz_emule.pdf"},
		{"document by text", d, "thread", "operating_system_7th_ed-silberschatz_emule.pdf"},
		{"kinds are apart", d, "oak", ""},
		{"a path with a % alone", d, "discount", "100%_discount.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := find(t, &x.reader, c.kind, c.text); got != c.want {
				t.Errorf("%q finds %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestHit(t *testing.T) {
	x := filled(t)
	r := x.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Documents, Text: "silberschatz", Limit: 10})
	h := r.Hits[0]
	if h.Name != "operating_system_7th_ed-silberschatz_emule" || h.Format != "PDF" || h.Size != 63<<20 || !h.Date.Equal(at("2008-05-15")) || r.Words != "silberschatz" {
		t.Errorf("%+v", h)
	}
	r = x.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "gardens brick", Limit: 1})
	var marked []string
	for _, s := range r.Hits[0].Excerpt {
		if s.Match {
			marked = append(marked, s.Text)
		}
	}
	if !slices.Equal(marked, []string{"garden", "bricks"}) {
		t.Errorf("marked %q in %+v", marked, r.Hits[0].Excerpt)
	}
	r = x.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "oak site:mirror.example site:mirror2.example", Limit: 10})
	if r.Count != 1 || len(r.Hits) != 1 || len(r.Hits[0].Copies) != 1 {
		t.Errorf("duplicates are not joined: %+v", r)
	}
	for _, bad := range []search.Ask{{Op: "x"}, {Op: search.OpSearch, Text: "a"}, {Op: search.OpSearch, Kind: search.Pages}} {
		if r := x.Run(t.Context(), bad); !r.Refused || r.Error == "" {
			t.Errorf("%+v: %+v", bad, r)
		}
	}
}

// A document replaces the one of the same URL, and its copy can be read.
func TestStore(t *testing.T) {
	x := filled(t)
	d := search.Document{Kind: search.Pages, URL: "http://a.example.org/oak", Title: "Elm", Keywords: "elms, shade", Copy: "<title>Elm</title>", Seen: at("2026-01-02")}
	for range 2 {
		if err := storeDocument(x, d); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(t, &x.reader, search.Pages, "shade + elm"); got != "oak" {
		t.Errorf("found %q", got)
	}
	r := x.Run(t.Context(), search.Ask{Op: search.OpGet, UUID: search.UUIDOf(d.URL)})
	if r.Copy != d.Copy || !r.Hits[0].Cached || r.Hits[0].Host != "a.example.org" {
		t.Errorf("%+v", r)
	}
	if n, err := x.Count(t.Context()); err != nil || n != uint64(len(library)) {
		t.Errorf("%d documents, %v", n, err)
	}
	for _, bad := range []string{"", "/x", "ftp://a/b", "http://", "javascript:alert(1)", "http://a/" + strings.Repeat("x", MaxURL), "http:///x"} {
		if err := storeDocument(x, search.Document{Kind: search.Pages, URL: bad}); err == nil {
			t.Errorf("%.30q is stored", bad)
		}
	}
	if err := storeDocument(x, search.Document{Kind: "x", URL: "http://a/b"}); err == nil {
		t.Error("an unknown kind is stored")
	}
}

// Documents of a host leave the index when the host was not seen for long enough.
func TestExpire(t *testing.T) {
	x, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for n, seen := range []string{"2026-01-01", "2026-01-09", "2026-01-02"} { // the last is older than what is known
		host := []string{"old", "new", "new"}[n]
		if err := storeDocument(x, search.Document{Kind: search.Pages, URL: fmt.Sprintf("http://%s.example/%d", host, n), Title: "page", Seen: at(seen)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := x.Expire(t.Context(), at("2026-01-05")); err != nil || n != 1 {
		t.Fatalf("%d expired, %v", n, err)
	}
	if got := find(t, &x.reader, search.Pages, "page"); got != "1 2" && got != "2 1" {
		t.Errorf("left %q", got)
	}
	if h, err := x.readHostState("old.example"); err != nil || h.Host != "" {
		t.Errorf("%+v, %v", h, err)
	}
}

// Snapshots are immutable: one that is open answers as before while the writer goes on.
func TestSnapshots(t *testing.T) {
	x := filled(t)
	dir := x.dir
	if _, err := OpenSnapshot(dir); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	publish := func() {
		t.Helper()
		if err := x.Publish(); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	first, err := OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for n := range 5 { // more than are kept
		if err := x.Apply(Change{Put: []search.Document{{Kind: search.Pages, URL: fmt.Sprintf("http://n.example/%d", n), Title: "granite"}}, Delete: []string{search.UUIDOf(library[0].URL)}}); err != nil {
			t.Fatal(err)
		}
		publish()
	}
	if got := find(t, &first.reader, search.Pages, "garden granite"); got != "both" {
		t.Errorf("the first snapshot finds %q", got)
	}
	second, err := OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := find(t, &second.reader, search.Pages, "garden granite"); strings.Count(got, " ") != 4 {
		t.Errorf("the second snapshot finds %q", got)
	}
	if first.Newest(dir) || !second.Newest(dir) {
		t.Error("the newest snapshot is not known")
	}
	if list, err := filepath.Glob(filepath.Join(dir, "snapshots", "*")); err != nil || len(list) != 2 {
		t.Errorf("snapshots %v, %v", list, err)
	}
	if _, err := Open(dir); !errors.Is(err, files.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d; one process writes an index", os.Getpid())) {
		t.Errorf("a second writer: %v", err)
	}
}

// A folder of an earlier format is refused, also by its readers, and Rebuild makes an equal index of the
// present format. One of a later format stays as it is.
func TestRebuild(t *testing.T) {
	dir := t.TempDir()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Clone(library)
	list[0].Site, list[0].Key, list[0].Version, list[0].Copy, list[0].Seen = "s", "k", "v", "<p>", at("2026-01-01")
	if err := x.Apply(Change{Put: list, State: map[string]SiteState{"s": {Watermark: "w"}}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, other := range []int{format + 1, format - 1} {
		if err := (head{Format: other, Work: "work-1", Snapshot: "1"}).writeFile(dir); err != nil {
			t.Fatal(err)
		}
		_, opened := Open(dir)
		_, read := OpenSnapshot(dir)
		if earlier := other < format; errors.Is(opened, ErrFormat) != earlier || errors.Is(read, ErrFormat) != earlier || opened == nil || read == nil {
			t.Fatalf("format %d: %v, %v", other, opened, read)
		}
		if other > format {
			if _, err := Rebuild(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "later version") {
				t.Fatal(err)
			}
		}
	}
	if n, err := Rebuild(t.Context(), dir); err != nil || n != len(library) {
		t.Fatalf("%d documents, %v", n, err)
	}
	if x, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if got := find(t, &x.reader, search.Pages, "oak + maple"); got != "both maple oak oak" {
		t.Errorf("found %q", got)
	}
	state, err := x.Site("s")
	host, failed := x.readHostState("a.example.org")
	rows, wrong := x.Rows(t.Context(), "s", "", "", 10)
	want := []Row{{search.UUIDOf(list[0].URL), "k", "v"}}
	if err := errors.Join(err, failed, wrong); err != nil || state.Watermark != "w" || !host.Seen.Equal(at("2026-01-01")) || !slices.Equal(rows, want) {
		t.Errorf("%+v, %+v, %v, %v", state, host, rows, err)
	}
	if r := x.Run(t.Context(), search.Ask{Op: search.OpGet, UUID: search.UUIDOf(list[0].URL)}); r.Copy != "<p>" || !r.Hits[0].Seen.Equal(list[0].Seen) {
		t.Errorf("%+v", r)
	}
	s, err := OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := os.Stat(filepath.Join(dir, "work-1")); err == nil {
		t.Error("the old index is still there")
	}
}

// Rows come in the order of their keys, in portions.
func TestRows(t *testing.T) {
	x := filled(t)
	var c Change
	for _, key := range []string{"c", "a", "d", "b"} {
		c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: "http://r.example/" + key, Site: "s", Key: key, Version: "v" + key})
	}
	c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: "http://r.example/other", Site: "s2", Key: "a"})
	if err := x.Apply(c); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct{ after, last, want string }{{"", "", "a b c"}, {"a", "c", "b c"}, {"c", "", "d"}, {"d", "", ""}} {
		rows, err := x.Rows(t.Context(), "s", q.after, q.last, 3)
		var keys []string
		for _, r := range rows {
			if r.Version != "v"+r.Key {
				t.Errorf("%+v", r)
			}
			keys = append(keys, r.Key)
		}
		if got := strings.Join(keys, " "); err != nil || got != q.want {
			t.Errorf("after %q to %q: %q, %v; want %q", q.after, q.last, got, err, q.want)
		}
	}
}

// No question makes the index fail, and its excerpts are valid text.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{"oak + maple", `"old bricks" - elm`, "検索 エンジン", "о е", "l'arbre's", "site:a before:2024", "e-mail c++ ﬁ İ", "\u200d\u0301 a"} {
		f.Add(seed)
	}
	x, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = x.Close() })
	if err := x.Apply(Change{Put: library}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range search.Kinds {
			r := x.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: kind, Text: text, Limit: 10})
			if r.Error != "" && !r.Refused || r.Count < len(r.Hits) {
				t.Fatalf("%q: %+v", text, r)
			}
			for _, h := range r.Hits {
				for _, s := range h.Excerpt {
					if !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\n\x00") {
						t.Fatalf("%q: excerpt %q", text, s.Text)
					}
				}
			}
		}
	})
}
