package crawl

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// environment is what the visits of a batch share: its time, the limits of its requests, and what sends them.
type environment struct {
	Fetch   Fetcher
	Browser Browser
	Gates   Gates
	Proxies ProxyTable
	Config  settings.Config
	Now     func() time.Time
	// ProjectLog opens the log of a site's project by the suffix of its file. It may be nil.
	ProjectLog func(suffix string) *slog.Logger

	batch wire.Batch
	place placement.Placement // of the start of the batch
	log   *slog.Logger

	robots    *robotscache.Cache
	addressed *addressCache

	start    time.Time
	deadline time.Time // zero: none

	// bodies is the memory of bodies from their request until they are stored. A goroutine that waits
	// for a gate or a slot holds none, because their holders may wait for memory.
	bodies   *budget.Budget
	freeBody int64 // bytes of a body that need no memory of bodies

	slots   *slots.Slots // of running requests
	tally   tally
	dry     bool // usage is not counted
	rotator *headerrotation.Rotator
	jars    *cookies.Jars

	mapsAsked sync.Map // sites and origins whose default sitemap was requested
	down      sync.Map // origins that could not be reached, and why

	// running is the context of requests that have begun: it ends stopGrace after that of the batch.
	running context.Context

	mu     sync.Mutex
	broken error // the first failure that ends the batch
	cancel context.CancelFunc
}

// allowedOvertime returns how long running requests may continue after the time limit.
func (r *environment) allowedOvertime() time.Duration {
	if r.realTime() {
		return overtimeRealTime
	}
	return overtime
}

// mayWrite reports whether the batch may change stored rows. A real-time batch never does,
// whatever its dbMode, because its sites may not be stored (docs/spec/crawling.md 1.4, F39).
func (r *environment) mayWrite() bool { return r.batch.Writes() }

// brokenBy returns the failure that ended the batch, or nil.
func (r *environment) brokenBy() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// failBatch ends the batch with the failure of a part that it depends on.
func (r *environment) failBatch(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
	r.cancel()
}

// realTime reports whether a client waits for the batch.
func (r *environment) realTime() bool { return r.batch.CrawlerType == wire.CrawlRealTime }

// logOf returns the log of an item: that of its site's project, if it has one.
func (r *environment) logOf(it *item.Item) *slog.Logger {
	if r.ProjectLog == nil || it.Settings == nil || it.Settings.Suffix == "" {
		return r.log
	}
	return r.ProjectLog(it.Settings.Suffix).With("batch", r.batch.ID)
}

// isOver reports whether no further item may be started.
func (r *environment) isOver(ctx context.Context) bool {
	return ctx.Err() != nil || (!r.deadline.IsZero() && !r.Now().Before(r.deadline))
}

// ProxyTable is the part of the repository that knows proxies of sites.
type ProxyTable interface {
	// Proxies reads the stored proxies of a site. ProxyFault counts a fault of one.
	Proxies(ctx context.Context, site string) ([]wire.Proxy, error)
	ProxyFault(ctx context.Context, site, host string, disabled bool) error
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

// overtime is how long a running request may continue after the batch's time limit. An
// item that this cuts off is handed back.
const overtime = 20 * time.Second

// overtimeRealTime is the same for a real-time batch. The next stage needs the rest.
const overtimeRealTime = 100 * time.Millisecond
