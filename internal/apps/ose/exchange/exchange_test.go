package exchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

const root = "https://example.org/"

func TestMain(m *testing.M) {
	portionPages = 40
	os.Exit(m.Run())
}

func siteOf(t *testing.T, s *storestest.Stores) wire.Site {
	t.Helper()
	var site wire.Site
	if err := s.Ask(t.Context(), wire.SiteStatus, map[string]any{"id": wire.Md5(root), "deleteTaskId": nil, "excludeList": []string{}}, &site); err != nil {
		t.Fatal(err)
	}
	return site
}

// exported exports the site and returns the folder. It has no fault.
func exported(t *testing.T, s *storestest.Stores) (*folder.Folder, Exported) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "target")
	done, err := Export(t.Context(), s, siteOf(t, s), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Check(func(err error) { t.Error(err) })
	return f, done
}

// contents returns the files of a folder.
func contents(t *testing.T, f *folder.Folder) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(f.Path(e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// filled returns stores with a site of every kind of row.
func filled(t *testing.T) *storestest.Stores {
	s := storestest.Open(t)
	site := s.NewSite(root)
	s.AddPage(site, root, "Home", "the first page")
	for i := range 88 { // several portions
		s.AddPage(site, fmt.Sprint(root, "p", i, "?a=%C3%A9"), fmt.Sprint("Title ", i), "text é")
	}
	s.AddPage(site, "http://other.example/x", "Other", "another host")
	s.AddFailed(site, root+"gone", 404, errormask.HTTP)
	s.AddFailed(site, root+"odd", 404, 0)
	s.AddFailed(site, root+"silent", 0, errormask.Timeout|errormask.FetchTimeout)
	if err := s.Ask(t.Context(), wire.URLNew, []any{map[string]any{"siteId": site, "url": root + "waits", "siteSelect": wire.SelectExplicit, "parentMd5": wire.Md5(root), "depth": 1}}, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// An export, an import of it into an empty cluster, and an export of that give the same folders, byte for
// byte. A second import stores nothing.
func TestRoundTrip(t *testing.T) {
	from := filled(t)
	first, done := exported(t, from)
	if done != (Exported{URLs: 94, Pages: 90}) {
		t.Errorf("%+v", done)
	}
	want := contents(t, first)
	if !strings.HasPrefix(want[folder.URLsName], "0000000001 200 ") || !strings.Contains(want[folder.URLsName], " "+root+"\n") || want[folder.StatusName] != "2 0000000093" {
		t.Errorf("%.100q, %q", want[folder.URLsName], want[folder.StatusName])
	}
	for round := range 2 {
		to := storestest.Open(t)
		to.NewSite(root)
		warn := func(err error) { t.Error(err) }
		imported, err := Import(t.Context(), to, siteOf(t, to), first, warn)
		if err != nil || imported != (Imported{Pages: 90, Rows: 4}) {
			t.Errorf("%+v, %v", imported, err)
		}
		changes := to.Asked[wire.URLPut]
		if again, err := Import(t.Context(), to, siteOf(t, to), first, warn); err != nil || again != (Imported{Known: 94}) || to.Asked[wire.URLPut] != changes {
			t.Errorf("again: %+v, %v", again, err)
		}
		second, _ := exported(t, to)
		got := contents(t, second)
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("round %d: %s: %.300q, want %.300q", round, name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d files, want %d", len(got), len(want))
		}
		first = second
	}
}

// pageOf stores a page in a folder.
func pageOf(t *testing.T, f *folder.Folder, id folder.ID, url, head, body string) folder.Record {
	t.Helper()
	r := folder.Record{ID: id, Code: 200, Streamed: folder.StampOf(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)), URL: url}
	b := f.NewBatch()
	head = "HTTP/1.1 200 \r\n" + head + "\r\n"
	if err := errors.Join(b.WritePage(folder.Page{ID: id, Data: []byte(head + body), Meta: folder.Meta{URL: url, Code: 200, Streamed: r.Streamed, Head: int64(len(head)), Millis: 9}}), b.Sync()); err != nil {
		t.Fatal(err)
	}
	return r
}

// An import keeps head, body, date and code, whatever coding the fields name. A page that cannot be read
// is named and left out.
func TestImport(t *testing.T) {
	f, err := folder.New(filepath.Join(t.TempDir(), "target"))
	if err != nil {
		t.Fatal(err)
	}
	var list []byte
	add := func(r folder.Record) { list = r.Append(list) }
	add(pageOf(t, f, 1, root, "Content-Encoding: br\r\nContent-Type: text/html; charset=iso-8859-1\r\nTransfer-Encoding: chunked\r\n", "<p>caf\xe9"))
	add(pageOf(t, f, 2, root+"a.png", "Content-Length: 3\r\nContent-Type: image/png\r\n", "\x89PNG\r\n\x1a\n\x00"))
	add(pageOf(t, f, 3, root+"broken", "", "text"))
	add(pageOf(t, f, 4, root+"empty", "", ""))
	add(folder.Record{ID: 5, Code: 200, Streamed: 1, URL: root + "lost"})
	add(folder.Record{URL: root + "waits"})
	if err := errors.Join(os.WriteFile(f.Path(folder.BodyName(3)), []byte("other"), 0o600), os.WriteFile(f.Path(folder.URLsName), list, 0o600), f.SetStatus(folder.Status{State: folder.Fetched, LastID: 5})); err != nil {
		t.Fatal(err)
	}
	s := storestest.Open(t)
	s.NewSite(root)
	var warned []string
	done, err := Import(t.Context(), s, siteOf(t, s), f, func(err error) { warned = append(warned, filepath.Base(strings.Split(err.Error(), ": ")[0])) })
	if err != nil || done != (Imported{Pages: 2, Rows: 2, Faults: 2}) || !slices.Equal(warned, []string{"0000000003", ".meta.0000000005"}) {
		t.Errorf("%+v, %v, %q", done, err, warned)
	}
	got := map[string]pages.Page{}
	reader := pages.Reader{Service: s, Site: wire.Md5(root), Needs: pages.Raw | pages.Headers}
	if err := reader.Read(t.Context(), "", func(p *pages.Page) error { got[p.URL.URL] = *p; return nil }, nil); err != nil {
		t.Fatal(err)
	}
	home := got[root]
	if string(home.Raw) != "<p>café" || home.UDate != "2026-01-02 03:04:05" || home.CrawlingTime != 9 || home.ParentMd5 != "" ||
		string(home.Headers) != "HTTP/1.1 200 \r\nContent-Encoding: br\r\nContent-Type: text/html; charset=iso-8859-1\r\nTransfer-Encoding: chunked\r\n" {
		t.Errorf("%q, %q, %+v", home.Raw, home.Headers, home.URL)
	}
	if image := got[root+"a.png"]; string(image.Raw) != "\x89PNG\r\n\x1a\n\x00" || image.ContentType != "image/png" || image.ParentMd5 == "" {
		t.Errorf("%q, %+v", image.Raw, image.URL)
	}
	if empty := got[root+"empty"]; empty.HTTPCode != 200 || empty.ErrorMask != errormask.Empty || empty.State != wire.URLError {
		t.Errorf("%+v", empty.URL)
	}
	if waits := got[root+"waits"]; waits.Status != wire.StatusNew || waits.Crawled != 0 || len(got) != 4 {
		t.Errorf("%+v, %v", waits.URL, slices.Collect(maps.Keys(got)))
	}
}

// An import that ends at any operation continues, and stores nothing twice.
func TestImportInterrupted(t *testing.T) {
	f, _ := exported(t, filled(t))
	to := storestest.Open(t)
	to.NewSite(root)
	rounds := 0
	for ; ; rounds++ {
		ctx, stop := context.WithCancel(t.Context())
		changes := 0
		to.OnAsk(func(op wire.Op) {
			if op == wire.URLPut || op == wire.URLNew {
				if changes++; changes == 2+rounds%2 {
					stop()
				}
			}
		})
		_, err := Import(ctx, to, siteOf(t, to), f, func(err error) { t.Error(err) })
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || rounds > 100 {
			t.Fatal(rounds, err)
		}
	}
	to.OnAsk(nil)
	again, _ := exported(t, to)
	if got, want := contents(t, again), contents(t, f); !maps.Equal(got, want) || rounds < 3 {
		t.Errorf("%d rounds, %d files, want %d", rounds, len(got), len(want))
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "ose-*.warc"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
}

// An export that fails leaves no target.
func TestExportInterrupted(t *testing.T) {
	s := filled(t)
	ctx, stop := context.WithCancel(t.Context())
	s.OnAsk(func(op wire.Op) {
		if op == wire.URLContent {
			stop()
		}
	})
	dir := filepath.Join(t.TempDir(), "target")
	site := siteOf(t, s)
	if _, err := Export(ctx, s, site, dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := folder.Open(dir); !errors.Is(err, folder.ErrNoTarget) {
		t.Errorf("%v", err)
	}
	s.OnAsk(nil)
	if _, err := Export(t.Context(), s, site, dir, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
}
