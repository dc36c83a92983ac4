package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"hce/dc/internal/dc"
	"hce/dc/internal/fetch"
	"hce/dc/internal/hostgate"
	"hce/dc/internal/task"
)

// Data is what the crawler needs of the data owner. Errors mean that nothing of
// the call was stored.
type Data interface {
	// Site reads a site with its filters and properties; nil when it is unknown.
	Site(ctx context.Context, id string) (*dc.Site, error)
	// Suspend stops a site that passed a limit (seed, crawler step 5).
	Suspend(ctx context.Context, id string, bits dc.ErrorMask, items int) error
	// MarkCrawling takes rows into work; rows that are missing are inserted.
	// A key that is not in the answer could not be taken.
	MarkCrawling(ctx context.Context, site string, batch int64, items []dc.URL) (map[string]dc.Mark, error)
	// SaveCrawl stores outcomes: files, rows, new rows, counters.
	SaveCrawl(ctx context.Context, site string, batch int64, results []dc.Fetched) error
}

// Fetcher makes one request; see fetch.Client.
type Fetcher interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Response, error)
}

// Gates keeps requests to one host apart; see hostgate.Gates.
type Gates interface {
	Acquire(ctx context.Context, host string, delay time.Duration, concurrency int) (*hostgate.Pass, error)
}

// Config is what crawler-task.ini says.
type Config struct {
	Headers          []Header      // default request headers
	Cookie           string        // default cookie
	RobotsAgent      string        // product token that robots.txt groups are matched with
	MaxResourceSize  int64         // bytes; bounds what a site's own limit allows
	MaxHosts         int           // hosts fetched side by side
	MaxLinks         int           // links taken from one page at most
	ChunkItems       int           // results in one transaction
	ChunkTime        time.Duration // the longest that a result waits for its transaction
	MaxExecutionTime time.Duration // of a batch that names none; 0: no limit
	RobotsTTL        time.Duration // how long a robots.txt is believed
}

// Header is one request header, as written.
type Header struct{ Name, Value string }

// Job crawls batches, one after the other. Its caches live as long as it does.
type Job struct {
	Data   Data
	Fetch  Fetcher
	Gates  Gates
	Config Config
	Now    func() time.Time
	Log    *slog.Logger

	robots robotsCache
}

// batchRun is the state of one batch.
type batchRun struct {
	*Job
	batch dc.Batch
	log   *slog.Logger
	sites map[string]*siteWork

	start    time.Time
	deadline time.Time // zero: none

	pages chan page     // fetched, to be read
	saves chan *outcome // read, to be saved
	fail  context.CancelCauseFunc
}

// Run crawls the Batch on stdin and answers with the Batch that is left: items
// that failed without any content are gone, items that were not started are New
// again (crawling 1.6, 1.7).
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &dc.Notes{}
	batch, err := dc.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("unknown keys ignored", "keys", notes.Unknown)
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &batchRun{
		Job: j, batch: batch, log: log, start: j.Now(),
		sites: map[string]*siteWork{},
		pages: make(chan page, 2*runtime.GOMAXPROCS(0)),
		saves: make(chan *outcome, j.Config.ChunkItems),
		fail:  cancel,
	}
	limit := time.Duration(batch.MaxExecutionTime) * time.Second
	if limit == 0 {
		limit = j.Config.MaxExecutionTime
	}
	if limit > 0 {
		r.deadline = r.start.Add(limit)
	}
	items, err := r.run(runCtx)
	if err != nil {
		return nil, err
	}
	r.batch.Items = items
	log.Info("batch crawled", "items", len(items), "ms", j.Now().Sub(r.start).Milliseconds())
	return r.batch, nil
}

// run drives the four stages and gives the items of the answer in the order of
// the batch.
func (r *batchRun) run(ctx context.Context) ([]dc.BatchItem, error) {
	work, err := r.plan(ctx)
	if err != nil {
		return nil, task.Critical(err)
	}
	var fetching, reading, saving sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		reading.Go(func() {
			for p := range r.pages {
				r.saves <- r.read(p)
			}
		})
	}
	var saveErr error
	saving.Go(func() { saveErr = r.save(ctx) })
	slots := make(chan struct{}, max(r.Config.MaxHosts, 1))
	for _, h := range r.hosts(work) {
		slots <- struct{}{}
		fetching.Go(func() {
			defer func() { <-slots }()
			h.run(ctx)
		})
	}
	fetching.Wait()
	close(r.pages)
	reading.Wait()
	close(r.saves)
	saving.Wait()
	if saveErr != nil {
		return nil, task.Critical(fmt.Errorf("crawl.Run: batch %d: %w", r.batch.ID, saveErr))
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return r.answer(work), nil
}

// answer lists the items that stay in the Batch and the union of their errors.
func (r *batchRun) answer(work []*item) []dc.BatchItem {
	left := []dc.BatchItem{}
	for _, it := range work {
		r.batch.ErrorMask |= it.url.ErrorMask
		if it.handedBack {
			r.batch.ErrorMask |= dc.ErrMaxExecutionTime
		}
		if it.empty || (it.handedBack && r.batch.RemoveUnprocessed) {
			continue
		}
		out := it.BatchItem
		out.URL, out.BaseURL = it.url, it.baseURL
		left = append(left, out)
	}
	return left
}

// over reports whether no further item may be started.
func (r *batchRun) over(ctx context.Context) bool {
	return ctx.Err() != nil || (!r.deadline.IsZero() && !r.Now().Before(r.deadline))
}
