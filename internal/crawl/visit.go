package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"hce/dc/canonical"
	"hce/dc/hostgate"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// visit is one item at its host, and at the hosts that it is redirected to.
type visit struct {
	*environment
	item     *item
	settings *settings.Settings
	patience time.Duration // RequestDelay of the URL
	delay    time.Duration // the maximum of patience and the host's Crawl-delay

	pass     *hostgate.Pass
	host     string           // host of pass
	shared   []*hostgate.Pass // of its addresses
	gap      time.Duration    // between requests to these addresses
	hold     time.Duration    // Crawl-delay that its last answer asks for
	trouble  trouble          // of the last request
	slot     *slots.Slot
	admitted bool // a gate was passed; further requests of the item wait as long as necessary

	memory *budget.Account  // of the body of the current request
	cut    bool             // the end of the batch shortened the request's timeout
	proxy  *proxypool.Proxy // nil: none
}

// answer is what was received for an item, from any source.
type answer struct {
	*fetch.Response
	supplied  bool     // by the client, in the batch
	rendered  bool     // by a browser: Body is UTF-8
	kind      string   // content type of a rendered body
	charset   string   // charset that its document declared
	urls      []string // URLs that a macro collected
	loads     []string // URLs that a rendered page requested
	parts     []browser.Part
	cut       bool // loads or parts are not complete
	unchanged bool // the page has not changed

	proxy *proxypool.Proxy // proxy of the answer; nil: none
}

func (r *environment) newVisit(it *item) *visit {
	v := &visit{environment: r, item: it, memory: r.bodies.OpenAccount(r.freeBody), settings: it.settings, patience: clampMilliseconds(float64(it.url.RequestDelay))}
	v.delay = v.patience
	return v
}

// cutOff reports whether the end of the batch caused err. Such an error says nothing about
// the URL.
func cutOff(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, budget.ErrNoTime))
}

// notYet means that the host's gate opens later than the batch waits.
type notYet struct {
	host string
	at   time.Time
}

func (e notYet) Error() string {
	return fmt.Sprintf("the next request to %s is possible at %s, which is later than the batch waits", e.host, schema.DateOf(e.at))
}

// Is makes notYet a kind of budget.ErrNoTime.
func (e notYet) Is(err error) bool { return err == budget.ErrNoTime }

// gateTooLate returns a notYet if the host's gate opens too late. A batch that waited for it would
// hold its slot for nothing.
func (v *visit) gateTooLate() error {
	now := v.Now()
	if v.batch.MaxHostWait <= 0 || v.admitted {
		return nil
	}
	at, _, err := v.Gates.Next(v.host, v.delay, v.settings.Concurrency, now)
	if err == nil && at.Sub(now) > time.Duration(v.batch.MaxHostWait)*time.Millisecond {
		return notYet{v.host, at}
	}
	return nil // Acquire reports errors of the gate
}

// fetchURL sends the request for the item's URL. It holds the gate only during a request; each
// redirect is a request of its own. A panic is an error of this item.
func (v *visit) fetchURL(ctx context.Context) (a *answer, err error) {
	defer v.leaveGate()
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("panic while fetching a page", "site", v.item.SiteID, "url", v.item.url.URL, "reason", p, "stack", string(debug.Stack()))
			a, err = nil, fmt.Errorf("panic while fetching the page: %v", p)
		}
	}()
	v.item.started = true
	if err := v.checkFilters(v.item.url.URL); err != nil {
		return nil, err
	}
	if err := v.checkOwner(v.item.target, http.StatusMisdirectedRequest); err != nil {
		return nil, err
	}
	if v.settings.Proxy.Used() {
		// No alive check: it would connect to the host itself and bypass the proxy.
		return v.fetchThroughProxies(ctx)
	}
	if err := v.checkAlive(ctx, v.settings.Alive, v.item.target); err != nil {
		return nil, refusal{bits: errormask.Connection, reason: "the host is not alive: " + err.Error()}
	}
	return v.requestPage(ctx)
}

// requestPage requests the page, by plain HTTP or with a browser.
func (v *visit) requestPage(ctx context.Context) (*answer, error) {
	target := v.item.target
	if err := v.checkRobots(ctx, target); err != nil {
		return nil, err
	}
	if err := v.findSitemap(ctx, target); err != nil {
		return nil, err
	}
	if err := v.waitForQuota(ctx, target); err != nil {
		return nil, err
	}
	if err := v.enterGates(ctx, target); err != nil {
		return nil, err
	}
	ctx = v.running // the page is taken whole, with its redirects
	switch v.fetcherKind() {
	case fetcherDynamic:
		return v.renderPage(ctx, target)
	case fetcherExternal:
		if v.settings.External == "" {
			return nil, refusal{bits: errormask.Initialization, reason: "fetchType 3 needs the property EXTERNAL_URL"}
		}
	}
	return v.fetchStatic(ctx, target)
}

// Values of a site's fetchType and of FETCHER_TYPE (docs/spec/crawling.md 4.9).
const (
	fetcherStatic   = 1
	fetcherDynamic  = 2
	fetcherExternal = 3
	fetcherAuto     = 7
)

// fetcherKind selects how the item is fetched. Automatic means plain HTTP; the creator of the
// batch repeats it with a browser if the result is poor.
func (v *visit) fetcherKind() int {
	kind := int(v.item.site.FetchType)
	if v.item.isSitemap() && kind != fetcherExternal {
		return fetcherStatic
	}
	switch {
	case kind == fetcherAuto:
		kind = fetcherStatic
	case kind == fetcherDynamic && v.settings.DynamicRoots && !v.item.url.Root():
		kind = fetcherStatic
	case kind == fetcherDynamic && v.settings.Processor == settings.RSS && v.item.url.Root():
		kind = fetcherStatic
	}
	if own := v.settings.Fetchers.For(v.item.url.URL); own != nil {
		kind = *own
	}
	return kind
}

// sendRequest sends a request whose gate is held. A timeout that the end of the batch shortened is
// budget.ErrNoTime.
func (v *visit) sendRequest(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	v.memory.Keep(0) // the previous body is no longer needed
	if v.memory != nil {
		waiting, cancel := v.untilEnd(ctx)
		defer cancel()
		r.Memory = &waitingMemory{v.memory, waiting}
	}
	response, err := v.Fetch.Get(ctx, r)
	v.tally.countRequest(response, err)
	if v.cut && fetch.KindOf(err) == fetch.Timeout {
		return nil, fmt.Errorf("%w: %w", budget.ErrNoTime, err)
	}
	v.noteAnswer(response, err)
	return response, err
}

// untilEnd returns ctx, bounded by the end of the batch and its overtime.
func (v *visit) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, v.deadline.Sub(v.Now())+v.allowedOvertime())
}

// waitingMemory is an account that stops waiting when the batch ends.
type waitingMemory struct {
	*budget.Account
	over context.Context
}

// Grow is budget.Account.Grow, bounded by the end of the batch.
func (m *waitingMemory) Grow(ctx context.Context, size, most int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.over, cancel)()
	return m.Account.Grow(ctx, size, most)
}

// checkAlive checks that the host of target resolves, or accepts a connection, as the site
// configures (docs/spec/crawling.md 3, F9).
func (v *visit) checkAlive(ctx context.Context, check proxypool.AliveCheck, target string) error {
	if !check.On() {
		return nil
	}
	u, err := canonical.Net(target)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	ctx, cancel := context.WithTimeout(ctx, check.Timeout)
	defer cancel()
	if !check.Connect {
		return v.Fetch.Resolve(ctx, u.Hostname())
	}
	conn, err := v.Fetch.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// waitForQuota asks HTTP_FREQ_LIMITS whether the request may be sent, and waits if necessary
// (docs/spec/crawling.md 4.3).
func (v *visit) waitForQuota(ctx context.Context, target string) error {
	if v.settings.Freq == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(canonical.Host(target))
	if err != nil {
		host = canonical.Host(target)
	}
	answer, err := v.settings.Freq.Ask(ctx, v.item.SiteID, host)
	if err != nil {
		v.log.Warn("cannot count requests to the domain", "site", v.item.SiteID, "host", host, "error", err)
	}
	if answer.Stop {
		return refusal{bits: errormask.NoTimeWindow, back: true, reason: "HTTP_FREQ_LIMITS does not allow a request to " + host + " now"}
	}
	if answer.Wait <= 0 {
		return nil
	}
	if !v.deadline.IsZero() && v.Now().Add(answer.Wait).After(v.deadline) {
		return budget.ErrNoTime
	}
	timer := time.NewTimer(answer.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return budget.ErrNoTime
	}
}

// checkRedirect checks a redirect: filters of the site unless the item is a root, the node of the new host, its
// robots.txt, then its gate (docs/spec/crawling.md 4.4, docs/spec/DECISIONS.md 6.1).
func (v *visit) checkRedirect(ctx context.Context, next *url.URL) error {
	v.leaveAll()
	target, err := v.settings.Schemes.Canonical(next.String())
	if err != nil {
		return refusal{bits: errormask.BadRedirection, reason: err.Error()}
	}
	if v.item.target == v.item.url.URL { // a template's target is not a link
		if err := v.checkFilters(target); err != nil {
			return err
		}
	}
	if err := v.checkOwner(target, 0); err != nil {
		return err
	}
	return v.reenterGate(ctx, target)
}

// checkFilters checks a URL against the site's filters before it is requested. The filters are
// those of links, with the depth of the linking page. Roots and sitemaps always pass
// (docs/spec/crawling.md 4.4, 5.6).
func (v *visit) checkFilters(target string) error {
	if v.item.url.Root() || v.item.isSitemap() {
		return nil
	}
	env := v.filterEnv()
	if !v.item.site.filters.Accept(linkStage, target, env) {
		return refusal{bits: errormask.FiltersBreak, reason: "the filters of the site refuse " + target}
	}
	return nil
}

// filterEnv returns the environment that the filters had when the URL was found.
func (v *visit) filterEnv() filter.Env {
	return filter.Env{Now: v.Now(), Depth: int(max(v.item.url.Depth-1, 0))}
}

// linkStage selects the rules of links, of redirects and of all stages: links and redirects
// pass the same rules (docs/spec/crawling.md 5.3 #6, 5.6).
const linkStage = filter.StageRedirect

// enterGates acquires the gate of target's host, then those of its addresses, then a slot. A goroutine with a slot never waits
// for a gate, so a slow host does not delay others.
func (v *visit) enterGates(ctx context.Context, target string) error {
	v.memory.Keep(0) // the holder of a gate may wait for this memory
	waiting := ctx
	if !v.deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, v.deadline.Sub(v.Now()))
		defer cancel()
	}
	v.host = canonical.Host(target)
	if err := v.gateTooLate(); err != nil {
		return err
	}
	asked := v.Now()
	pass, err := v.Gates.Acquire(waiting, v.host, v.delay, v.settings.Concurrency)
	switch {
	case err == nil:
	case waiting.Err() != nil:
		return budget.ErrNoTime
	default: // a gate file failed: nothing keeps hosts apart any more
		err = fmt.Errorf("acquire host gate: %w", err)
		v.failBatch(err)
		return err
	}
	v.pass = pass
	if err := v.enterAddresses(waiting, target); err != nil {
		v.leaveGate()
		return err
	}
	v.admitted = true
	v.tally.countWait(v.Now().Sub(asked))
	if v.slot, err = v.slots.AcquireSlot(waiting, v.host); err != nil {
		v.leaveGate()
		return budget.ErrNoTime
	}
	return nil
}

// leaveGate releases the gate, if one is held. The next request of the host waits for the
// delay, for that of a new robots.txt, and for the pause that heed noted.
func (v *visit) leaveGate() {
	if v.pass == nil {
		return
	}
	if err := errors.Join(v.leaveAddresses(), v.pass.Release(max(v.delay, v.hold))); err != nil {
		v.failBatch(fmt.Errorf("release host gate: %w", err))
	}
	v.pass, v.hold = nil, 0
}

// leaveSlot releases the slot, if one is held.
func (v *visit) leaveSlot() {
	v.slot.ReleaseSlot()
	v.slot = nil
}

// leaveAll releases gate and slot.
func (v *visit) leaveAll() {
	v.leaveGate()
	v.leaveSlot()
}

// reenterGate releases the gate and acquires that of target for another request of this visit.
func (v *visit) reenterGate(ctx context.Context, target string) error {
	v.leaveAll()
	v.delay = v.patience
	if err := v.checkRobots(ctx, target); err != nil {
		return err
	}
	return v.enterGates(ctx, target)
}

// prepareRequest prepares a further request of a page: its proxy, robots.txt, gate and slot.
func (v *visit) prepareRequest(ctx context.Context, target string, proxy *proxypool.Proxy) error {
	if err := v.throughProxy(ctx, proxy); err != nil {
		return err
	}
	return v.reenterGate(ctx, target)
}
