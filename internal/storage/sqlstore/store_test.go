package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/wire"
)

var ctx = context.Background()

// backend is the database that the tests run on; TestMain runs them on each.
var backend = sqldb.DriverSQLite

func TestMain(m *testing.M) {
	if config := os.Getenv(killVariable); config != "" {
		fmt.Println("error:", crawlForever(config))
		os.Exit(1)
	}
	if config := os.Getenv(killLinksVariable); config != "" {
		fmt.Println("error:", pagesForever(config))
		os.Exit(1)
	}
	code := m.Run()
	backend = sqldb.DriverMySQL
	os.Exit(max(code, mariadbtest.Main(m)))
}

// bench is a store on a fresh database, with a clock that the test sets.
type bench struct {
	*Store
	testing.TB
	now    time.Time
	config sqldb.Config
}

// FinishCrawl is Store.FinishCrawl of one site.
func (b *bench) FinishCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error) {
	saved, err := b.Store.FinishCrawl(ctx, batch, []wire.SiteFetched{{Site: site, Results: results}}, nil)
	return saved[0], err
}

func newBench(t testing.TB) *bench { return newBenchOf(t, "") }

// newBenchOf opens a fresh database of the backend; synchronous is SQLite's.
func newBenchOf(t testing.TB, synchronous string) *bench {
	t.Helper()
	t.Log("backend", backend)
	b := &bench{TB: t, config: dbtest.Config(t, backend), now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
	b.config.Synchronous = synchronous
	d, err := sqldb.Open(ctx, b.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	b.Store = Open(d, Options{Now: func() time.Time { return b.now }})
	return b
}

// restart forgets what the store remembers, as a kill does.
func (b *bench) restart() { b.Store = Open(b.db.DB, b.db.Options) }

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// saved returns the answer of a FinishCrawl that must not fail.
func (b *bench) saved(s wire.Saved, err error) wire.Saved {
	b.Helper()
	b.must(err)
	return s
}

// newSite runs SITE_NEW with the JSON of a request.
func (b *bench) newSite(raw string) wire.GeneralResponse {
	b.Helper()
	r, err := wire.ReadSiteNew(json.RawMessage(raw), nil)
	b.must(err)
	b.must(r.Check())
	answer, err := b.SiteNew(ctx, r)
	b.must(err)
	return answer
}

func (b *bench) newURLs(raw string) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadURLNew(json.RawMessage(raw), nil)
	b.must(err)
	answer, _, err := b.URLNew(ctx, list)
	b.must(err)
	return answer
}

func (b *bench) fetch(raw string) []wire.URL {
	b.Helper()
	list, err := wire.ReadURLFetch(json.RawMessage(raw), nil)
	b.must(err)
	urls, err := b.URLFetch(ctx, list)
	b.must(err)
	return urls
}

func (b *bench) row(site, url string) wire.URL {
	b.Helper()
	rows, err := b.Rows(ctx, site, []string{wire.Md5(url)})
	b.must(err)
	return rows[wire.Md5(url)]
}

func (b *bench) site(id string) wire.Site {
	b.Helper()
	site, err := b.SiteStatus(ctx, wire.SiteStatusRequest{ID: id})
	b.must(err)
	return site
}

// same compares the printed values.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w && !reflect.DeepEqual(got, want) { // %#v has addresses
		t.Errorf("%s = %s, want %s", what, g, w)
	}
}

func statuses(list ...any) []any { return append([]any{}, list...) }

// process stores results of a processing batch, whose expressions must be valid.
func (b *bench) process(site string, batch int64, results []wire.Extracted) error {
	refused, err := b.FinishProcess(b.Context(), site, batch, results)
	return errors.Join(append(refused, err)...)
}
