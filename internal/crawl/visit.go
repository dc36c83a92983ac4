package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime/debug"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
)

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
	came bool // a request of this item was let through: its next ones wait as long as they must

	memory *account         // of the body of the request at hand
	cut    bool             // the batch's end shortened the time-out of the request
	proxy  *proxypool.Proxy // nil: none
}

// answer is what came for an item, from whatever source.
type answer struct {
	*fetch.Response
	supplied  bool     // by the client, in the batch
	rendered  bool     // by a browser: Body is UTF-8
	kind      string   // type of a rendered body
	charset   string   // that its document declared
	urls      []string // that a macro collected
	unchanged bool     // the page is as it was

	proxy *proxypool.Proxy // that it came through; nil: none
}

func (r *batchRun) visit(it *item) *visit {
	v := &visit{batchRun: r, item: it, memory: r.bodies.account(r.freeBody), settings: it.settings, patience: milliseconds(float64(it.url.RequestDelay))}
	v.delay = v.patience
	return v
}

// errNoTime says that the batch's time was over before the item was fetched.
var errNoTime = errors.New("the time of the batch was over before the URL was fetched")

// cutOff reports whether err came of the end of the batch: it says nothing of the URL.
func cutOff(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, errNoTime))
}

// notYet says that the host's turn is further away than the batch waits for it.
type notYet struct {
	host string
	at   time.Time
}

func (e notYet) Error() string {
	return fmt.Sprintf("%s may be asked again at %s, which is later than the batch waits", e.host, wire.DateOf(e.at))
}

// Is makes it a way of having no time.
func (e notYet) Is(err error) bool { return err == errNoTime }

// soon is a notYet when the host's next turn is known to be too far away. A batch
// that waited for it would hold its slot for nothing.
func (v *visit) soon() error {
	now := v.Now()
	if v.batch.MaxHostWait <= 0 || v.came {
		return nil
	}
	at, _, err := v.Gates.Next(v.host, v.delay, v.settings.concurrency, now)
	if err == nil && at.Sub(now) > time.Duration(v.batch.MaxHostWait)*time.Millisecond {
		return notYet{v.host, at}
	}
	return nil // what is wrong with the gate, it tells itself
}

// fetch makes the request for the item's URL. The gate is held while a request
// runs, and only then: each redirect hop is a request of its own. A panic, which
// no server should be able to cause, is an error of this item.
func (v *visit) fetch(ctx context.Context) (a *answer, err error) {
	defer v.leaveGate()
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("the fetch panicked", "site", v.item.SiteID, "url", v.item.url.URL, "reason", p, "stack", string(debug.Stack()))
			a, err = nil, fmt.Errorf("crawl.fetch: panic: %v", p)
		}
	}()
	v.item.started = true
	if err := v.admit(v.item.url.URL); err != nil {
		return nil, err
	}
	if v.settings.proxy.Used() {
		// No alive check: it would go to the host itself, past the proxy.
		return v.proxied(ctx)
	}
	if err := v.alive(ctx, v.settings.alive, v.item.target); err != nil {
		return nil, refusal{bits: wire.ErrConnection, reason: "the host is not alive: " + err.Error()}
	}
	return v.page(ctx)
}

// page makes the request for the page, by plain HTTP or by a browser.
func (v *visit) page(ctx context.Context) (*answer, error) {
	target := v.item.target
	if err := v.allowed(ctx, target); err != nil {
		return nil, err
	}
	if err := v.frequency(ctx, target); err != nil {
		return nil, err
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	switch v.fetcher() {
	case fetcherDynamic:
		return v.render(ctx, target)
	case fetcherExternal:
		if v.settings.external == "" {
			return nil, refusal{bits: wire.ErrInitialization, reason: "fetchType 3 needs the property EXTERNAL_URL"}
		}
	}
	return v.static(ctx, target)
}

// Values of a site's fetchType and of FETCHER_TYPE (docs/spec/crawling.md 4.9).
const (
	fetcherStatic   = 1
	fetcherDynamic  = 2
	fetcherExternal = 3
	fetcherAuto     = 7
)

// fetcher is how the item is fetched. Automatic is plain HTTP at first: whoever
// made the batch repeats it by a browser if the result is poor.
func (v *visit) fetcher() int {
	kind := int(v.item.site.FetchType)
	if v.item.sitemap() && kind != fetcherExternal {
		return fetcherStatic
	}
	switch {
	case kind == fetcherAuto:
		kind = fetcherStatic
	case kind == fetcherDynamic && v.settings.dynamicRoots && !v.item.url.Root():
		kind = fetcherStatic
	case kind == fetcherDynamic && v.settings.processor == rss && v.item.url.Root():
		kind = fetcherStatic
	}
	if own := v.settings.fetchers.For(v.item.url.URL); own != 0 {
		kind = own
	}
	return kind
}

// get makes a request whose gate is held. One that only the end of the batch cut
// short has told nothing about its URL.
func (v *visit) get(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	v.memory.Keep(0) // what came before is done with
	if v.memory != nil {
		waiting, cancel := v.untilEnd(ctx)
		defer cancel()
		r.Memory = &waitingMemory{v.memory, waiting}
	}
	response, err := v.Fetch.Get(ctx, r)
	v.hold = v.troubles.after(v.host, response, fetch.KindOf(err), v.Config.Backoff, v.Now())
	if v.cut && fetch.KindOf(err) == fetch.Timeout {
		return nil, fmt.Errorf("%w: %w", errNoTime, err)
	}
	return response, err
}

// untilEnd is ctx, until the batch is over with all that is still under way.
func (v *visit) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, v.deadline.Sub(v.Now())+v.overtime())
}

// waitingMemory is an account that also gives up when the batch is over.
type waitingMemory struct {
	*account
	over context.Context
}

// Grow is that of the account.
func (m *waitingMemory) Grow(ctx context.Context, size, most int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.over, cancel)()
	return m.account.Grow(ctx, size, most)
}

// alive checks that the host of target has an address, and takes a connection, as
// the site wants it checked (docs/spec/crawling.md 3, F9).
func (v *visit) alive(ctx context.Context, check proxypool.AliveCheck, target string) error {
	if !check.On() {
		return nil
	}
	u, err := url.Parse(target)
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

// frequency asks HTTP_FREQ_LIMITS whether the request may go, and waits as it
// says (docs/spec/crawling.md 4.3).
func (v *visit) frequency(ctx context.Context, target string) error {
	if v.settings.freq == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(canonical.Host(target))
	if err != nil {
		host = canonical.Host(target)
	}
	answer, err := v.settings.freq.Ask(ctx, v.item.SiteID, host)
	if err != nil {
		v.log.Warn("the requests of the domain are not counted", "site", v.item.SiteID, "host", host, "error", err)
	}
	if answer.Stop {
		return refusal{bits: wire.ErrNoTimeWindow, back: true, reason: "HTTP_FREQ_LIMITS allows no request to " + host + " now"}
	}
	if answer.Wait <= 0 {
		return nil
	}
	if !v.deadline.IsZero() && v.Now().Add(answer.Wait).After(v.deadline) {
		return errNoTime
	}
	timer := time.NewTimer(answer.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errNoTime
	}
}

// hop judges a redirect: filters of the site unless the item is a root, the
// robots.txt of the new host, then its gate (docs/spec/crawling.md 4.4, docs/spec/DECISIONS.md 6.1).
func (v *visit) hop(ctx context.Context, next *url.URL) error {
	v.leaveGate()
	v.leaveSlot()
	target, err := v.settings.schemes.Canonical(next.String())
	if err != nil {
		return refusal{bits: wire.ErrBadRedirection, reason: err.Error()}
	}
	if v.item.target == v.item.url.URL { // what a template leads through is no link
		if err := v.admit(target); err != nil {
			return err
		}
	}
	v.delay = v.patience
	if err := v.allowed(ctx, target); err != nil {
		return err
	}
	return v.enter(ctx, target)
}

// admit asks the filters of the site for a URL that is about to be requested.
// They are those of links, asked as they were when the URL was found: at the
// depth of the page before it. Roots are what the user wants, filters or not, and
// so are sitemaps (docs/spec/crawling.md 4.4, 5.6).
func (v *visit) admit(target string) error {
	if v.item.url.Root() || v.item.sitemap() {
		return nil
	}
	env := v.filterEnv()
	if !v.item.site.filters.Accept(linkStage, target, env) {
		return refusal{bits: wire.ErrFiltersBreak, reason: "the filters of the site refuse " + target}
	}
	return nil
}

// filterEnv is what the filters were asked with when the URL was found.
func (v *visit) filterEnv() filter.Env {
	return filter.Env{Now: v.Now(), Depth: int(max(v.item.url.Depth-1, 0))}
}

// linkStage makes filter ask the rules of links, of redirects and of all stages:
// both kinds of URL pass by the same rules (docs/spec/crawling.md 5.3 #6, 5.6).
const linkStage = filter.StageRedirect

// enter takes the gate of target's host, then a slot. Who holds a slot never
// waits for a gate, so a slow host keeps no other from its turn.
func (v *visit) enter(ctx context.Context, target string) error {
	v.memory.Keep(0) // who has the gate may wait for it
	waiting := ctx
	if !v.deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, v.deadline.Sub(v.Now()))
		defer cancel()
	}
	v.host = canonical.Host(target)
	if err := v.soon(); err != nil {
		return err
	}
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
	v.pass, v.came = pass, true
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

// again gives the gate back and takes it for one more request of the same visit,
// which redirects may have led to another host meanwhile.
func (v *visit) again(ctx context.Context, target string) error {
	v.leaveGate()
	v.leaveSlot()
	v.delay = v.patience
	if err := v.allowed(ctx, target); err != nil {
		return err
	}
	return v.enter(ctx, target)
}
