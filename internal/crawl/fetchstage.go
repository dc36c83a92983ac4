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
	"hce/dc/internal/frontier/refill"
	"hce/dc/internal/frontier/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// maxActive bounds the hosts of a batch that are active at once. Most of them wait for their gap
// or for an answer, at the cost of a gate file and a connection each.
const maxActive = 4096

// fetchStage requests the items of a pass, hosts side by side. An item whose page was fetched goes to pages, any other
// to saves. Goroutines may share it.
type fetchStage struct {
	ctx    context.Context
	env    *visit.Environment
	flow   *refill.Flow                 // nil: the batch does not select URLs while it fetches
	reader *reader.Reader               // of pages whose links need requests
	isGone func(site string) bool       // reports whether a site was deleted since the batch began
	failed func(site string, err error) // is told why a request failed or was put off; may be nil
	pages  chan<- reader.Page
	saves  chan<- *item.Outcome

	// texts is the memory of pages that are being read. A goroutine that waits for texts may hold
	// bodies of the environment, but not the reverse. Pages whose links need requests use probing, for
	// which no goroutine waits.
	texts, probing *budget.Budget

	workers sync.WaitGroup
	mu      sync.Mutex
	queues  *hostqueue.Queues[*item.Item]
}

func (r *batchRun) newFetchStage(ctx context.Context, pages chan<- reader.Page, saves chan<- *item.Outcome) *fetchStage {
	s := &fetchStage{
		ctx: ctx, env: r.Environment, flow: r.flow, reader: r.reader, isGone: r.isGone, failed: r.failed,
		texts: r.texts, probing: r.probing, pages: pages, saves: saves,
		queues: hostqueue.New[*item.Item](maxActive, r.Slots.PaceOf),
	}
	if s.flow != nil {
		// The worker with the slow request has not ended, because its slot is still held.
		s.env.Slots.Turned = func(host string) { s.workers.Go(func() { s.returnSlowHost(host) }) }
	}
	return s
}

// returnSlowHost hands the waiting items of a host back that has turned slow. Its site is selected again
// when no row of it is in flight, with few rows.
func (s *fetchStage) returnSlowHost(host string) {
	s.mu.Lock()
	items := s.queues.RemoveItems(host)
	s.mu.Unlock()
	for _, it := range items {
		s.flow.NoteRequestTime(flowItem(it), slots.SlowAfter)
	}
	s.flow.NotifyNews()
	for _, it := range items {
		s.saves <- it.UncrawledOutcome(0, schema.DateOf(s.env.Now()))
		s.flow.CountFetched(flowItem(it))
	}
}

// addItems queues the items of work that have to be fetched. Items without an HTTP host fail at once,
// unless the client supplied their content.
func (s *fetchStage) addItems(work []*item.Item) {
	for _, it := range work {
		if !it.Todo {
			continue
		}
		it.Host = webHost(it.Target)
		s.flow.CountQueued(flowItem(it))
		if it.Noted&errormask.URLsSchema != 0 && looksTemplate(it.Row.URL) {
			s.refuseItem(it, 0)
			continue
		}
		if it.Host == "" && !wire.HasData(it.SuppliedContent) {
			it.Begun = true
			s.refuseItem(it, errormask.BadURL)
			continue
		}
		s.queueItem(it.Host, it)
	}
}

// refuseItem ends an item that cannot be fetched.
func (s *fetchStage) refuseItem(it *item.Item, bits errormask.Mask) {
	s.saves <- it.FailedOutcome(bits, 0, schema.DateOf(s.env.Now()))
	s.flow.CountFetched(flowItem(it))
}

// queueItem appends an item to the queue of its host and starts what may start.
func (s *fetchStage) queueItem(name string, it *item.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startWorkers(s.queues.Add(name, min(it.Settings.Concurrency, hostgate.MaxConcurrency), it))
}

// startWorkers starts a worker for each of hosts. mu must be held.
func (s *fetchStage) startWorkers(hosts []*hostqueue.Host[*item.Item]) {
	for _, h := range hosts {
		s.workers.Go(func() {
			for it := s.nextItem(h); it != nil; it = s.nextItem(h) {
				s.fetchItem(s.ctx, it)
				s.flow.NoteRequestTime(flowItem(it), s.env.Slots.LastTime(h.Name))
				s.flow.CountFetched(flowItem(it))
			}
		})
	}
}

// nextItem returns the next item of a host. Without one it returns nil, and the worker ends.
func (s *fetchStage) nextItem(h *hostqueue.Host[*item.Item]) *item.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, _, starts := s.queues.Next(h)
	s.startWorkers(starts)
	return it
}

// hostCount returns the number of hosts with items.
func (s *fetchStage) hostCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues.CountHosts()
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
func (s *fetchStage) fetchItem(ctx context.Context, it *item.Item) {
	if s.isGone(it.SiteID) || s.env.IsOver(ctx) {
		s.saves <- it.UncrawledOutcome(0, schema.DateOf(s.env.Now()))
		return
	}
	v := s.env.NewVisit(it)
	it.BodyMemory, it.TextMemory = v.Memory, s.texts.OpenAccount(0)
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
	out := s.retryOutcome(ctx, v, err)
	switch {
	case out != nil:
		s.saves <- out
	case err != nil:
		s.saves <- s.unfetchedOutcome(ctx, it, err)
	case it.Settings.NeedsProbes():
		// The requests for its links wait for this host too.
		v.LeaveSlot()
		if !s.toProbing(it, int64(len(a.Body))) {
			s.env.LogOf(it).Info("put off", "site", it.SiteID, "url", it.Row.URL, "reason", "too many large pages request their links at the same time")
			it.Begun = false
			it.ReleaseMemory()
			s.saves <- it.UncrawledOutcome(0, schema.DateOf(s.env.Now()))
			return
		}
		s.saves <- s.reader.ReadOutcome(ctx, reader.Page{Item: it, Answer: a})
	default:
		s.pages <- reader.Page{Item: it, Answer: a}
	}
}

// retryOutcome returns the outcome of an item that is asked again later, or nil.
func (s *fetchStage) retryOutcome(ctx context.Context, v *visit.Visit, err error) *item.Outcome {
	if _, away := errors.AsType[visit.OtherNode](err); away || visit.CutOff(ctx, err) {
		return nil
	}
	it := v.Item
	out := v.RetryOutcome()
	if out != nil {
		s.env.LogOf(it).Info("asks again later", "site", it.SiteID, "url", it.Row.URL, "cause", it.Row.RetryCause, "times", it.Row.Retries, "at", it.Row.RetryDate, "error", err)
		it.ReleaseMemory()
	}
	return out
}

// unfetchedOutcome returns the outcome of an item whose request failed with err.
func (s *fetchStage) unfetchedOutcome(ctx context.Context, it *item.Item, err error) *item.Outcome {
	now := schema.DateOf(s.env.Now())
	if visit.CutOff(ctx, err) {
		it.Begun = false
		out := it.UncrawledOutcome(0, now)
		if later, ok := errors.AsType[visit.NotYet](err); ok {
			out.WaitForHost(later.At)
		}
		return out
	}
	if away, ok := errors.AsType[visit.OtherNode](err); ok {
		s.env.LogOf(it).Info("left to another node", "site", it.SiteID, "url", it.Row.URL, "target", away.Target, "node", away.Owner)
		return visit.MovedOutcome(it, away, err, s.env.Now())
	}
	refused, _ := errors.AsType[visit.Refusal](err)
	if refused.Back && it.GaveUp.Cause == "" {
		s.recordFailed(it, "put off", refused.Bits, err)
		it.Begun = false
		out := it.UncrawledOutcome(refused.Bits, now)
		out.WaitForHost(refused.Until)
		it.Row.HTTPCode, it.HandedBack = http.StatusBadRequest, false // refused, not out of time
		return out
	}
	if visit.IsExhausted(err) {
		it.Begun = false
		s.env.FailBatch(fmt.Errorf("request %s of site %s: %w", it.Row.URL, it.SiteID, err))
		return it.UncrawledOutcome(0, now)
	}
	bits, code := visit.FaultBits(err)
	s.recordFailed(it, "fetch failed", bits, err)
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
func (s *fetchStage) recordFailed(it *item.Item, message string, bits errormask.Mask, err error) {
	s.env.LogOf(it).Info(message, "site", it.SiteID, "url", it.Row.URL, "errors", bits.Names(), "error", err)
	if s.failed != nil {
		s.failed(it.SiteID, err)
	}
}

// toProbing moves a page whose links need requests to the budget of such pages. It reports
// whether there was room.
func (s *fetchStage) toProbing(it *item.Item, size int64) bool {
	probing := s.probing.OpenAccount((1 + budget.TextGrowth) * reader.SmallPage)
	if !probing.TryGrow((1 + budget.TextGrowth) * size) {
		return false
	}
	it.ReleaseMemory()
	it.BodyMemory, it.TextMemory = probing, nil
	return true
}
