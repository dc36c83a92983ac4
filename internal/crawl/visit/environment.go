package visit

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
	"hce/dc/internal/frontier/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// Environment is what the visits of a batch share: its time, the limits of its requests, and what sends them.
type Environment struct {
	Fetch   Fetcher
	Browser Browser
	Gates   Gates
	Proxies ProxyTable
	Config  settings.Config
	Now     func() time.Time
	// ProjectLog opens the log of a site's project by the suffix of its file. It may be nil.
	ProjectLog func(suffix string) *slog.Logger

	Batch wire.Batch
	Place placement.Placement // of the start of the batch
	Log   *slog.Logger

	// Robots and Addressed outlive the batch.
	Robots    *robotscache.Cache
	Addressed *AddressCache

	Start    time.Time
	Deadline time.Time // zero: none

	// Bodies is the memory of bodies from their request until they are stored. A goroutine that waits
	// for a gate or a slot holds none, because their holders may wait for memory.
	Bodies   *budget.Budget
	FreeBody int64 // bytes of a body that need no memory of bodies

	Slots   *slots.Slots // of running requests
	Tally   Tally
	Dry     bool // usage is not counted
	Rotator *headerrotation.Rotator
	Jars    *cookies.Jars

	mapsAsked sync.Map // sites and origins whose default sitemap was requested
	down      sync.Map // origins that could not be reached, and why

	// Running is the context of requests that have begun: it ends a while after that of the batch.
	Running context.Context
	Cancel  context.CancelFunc // ends the batch

	mu     sync.Mutex
	broken error // the first failure that ends the batch
}

// allowedOvertime returns how long running requests may continue after the time limit.
func (r *Environment) allowedOvertime() time.Duration {
	if r.RealTime() {
		return overtimeRealTime
	}
	return overtime
}

// MayWrite reports whether the batch may change stored rows. A real-time batch never does,
// whatever its dbMode, because its sites may not be stored (docs/spec/crawling.md 1.4, F39).
func (r *Environment) MayWrite() bool { return r.Batch.Writes() }

// BrokenBy returns the failure that ended the batch, or nil.
func (r *Environment) BrokenBy() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// FailBatch ends the batch with the failure of a part that it depends on.
func (r *Environment) FailBatch(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
	r.Cancel()
}

// RealTime reports whether a client waits for the batch.
func (r *Environment) RealTime() bool { return r.Batch.CrawlerType == wire.CrawlRealTime }

// LogOf returns the log of an item: that of its site's project, if it has one.
func (r *Environment) LogOf(it *item.Item) *slog.Logger {
	if r.ProjectLog == nil || it.Settings == nil || it.Settings.Suffix == "" {
		return r.Log
	}
	return r.ProjectLog(it.Settings.Suffix).With("batch", r.Batch.ID)
}

// IsOver reports whether no further item may be started.
func (r *Environment) IsOver(ctx context.Context) bool {
	return ctx.Err() != nil || (!r.Deadline.IsZero() && !r.Now().Before(r.Deadline))
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
