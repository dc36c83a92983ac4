package crawl

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/wire"
)

// hostWork is the queue of one host. Its items are requested one after the other, or as
// many at once as the site's HostConcurrency allows.
type hostWork struct {
	*batchRun
	items []*item
}

// hosts groups the items that have to be fetched by host, in the order of the batch. Items
// without an HTTP host fail at once.
func (r *batchRun) hosts(work []*item) []*hostWork {
	byName := map[string]*hostWork{}
	var list []*hostWork
	for _, it := range work {
		if !it.todo {
			continue
		}
		if it.noted&wire.ErrURLsSchema != 0 && looksTemplate(it.url.URL) {
			r.saves <- it.failed(0, 0, wire.DateOf(r.Now()))
			continue
		}
		name := webHost(it.target)
		if name == "" {
			it.started = true
			r.saves <- it.failed(wire.ErrBadURL, 0, wire.DateOf(r.Now()))
			continue
		}
		h := byName[name]
		if h == nil {
			h = &hostWork{batchRun: r}
			byName[name] = h
			list = append(list, h)
		}
		h.items = append(h.items, it)
	}
	return list
}

// webHost returns the host of an http or https URL, or "" for any other text.
func webHost(target string) string {
	scheme, _, _ := strings.Cut(target, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return ""
	}
	return canonical.Host(target)
}

// run fetches the host's items. It returns when each of them is in the page stage, failed, or
// was handed back.
func (h *hostWork) run(ctx context.Context) {
	workers := 1
	for _, it := range h.items {
		workers = max(workers, it.settings.concurrency)
	}
	workers = min(workers, hostgate.MaxConcurrency, len(h.items))
	queue := make(chan *item)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for it := range queue {
				h.fetchItem(ctx, it)
			}
		})
	}
	for _, it := range h.items {
		queue <- it
	}
	close(queue)
	group.Wait()
}

// fetchItem fetches one item: robots.txt, gate, request (docs/spec/steps.md 1 #8 to #13).
func (h *hostWork) fetchItem(ctx context.Context, it *item) {
	if _, gone := h.goneSites.Load(it.SiteID); gone || h.over(ctx) {
		h.saves <- it.back(0, wire.DateOf(h.Now()))
		return
	}
	v := h.visit(it)
	it.body, it.text = v.memory, h.texts.account(0)
	a, err := it.given()
	if a == nil && err == nil {
		a, err = v.fetch(ctx)
	}
	it.started = true
	// The slot is held until the body is passed on, so bodies never outnumber slots.
	defer v.leaveSlot()
	if err != nil {
		it.releaseMemory()
	}
	var refused refusal
	switch {
	case cutOff(ctx, err):
		it.started = false
		out := it.back(0, wire.DateOf(h.Now()))
		if later, ok := errors.AsType[notYet](err); ok {
			out.result.HeldUntil = wire.DateOf(later.at)
		}
		h.saves <- out
	case errors.As(err, &refused) && refused.back:
		h.logOf(it).Info("put off", "site", it.SiteID, "url", it.url.URL, "errors", refused.bits.Names(), "error", err)
		it.started = false
		out := it.back(refused.bits, wire.DateOf(h.Now()))
		it.url.HTTPCode, it.handedBack = http.StatusBadRequest, false // refused, not out of time
		h.saves <- out
	case err != nil:
		bits, code := faultBits(err)
		h.logOf(it).Info("fetch failed", "site", it.SiteID, "url", it.url.URL, "errors", bits.Names(), "error", err)
		out := it.failed(bits, code, wire.DateOf(h.Now()))
		out.settle(refused.status)
		if fault, ok := errors.AsType[*fetch.Fault](err); ok && fault.Partial != nil {
			out.setDuration(fault.Partial.Total.Milliseconds())
		}
		h.saves <- out
	case it.settings.probes():
		// The requests for its links wait for this host too.
		v.leaveSlot()
		if !h.toProbing(it, int64(len(a.Body))) {
			h.logOf(it).Info("put off", "site", it.SiteID, "url", it.url.URL, "reason", "too many large pages request their links at the same time")
			it.started = false
			it.releaseMemory()
			h.saves <- it.back(0, wire.DateOf(h.Now()))
			return
		}
		h.saves <- h.read(ctx, page{item: it, answer: a})
	default:
		h.pages <- page{item: it, answer: a}
	}
}

// toProbing moves a page whose links need requests to the budget of such pages. It reports
// whether there was room.
func (h *hostWork) toProbing(it *item, size int64) bool {
	probing := h.probing.account((1 + textGrowth) * smallPage)
	if !probing.try((1 + textGrowth) * size) {
		return false
	}
	it.releaseMemory()
	it.body, it.text = probing, nil
	return true
}
