package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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

	// down is the fault of a host that could not be reached when its robots.txt
	// was asked for; the batch then asks it no more.
	down error
}

// hosts sorts the items that are to be fetched by host, in the order of the
// batch. Items whose URL has no host fail at once.
func (r *batchRun) hosts(work []*item) []*hostWork {
	byName := map[string]*hostWork{}
	var list []*hostWork
	for _, it := range work {
		if it.site == nil || it.done || it.empty {
			continue
		}
		name := canon.Host(it.url.URL)
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

// run fetches the host's items. It returns when each of them went to the page
// stage, failed, or was handed back.
func (h *hostWork) run(ctx context.Context) {
	queue := make(chan *item)
	workers := 1
	for _, it := range h.items {
		s, _ := readSettings(&it.site.Site, it.Properties, h.Config)
		workers = max(workers, s.concurrency)
	}
	workers = min(workers, hostgate.MaxConcurrency, len(h.items))
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
	if h.over(ctx) {
		h.saves <- it.back(0, dc.DateOf(h.Now()))
		return
	}
	set, problems := readSettings(&it.site.Site, it.Properties, h.Config)
	for _, p := range problems {
		h.log.Warn("a property is left out", "site", it.SiteID, "url", it.url.URL, "reason", p)
	}
	v := &visit{hostWork: h, item: it, settings: set, delay: time.Duration(it.url.RequestDelay) * time.Millisecond}
	if len(problems) > 0 {
		v.bits |= dc.ErrInitialization
	}
	response, err := v.fetch(ctx)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, errNoTime)):
		it.started = false
		h.saves <- it.back(0, dc.DateOf(h.Now()))
	case err != nil:
		bits, code := faultBits(err)
		h.log.Info("not fetched", "site", it.SiteID, "url", it.url.URL, "errors", bits.Names(), "reason", err)
		out := it.failed(bits, code, dc.DateOf(h.Now()))
		out.result.SiteBits |= v.bits
		v.noteTimes(out, err)
		h.saves <- out
	default:
		h.pages <- page{item: it, settings: set, response: response, siteBits: v.bits}
	}
}

// visit is one item at its host.
type visit struct {
	*hostWork
	item     *item
	settings settings
	delay    time.Duration
	bits     dc.ErrorMask // for the site

	pass *hostgate.Pass
}

// fetch makes the request for the item's URL. The gate is held while a request
// runs, and only then: each redirect hop is a request of its own.
func (v *visit) fetch(ctx context.Context) (*fetch.Response, error) {
	v.item.started = true
	target := v.item.url.URL
	if err := v.allowed(ctx, target); err != nil {
		return nil, err
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	defer v.leave()
	return v.Fetch.Get(ctx, v.request(target))
}

// request is the HTTP request for one URL of this visit.
func (v *visit) request(target string) fetch.Request {
	r := fetch.Request{
		URL:            target,
		Method:         "GET",
		Header:         headerOf(v.settings.headers),
		Cookie:         v.settings.cookie,
		Timeout:        time.Duration(v.item.url.HTTPTimeout * float64(time.Millisecond)),
		ConnectTimeout: v.settings.connectTimeout,
		MaxBytes:       v.Config.MaxResourceSize,
		MaxRedirects:   v.settings.redirects,
		InsecureTLS:    v.settings.insecureTLS,
		Allow:          v.hop,
	}
	if most := v.item.site.MaxResourceSize; most > 0 && (r.MaxBytes <= 0 || most < r.MaxBytes) {
		r.MaxBytes = most
	}
	if r.Timeout <= 0 {
		r.Timeout = 30 * time.Second
	}
	if v.settings.user != "" && v.settings.password != "" {
		r.Header.Set("Authorization", basicAuth(v.settings.user, v.settings.password))
	}
	return r
}

// hop judges a redirect: filters of the site unless the item is a root, the
// robots.txt of the new host, then its gate (crawling 4.4, DECISIONS 6.1).
func (v *visit) hop(ctx context.Context, next *url.URL) error {
	v.leave()
	target, err := v.settings.schemes.Canonical(next.String())
	if err != nil {
		return refusal{dc.ErrBadRedirection, err.Error()}
	}
	if !v.item.url.Root() {
		for _, stage := range []int{filter.StageLinks, filter.StageRedirect} {
			if !v.item.site.filters.Accept(stage, target, v.filterEnv()) {
				return refusal{dc.ErrFiltersBreak, "the filters of the site refuse the redirect to " + target}
			}
		}
	}
	if err := v.allowed(ctx, target); err != nil {
		return err
	}
	return v.enter(ctx, target)
}

func (v *visit) filterEnv() filter.Env {
	return filter.Env{Now: v.Now(), Depth: int(v.item.url.Depth)}
}

// enter takes the gate of target's host.
func (v *visit) enter(ctx context.Context, target string) error {
	host := canon.Host(target)
	waiting := ctx
	if !v.deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, v.deadline.Sub(v.Now()))
		defer cancel()
	}
	pass, err := v.Gates.Acquire(waiting, host, v.delay, v.settings.concurrency)
	switch {
	case err != nil && ctx.Err() == nil && waiting.Err() != nil:
		return errNoTime
	case err != nil:
		return fmt.Errorf("crawl.enter: %w", err)
	}
	v.pass = pass
	return nil
}

// errNoTime says that the batch's time was over before the host's turn came.
var errNoTime = errors.New("the time of the batch was over before the host's turn came")

// leave gives the gate back; the next request of the host is a whole delay away.
func (v *visit) leave() {
	if v.pass == nil {
		return
	}
	if err := v.pass.Release(v.delay); err != nil {
		v.fail(err)
	}
	v.pass = nil
}

// refusal is a decision of the crawler not to make a request.
type refusal struct {
	bits   dc.ErrorMask
	reason string
}

func (r refusal) Error() string { return r.reason }

// noteTimes adds how long a failed request took.
func (v *visit) noteTimes(out *outcome, err error) {
	var fault *fetch.Fault
	if !errors.As(err, &fault) || fault.Partial == nil {
		return
	}
	ms := fault.Partial.Total.Milliseconds()
	out.result.Set["CrawlingTime"], out.result.Set["TotalTime"] = ms, ms
	v.item.url.CrawlingTime, v.item.url.TotalTime = ms, ms
}
