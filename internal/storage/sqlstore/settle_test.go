package sqlstore

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// A process dies after it wrote a commit to SQLite's write-ahead log, but before its index:
// no process sees the commit. After URL_RETURN the commit does not reappear when the index
// is rebuilt.
func TestReturnSettlesUncertainCommits(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		return // only SQLite has this log
	}
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.newURLs(`[{"siteId":"s","url":"u"}]`)
	dying, err := sqldb.Open(ctx, b.config)
	b.must(err)
	defer dying.Close()
	index := b.config.Path + "-shm"
	before, err := os.ReadFile(index)
	b.must(err)
	selection, err := wire.ReadURLFetch([]byte(`[{"urlsCriterions":{"WHERE":"Status=1"},"urlUpdate":{"status":2,"batchId":7}}]`), nil)
	b.must(err)
	urls, err := Open(dying, Options{Now: func() time.Time { return b.now }}).URLFetch(ctx, selection)
	b.must(err)
	same(t, "selected", len(urls), 1)
	b.must(os.WriteFile(index, before, 0o644)) // the process dies before it writes the index
	same(t, "visible to other processes", b.row("s", "u").Status, int64(wire.StatusNew))
	inDoubt := b.again()
	same(t, "after the index is rebuilt", inDoubt.row("s", "u").Status, int64(wire.StatusSelectedCrawling))

	n, err := b.URLReturn(ctx, wire.URLReturnRequest{BatchID: 7})
	b.must(err)
	same(t, "returned", n, 0)
	same(t, "afterwards", b.again().row("s", "u").Status, int64(wire.StatusNew))
}

// again copies the database as the first process finds it after the death of all others.
func (b *bench) again() *bench {
	b.Helper()
	folder := b.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		from, err := os.Open(b.config.Path + suffix)
		b.must(err)
		to, err := os.Create(filepath.Join(folder, "dc.db"+suffix))
		b.must(err)
		_, err = io.Copy(to, from)
		b.must(err)
		b.must(to.Close())
		b.must(from.Close())
	}
	c := *b
	c.config.Path = filepath.Join(folder, "dc.db")
	d, err := sqldb.Open(ctx, c.config)
	b.must(err)
	b.Cleanup(func() { d.Close() })
	c.Store = Open(d, Options{Now: func() time.Time { return b.now }})
	return &c
}
