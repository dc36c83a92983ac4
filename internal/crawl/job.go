package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/placement"
)

// Data is the repository as the crawler sees it. An error means that the call stored
// nothing, and ends the batch. An error with wire.CodeNotFound means that the site was
// deleted in the meantime, and ends only its items.
type Data interface {
	// Site reads a site with its filters and properties. It returns nil for an unknown site.
	Site(ctx context.Context, id string) (*wire.Site, error)
	// SiteOf finds the site of a URL. It returns "0" if no site contains it.
	SiteOf(ctx context.Context, url string) (string, error)
	// Suspend suspends a site that exceeded a limit (docs/spec/steps.md 1 #5).
	Suspend(ctx context.Context, id string, bits errormask.Mask, items int) error

	// Take selects rows for a batch and marks them as MarkCrawling does.
	Take(ctx context.Context, selection []wire.URLFetchRequest, batch int64) ([]wire.URL, error)
	// MarkCrawling sets rows to Crawling and inserts missing ones. A key that is absent from
	// the result could not be taken.
	MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error)
	// TakeSchema stores the URLs that a URL schema made of a template. taken is false if
	// another batch holds the template.
	TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (taken bool, err error)
	// SaveCrawl stores outcomes of sites, each site once: files, rows, new rows, counters.
	SaveCrawl(ctx context.Context, batch int64, list []wire.SiteFetched) ([]wire.Saved, error)
	// Flush stores what SaveCrawl may keep in memory for some seconds: additions to the Freq of
	// known links. It ends a batch.
	Flush(ctx context.Context) error
	// PutRaw stores files of URLs and leaves their rows unchanged.
	PutRaw(ctx context.Context, site string, files map[string][]wire.File, at time.Time) error

	// Rows, KnownURLs, URLTexts and HasContents read rows of a site by key. Keys without a
	// row are absent from the map.
	Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error)
	KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error)
	HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	// LateURLs returns at most most waiting URLs of a site that belong to a trap (wire.CauseTrap), by key.
	LateURLs(ctx context.Context, site string, most int) (map[string]string, error)
	// Condition evaluates an SQL expression over a row. The error of the verdict says why
	// an expression is refused.
	Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error)

	// Proxies reads the stored proxies of a site. ProxyFault counts a fault of one.
	Proxies(ctx context.Context, site string) ([]wire.Proxy, error)
	ProxyFault(ctx context.Context, site, host string, disabled bool) error
}

// Scratch keeps the files of a real-time batch in a folder of that batch, which its last
// stage removes; see storage.Scratch.
type Scratch interface {
	PutFiles(ctx context.Context, folder, site string, files map[string][]wire.File, at time.Time) error
}

// Fetcher sends requests behind the egress guard; see fetch.Client.
type Fetcher interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Response, error)
	Resolve(ctx context.Context, host string) error
	Addresses(ctx context.Context, host string) ([]netip.Addr, error)
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Browser renders pages; see browser.Browser.
type Browser interface {
	Get(ctx context.Context, r browser.Request) (*browser.Page, error)
}

// Gates keeps requests to one host apart; see hostgate.Gates.
type Gates interface {
	Acquire(ctx context.Context, host string, delay time.Duration, concurrency int) (*hostgate.Pass, error)
	AcquireAddress(ctx context.Context, name string, addr netip.Addr, limit int, delay time.Duration, concurrency int) (*hostgate.Pass, error)
	Next(host string, delay time.Duration, concurrency int, now time.Time) (at time.Time, inFlight bool, err error)
}

// Config is Config of package settings.
type Config = settings.Config

// Job crawls batches, one after the other. Its caches live as long as it does.
type Job struct {
	Data    Data
	Scratch Scratch // nil: real-time batches use the raw files of the node
	Fetch   Fetcher
	Browser Browser
	Gates   Gates
	Rotator *headerrotation.Rotator // nil: usage is counted in memory only
	Config  Config
	Now     func() time.Time
	Log     *slog.Logger
	// Placement returns which node of a cluster owns which host. Nil: there is no cluster.
	Placement func() (placement.Placement, error)
	// ProjectLog opens the log of a site's project by the suffix of its file. It may be nil.
	ProjectLog func(suffix string) *slog.Logger
	// Failed is told why a request of a site failed or was put off. It may be nil.
	Failed func(site string, err error)

	robots    robotscache.Cache
	addressed addressCache
}

// overtime is how long a running request may continue after the batch's time limit. An
// item that this cuts off is handed back.
const overtime = 20 * time.Second

// overtimeRealTime is the same for a real-time batch. The next stage needs the rest.
const overtimeRealTime = 100 * time.Millisecond

// stopGrace is how long a running request may continue after the batch was told to stop, so that its
// page is not requested twice. The executor kills a task 5 s after SIGTERM; the rest of that time
// is for storing what came.
const stopGrace = 2 * time.Second

// batchRun is the state of one batch.
type batchRun struct {
	*planner
	cut bool // the batch had more items than its maxItems

	// texts is the memory of pages that are being read. A goroutine that waits for texts may hold
	// bodies of the environment, but not the reverse. Pages whose links need requests use probing, for
	// which no goroutine waits.
	texts, probing *budget.Budget
	pages          chan page     // of this pass: fetched, not yet read
	saves          chan *outcome // of this pass: read, not yet saved
	last           bool          // this is the last pass
	flow           *flow         // nil: the batch does not select URLs while it fetches
	seen           seenLinks

	chains chains
	traps  sync.Map // trapWatch, by site
}

// newRun returns the run of a batch, and the context that ends it: when ctx ends, or by cancel.
func (j *Job) newRun(ctx context.Context, batch wire.Batch, log *slog.Logger) (*batchRun, context.Context) {
	if j.Rotator == nil {
		j.Rotator = headerrotation.New(headerrotation.Options{Log: j.Log})
	}
	bodies, free := budget.OfBodies(j.Config.MaxMemory, j.Config.MaxHosts, j.Config.MaxSlowHosts)
	var texts, probing *budget.Budget
	if bodies != nil {
		largest := max(j.Config.MaxResourceSize, budget.FreeBytes)
		texts, probing = budget.New(budget.TextGrowth*largest), budget.New((1+budget.TextGrowth)*largest)
	}
	running, abort := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, abort) })
	ctx, stop := context.WithCancel(ctx)
	return &batchRun{
		planner: newPlanner(&environment{
			Job: j, batch: batch, log: log, start: j.Now(),
			bodies: bodies, freeBody: free,
			slots:   slots.New(j.Config.MaxHosts, j.Config.MaxSlowHosts),
			jars:    cookies.Open(j.Config.CookieDir, cookies.Options{Log: j.Log, Now: j.Now}),
			rotator: j.Rotator,
			running: running,
			cancel:  func() { forget(); stop(); abort() },
		}),
		texts: texts, probing: probing,
	}, ctx
}

// Run crawls the Batch on stdin and returns the Batch of the answer: items that failed
// without content are removed, items that were not started are New again
// (docs/spec/crawling.md 1.6, 1.7). If ctx ends, no request begins, those that run have
// stopGrace to end, fetched pages are stored, and the rest is handed back. The error is critical if the repository or the host gates fail; URL_RETURN
// then frees the rows that were not stored.
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &lenient.Notes{}
	batch, err := wire.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("ignored unknown keys", "keys", notes.Unknown)
	}
	start := j.Now()
	answer := batch
	first := len(batch.Items) == 0 && j.selectsBetween(batch) // it takes its first rows
	if !first {
		if answer, err = j.crawlBatch(ctx, batch, start, log); err != nil {
			return nil, err
		}
	}
	crawled := len(answer.Items) + int(answer.Refilled)
	for last := answer; first || j.canRefill(ctx, last, start); first = false {
		rows, err := j.Data.Take(context.WithoutCancel(ctx), batch.Refill, batch.ID)
		if err != nil && first {
			return nil, task.Critical(fmt.Errorf("crawl batch %d: select URLs: %w", batch.ID, err))
		}
		if err != nil { // URL_RETURN frees the rows that it may have marked
			log.Warn("cannot select more URLs", "error", err)
			break
		}
		if len(rows) == 0 {
			break
		}
		batch.Items = wire.BatchItems(rows)
		if last, err = j.crawlBatch(ctx, batch, start, log); err != nil {
			return nil, err
		}
		crawled += len(last.Items)
		answer.Refilled += int64(len(rows))
		answer.ErrorMask |= last.ErrorMask
		answer.Tally = answer.Tally.Plus(last.Tally)
	}
	if answer.Folder != "" {
		answer.Spent += j.Now().Sub(start).Milliseconds()
	}
	if batch.DBMode&wire.DBWrite != 0 {
		if err := j.Data.Flush(context.WithoutCancel(ctx)); err != nil {
			log.Warn("cannot count links", "error", err) // the next batch does
		}
	}
	if crawled > 0 { // an idle engine runs empty batches
		log.Info("batch crawled", "items", crawled, "ms", j.Now().Sub(start).Milliseconds())
	}
	return answer, nil
}

// crawlBatch crawls the items of a batch that began at start, and returns the Batch of the answer.
func (j *Job) crawlBatch(ctx context.Context, batch wire.Batch, start time.Time, log *slog.Logger) (wire.Batch, error) {
	r, ctx := j.newRun(ctx, batch, log)
	defer r.cancel()
	var err error
	if r.place, err = j.hostPlacement(); err != nil {
		return wire.Batch{}, task.Critical(fmt.Errorf("crawl batch %d: %w", batch.ID, err))
	}
	if limit := cmp.Or(time.Duration(batch.MaxExecutionTime)*time.Second, j.Config.MaxExecutionTime); limit > 0 {
		r.deadline = start.Add(limit)
	}
	if most := batch.MaxItems; most > 0 && int64(len(batch.Items)) > most {
		// The rows of the other items stay selected. URL_RETURN frees them.
		r.batch.Items, r.cut = batch.Items[:most], true
	}
	if r.selectsWhileFetching() {
		r.flow = newFlow(batch.Refill[0].MaxURLs)
		r.flow.progress = len(batch.Items) == 0 // it takes its first rows by itself
	}
	items, err := r.runPasses(ctx)
	if err != nil {
		return wire.Batch{}, task.Critical(fmt.Errorf("crawl batch %d: %w", batch.ID, err))
	}
	r.batch.Items, r.batch.Tally = items, r.tally.counts
	return r.batch, nil
}

// selectsBetween reports whether a batch selects its rows between its rounds.
func (j *Job) selectsBetween(batch wire.Batch) bool {
	r := &environment{Job: j, batch: batch}
	return r.mayRefill() && !r.selectsWhileFetching()
}

// canRefill reports whether a batch that selects between its rounds may select more URLs: it has
// time, it was not told to stop, and it has crawled something. Otherwise a host that hands all
// items back would cause an endless loop.
func (j *Job) canRefill(ctx context.Context, last wire.Batch, start time.Time) bool {
	r := &environment{Job: j, batch: last, start: start}
	return j.selectsBetween(last) && !r.refillOver(ctx) &&
		slices.ContainsFunc(last.Items, func(it wire.BatchItem) bool { return it.URL.Status == wire.StatusCrawled })
}

// answerItems lists the items of the answer and joins their errors. A real-time answer includes
// failed items (docs/spec/crawling.md 7.1 #2).
func (r *batchRun) answerItems(work []*item) []wire.BatchItem {
	left := []wire.BatchItem{}
	entries := r.newEntries(work)
	if r.flow != nil {
		r.batch.ErrorMask |= r.flow.mask
	}
	for _, it := range work {
		if it.handedBack {
			r.batch.ErrorMask |= errormask.MaxExecutionTime
			if r.batch.RemoveUnprocessed {
				continue
			}
		} else {
			if it.isRSS() && r.realTime() {
				// Its entries, from later passes, replace it (docs/spec/crawling.md 1.6).
				if entries.brought[chainKey{it.SiteID, it.URLID}] {
					continue
				}
				it.url.ErrorMask |= errormask.RSSEmpty
			}
			r.batch.ErrorMask |= it.url.ErrorMask
			if it.empty && !r.realTime() {
				continue
			}
		}
		out := it.BatchItem
		out.URL, out.BaseURL = it.url, it.baseURL
		if extra := entries.entriesFor(it); len(extra) > 0 { // they replace the feed
			left = append(left, extra...)
		} else {
			left = append(left, out)
		}
	}
	r.cut = r.cut || entries.cut
	if r.cut {
		r.batch.ErrorMask |= errormask.MaxItems
		if n := len(left); n > 0 {
			left[n-1].URL.ErrorMask |= errormask.MaxItems
		}
	}
	return left
}

// isOver reports whether no further item may be started.
func (r *environment) isOver(ctx context.Context) bool {
	return ctx.Err() != nil || (!r.deadline.IsZero() && !r.Now().Before(r.deadline))
}
