package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/frontier/refill"
	"hce/dc/internal/frontier/slots"
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

	// Rows and URLTexts read rows of a site by key. Keys without a row are absent from the map.
	Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error)
	URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error)
	// PageData is what the reader of pages asks.
	reader.Data

	// ProxyTable has the stored proxies of sites.
	visit.ProxyTable
}

// Scratch keeps the files of a real-time batch in a folder of that batch, which its last
// stage removes; see storage.Scratch.
type Scratch interface {
	PutFiles(ctx context.Context, folder, site string, files map[string][]wire.File, at time.Time) error
}

// Config is Config of package settings.
type Config = settings.Config

// Job crawls batches, one after the other. Its caches live as long as it does.
type Job struct {
	Data    Data
	Scratch Scratch // nil: real-time batches use the raw files of the node
	Fetch   visit.Fetcher
	Browser visit.Browser
	Gates   visit.Gates
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
	addressed visit.AddressCache
}

// stopGrace is how long a running request may continue after the batch was told to stop, so that its
// page is not requested twice. The executor kills a task 5 s after SIGTERM; the rest of that time
// is for storing what came.
const stopGrace = 2 * time.Second

// batchRun is the state of one batch.
type batchRun struct {
	*planner
	cut bool // the batch had more items than its maxItems

	texts, probing *budget.Budget // see fetchStage
	reader         *reader.Reader
	flow           *refill.Flow                 // nil: the batch does not select URLs while it fetches
	added          errorSet                     // of items that were selected during the fetch
	failed         func(site string, err error) // is told why a request failed or was put off; may be nil
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
	env := &visit.Environment{
		Fetch: j.Fetch, Browser: j.Browser, Gates: j.Gates, Proxies: j.Data, Config: j.Config, Now: j.Now, ProjectLog: j.ProjectLog,
		Batch: batch, Log: log, Start: j.Now(),
		Robots: &j.robots, Addressed: &j.addressed,
		Bodies: bodies, FreeBody: free,
		Slots:   slots.New(j.Config.MaxHosts, j.Config.MaxSlowHosts),
		Jars:    cookies.Open(j.Config.CookieDir, cookies.Options{Log: j.Log, Now: j.Now}),
		Rotator: j.Rotator,
		Running: running,
		Cancel:  func() { forget(); stop(); abort() },
	}
	return &batchRun{
		planner: newPlanner(env, j.Data, j.Scratch),
		reader:  &reader.Reader{Env: env, Data: j.Data},
		failed:  j.Failed,
		texts:   texts, probing: probing,
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
	first := len(batch.Items) == 0 && selectsBetween(batch) // it takes its first rows
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
	defer r.Cancel()
	var err error
	if r.Place, err = j.hostPlacement(); err != nil {
		return wire.Batch{}, task.Critical(fmt.Errorf("crawl batch %d: %w", batch.ID, err))
	}
	if limit := cmp.Or(time.Duration(batch.MaxExecutionTime)*time.Second, j.Config.MaxExecutionTime); limit > 0 {
		r.Deadline = start.Add(limit)
	}
	if most := batch.MaxItems; most > 0 && int64(len(batch.Items)) > most {
		// The rows of the other items stay selected. URL_RETURN frees them.
		r.Batch.Items, r.cut = batch.Items[:most], true
	}
	if selectsWhileFetching(batch) {
		r.flow = refill.New(batch.Refill[0].MaxURLs)
		if len(batch.Items) == 0 {
			r.flow.ExpectRows()
		}
	}
	items, err := r.runPasses(ctx)
	if err != nil {
		return wire.Batch{}, task.Critical(fmt.Errorf("crawl batch %d: %w", batch.ID, err))
	}
	r.Batch.Items, r.Batch.Tally = items, r.Tally.Counts
	return r.Batch, nil
}

// selectsBetween reports whether a batch selects its rows between its rounds.
func selectsBetween(batch wire.Batch) bool {
	return mayRefill(batch) && !selectsWhileFetching(batch)
}

// canRefill reports whether a batch that selects between its rounds may select more URLs: it has
// time, it was not told to stop, and it has crawled something. Otherwise a host that hands all
// items back would cause an endless loop.
func (j *Job) canRefill(ctx context.Context, last wire.Batch, start time.Time) bool {
	return selectsBetween(last) && ctx.Err() == nil && !refillTimeOver(last, j.Now().Sub(start)) &&
		slices.ContainsFunc(last.Items, func(it wire.BatchItem) bool { return it.URL.Status == wire.StatusCrawled })
}

// answerItems lists the items of the answer and joins their errors. A real-time answer includes
// failed items (docs/spec/crawling.md 7.1 #2).
func (r *batchRun) answerItems(work []*item.Item) []wire.BatchItem {
	left := []wire.BatchItem{}
	entries := r.newEntries(work)
	r.Batch.ErrorMask |= r.added.mask
	for _, it := range work {
		if it.HandedBack {
			r.Batch.ErrorMask |= errormask.MaxExecutionTime
			if r.Batch.RemoveUnprocessed {
				continue
			}
		} else {
			if it.IsRSS() && r.RealTime() {
				// Its entries, from later passes, replace it (docs/spec/crawling.md 1.6).
				if entries.brought[it.Key()] {
					continue
				}
				it.Row.ErrorMask |= errormask.RSSEmpty
			}
			r.Batch.ErrorMask |= it.Row.ErrorMask
			if it.Empty && !r.RealTime() {
				continue
			}
		}
		out := it.BatchItem
		out.URL, out.BaseURL = it.Row, it.Base
		if extra := entries.entriesFor(it); len(extra) > 0 { // they replace the feed
			left = append(left, extra...)
		} else {
			left = append(left, out)
		}
	}
	r.cut = r.cut || entries.cut
	if r.cut {
		r.Batch.ErrorMask |= errormask.MaxItems
		if n := len(left); n > 0 {
			left[n-1].URL.ErrorMask |= errormask.MaxItems
		}
	}
	return left
}

// hostPlacement returns the owners of hosts; without a cluster the zero value.
func (j *Job) hostPlacement() (placement.Placement, error) {
	if j.Placement == nil {
		return placement.Placement{}, nil
	}
	return j.Placement()
}
