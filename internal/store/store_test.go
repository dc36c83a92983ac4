package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"hce/dc/internal/db"
	"hce/dc/internal/db/dbtest"
	"hce/dc/internal/db/mariadbtest"
	"hce/dc/internal/dc"
)

var ctx = context.Background()

// backend is the database that the tests run on; TestMain runs them on each.
var backend = db.DriverSQLite

func TestMain(m *testing.M) {
	if config := os.Getenv(killVariable); config != "" {
		fmt.Println("error:", crawlForever(config))
		os.Exit(1)
	}
	code := m.Run()
	backend = db.DriverMySQL
	os.Exit(max(code, mariadbtest.Main(m)))
}

// bench is a store on a fresh database, with a clock that the test turns.
type bench struct {
	*Store
	testing.TB
	now    time.Time
	config db.Config
}

func newBench(t testing.TB) *bench { return newBenchOf(t, "") }

// newBenchOf opens a fresh database of the backend; synchronous is SQLite's.
func newBenchOf(t testing.TB, synchronous string) *bench {
	t.Helper()
	t.Log("backend", backend)
	b := &bench{TB: t, config: dbtest.Config(t, backend), now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
	b.config.Synchronous = synchronous
	d, err := db.Open(ctx, b.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	b.Store = Open(d, Options{Now: func() time.Time { return b.now }})
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// saved is what a FinishCrawl that must not fail answers.
func (b *bench) saved(s dc.Saved, err error) dc.Saved {
	b.Helper()
	b.must(err)
	return s
}

// newSite runs SITE_NEW with the JSON of a request.
func (b *bench) newSite(raw string) dc.GeneralResponse {
	b.Helper()
	r, err := dc.ReadSiteNew(json.RawMessage(raw), nil)
	b.must(err)
	b.must(r.Check())
	answer, err := b.SiteNew(ctx, r)
	b.must(err)
	return answer
}

func (b *bench) newURLs(raw string) dc.GeneralResponse {
	b.Helper()
	list, err := dc.ReadURLNew(json.RawMessage(raw), nil)
	b.must(err)
	answer, _, err := b.URLNew(ctx, list)
	b.must(err)
	return answer
}

func (b *bench) fetch(raw string) []dc.URL {
	b.Helper()
	list, err := dc.ReadURLFetch(json.RawMessage(raw), nil)
	b.must(err)
	urls, err := b.URLFetch(ctx, list)
	b.must(err)
	return urls
}

func (b *bench) row(site, url string) dc.URL {
	b.Helper()
	rows, err := b.Rows(ctx, site, []string{dc.Md5(url)})
	b.must(err)
	return rows[dc.Md5(url)]
}

func (b *bench) site(id string) dc.Site {
	b.Helper()
	site, err := b.SiteStatus(ctx, dc.SiteStatusRequest{ID: id})
	b.must(err)
	return site
}

// same compares by what both look like.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s = %s, want %s", what, g, w)
	}
}

func statuses(list ...any) []any { return append([]any{}, list...) }
