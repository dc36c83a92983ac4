package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
	"hce/dc/internal/fetch"
	"hce/dc/internal/filter"
	"hce/dc/internal/hostgate"
)

// hostWork is the queue of one host: its items are requested in turn, or as
// many at once as the site's HostConcurrency says.
type hostWork struct {
	*batchRun
	name  string
	items []*item
}

// hosts sorts the items that are to be fetched by host, in the order of the
// batch. Items whose URL names no host to ask by HTTP fail at once.
func (r *batchRun) hosts(work []*item) []*hostWork {
	byName := map[string]*hostWork{}
	var list []*hostWork
	for _, it := range work {
		if !it.todo {
			continue
		}
		name := webHost(it.target)
		if name == "" {
			it.started = true
			r.saves <- it.failed(dc.ErrBadURL, 0, dc.DateOf(r.Now()))
			continue
		}
		h := byName[name]
		if h == nil {
			h = &hostWork{batchRun: r, name: name}
			byName[name] = h
			list = append(list, h)
		}
		h.items = append(h.items, it)
	}
	return list
}

// webHost is the host of an http or https URL, "" of any other text.
func webHost(target string) string {
	scheme, _, _ := strings.Cut(target, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return ""
	}
	return canon.Host(target)
}

// run fetches the host's items. It returns when each of them went to the page
// stage, failed, or was handed back.
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
				h.one(ctx, it)
			}
		})
	}
	for _, it := range h.items {
		queue <- it
	}
	close(queue)
	group.Wait()
}

// one brings one item through robots.txt, gate and request (seed, crawler steps
// 8 to 13).
func (h *hostWork) one(ctx context.Context, it *item) {
	if _, gone := h.goneSites.Load(it.SiteID); gone || h.over(ctx) {
		h.saves <- it.back(0, dc.DateOf(h.Now()))
		return
	}
	v := h.visit(it)
	response, err := it.given()
	if response == nil && err == nil {
		response, err = v.fetch(ctx)
	}
	it.started = true
	// The slot is kept until the body is handed over, so that there are never
	// more bodies than slots.
	defer v.leaveSlot()
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, errNoTime)):
		it.started = false
		h.saves <- it.back(0, dc.DateOf(h.Now()))
	case err != nil:
		bits, code := faultBits(err)
		h.log.Info("not fetched", "site", it.SiteID, "url", it.url.URL, "errors", bits.Names(), "reason", err)
		out := it.failed(bits, code, dc.DateOf(h.Now()))
		var fault *fetch.Fault
		if errors.As(err, &fault) && fault.Partial != nil {
			out.took(fault.Partial.Total.Milliseconds())
		}
		h.saves <- out
	default:
		h.pages <- page{item: it, response: response}
	}
}

// visit is one item at its host, and at those that it is redirected to.
type visit struct {
	*batchRun
	item     *item
	settings *settings
	patience time.Duration // RequestDelay of the URL
	delay    time.Duration // the longer of it and the Crawl-delay of the host at hand

	pass *hostgate.Pass
	host string        // whose pass it is
	hold time.Duration // how long its last answer asks it to be left alone
	slot bool
	cut  bool // the batch's end shortened the time-out of the request
}

func (r *batchRun) visit(it *item) *visit {
	v := &visit{batchRun: r, item: it, settings: it.settings, patience: milliseconds(float64(it.url.RequestDelay))}
	v.delay = v.patience
	return v
}

// errNoTime says that the batch's time was over before the item was fetched.
var errNoTime = errors.New("the time of the batch was over before the URL was fetched")

// fetch makes the request for the item's URL. The gate is held while a request
// runs, and only then: each redirect hop is a request of its own. A panic, which
// no server should be able to cause, is an error of this item.
func (v *visit) fetch(ctx context.Context) (response *fetch.Response, err error) {
	defer v.leaveGate()
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("the fetch panicked", "site", v.item.SiteID, "url", v.item.url.URL, "reason", p, "stack", string(debug.Stack()))
			response, err = nil, fmt.Errorf("crawl.fetch: panic: %v", p)
		}
	}()
	target := v.item.target
	v.item.started = true
	if err := v.admit(v.item.url.URL); err != nil {
		return nil, err
	}
	if err := v.allowed(ctx, target); err != nil {
		return nil, err
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	return v.follow(ctx, target)
}

// get makes a request whose gate is held. One that only the end of the batch cut
// short has told nothing about its URL.
func (v *visit) get(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	response, err := v.Fetch.Get(ctx, r)
	v.hold = v.troubles.after(v.host, response, fetch.KindOf(err), v.Config.Backoff, v.Now())
	if v.cut && fetch.KindOf(err) == fetch.Timeout {
		return nil, fmt.Errorf("%w: %w", errNoTime, err)
	}
	return response, err
}

// request is the HTTP request for one URL of this visit.
func (v *visit) request(target string) fetch.Request {
	r := fetch.Request{
		URL:            target,
		Method:         "GET",
		Header:         headerOf(v.settings.headers),
		Cookie:         v.settings.cookie,
		Timeout:        milliseconds(v.item.url.HTTPTimeout),
		ConnectTimeout: v.settings.connectTimeout,
		MaxBytes:       v.Config.MaxResourceSize,
		MaxRedirects:   v.settings.redirects,
		InsecureTLS:    v.settings.insecureTLS,
		Allow:          v.hop,
	}
	if most := v.item.site.MaxResourceSize; most > 0 && (r.MaxBytes <= 0 || most < r.MaxBytes) {
		r.MaxBytes = most
	}
	if r.Timeout == 0 {
		r.Timeout = fetch.DefaultTimeout
	}
	if !v.deadline.IsZero() {
		if left := max(v.deadline.Sub(v.Now()), 0) + overtime; left < r.Timeout {
			r.Timeout, v.cut = left, true
		}
	}
	if v.settings.user != "" && v.settings.password != "" {
		r.Header.Set("Authorization", basicAuth(v.settings.user, v.settings.password))
	}
	return r
}

// milliseconds is a column of a row as a duration between 0 and a day.
func milliseconds(ms float64) time.Duration {
	const day = 24 * 60 * 60 * 1000
	if !(ms > 0) { // NaN as well
		return 0
	}
	return time.Duration(min(ms, day) * float64(time.Millisecond))
}

// hop judges a redirect: filters of the site unless the item is a root, the
// robots.txt of the new host, then its gate (crawling 4.4, DECISIONS 6.1).
func (v *visit) hop(ctx context.Context, next *url.URL) error {
	v.leaveGate()
	v.leaveSlot()
	target, err := v.settings.schemes.Canonical(next.String())
	if err != nil {
		return refusal{dc.ErrBadRedirection, err.Error()}
	}
	if err := v.admit(target); err != nil {
		return err
	}
	v.delay = v.patience
	if err := v.allowed(ctx, target); err != nil {
		return err
	}
	return v.enter(ctx, target)
}

// admit asks the filters of the site for a URL that is about to be requested.
// They are those of links, asked as they were when the URL was found: at the
// depth of the page before it. Roots are what the user wants, filters or not
// (crawling 4.4, 5.6).
func (v *visit) admit(target string) error {
	if v.item.url.Root() {
		return nil
	}
	if !v.item.site.filters.Accept(linkStage, target, v.filterEnv()) {
		return refusal{dc.ErrFiltersBreak, "the filters of the site refuse " + target}
	}
	return nil
}

// filterEnv is what the filters were asked with when the URL was found.
func (v *visit) filterEnv() filter.Env {
	return filter.Env{Now: v.Now(), Depth: int(max(v.item.url.Depth-1, 0))}
}

// linkStage makes filter ask the rules of links, of redirects and of all stages:
// both kinds of URL pass by the same rules (crawling 5.3 #6, 5.6).
const linkStage = filter.StageRedirect

// enter takes the gate of target's host, then a slot. Who holds a slot never
// waits for a gate, so a slow host keeps no other from its turn.
func (v *visit) enter(ctx context.Context, target string) error {
	waiting := ctx
	if !v.deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, v.deadline.Sub(v.Now()))
		defer cancel()
	}
	v.host = canon.Host(target)
	pass, err := v.Gates.Acquire(waiting, v.host, v.delay, v.settings.concurrency)
	switch {
	case err == nil:
	case waiting.Err() != nil:
		return errNoTime
	default: // a file of the gates: nothing keeps hosts apart any more
		err = fmt.Errorf("crawl.enter: %w", err)
		v.fail(err)
		return err
	}
	v.pass = pass
	select {
	case v.slots <- struct{}{}:
		v.slot = true
		return nil
	case <-waiting.Done():
		v.leaveGate()
		return errNoTime
	}
}

// leaveGate gives the gate back, if one is held; the next request of the host is
// a whole delay away, or what its answer asked for, if that is longer.
func (v *visit) leaveGate() {
	if v.pass == nil {
		return
	}
	if err := v.pass.Release(max(v.delay, v.hold)); err != nil {
		v.fail(fmt.Errorf("crawl.leaveGate: %w", err))
	}
	v.pass, v.hold = nil, 0
}

// leaveSlot gives the slot back, if one is held.
func (v *visit) leaveSlot() {
	if v.slot {
		<-v.slots
		v.slot = false
	}
}
