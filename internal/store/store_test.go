package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

var ctx = context.Background()

// bench is a store on a fresh file, with a clock that the test turns.
type bench struct {
	*Store
	testing.TB
	now  time.Time
	path string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, path: filepath.Join(t.TempDir(), "dc.db"), now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
	d, err := db.Open(ctx, db.Config{Path: b.path})
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
