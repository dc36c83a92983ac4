package storage

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

// place is contents in a temporary folder. Their clock returns placeTime.
type place struct {
	movable
	t testing.TB
}

var placeTime = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)

// home is the folder and the database of both places.
type home struct {
	folder string
	config sqldb.Config
}

func newHome(t testing.TB) home {
	t.Helper()
	t.Log("backend", backend)
	h := home{folder: t.TempDir(), config: dbtest.Config(t, backend)}
	h.config.Synchronous = "NORMAL"
	return h
}

func filesPlace(t testing.TB, h home) place {
	t.Helper()
	files, err := keyvalue.Open(filepath.Join(h.folder, "keys"), keyvalue.Options{
		Now: func() time.Time { return placeTime },
		Open: func(path string) (*sql.DB, error) {
			return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: "NORMAL"})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return place{files, t}
}

func sqlPlace(t testing.TB, h home) place {
	t.Helper()
	d, err := sqldb.Open(t.Context(), h.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return place{sqlstore.Open(d, sqlstore.Options{Now: func() time.Time { return placeTime }}).Contents(), t}
}

var places = map[string]func(testing.TB, home) place{PlaceFiles: filesPlace, PlaceSQL: sqlPlace}

func (p place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) put(site string, entries ...wire.Entry) []bool {
	p.t.Helper()
	inserted, err := p.PutAll(p.t.Context(), site, entries)
	p.must(err)
	return inserted
}

// get returns the data of an entry, or "-" if it does not exist.
func (p place) get(site, id string) string {
	p.t.Helper()
	e, ok, err := p.Get(p.t.Context(), site, id)
	p.must(err)
	if !ok {
		return "-"
	}
	return string(e.Data)
}

// ids reads the ids of all entries of a site, page by page.
func (p place) ids(site string, bytes int) (ids []string, pages int) {
	p.t.Helper()
	for after := ""; ; pages++ {
		page, err := p.Page(p.t.Context(), site, after, bytes)
		p.must(err)
		if len(page) == 0 {
			return ids, pages
		}
		for _, e := range page {
			ids = append(ids, e.ID)
		}
		after = ids[len(ids)-1]
	}
}

func entry(id, text string) wire.Entry { return wire.Entry{ID: id, Data: []byte(text)} }

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %.200s, want %.200s", what, g, w)
	}
}

// Both places behave as Contents says.
// docs/spec/processing.md 4.3, 6.1 #10.
func TestContents(t *testing.T) {
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	for name, test := range map[string]func(t *testing.T, p place){
		"nothing stored": func(t *testing.T, p place) {
			equal(t, "get", p.get("s", "a"), "-")
			p.must(p.Delete(t.Context(), "s", "a"))
			p.must(p.Delete(t.Context(), "s"))
			p.must(p.DeleteSite(t.Context(), "s"))
			p.must(p.DropEmpty(t.Context(), "s"))
			equal(t, "put without entries", p.put("s"), []bool{})
			all, err := p.GetAll(t.Context(), "s", "a")
			equal(t, "all", fmt.Sprint(len(all), err), "0 <nil>")
			dates, err := p.Dates(t.Context(), "s", "a")
			equal(t, "dates", fmt.Sprint(len(dates), err), "0 <nil>")
			sites, err := p.Sites(t.Context())
			equal(t, "sites", fmt.Sprint(sites, err), "[] <nil>")
			ids, _ := p.ids("s", 1)
			equal(t, "ids", ids, "[]")
		},
		"second writes": func(t *testing.T, p place) {
			equal(t, "first", p.put("s", entry("a", "1"), entry("b", "2"), entry("a", "3")), "[true true false]")
			equal(t, "second", p.put("s", entry("b", "4"), entry("c", "")), "[false true]")
			equal(t, "data", p.get("s", "a")+p.get("s", "b")+p.get("s", "c")+p.get("s", "d"), "34-")
		},
		"separate sites": func(t *testing.T, p place) {
			p.must(p.Create(t.Context(), "s"))
			p.must(p.Create(t.Context(), "s"))
			p.put("s", entry("a", "s"))
			p.put("S_-2", entry("a", "S"))
			p.put("", entry("a", "general"))
			p.must(p.Create(t.Context(), "empty"))
			sites, err := p.Sites(t.Context())
			equal(t, "sites", fmt.Sprint(sites, err), "[0 S_-2 s] <nil>")
			equal(t, "general", p.get("0", "a"), "general")
			p.must(p.DeleteSite(t.Context(), "s"))
			equal(t, "after the delete", p.get("s", "a")+p.get("S_-2", "a"), "-S")
			equal(t, "again", p.put("s", entry("a", "new")), "[true]")
		},
		"case of ids": func(t *testing.T, p place) {
			p.put("s", entry("a", "small"), entry("A", "large"))
			equal(t, "data", p.get("s", "a")+p.get("s", "A"), "smalllarge")
			p.must(p.Delete(t.Context(), "s", "A"))
			equal(t, "data", p.get("s", "a")+p.get("s", "A"), "small-")
		},
		"bytes": func(t *testing.T, p place) {
			for name, data := range map[string][]byte{"nil": nil, "empty": {}, "zero": {0}, "binary": binary, "utf8": []byte("日本語 \U0001F600 '\"\\`")} {
				p.put("s", wire.Entry{ID: "a", Data: data})
				e, ok, err := p.Get(t.Context(), "s", "a")
				if err != nil || !ok || !bytes.Equal(e.Data, data) {
					t.Errorf("%s: %q %t %v", name, e.Data, ok, err)
				}
			}
		},
		"large data": func(t *testing.T, p place) {
			large := bytes.Repeat(binary, 15<<20/256)
			p.put("s", entry("a", "small"), wire.Entry{ID: "b", Data: large}, wire.Entry{ID: "c", Data: large[:3<<20]}, entry("d", "small"))
			all, err := p.GetAll(t.Context(), "s", "a", "b", "c", "d")
			p.must(err)
			if len(all) != 4 || !bytes.Equal(all["b"].Data, large) || !bytes.Equal(all["c"].Data, large[:3<<20]) {
				t.Errorf("%d entries, %d and %d bytes", len(all), len(all["b"].Data), len(all["c"].Data))
			}
			ids, pages := p.ids("s", 4<<20)
			equal(t, "pages", fmt.Sprint(ids, pages), "[a b c d] 3")
		},
		"dates": func(t *testing.T, p place) {
			at := time.Date(2001, 2, 3, 4, 5, 6, 999, time.FixedZone("", 7200))
			p.put("s", entry("a", "now"), wire.Entry{ID: "b", CDate: at})
			dates, err := p.Dates(t.Context(), "s", "a", "b", "x")
			p.must(err)
			want := map[string]time.Time{"a": placeTime, "b": time.Date(2001, 2, 3, 2, 5, 6, 0, time.UTC)}
			if !maps.Equal(dates, want) {
				t.Errorf("dates %v, want %v", dates, want)
			}
			for id, at := range want {
				e, _, err := p.Get(t.Context(), "s", id)
				equal(t, id, fmt.Sprint(e.CDate, err), fmt.Sprint(at, error(nil)))
			}
			p.put("s", entry("b", "again"))
			e, _, _ := p.Get(t.Context(), "s", "b")
			equal(t, "second write", e.CDate, placeTime)
		},
		"many": func(t *testing.T, p place) {
			var entries []wire.Entry
			var ids []string
			for i := range 1203 {
				ids = append(ids, fmt.Sprintf("%032x", i*7919))
				entries = append(entries, wire.Entry{ID: ids[i], Data: bytes.Repeat([]byte{byte(i)}, 100)})
			}
			p.put("t", entry("a", "other site"))
			rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			p.put("s", entries...)
			slices.Sort(ids)
			few := ids[:40]
			for _, id := range few {
				p.put("few", entry(id, "1"))
			}
			for _, c := range []struct {
				site        string
				ids         []string
				size, pages int
			}{{"few", few, 0, len(few)}, {"few", few, 1, len(few)}, {"s", ids, 1000, 121}, {"s", ids, 1 << 30, 3}} {
				got, pages := p.ids(c.site, c.size)
				if !slices.Equal(got, c.ids) {
					t.Errorf("pages of %d bytes: %d entries, or another order", c.size, len(got))
				}
				equal(t, fmt.Sprint("pages of ", c.size), pages, c.pages)
			}
			all, err := p.GetAll(t.Context(), "s", ids...)
			p.must(err)
			equal(t, "all", len(all), len(ids))
			for _, e := range entries {
				if !bytes.Equal(all[e.ID].Data, e.Data) {
					t.Fatalf("%s has other data", e.ID)
				}
			}
			p.must(p.Delete(t.Context(), "s", ids[1:]...))
			got, _ := p.ids("s", 1<<30)
			equal(t, "left", got, ids[:1])
			got, _ = p.ids("t", 1<<30)
			equal(t, "other site", got, "[a]")
		},
		"drop empty": func(t *testing.T, p place) {
			p.put("s", entry("a", "1"))
			p.must(p.DropEmpty(t.Context(), "s"))
			equal(t, "kept", p.get("s", "a"), "1")
			p.must(p.Delete(t.Context(), "s", "a"))
			p.must(p.DropEmpty(t.Context(), "s"))
			equal(t, "dropped", p.get("s", "a"), "-")
			equal(t, "again", p.put("s", entry("a", "2")), "[true]")
		},
		"invalid names": func(t *testing.T, p place) {
			p.put("s", entry("good", "1"))
			ctx := t.Context()
			for _, bad := range []string{"..", "a/b", "a.b", "x'", "ü", "a ", strings.Repeat("a", 33)} {
				_, err1 := p.PutAll(ctx, bad, []wire.Entry{entry("a", "")})
				_, err2 := p.PutAll(ctx, "s", []wire.Entry{entry("good", "2"), entry(bad, "")})
				_, _, err3 := p.Get(ctx, bad, "a")
				_, _, err4 := p.Get(ctx, "s", bad)
				_, err5 := p.Dates(ctx, "s", bad)
				_, err6 := p.Page(ctx, bad, "", 1)
				for i, err := range []error{err1, err2, err3, err4, err5, err6, p.Delete(ctx, bad), p.Delete(ctx, "s", "good", bad), p.Create(ctx, bad), p.DeleteSite(ctx, bad)} {
					if err == nil || Critical(err) {
						t.Errorf("%q, call %d: %v", bad, i+1, err)
					}
				}
			}
			if _, _, err := p.Get(ctx, "s", ""); err == nil {
				t.Error("an empty id is accepted")
			}
			equal(t, "good", p.get("s", "good"), "1")
		},
		"cancelled": func(t *testing.T, p place) {
			p.put("s", entry("a", "1"))
			stopped, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := p.PutAll(stopped, "s", []wire.Entry{entry("a", "2"), entry("b", "2")}); err == nil {
				t.Error("put")
			}
			if p.Delete(stopped, "s", "a") == nil || p.DeleteSite(stopped, "s") == nil {
				t.Error("deleted")
			}
			equal(t, "data", p.get("s", "a")+p.get("s", "b"), "1-")
		},
		"concurrent": func(t *testing.T, p place) {
			var all sync.WaitGroup
			for g := range 4 {
				all.Go(func() {
					for i := range 20 {
						p.put("s", entry(fmt.Sprint("g", g), fmt.Sprint(i)), entry("same", fmt.Sprint(g)), entry(fmt.Sprint(g, "-", i), ""))
						if got := p.get("s", fmt.Sprint("g", g)); got != fmt.Sprint(i) {
							t.Errorf("goroutine %d reads %s, wrote %d", g, got, i)
						}
					}
				})
			}
			all.Wait()
			ids, _ := p.ids("s", 1<<20)
			equal(t, "entries", len(ids), 4*21+1)
		},
	} {
		for kind, open := range places {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				test(t, open(t, newHome(t)))
			})
		}
	}
}

func TestContentsAfterReopening(t *testing.T) {
	for kind, open := range places {
		t.Run(kind, func(t *testing.T) {
			h := newHome(t)
			open(t, h).put("s", entry("a", "1"))
			equal(t, "data", open(t, h).get("s", "a"), "1")
		})
	}
}

func benchmarkPlaces(b *testing.B, run func(b *testing.B, p place)) {
	for kind, open := range places {
		b.Run(kind, func(b *testing.B) { run(b, open(b, newHome(b))) })
	}
}

func BenchmarkContentsPutAll(b *testing.B) {
	benchmarkPlaces(b, func(b *testing.B, p place) {
		entries := make([]wire.Entry, 64)
		n := 0
		for b.Loop() {
			for i := range entries {
				n++
				entries[i] = wire.Entry{ID: fmt.Sprintf("%032x", n), Data: make([]byte, 8000)}
			}
			p.put("s", entries...)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	})
}

func BenchmarkContentsGet(b *testing.B) {
	benchmarkPlaces(b, func(b *testing.B, p place) {
		p.put("s", entry("a", strings.Repeat("x", 8000)))
		for b.Loop() {
			p.get("s", "a")
		}
	})
}
