package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// Data is what the crawler needs of the data owner. Errors mean that nothing of
// the call was stored, and end the batch; but one with wire.CodeNotFound says that
// the site was deleted meanwhile, which ends only its items.
type Data interface {
	// Site reads a site with its filters and properties; nil when it is unknown.
	Site(ctx context.Context, id string) (*wire.Site, error)
	// SiteOf finds the site that a URL belongs to; "0" for none of its own.
	SiteOf(ctx context.Context, url string) (string, error)
	// Suspend stops a site that passed a limit (docs/spec/steps.md 1 #5).
	Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error

	// MarkCrawling takes rows into work; rows that are missing are inserted.
	// A key that is not in the answer could not be taken.
	MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error)
	// TakeSchema stores what a URL schema made of a template; taken is false when
	// another batch has it.
	TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (taken bool, err error)
	// SaveCrawl stores outcomes: files, rows, new rows, counters.
	SaveCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error)
	// PutRaw stores files of URLs whose rows are not touched.
	PutRaw(ctx context.Context, site string, files map[string][]wire.File, at time.Time) error

	// Rows, KnownURLs, URLTexts and HasContents tell of rows of a site by key;
	// missing ones are missing in the map.
	Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error)
	KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error)
	HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	// Condition evaluates an SQL expression over a row. An expression that is refused
	// is an error of the verdict.
	Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error)

	// Proxies reads the stored proxies of a site; ProxyFault counts a fault of one.
	Proxies(ctx context.Context, site string) ([]wire.Proxy, error)
	ProxyFault(ctx context.Context, site, host string, disabled bool) error
}

// Scratch keeps the files of a batch in real time in a folder of the batch's own,
// which its last stage removes; see storage.Scratch.
type Scratch interface {
	PutFiles(ctx context.Context, folder, site string, files map[string][]wire.File, at time.Time) error
}

// Fetcher makes requests behind the egress guard; see fetch.Client.
type Fetcher interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Response, error)
	Resolve(ctx context.Context, host string) error
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Browser renders pages; see browser.Browser.
type Browser interface {
	Get(ctx context.Context, r browser.Request) (*browser.Page, error)
}

// Gates keeps requests to one host apart; see hostgate.Gates.
type Gates interface {
	Acquire(ctx context.Context, host string, delay time.Duration, concurrency int) (*hostgate.Pass, error)
	Next(host string, delay time.Duration, concurrency int, now time.Time) (at time.Time, inFlight bool, err error)
}

// Config is what crawler-task.ini says. Of a folder that is "" nothing is read or
// kept.
type Config struct {
	Headers          headerrotation.Rule // default request headers
	Cookie           cookies.Property    // default cookie
	RobotsAgent      string              // product token that robots.txt groups are matched with
	MaxResourceSize  int64               // bytes; bounds what a site's own limit allows
	MaxMemory        int64               // bytes of bodies under way; with 0 they are not counted
	MaxHosts         int                 // requests under way at once; hosts that wait for their turn do not count
	MaxLinks         int                 // links taken from one page at most
	ChunkItems       int                 // results in one transaction
	ChunkTime        time.Duration       // the longest that a result waits for its transaction
	MaxExecutionTime time.Duration       // of a batch that names none; 0: no limit
	RobotsTTL        time.Duration       // how long a robots.txt is believed
	Backoff          time.Duration       // gap after a first answer that a host cannot keep up; it doubles
	FallbackAge      time.Duration       // of a page that tells no date (default_icr_crawl_time)
	// GeneralForUnknown gives items of sites that do not exist to site "0".
	GeneralForUnknown bool

	HeaderSourceDir string // files that HTTP_HEADERS may name
	RobotsDir       string // robots.txt of ROBOTS_CACHE
	FreqDir         string // counts of HTTP_FREQ_LIMITS
	ProxyDir        string // index files of USER_PROXY
	SchemaDir       string // files of URLS_SCHEMA, and what was used of them
	CookieDir       string // cookies of sites

	dry bool // what is used is not counted
}

// Job crawls batches, one after the other. Its caches live as long as it does.
type Job struct {
	Data    Data
	Scratch Scratch // nil: files of batches in real time are those of the node
	Fetch   Fetcher
	Browser Browser
	Gates   Gates
	Rotator *headerrotation.Rotator // nil: one that counts in memory
	Config  Config
	Now     func() time.Time
	Log     *slog.Logger
	// ProjectLog opens the log of a site's project, by the suffix of its file; nil
	// for none.
	ProjectLog func(suffix string) *slog.Logger

	robots robotsCache
}

// maxWaiting bounds the hosts of a batch that are worked on at once. Most of them
// wait for their gap, which costs an open gate file each; so a batch of many slow
// hosts keeps none of the quick ones from being asked, up to this many.
const maxWaiting = 512

// overtime is how long after the batch's limit a request under way may still
// run. It is no part of any item's time-out: an item cut off by it was not
// fetched, and is handed back.
const overtime = 20 * time.Second

// overtimeRealTime is the same for a batch that a client waits for: the time that is
// left then is the next stage's.
const overtimeRealTime = 100 * time.Millisecond

// overtime is how long after the batch's limit its requests may still run.
func (r *batchRun) overtime() time.Duration {
	if r.realTime() {
		return overtimeRealTime
	}
	return overtime
}

// batchRun is the state of one batch.
type batchRun struct {
	*Job
	batch wire.Batch
	cut   bool // the batch had more items than its maxItems
	log   *slog.Logger

	start    time.Time
	deadline time.Time // zero: none

	slots chan struct{} // one token for each request under way
	// bodies is the memory of bodies from their request until they are stored,
	// texts that of pages at work and of what they became. Who waits for texts
	// may hold bodies, and never the other way round. Who waits for a gate or a
	// slot holds neither, as who has these may wait for memory. So pages that
	// make requests while they are read have a budget of their own, for which
	// nobody waits.
	bodies, texts, probing *budget
	freeBody               int64
	pages                  chan page     // of the pass: fetched, to be read
	saves                  chan *outcome // of the pass: read, to be saved
	last                   bool          // no pass follows this one
	seen                   seenLinks
	dry                    bool // nothing is counted

	rotator   *headerrotation.Rotator
	troubles  troubles
	jars      *cookies.Jars
	chains    chains
	noted     map[chainKey]wire.ErrorMask // of items, found before the first pass
	goneSites sync.Map                    // ids of sites that were deleted since the batch began

	mu     sync.Mutex
	down   map[string]error // origins that could not be reached, and why
	broken error            // the first failure that ends the batch
	cancel context.CancelFunc
}

func (j *Job) newRun(batch wire.Batch, cancel context.CancelFunc) *batchRun {
	if j.Rotator == nil {
		j.Rotator = headerrotation.New(headerrotation.Options{Log: j.Log})
	}
	bodies, free := j.Config.bodies()
	var texts, probing *budget
	if bodies != nil {
		largest := max(j.Config.MaxResourceSize, freeBytes)
		texts, probing = newBudget(textGrowth*largest), newBudget((1+textGrowth)*largest)
	}
	return &batchRun{
		bodies: bodies, texts: texts, probing: probing, freeBody: free,
		Job: j, batch: batch, log: j.Log, start: j.Now(),
		slots:   make(chan struct{}, max(j.Config.MaxHosts, 1)),
		jars:    cookies.Open(j.Config.CookieDir, cookies.Options{Log: j.Log, Now: j.Now}),
		rotator: j.Rotator,
		down:    map[string]error{},
		cancel:  cancel,
		noted:   map[chainKey]wire.ErrorMask{},
	}
}

// Run crawls the Batch on stdin and answers with the Batch that is left: items
// that failed without any content are gone, items that were not started are New
// again (docs/spec/crawling.md 1.6, 1.7). When ctx ends, what was fetched is stored and the
// rest is handed back. The error is critical when the data owner or the host
// gates fail; what was not stored by then is left to URL_RETURN.
func (j *Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	notes := &wire.Notes{}
	batch, err := wire.ReadBatch(request, notes)
	if err != nil {
		return nil, err
	}
	log := j.Log.With("batch", batch.ID)
	if len(notes.Unknown) > 0 {
		log.Warn("unknown keys ignored", "keys", notes.Unknown)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := j.newRun(batch, cancel)
	r.log = log
	limit := time.Duration(batch.MaxExecutionTime) * time.Second
	if limit == 0 {
		limit = j.Config.MaxExecutionTime
	}
	if limit > 0 {
		r.deadline = r.start.Add(limit)
	}
	if most := batch.MaxItems; most > 0 && int64(len(batch.Items)) > most {
		// The rows of the others stay selected: URL_RETURN frees them.
		r.batch.Items, r.cut = batch.Items[:most], true
	}
	items, err := r.run(ctx)
	if err != nil {
		return nil, task.Critical(fmt.Errorf("crawl.Run: batch %d: %w", batch.ID, err))
	}
	r.batch.Items = items
	if r.batch.Folder != "" {
		r.batch.Spent += j.Now().Sub(r.start).Milliseconds()
	}
	log.Info("batch crawled", "items", len(items), "ms", j.Now().Sub(r.start).Milliseconds())
	return r.batch, nil
}

// answer lists the items that stay in the Batch and the union of their errors. A
// client who waits for the batch is told of failed items as well (docs/spec/crawling.md 7.1
// #2).
func (r *batchRun) answer(work []*item) []wire.BatchItem {
	left := []wire.BatchItem{}
	entries := r.newEntries(work)
	for _, it := range work {
		if it.handedBack {
			r.batch.ErrorMask |= wire.ErrMaxExecutionTime
			if r.batch.RemoveUnprocessed {
				continue
			}
		} else {
			if it.isRSS() && r.realTime() {
				// The entries that later passes brought stand for it (docs/spec/crawling.md 1.6).
				if entries.brought[chainKey{it.SiteID, it.URLID}] {
					continue
				}
				it.url.ErrorMask |= wire.ErrRSSEmpty
			}
			r.batch.ErrorMask |= it.url.ErrorMask
			if it.empty && !r.realTime() {
				continue
			}
		}
		out := it.BatchItem
		out.URL, out.BaseURL = it.url, it.baseURL
		if extra := entries.of(it); len(extra) > 0 { // they stand for the feed
			left = append(left, extra...)
		} else {
			left = append(left, out)
		}
	}
	r.cut = r.cut || entries.cut
	if r.cut {
		r.batch.ErrorMask |= wire.ErrMaxItems
		if n := len(left); n > 0 {
			left[n-1].URL.ErrorMask |= wire.ErrMaxItems
		}
	}
	return left
}

// over reports whether no further item may be started.
func (r *batchRun) over(ctx context.Context) bool {
	return ctx.Err() != nil || (!r.deadline.IsZero() && !r.Now().Before(r.deadline))
}

// writes reports whether the batch may change rows that are stored. One in real time
// never does, whatever its dbMode says: its sites need not be stored (docs/spec/crawling.md 1.4,
// F39).
func (r *batchRun) writes() bool { return r.batch.DBMode&wire.DBWrite != 0 && !r.realTime() }

// brokenBy is what ended the batch; nil as long as it goes on.
func (r *batchRun) brokenBy() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// fail ends the batch for a failure of what it stands on.
func (r *batchRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
	r.cancel()
}
