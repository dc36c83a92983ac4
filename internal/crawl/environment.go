package crawl

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// environment is what all stages of a batch share: the job, the batch, its time and the limits of its requests. A visit
// has it, and nothing else of the batch.
type environment struct {
	*Job
	batch wire.Batch
	place placement.Placement // of the start of the batch
	log   *slog.Logger

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
