package process_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/storage/storagetest"
	"hce/dc/internal/wire"
)

const batchID = 7

// workers are shared by all tests. The test program is also their worker.
var workers = &process.Workers{Budget: process.Budget{Time: time.Minute, Clock: time.Minute, Memory: 1 << 30}}

func TestMain(m *testing.M) {
	process.RunIfTestWorker()
	status := m.Run()
	workers.Close()
	os.Exit(status)
}

// fixture is a job with a repository that has the active site "s".
type fixture struct {
	testing.TB
	*storagetest.Repository
	job *process.Job
}

func newFixture(t testing.TB) *fixture {
	m := storagetest.New()
	m.Sites["s"] = &wire.Site{ID: "s", State: wire.SiteActive}
	return &fixture{TB: t, Repository: m, job: &process.Job{
		Repository: m, Workers: workers, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Config: process.Config{ChunkItems: 3, MaxContentSize: 1 << 20},
	}}
}

const article = `<html lang="en"><head><title>The title</title><meta name="description" content="What it says">
<link rel="canonical" href="/canonical"><meta property="article:published_time" content="2026-01-02T03:04:05Z"></head>
<body><h1>The title</h1><p>` + "A paragraph of the article, long enough to be taken for one by whoever looks at it. " +
	"It goes on for a second sentence, and a third follows. This is the third.</p></body></html>"

// item stores a selected row with its raw content, and returns its batch item.
func (f *fixture) item(site, path, raw string, change ...func(*wire.URL)) wire.BatchItem {
	u := wire.NewURL(site, "http://page.test/"+path)
	u.Status, u.BatchID, u.HTTPCode, u.ContentType, u.Crawled = wire.StatusSelectedProcessing, batchID, 200, "text/html", 1
	u.TotalTime = 100
	for _, apply := range change {
		apply(&u)
	}
	f.URLs[site+" "+u.URLMd5] = u
	if raw != "" {
		f.Files[site+" "+u.URLMd5] = []wire.File{{Type: wire.ContentRaw, Data: []byte(raw)}}
	}
	return wire.BatchItem{SiteID: site, URLID: u.URLMd5, URL: u}
}

func (f *fixture) row(it wire.BatchItem) wire.URL { return f.URLs[it.SiteID+" "+it.URLID] }

func batchOf(items ...wire.BatchItem) wire.Batch {
	return wire.Batch{ID: batchID, CrawlerType: wire.CrawlProcess, DBMode: wire.DBRead | wire.DBWrite, Items: items}
}

func (f *fixture) run(b wire.Batch) wire.Batch {
	f.Helper()
	answer, err := f.try(context.Background(), b)
	if err != nil {
		f.Fatal(err)
	}
	return answer
}

func (f *fixture) try(ctx context.Context, b wire.Batch) (wire.Batch, error) {
	f.Helper()
	raw, err := json.Marshal(b)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.job.Run(ctx, raw)
	if err != nil {
		return wire.Batch{}, err
	}
	return answer.(wire.Batch), nil
}
