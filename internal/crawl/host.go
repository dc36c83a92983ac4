package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"hce/dc/canonical"
	"hce/dc/hostgate"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// maxActive bounds the hosts of a batch that are active at once. Most of them wait for their gap
// or for an answer, at the cost of a gate file and a connection each. Slow hosts are at most three
// quarters of them.
const maxActive = 4096

// hostQueues are the items of a pass that wait for their request, by host. Goroutines may share
// them. A host is active while it has items: its items are requested one after the other, or as
// many at once as the site's HostConcurrency allows. At most maxActive hosts are active; of the
// others, quick ones follow first, then new ones, each in order of arrival.
type hostQueues struct {
	*batchRun
	ctx     context.Context
	workers sync.WaitGroup

	mu      sync.Mutex
	byName  map[string]*hostQueue
	active  int
	slow    int // of them
	waiting [slots.PaceSlow + 1][]*hostQueue
}

// hostQueue has the items of one host, in order. hostQueues.mu guards it.
type hostQueue struct {
	name    string
	items   []*item
	workers int // goroutines that request its items; 0: the host waits
	limit   int // maximum of workers
	pace    slots.Pace
}

func (r *batchRun) newQueues(ctx context.Context) *hostQueues {
	q := &hostQueues{batchRun: r, ctx: ctx, byName: map[string]*hostQueue{}}
	if r.flow != nil {
		// The worker with the slow request has not ended, because its slot is still held.
		r.slots.Turned = func(host string) { q.workers.Go(func() { q.returnSlowHost(host) }) }
	}
	return q
}

// returnSlowHost hands the waiting items of a host back that has turned slow. Its site is selected again
// when no row of it is in flight, with few rows.
func (q *hostQueues) returnSlowHost(host string) {
	q.mu.Lock()
	var items []*item
	if h := q.byName[host]; h != nil {
		items, h.items = h.items, nil
	}
	q.mu.Unlock()
	for _, it := range items {
		q.flow.noteRequestTime(it, slots.SlowAfter)
	}
	notifyChannel(q.flow.news)
	for _, it := range items {
		q.saves <- it.uncrawledOutcome(0, schema.DateOf(q.Now()))
		q.flow.countFetched(it)
	}
}

// addItems queues the items of work that have to be fetched. Items without an HTTP host fail at once,
// unless the client supplied their content.
func (q *hostQueues) addItems(work []*item) {
	for _, it := range work {
		if !it.todo {
			continue
		}
		it.host = webHost(it.target)
		q.flow.countQueued(it)
		if it.noted&errormask.URLsSchema != 0 && looksTemplate(it.url.URL) {
			q.refuseItem(it, 0)
			continue
		}
		if it.host == "" && !wire.HasData(it.put) {
			it.started = true
			q.refuseItem(it, errormask.BadURL)
			continue
		}
		q.queueItem(it.host, it)
	}
}

// refuseItem ends an item that cannot be fetched.
func (q *hostQueues) refuseItem(it *item, bits errormask.Mask) {
	q.saves <- it.failedOutcome(bits, 0, schema.DateOf(q.Now()))
	q.flow.countFetched(it)
}

// queueItem appends an item to the queue of its host and starts what may start.
func (q *hostQueues) queueItem(name string, it *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.byName[name]
	if h == nil {
		h = &hostQueue{name: name, pace: q.slots.PaceOf(name)}
		q.byName[name] = h
		q.waiting[h.pace] = append(q.waiting[h.pace], h)
	}
	h.items = append(h.items, it)
	h.limit = max(h.limit, min(it.settings.Concurrency, hostgate.MaxConcurrency))
	if h.workers > 0 {
		q.startWorkers(h)
	}
	q.activateHosts()
}

// activateHosts starts waiting hosts while there is room. mu must be held.
func (q *hostQueues) activateHosts() {
	for kind := range q.waiting {
		for len(q.waiting[kind]) > 0 && q.active < maxActive && (slots.Pace(kind) != slots.PaceSlow || q.slow < maxActive*3/4) {
			h := q.waiting[kind][0]
			q.waiting[kind] = q.waiting[kind][1:]
			q.active++
			if h.pace == slots.PaceSlow {
				q.slow++
			}
			q.startWorkers(h)
		}
	}
}

// startWorkers starts the workers that the items of a host need. mu must be held.
func (q *hostQueues) startWorkers(h *hostQueue) {
	for range min(h.limit-h.workers, len(h.items)) {
		h.workers++
		q.workers.Go(func() {
			for it := q.nextItem(h); it != nil; it = q.nextItem(h) {
				q.fetchItem(q.ctx, it)
				q.flow.noteRequestTime(it, q.slots.LastTime(h.name))
				q.flow.countFetched(it)
			}
		})
	}
}

// nextItem returns the next item of a host. Without one it returns nil, and the worker ends.
func (q *hostQueues) nextItem(h *hostQueue) *item {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(h.items) > 0 {
		it := h.items[0]
		h.items[0] = nil
		h.items = h.items[1:]
		return it
	}
	h.workers--
	if h.workers == 0 {
		delete(q.byName, h.name)
		q.active--
		if h.pace == slots.PaceSlow {
			q.slow--
		}
		q.activateHosts()
	}
	return nil
}

// hostCount returns the number of hosts with items.
func (q *hostQueues) hostCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.byName)
}

// webHost returns the host of an http or https URL, or "" for any other text.
func webHost(target string) string {
	scheme, _, _ := strings.Cut(target, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return ""
	}
	return canonical.Host(target)
}

// fetchItem fetches one item: robots.txt, gate, request (docs/spec/steps.md 1 #8 to #13).
func (r *batchRun) fetchItem(ctx context.Context, it *item) {
	if _, gone := r.goneSites.Load(it.SiteID); gone || r.isOver(ctx) {
		r.saves <- it.uncrawledOutcome(0, schema.DateOf(r.Now()))
		return
	}
	v := r.newVisit(it)
	it.body, it.text = v.memory, r.texts.OpenAccount(0)
	a, err := it.suppliedAnswer()
	if a == nil && err == nil {
		a, err = v.fetchURL(ctx)
		v.slot.EndRequest()
	}
	it.started = true
	// The slot is held until the body is passed on, so bodies never outnumber slots.
	defer v.leaveSlot()
	if err != nil {
		it.releaseMemory()
	}
	var refused refusal
	var away otherNode
	if !cutOff(ctx, err) && !errors.As(err, &away) {
		if out := v.retryOutcome(); out != nil {
			r.logOf(it).Info("asks again later", "site", it.SiteID, "url", it.url.URL, "cause", it.url.RetryCause, "times", it.url.Retries, "at", it.url.RetryDate, "error", err)
			it.releaseMemory()
			r.saves <- out
			return
		}
	}
	switch {
	case cutOff(ctx, err):
		it.started = false
		out := it.uncrawledOutcome(0, schema.DateOf(r.Now()))
		if later, ok := errors.AsType[notYet](err); ok {
			out.waitForHost(later.at)
		}
		r.saves <- out
	case errors.As(err, &away):
		r.logOf(it).Info("left to another node", "site", it.SiteID, "url", it.url.URL, "target", away.target, "node", away.owner)
		r.saves <- r.movedOutcome(it, away, err)
	case errors.As(err, &refused) && refused.back && it.gaveUp.cause == "":
		r.recordFailed(it, "put off", refused.bits, err)
		it.started = false
		out := it.uncrawledOutcome(refused.bits, schema.DateOf(r.Now()))
		out.waitForHost(refused.until)
		it.url.HTTPCode, it.handedBack = http.StatusBadRequest, false // refused, not out of time
		r.saves <- out
	case isExhausted(err):
		it.started = false
		r.failBatch(fmt.Errorf("request %s of site %s: %w", it.url.URL, it.SiteID, err))
		r.saves <- it.uncrawledOutcome(0, schema.DateOf(r.Now()))
	case err != nil:
		bits, code := faultBits(err)
		r.recordFailed(it, "fetch failed", bits, err)
		out := it.failedOutcome(bits, code, schema.DateOf(r.Now()))
		out.setStatus(refused.status)
		if refused.forbids != "" && refused.forbids == it.target {
			out.leaveUnasked()
		}
		if fault, ok := errors.AsType[*fetch.Fault](err); ok && fault.Partial != nil {
			out.setDuration(fault.Partial.Total.Milliseconds())
			out.setRedirects(fault.Partial)
		} else {
			out.setRedirects(nil)
		}
		r.saves <- out
	case it.settings.NeedsProbes():
		// The requests for its links wait for this host too.
		v.leaveSlot()
		if !r.toProbing(it, int64(len(a.Body))) {
			r.logOf(it).Info("put off", "site", it.SiteID, "url", it.url.URL, "reason", "too many large pages request their links at the same time")
			it.started = false
			it.releaseMemory()
			r.saves <- it.uncrawledOutcome(0, schema.DateOf(r.Now()))
			return
		}
		r.saves <- r.readOutcome(ctx, page{item: it, answer: a})
	default:
		r.pages <- page{item: it, answer: a}
	}
}

// recordFailed tells why a request of an item failed or was put off.
func (r *batchRun) recordFailed(it *item, message string, bits errormask.Mask, err error) {
	r.logOf(it).Info(message, "site", it.SiteID, "url", it.url.URL, "errors", bits.Names(), "error", err)
	if r.Failed != nil {
		r.Failed(it.SiteID, err)
	}
}

// toProbing moves a page whose links need requests to the budget of such pages. It reports
// whether there was room.
func (r *batchRun) toProbing(it *item, size int64) bool {
	probing := r.probing.OpenAccount((1 + budget.TextGrowth) * smallPage)
	if !probing.TryGrow((1 + budget.TextGrowth) * size) {
		return false
	}
	it.releaseMemory()
	it.body, it.text = probing, nil
	return true
}
