package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/wire"
)

const batchID = 7

// fakeRepository is a process.Repository in memory. Its keys are a site id, a space and
// the key of a URL. It follows the status rules of storage.Repository.
type fakeRepository struct {
	mu       sync.Mutex
	sites    map[string]*wire.Site
	rows     map[string]wire.URL
	raw      map[string][]byte
	contents map[string][]byte
	saved    map[string]int
	calls    []string

	suspended wire.ErrorMask
	fails     map[string]error // by method
	onRead    func(md5 string)
}

func (m *fakeRepository) begin(method string) (func(), error) {
	m.mu.Lock()
	m.calls = append(m.calls, method)
	return m.mu.Unlock, m.fails[method]
}

func (m *fakeRepository) Site(ctx context.Context, id string) (*wire.Site, error) {
	end, err := m.begin("Site")
	defer end()
	if s := m.sites[id]; s != nil && err == nil {
		c := *s
		return &c, ctx.Err()
	}
	return nil, err
}

func (m *fakeRepository) Suspend(_ context.Context, id string, bits wire.ErrorMask, items int) error {
	end, err := m.begin("Suspend")
	defer end()
	if err == nil {
		m.suspended |= bits
		m.sites[id].State = wire.SiteSuspended
		m.sites[id].Errors += int64(items)
	}
	return err
}

func (m *fakeRepository) MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error) {
	end, err := m.begin("MarkProcessing")
	defer end()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	taken := map[string]wire.URL{}
	for _, md5 := range md5s {
		row, known := m.rows[site+" "+md5]
		free := row.BatchID == batch || row.BatchID == 0
		if known && (row.Status == wire.StatusCrawled || free && (row.Status == wire.StatusSelectedProcessing || row.Status == wire.StatusProcessing)) {
			taken[md5] = row
			row.Status, row.BatchID = wire.StatusProcessing, batch
			m.rows[site+" "+md5] = row
		}
	}
	return taken, nil
}

func (m *fakeRepository) RawContent(ctx context.Context, site, md5 string) ([]byte, error) {
	if m.onRead != nil {
		m.onRead(md5)
	}
	end, err := m.begin("RawContent")
	defer end()
	return m.raw[site+" "+md5], errors.Join(err, ctx.Err())
}

func (m *fakeRepository) SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error {
	end, err := m.begin("SaveProcess")
	defer end()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, r := range results {
		key := site + " " + r.URLMd5
		row := m.rows[key]
		m.saved[key]++
		if row.Status != wire.StatusProcessing || row.BatchID != batch {
			continue
		}
		wire.Apply(&row, wire.URLColumns, r.Set, "")
		if r.Processed {
			row.Processed++
		}
		m.rows[key] = row
		if r.Content != nil {
			m.contents[key] = r.Content
		}
	}
	return nil
}

// fixture is a job with a fakeRepository that has the active site "s".
type fixture struct {
	testing.TB
	*fakeRepository
	job *process.Job
}

func newFixture(t testing.TB) *fixture {
	m := &fakeRepository{
		sites: map[string]*wire.Site{}, rows: map[string]wire.URL{}, raw: map[string][]byte{}, contents: map[string][]byte{},
		saved: map[string]int{}, fails: map[string]error{},
	}
	m.sites["s"] = &wire.Site{ID: "s", State: wire.SiteActive}
	return &fixture{TB: t, fakeRepository: m, job: &process.Job{
		Repository: m, Now: time.Now, Log: slog.New(slog.DiscardHandler),
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
	f.rows[site+" "+u.URLMd5] = u
	if raw != "" {
		f.raw[site+" "+u.URLMd5] = []byte(raw)
	}
	return wire.BatchItem{SiteID: site, URLID: u.URLMd5, URL: u}
}

func (f *fixture) row(it wire.BatchItem) wire.URL { return f.rows[it.SiteID+" "+it.URLID] }

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
