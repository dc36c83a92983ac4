package server_test

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/repository"
)

// folder returns an archive in a folder, and what crawls into it. Each crawl begins one second after the
// one before.
func folder(t testing.TB) (*repository.Repository, archivetest.Crawler) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	if err := repository.Init(dir); err != nil {
		t.Fatal(err)
	}
	r, err := repository.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, archive.Zone)
	return r, func(t testing.TB, domain string, pages map[string]string) archive.Commit {
		t.Helper()
		now = now.Add(time.Second)
		c, err := r.Begin(t.Context(), domain, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			kind := "application/octet-stream"
			if path.Ext(name) == ".html" {
				kind = "text/html"
			}
			err := c.Add(repository.Page{URL: "http://" + domain + name, MIMEType: kind, Created: now, Content: []byte(pages[name])})
			if err != nil {
				t.Fatal(err)
			}
		}
		commit, err := c.Commit(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
}

// A client of an archive in a folder is a store, too.
func TestClientOfAFolder(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T) (archive.Store, archivetest.Crawler) {
		r, crawl := folder(t)
		w := start(t, r, nil)
		return connect(t, w.server.URL(), nil), crawl
	})
}

// 50 clients of an archive in a folder. git and the disk bound the number of writes.
func TestFiftyClientsOfAFolder(t *testing.T) {
	folderLoad(t, func(round int) bool { return round < 1 }).Run(t)
}

func folderLoad(t *testing.T, more func(int) bool) archivetest.Load {
	t.Helper()
	r, crawl := folder(t)
	w := start(t, r, nil)
	return archivetest.Load{
		Clients: 50, Connect: func() *client.Client { return connect(t, w.server.URL(), nil) },
		Crawl: crawl, Store: r, More: more, Each: 10,
	}
}
