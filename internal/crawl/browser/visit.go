package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// phase is the progress of a page's document.
type phase uint8

const (
	begun      phase = iota // no request so far
	requested               // a request was made or waits for Allow
	answered                // the response header has arrived
	committed               // the page shows the document
	loaded                  // the document has loaded
	downloaded              // the response is not HTML; its bytes were read
)

const (
	// hintTime is how long a page may take to begin a navigation that its script has
	// requested. Some never begin.
	hintTime = 500 * time.Millisecond
	// settleTime is the shortest time between the load of a page and its reading. Inline
	// scripts request other URLs before the load.
	settleTime = 50 * time.Millisecond
)

// visit is the work on one request, from a new page to its result.
type visit struct {
	cfg      *Config
	chromium *chromium
	tab      *tab
	req      *Request
	began    time.Time
	time     *budget

	proxy   *pageProxy
	context context.Context // of the page in the driver
	end     func() error
	session *chromedp.Target
	killed  uint64 // processes killed for memory before the page began

	waiting  chan *fetch.EventRequestPaused // paused requests for content of the page
	requests atomic.Int64                   // such requests so far

	mu        sync.Mutex
	changed   chan struct{} // closed when one of the fields below changes
	frame     cdp.FrameID
	phase     phase
	count     int // navigations
	hinted    time.Time
	fault     *Fault
	url       string // of the last request for the page itself
	redirects []Hop
	code      int    // 0 until there is a response from url
	status    string // code and reason
	header    http.Header
	sent      http.Header
	body      []byte // set if downloaded
	loads     []string
	loadsCut  bool
}

// changeState calls f under the lock and wakes wait.
func (v *visit) changeState(f func()) {
	v.mu.Lock()
	f()
	close(v.changed)
	v.changed = make(chan struct{})
	v.mu.Unlock()
}

// failPage ends the page. The first fault wins.
func (v *visit) failPage(f *Fault) {
	v.changeState(func() {
		if v.fault == nil {
			v.fault = f
		}
	})
}

// navigationCount returns the number of navigations so far.
func (v *visit) navigationCount() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count
}

// renderPage renders the page. Its error is a *Fault.
func (v *visit) renderPage(parent context.Context) (*Page, error) {
	v.time = newBudget(parent, v.req.Timeout)
	defer v.time.stop()
	v.killed = v.chromium.killedCount()

	err := v.openPage(v.time)
	if err == nil {
		err = v.openURL(v.time)
	}
	if err == nil {
		err = v.waitLoaded(v.time, v.req.Damping)
	}
	var done *Page
	if err == nil {
		if done, err = v.readPage(v.time); err == nil && v.req.Macro != nil {
			if err = v.runMacro(v.time, done); err == nil && done.Rendered {
				done, err = v.readPage(v.time) // the macro may have changed the page
			} else if err != nil && v.time.Err() == nil && v.currentFault() == nil {
				err = v.faultOf(MacroFailed, err)
			}
		}
	}
	if err != nil {
		return nil, v.faultFor(parent, err)
	}
	if done.Rendered {
		v.gatherParts(v.time, done)
	}
	v.finishPage(v.time, done)
	return done, nil
}

// currentFault returns the fault, or nil.
func (v *visit) currentFault() *Fault {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fault
}

// faultOf returns a fault at the current URL.
func (v *visit) faultOf(kind Kind, err error) *Fault {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &Fault{Kind: kind, URL: v.url, Code: v.code, Err: err}
	if f.URL == "" {
		f.URL = v.req.URL
	}
	if kind == Connect && f.Code == 0 {
		f.Code = codeOther
	}
	return f
}

// faultFor returns the fault for err. The reason that ended the page wins over errors of the
// driver that follow from it.
func (v *visit) faultFor(parent context.Context, err error) *Fault {
	var f *Fault
	switch {
	case parent.Err() != nil:
		return v.faultOf(Cancelled, context.Cause(parent))
	case v.currentFault() != nil:
		return v.currentFault()
	case errors.As(err, &f):
		return f
	case v.time.Err() != nil:
		return v.faultOf(TimeOver, fmt.Errorf("after %v", v.req.Timeout))
	case v.chromium.killedCount() != v.killed:
		return v.crashFault()
	}
	return v.faultOf(Driver, err)
}

// openPage opens the page, with its own browser context and proxy.
func (v *visit) openPage(ctx context.Context) (err error) {
	v.waiting = make(chan *fetch.EventRequestPaused, maxWaiting)
	if v.proxy, err = newPageProxy(v.cfg, v.req.upstream); err != nil {
		return err
	}
	v.context, v.end, err = v.chromium.newPage(ctx, v.proxy.proxyURL(), v.handleEvent)
	if err != nil {
		return err
	}
	driver := chromedp.FromContext(v.context)
	v.session = driver.Target
	v.mu.Lock()
	v.frame = cdp.FrameID(driver.Target.TargetID)
	v.mu.Unlock()
	off, on := false, true
	s := v.session
	_, err = cdp.Call(ctx, v.chromium.driver, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: driver.BrowserContextID})
	for _, step := range []struct {
		method string
		params any
	}{
		// The driver has enabled these domains. None is needed, and a page could flood
		// them.
		{css.Disable.Method, cdp.Empty{}},
		{dom.Disable.Method, cdp.Empty{}},
		{log.Disable.Method, cdp.Empty{}},
		{network.Disable.Method, cdp.Empty{}},
		{runtime.Disable.Method, cdp.Empty{}},
		{page.SetLifecycleEventsEnabled.Method, page.SetLifecycleEventsEnabledParams{Enabled: false}},
		{target.SetDiscoverTargets.Method, target.SetDiscoverTargetsParams{Discover: false}},
		{target.SetAutoAttach.Method, target.SetAutoAttachParams{AutoAttach: false, Flatten: &on, WaitForDebuggerOnStart: off}},
		{fetch.Enable.Method, fetch.EnableParams{HandleAuthRequests: &on, Patterns: []*fetch.RequestPattern{
			{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
			{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse},
		}}},
	} {
		if err == nil {
			if err = s.Call(ctx, step.method, step.params, nil); err != nil {
				err = fmt.Errorf("%s: %w", step.method, err)
			}
		}
	}
	if err == nil && v.req.UserAgent != "" {
		_, err = cdp.Call(ctx, s, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: v.req.UserAgent})
	}
	if err == nil {
		err = v.keepRemoved(ctx)
	}
	if err == nil {
		v.setCookies(ctx)
		for range 4 {
			go v.continueRequests()
		}
	}
	return err
}

// setCookies puts the cookies of the request into the page's browser context. It skips a
// cookie that Chromium refuses.
func (v *visit) setCookies(ctx context.Context) {
	n := 0
	for pair := range strings.SplitSeq(v.req.Cookie, ";") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || name == "" {
			continue
		}
		if n++; n > maxCookies {
			v.cfg.Log.Warn("too many cookies; the rest is not sent", "url", v.req.URL, "limit", maxCookies)
			return
		}
		_, err := cdp.Call(ctx, v.chromium.driver, storage.SetCookies, storage.SetCookiesParams{
			Cookies:          []*network.CookieParam{{Name: name, Value: value, URL: v.req.URL}},
			BrowserContextID: chromedp.FromContext(v.context).BrowserContextID})
		if err != nil {
			v.cfg.Log.Warn("the browser refuses a cookie", "url", v.req.URL, "cookie", name, "error", err)
		}
	}
}

// closePage closes the page and its browser context. The proxy goes first: Chromium then
// drops requests that wait for an answer, refused ones included.
func (v *visit) closePage() {
	if v.proxy != nil {
		v.proxy.closeConnections()
	}
	if v.end == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := v.drainEvents(ctx)
	if err == nil {
		done := make(chan error, 1)
		go func() { done <- v.end() }()
		select {
		case err = <-done:
		case <-v.chromium.gone:
		case <-ctx.Done():
			err = errors.New("timeout")
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		v.cfg.Log.Warn("cannot close a page; the browser takes no more pages", "url", v.req.URL, "error", err)
		v.chromium.retireBrowser()
	}
}

// drainEvents stops the events of the page and waits until the driver has handled those that
// it has read. The driver has one goroutine that passes messages to all pages, and a
// queue of 1024 messages for each page. It never empties the queue of a page whose
// context has ended. A page that sends more events while it closes would thus block
// that goroutine, and with it all pages of the browser.
func (v *visit) drainEvents(ctx context.Context) error {
	if v.session == nil {
		return nil
	}
	v.chromium.control.muteSession(v.session.SessionID)
	// The queue holds the reply after all events. Chromium answers it even if the
	// script of the page hangs.
	_, err := cdp.Call(ctx, v.session, fetch.Disable, cdp.Empty{})
	if errors.Is(err, chromedp.ErrTargetDetached) {
		return nil
	}
	return err
}
