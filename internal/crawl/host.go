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
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/frontier/hostqueue"
	"hce/dc/internal/frontier/slots"
	"hce/dc/internal/wire"
)

// maxActive bounds the hosts of a batch that are active at once. Most of them wait for their gap
// or for an answer, at the cost of a gate file and a connection each.
const maxActive = 4096

// hostQueues are the items of a pass that wait for their request, with the workers that request them. Goroutines may
// share them.
type hostQueues struct {
	*batchRun
	ctx     context.Context
	workers sync.WaitGroup

	mu     sync.Mutex
	queues *hostqueue.Queues[*item.Item]
}

func (r *batchRun) newQueues(ctx context.Context) *hostQueues {
	q := &hostQueues{batchRun: r, ctx: ctx, queues: hostqueue.New[*item.Item](maxActive, r.Slots.PaceOf)}
	if r.flow != nil {
		// The worker with the slow request has not ended, because its slot is still held.
		r.Slots.Turned = func(host string) { q.workers.Go(func() { q.returnSlowHost(host) }) }
	}
	return q
}

// returnSlowHost hands the waiting items of a host back that has turned slow. Its site is selected again
// when no row of it is in flight, with few rows.
func (q *hostQueues) returnSlowHost(host string) {
	q.mu.Lock()
	items := q.queues.RemoveItems(host)
	q.mu.Unlock()
	for _, it := range items {
		q.flow.NoteRequestTime(flowItem(it), slots.SlowAfter)
	}
	q.flow.NotifyNews()
	for _, it := range items {
		q.saves <- it.UncrawledOutcome(0, wire.DateOf(q.Now()))
		q.flow.CountFetched(flowItem(it))
	}
}

// addItems queues the items of work that have to be fetched. Items without an HTTP host fail at once,
// unless the client supplied their content.
func (q *hostQueues) addItems(work []*item.Item) {
	for _, it := range work {
		if !it.Todo {
			continue
		}
		it.Host = webHost(it.Target)
		q.flow.CountQueued(flowItem(it))
		if it.Noted&wire.ErrURLsSchema != 0 && looksTemplate(it.Row.URL) {
			q.refuseItem(it, 0)
			continue
		}
		if it.Host == "" && !wire.HasData(it.SuppliedContent) {
			it.Begun = true
			q.refuseItem(it, wire.ErrBadURL)
			continue
		}
		q.queueItem(it.Host, it)
	}
}

// refuseItem ends an item that cannot be fetched.
func (q *hostQueues) refuseItem(it *item.Item, bits wire.ErrorMask) {
	q.saves <- it.FailedOutcome(bits, 0, wire.DateOf(q.Now()))
	q.flow.CountFetched(flowItem(it))
}

// queueItem appends an item to the queue of its host and starts what may start.
func (q *hostQueues) queueItem(name string, it *item.Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.startWorkers(q.queues.Add(name, min(it.Settings.Concurrency, hostgate.MaxConcurrency), it))
}

// startWorkers starts a worker for each of hosts. mu must be held.
func (q *hostQueues) startWorkers(hosts []*hostqueue.Host[*item.Item]) {
	for _, h := range hosts {
		q.workers.Go(func() {
			for it := q.nextItem(h); it != nil; it = q.nextItem(h) {
				q.fetchItem(q.ctx, it)
				q.flow.NoteRequestTime(flowItem(it), q.Slots.LastTime(h.Name))
				q.flow.CountFetched(flowItem(it))
			}
		})
	}
}

// nextItem returns the next item of a host. Without one it returns nil, and the worker ends.
func (q *hostQueues) nextItem(h *hostqueue.Host[*item.Item]) *item.Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, _, starts := q.queues.Next(h)
	q.startWorkers(starts)
	return it
}

// hostCount returns the number of hosts with items.
func (q *hostQueues) hostCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queues.CountHosts()
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
func (r *batchRun) fetchItem(ctx context.Context, it *item.Item) {
	if _, gone := r.goneSites.Load(it.SiteID); gone || r.IsOver(ctx) {
		r.saves <- it.UncrawledOutcome(0, wire.DateOf(r.Now()))
		return
	}
	v := r.NewVisit(it)
	it.BodyMemory, it.TextMemory = v.Memory, r.texts.OpenAccount(0)
	a, err := visit.SuppliedAnswer(it)
	if a == nil && err == nil {
		a, err = v.FetchURL(ctx)
		v.Slot.EndRequest()
	}
	it.Begun = true
	// The slot is held until the body is passed on, so bodies never outnumber slots.
	defer v.LeaveSlot()
	if err != nil {
		it.ReleaseMemory()
	}
	out := r.retryOutcome(ctx, v, err)
	switch {
	case out != nil:
		r.saves <- out
	case err != nil:
		r.saves <- r.unfetchedOutcome(ctx, it, err)
	case it.Settings.NeedsProbes():
		// The requests for its links wait for this host too.
		v.LeaveSlot()
		if !r.toProbing(it, int64(len(a.Body))) {
			r.LogOf(it).Info("put off", "site", it.SiteID, "url", it.Row.URL, "reason", "too many large pages request their links at the same time")
			it.Begun = false
			it.ReleaseMemory()
			r.saves <- it.UncrawledOutcome(0, wire.DateOf(r.Now()))
			return
		}
		r.saves <- r.reader.ReadOutcome(ctx, reader.Page{Item: it, Answer: a})
	default:
		r.pages <- reader.Page{Item: it, Answer: a}
	}
}

// retryOutcome returns the outcome of an item that is asked again later, or nil.
func (r *batchRun) retryOutcome(ctx context.Context, v *visit.Visit, err error) *item.Outcome {
	if _, away := errors.AsType[visit.OtherNode](err); away || visit.CutOff(ctx, err) {
		return nil
	}
	it := v.Item
	out := v.RetryOutcome()
	if out != nil {
		r.LogOf(it).Info("asks again later", "site", it.SiteID, "url", it.Row.URL, "cause", it.Row.RetryCause, "times", it.Row.Retries, "at", it.Row.RetryDate, "error", err)
		it.ReleaseMemory()
	}
	return out
}

// unfetchedOutcome returns the outcome of an item whose request failed with err.
func (r *batchRun) unfetchedOutcome(ctx context.Context, it *item.Item, err error) *item.Outcome {
	now := wire.DateOf(r.Now())
	if visit.CutOff(ctx, err) {
		it.Begun = false
		out := it.UncrawledOutcome(0, now)
		if later, ok := errors.AsType[visit.NotYet](err); ok {
			out.WaitForHost(later.At)
		}
		return out
	}
	if away, ok := errors.AsType[visit.OtherNode](err); ok {
		r.LogOf(it).Info("left to another node", "site", it.SiteID, "url", it.Row.URL, "target", away.Target, "node", away.Owner)
		return visit.MovedOutcome(it, away, err, r.Now())
	}
	refused, _ := errors.AsType[visit.Refusal](err)
	if refused.Back && it.GaveUp.Cause == "" {
		r.recordFailed(it, "put off", refused.Bits, err)
		it.Begun = false
		out := it.UncrawledOutcome(refused.Bits, now)
		out.WaitForHost(refused.Until)
		it.Row.HTTPCode, it.HandedBack = http.StatusBadRequest, false // refused, not out of time
		return out
	}
	if visit.IsExhausted(err) {
		it.Begun = false
		r.FailBatch(fmt.Errorf("request %s of site %s: %w", it.Row.URL, it.SiteID, err))
		return it.UncrawledOutcome(0, now)
	}
	bits, code := visit.FaultBits(err)
	r.recordFailed(it, "fetch failed", bits, err)
	out := it.FailedOutcome(bits, code, now)
	out.SetStatus(refused.Status)
	if refused.Forbids != "" && refused.Forbids == it.Target {
		out.LeaveUnasked()
	}
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && fault.Partial != nil {
		out.SetDuration(fault.Partial.Total.Milliseconds())
		out.SetRedirects(fault.Partial)
	} else {
		out.SetRedirects(nil)
	}
	return out
}

// recordFailed tells why a request of an item failed or was put off.
func (r *batchRun) recordFailed(it *item.Item, message string, bits wire.ErrorMask, err error) {
	r.LogOf(it).Info(message, "site", it.SiteID, "url", it.Row.URL, "errors", bits.Names(), "error", err)
	if r.failed != nil {
		r.failed(it.SiteID, err)
	}
}

// toProbing moves a page whose links need requests to the budget of such pages. It reports
// whether there was room.
func (r *batchRun) toProbing(it *item.Item, size int64) bool {
	probing := r.probing.OpenAccount((1 + budget.TextGrowth) * reader.SmallPage)
	if !probing.TryGrow((1 + budget.TextGrowth) * size) {
		return false
	}
	it.ReleaseMemory()
	it.BodyMemory, it.TextMemory = probing, nil
	return true
}
