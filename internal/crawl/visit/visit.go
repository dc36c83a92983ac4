package visit

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
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/frontier/slots"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Visit is one item at its host, and at the hosts that it is redirected to.
type Visit struct {
	Env      *Environment
	Item     *item.Item
	Settings *settings.Settings
	patience time.Duration // RequestDelay of the URL
	Delay    time.Duration // the maximum of patience and the host's Crawl-delay

	pass     *hostgate.Pass
	host     string           // host of pass
	shared   []*hostgate.Pass // of its addresses
	gap      time.Duration    // between requests to these addresses
	hold     time.Duration    // Crawl-delay that its last answer asks for
	trouble  trouble          // of the last request
	Slot     *slots.Slot
	Admitted bool // a gate was passed; further requests of the item wait as long as necessary

	Memory *budget.Account  // of the body of the current request
	cut    bool             // the end of the batch shortened the request's timeout
	proxy  *proxypool.Proxy // nil: none
}

// Answer is what was received for an item, from any source.
type Answer struct {
	*fetch.Response
	Supplied  bool     // by the client, in the batch
	Rendered  bool     // by a browser: Body is UTF-8
	Kind      string   // content type of a rendered body
	Charset   string   // charset that its document declared
	MacroURLs []string // URLs that a macro collected
	Loads     []string // URLs that a rendered page requested
	Parts     []browser.Part
	Cut       bool // loads or parts are not complete
	Unchanged bool // the page has not changed

	Proxy *proxypool.Proxy // proxy of the answer; nil: none
}

// NewVisit returns a visit for an item. Its holder leaves gates and slots: LeaveAll, or FetchURL and LeaveSlot.
func (r *Environment) NewVisit(it *item.Item) *Visit {
	v := &Visit{Env: r, Item: it, Memory: r.Bodies.OpenAccount(r.FreeBody), Settings: it.Settings, patience: clampMilliseconds(float64(it.Row.RequestDelay))}
	v.Delay = v.patience
	return v
}

// CutOff reports whether the end of the batch caused err. Such an error says nothing about
// the URL.
func CutOff(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, budget.ErrNoTime))
}

// NotYet means that the host's gate opens later than the batch waits.
type NotYet struct {
	host string
	At   time.Time
}

func (e NotYet) Error() string {
	return fmt.Sprintf("the next request to %s is possible at %s, which is later than the batch waits", e.host, schema.DateOf(e.At))
}

// Is makes NotYet a kind of budget.ErrNoTime.
func (e NotYet) Is(err error) bool { return err == budget.ErrNoTime }

// gateTooLate returns a NotYet if the host's gate opens too late. A batch that waited for it would
// hold its slot for nothing.
func (v *Visit) gateTooLate() error {
	now := v.Env.Now()
	if v.Env.Batch.MaxHostWait <= 0 || v.Admitted {
		return nil
	}
	at, _, err := v.Env.Gates.Next(v.host, v.Delay, v.Settings.Concurrency, now)
	if err == nil && at.Sub(now) > time.Duration(v.Env.Batch.MaxHostWait)*time.Millisecond {
		return NotYet{v.host, at}
	}
	return nil // Acquire reports errors of the gate
}

// FetchURL sends the request for the item's URL. It holds the gate only during a request; each
// redirect is a request of its own. A panic is an error of this item.
func (v *Visit) FetchURL(ctx context.Context) (a *Answer, err error) {
	defer v.leaveGate()
	defer func() {
		if p := recover(); p != nil {
			v.Env.Log.Error("panic while fetching a page", "site", v.Item.SiteID, "url", v.Item.Row.URL, "reason", p, "stack", string(debug.Stack()))
			a, err = nil, fmt.Errorf("panic while fetching the page: %v", p)
		}
	}()
	v.Item.Begun = true
	if err := v.checkFilters(v.Item.Row.URL); err != nil {
		return nil, err
	}
	if err := v.checkOwner(v.Item.Target, http.StatusMisdirectedRequest); err != nil {
		return nil, err
	}
	if v.Settings.Proxy.Used() {
		// No alive check: it would connect to the host itself and bypass the proxy.
		return v.fetchThroughProxies(ctx)
	}
	if err := v.checkAlive(ctx, v.Settings.Alive, v.Item.Target); err != nil {
		return nil, Refusal{Bits: errormask.Connection, reason: "the host is not alive: " + err.Error()}
	}
	return v.requestPage(ctx)
}

// requestPage requests the page, by plain HTTP or with a browser.
func (v *Visit) requestPage(ctx context.Context) (*Answer, error) {
	target := v.Item.Target
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
	ctx = v.Env.Running // the page is taken whole, with its redirects
	switch v.FetcherKind() {
	case FetcherDynamic:
		return v.renderPage(ctx, target)
	case FetcherExternal:
		if v.Settings.External == "" {
			return nil, Refusal{Bits: errormask.Initialization, reason: "fetchType 3 needs the property EXTERNAL_URL"}
		}
	}
	return v.fetchStatic(ctx, target)
}

// Values of a site's fetchType and of FETCHER_TYPE (docs/spec/crawling.md 4.9).
const (
	fetcherStatic   = 1
	FetcherDynamic  = 2
	FetcherExternal = 3
	fetcherAuto     = 7
)

// FetcherKind selects how the item is fetched. Automatic means plain HTTP; the creator of the
// batch repeats it with a browser if the result is poor.
func (v *Visit) FetcherKind() int {
	kind := int(v.Item.View.FetchType)
	if v.Item.IsSitemap() && kind != FetcherExternal {
		return fetcherStatic
	}
	switch {
	case kind == fetcherAuto:
		kind = fetcherStatic
	case kind == FetcherDynamic && v.Settings.DynamicRoots && !v.Item.Row.Root():
		kind = fetcherStatic
	case kind == FetcherDynamic && v.Settings.Processor == settings.RSS && v.Item.Row.Root():
		kind = fetcherStatic
	}
	if own := v.Settings.Fetchers.For(v.Item.Row.URL); own != nil {
		kind = *own
	}
	return kind
}

// SendRequest sends a request whose gate is held. A timeout that the end of the batch shortened is
// budget.ErrNoTime.
func (v *Visit) SendRequest(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	v.Memory.Keep(0) // the previous body is no longer needed
	if v.Memory != nil {
		waiting, cancel := v.untilEnd(ctx)
		defer cancel()
		r.Memory = &waitingMemory{v.Memory, waiting}
	}
	response, err := v.Env.Fetch.Get(ctx, r)
	v.Env.Tally.countRequest(response, err)
	if v.cut && fetch.KindOf(err) == fetch.Timeout {
		return nil, fmt.Errorf("%w: %w", budget.ErrNoTime, err)
	}
	v.noteAnswer(response, err)
	return response, err
}

// untilEnd returns ctx, bounded by the end of the batch and its overtime.
func (v *Visit) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.Env.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, v.Env.Deadline.Sub(v.Env.Now())+v.Env.allowedOvertime())
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
func (v *Visit) checkAlive(ctx context.Context, check proxypool.AliveCheck, target string) error {
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
		return v.Env.Fetch.Resolve(ctx, u.Hostname())
	}
	conn, err := v.Env.Fetch.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// waitForQuota asks HTTP_FREQ_LIMITS whether the request may be sent, and waits if necessary
// (docs/spec/crawling.md 4.3).
func (v *Visit) waitForQuota(ctx context.Context, target string) error {
	if v.Settings.Freq == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(canonical.Host(target))
	if err != nil {
		host = canonical.Host(target)
	}
	answer, err := v.Settings.Freq.Ask(ctx, v.Item.SiteID, host)
	if err != nil {
		v.Env.Log.Warn("cannot count requests to the domain", "site", v.Item.SiteID, "host", host, "error", err)
	}
	if answer.Stop {
		return Refusal{Bits: errormask.NoTimeWindow, Back: true, reason: "HTTP_FREQ_LIMITS does not allow a request to " + host + " now"}
	}
	if answer.Wait <= 0 {
		return nil
	}
	if !v.Env.Deadline.IsZero() && v.Env.Now().Add(answer.Wait).After(v.Env.Deadline) {
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
func (v *Visit) checkRedirect(ctx context.Context, next *url.URL) error {
	v.LeaveAll()
	target, err := v.Settings.Schemes.Canonical(next.String())
	if err != nil {
		return Refusal{Bits: errormask.BadRedirection, reason: err.Error()}
	}
	if v.Item.Target == v.Item.Row.URL { // a template's target is not a link
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
func (v *Visit) checkFilters(target string) error {
	if v.Item.Row.Root() || v.Item.IsSitemap() {
		return nil
	}
	env := v.FilterEnv()
	if !v.Item.View.FilterSet.Accept(LinkStage, target, env) {
		return Refusal{Bits: errormask.FiltersBreak, reason: "the filters of the site refuse " + target}
	}
	return nil
}

// FilterEnv returns the environment that the filters had when the URL was found.
func (v *Visit) FilterEnv() filter.Env {
	return filter.Env{Now: v.Env.Now(), Depth: int(max(v.Item.Row.Depth-1, 0))}
}

// LinkStage selects the rules of links, of redirects and of all stages: links and redirects
// pass the same rules (docs/spec/crawling.md 5.3 #6, 5.6).
const LinkStage = filter.StageRedirect

// enterGates acquires the gate of target's host, then those of its addresses, then a slot. A goroutine with a slot never waits
// for a gate, so a slow host does not delay others.
func (v *Visit) enterGates(ctx context.Context, target string) error {
	v.Memory.Keep(0) // the holder of a gate may wait for this memory
	waiting := ctx
	if !v.Env.Deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, v.Env.Deadline.Sub(v.Env.Now()))
		defer cancel()
	}
	v.host = canonical.Host(target)
	if err := v.gateTooLate(); err != nil {
		return err
	}
	asked := v.Env.Now()
	pass, err := v.Env.Gates.Acquire(waiting, v.host, v.Delay, v.Settings.Concurrency)
	switch {
	case err == nil:
	case waiting.Err() != nil:
		return budget.ErrNoTime
	default: // a gate file failed: nothing keeps hosts apart any more
		err = fmt.Errorf("acquire host gate: %w", err)
		v.Env.FailBatch(err)
		return err
	}
	v.pass = pass
	if err := v.enterAddresses(waiting, target); err != nil {
		v.leaveGate()
		return err
	}
	v.Admitted = true
	v.Env.Tally.countWait(v.Env.Now().Sub(asked))
	if v.Slot, err = v.Env.Slots.AcquireSlot(waiting, v.host); err != nil {
		v.leaveGate()
		return budget.ErrNoTime
	}
	return nil
}

// leaveGate releases the gate, if one is held. The next request of the host waits for the
// delay, for that of a new robots.txt, and for the pause that noteAnswer noted.
func (v *Visit) leaveGate() {
	if v.pass == nil {
		return
	}
	if err := errors.Join(v.leaveAddresses(), v.pass.Release(max(v.Delay, v.hold))); err != nil {
		v.Env.FailBatch(fmt.Errorf("release host gate: %w", err))
	}
	v.pass, v.hold = nil, 0
}

// LeaveSlot releases the slot, if one is held.
func (v *Visit) LeaveSlot() {
	v.Slot.ReleaseSlot()
	v.Slot = nil
}

// LeaveAll releases gate and slot.
func (v *Visit) LeaveAll() {
	v.leaveGate()
	v.LeaveSlot()
}

// reenterGate releases the gate and acquires that of target for another request of this visit.
func (v *Visit) reenterGate(ctx context.Context, target string) error {
	v.LeaveAll()
	v.Delay = v.patience
	if err := v.checkRobots(ctx, target); err != nil {
		return err
	}
	return v.enterGates(ctx, target)
}

// PrepareRequest prepares a further request of a page: its proxy, robots.txt, gate and slot.
func (v *Visit) PrepareRequest(ctx context.Context, target string, proxy *proxypool.Proxy) error {
	if err := v.ThroughProxy(ctx, proxy); err != nil {
		return err
	}
	return v.reenterGate(ctx, target)
}
