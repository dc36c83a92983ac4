package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"hce/dc/internal/wire/prop"
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
	// reserve is the part of the timeout that is kept for reading an unfinished page.
	reserve = 2 * time.Second
)

// visit is the work on one request, from a new page to its result.
type visit struct {
	cfg      *Config
	chromium *chromium
	req      *Request
	began    time.Time
	time     *budget

	proxy   *pageProxy
	context context.Context // of the page in the driver
	end     func() error
	session *chromedp.Target
	killed  uint64 // processes killed for memory before the page began

	allow sync.Mutex // held during Request.Allow

	mu        sync.Mutex
	changed   chan struct{} // closed when one of the fields below changes
	frame     cdp.FrameID
	phase     phase
	count     int // navigations
	hinted    time.Time
	fault     *Fault
	url       string // of the last request for the page itself
	redirects []Hop
	code      int // 0 until there is a response from url
	header    http.Header
	sent      http.Header
	body      []byte // set if downloaded
	parsed    bool   // the DOM is complete
	requests  int    // requests for content of the page
	cut       bool
	waiting   []*fetch.EventRequestPaused // paused requests for content of the page
	wake      chan struct{}
}

// change calls f under the lock and wakes wait.
func (v *visit) change(f func()) {
	v.mu.Lock()
	f()
	close(v.changed)
	v.changed = make(chan struct{})
	v.mu.Unlock()
}

// fail ends the page. The first fault wins.
func (v *visit) fail(f *Fault) {
	v.change(func() {
		if v.fault == nil {
			v.fault = f
		}
	})
}

// navigations returns the number of navigations so far.
func (v *visit) navigations() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count
}

// run renders the page. Its error is a *Fault.
func (v *visit) run(parent context.Context) (*Page, error) {
	kept := min(v.req.Timeout/5, reserve)
	v.time = newBudget(parent, v.req.Timeout-kept)
	defer v.time.stop()
	v.killed = v.chromium.killed()

	err := v.open(v.time)
	if err == nil {
		err = v.navigate(v.time)
	}
	if err == nil {
		err = v.waitLoaded(v.time, v.req.Damping)
	}
	var done *Page
	if err == nil {
		if done, err = v.read(v.time); err == nil && v.req.Macro != nil {
			if err = v.runMacro(v.time, done); err == nil && done.Rendered {
				done, err = v.read(v.time) // the macro may have changed the page
			} else if err != nil && v.time.Err() == nil && v.current() == nil {
				err = v.faultOf(MacroFailed, err)
			}
		}
	}
	if err == nil {
		v.finish(v.time, done)
		return done, nil
	}
	f := v.explain(parent, err)
	if f.Kind == TimeOver && v.hasDocument() {
		ctx, cancel := context.WithTimeout(parent, kept)
		defer cancel()
		if f.Partial, _ = v.read(ctx); f.Partial != nil {
			v.finish(ctx, f.Partial)
		}
	}
	return nil, f
}

// hasDocument reports whether there is a document to read.
func (v *visit) hasDocument() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.parsed && v.phase >= committed && v.phase != downloaded
}

// current returns the fault, or nil.
func (v *visit) current() *Fault {
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

// explain returns the fault for err. The reason that ended the page wins over errors of the
// driver that follow from it.
func (v *visit) explain(parent context.Context, err error) *Fault {
	var f *Fault
	switch {
	case parent.Err() != nil:
		return v.faultOf(Cancelled, context.Cause(parent))
	case v.current() != nil:
		return v.current()
	case errors.As(err, &f):
		return f
	case v.time.Err() != nil:
		return v.faultOf(TimeOver, fmt.Errorf("after %v", v.req.Timeout))
	case v.chromium.killed() != v.killed:
		return v.crash()
	}
	return v.faultOf(Driver, err)
}

// open opens the page, with its own browser context and proxy.
func (v *visit) open(ctx context.Context) (err error) {
	v.wake = make(chan struct{}, 1)
	if v.proxy, err = newPageProxy(v.cfg, v.req.upstream); err != nil {
		return err
	}
	v.context, v.end, err = v.chromium.newPage(ctx, v.proxy.address(), v.listen)
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

// navigate opens the URL of the request and returns when its document is committed.
func (v *visit) navigate(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() {
		result, err := cdp.Call(ctx, v.session, page.Navigate, page.NavigateParams{URL: v.req.URL})
		if err == nil && result.ErrorText != "" {
			err = netError(result.ErrorText)
		}
		answer <- err
	}()
	// A fault of a redirect, or a complete download, may come first.
	err := v.wait(ctx, func() bool { return v.phase >= committed }, answer)
	var failed netError
	if !errors.As(err, &failed) {
		return err
	}
	return v.netFault(string(failed), kindOfNet(string(failed)))
}

// netError is an error text of Chromium, such as "net::ERR_TIMED_OUT".
type netError string

func (e netError) Error() string { return string(e) }

// netFault returns the fault of a request that failed in the network. It returns nil if the
// response is complete all the same.
func (v *visit) netFault(text string, kind Kind) error {
	v.mu.Lock()
	fault, phase, target, code := v.fault, v.phase, v.url, v.code
	v.mu.Unlock()
	switch {
	case fault != nil:
		return fault
	case phase == downloaded:
		return nil
	case code >= 400 && phase == answered:
		// Chromium shows its own error page for empty responses of 400 and above.
		v.change(func() { v.phase = downloaded; v.body = []byte{} })
		return nil
	case code != 0 && phase == answered && strings.HasSuffix(text, "_ABORTED"):
		return v.faultOf(Empty, nil)
	}
	err := error(netError(text))
	if u, parseErr := url.Parse(target); parseErr == nil {
		if failure := v.proxy.failure(hostPort(u)); failure != nil {
			kind, err = kindOfDial(failure, kind), failure
		}
	}
	if v.proxy.full.Load() {
		kind, err = TooLarge, errTraffic
	}
	return v.faultOf(kind, err)
}

// hostPort returns the host and port of a URL, as Chromium sends them to its proxy.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// kindOfDial returns the kind of an error of Config.Dial. other is the kind of Chromium's
// error.
func kindOfDial(err error, other Kind) Kind {
	var (
		guard  interface{ Refused() bool }
		behind *upstreamError
		name   *net.DNSError
		late   interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &guard) && guard.Refused():
		return Guard
	case errors.As(err, &behind):
		return ProxyConnect
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return ConnectTimeout
	case errors.As(err, &name):
		return NameNotResolved
	case other == Blocked, other == Empty: // our proxy closed the connection
		return Connect
	}
	return other
}

// wait returns when cond holds. It calls cond under the lock. It returns early on a fault,
// the end of ctx or of the browser, or an error from answer, which may be nil.
func (v *visit) wait(ctx context.Context, cond func() bool, answer <-chan error) error {
	for {
		v.mu.Lock()
		done, fault, changed := cond(), v.fault, v.changed
		v.mu.Unlock()
		switch {
		case fault != nil:
			return fault
		case done:
			return nil
		}
		select {
		case <-changed:
		case err := <-answer:
			if err != nil {
				return err
			}
			answer = nil // events report the rest
		case <-v.chromium.gone:
			return errors.New("the browser ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitLoaded returns when the page has loaded, the damping is over, and the page requests
// no other URL.
func (v *visit) waitLoaded(ctx context.Context, damping time.Duration) error {
	for {
		if err := v.wait(ctx, func() bool { return v.phase >= loaded }, nil); err != nil {
			return err
		}
		v.mu.Lock()
		count, hint, isFile := v.count, time.Until(v.hinted.Add(hintTime)), v.phase == downloaded
		v.mu.Unlock()
		if isFile {
			return nil
		}
		calm, cancel := context.WithTimeout(ctx, max(damping, settleTime, hint))
		err := v.wait(calm, func() bool { return v.count != count || v.phase < loaded }, nil)
		over := calm.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil: // the page has navigated
		case over:
			v.mu.Lock()
			hint, still := time.Until(v.hinted.Add(hintTime)), v.count == count
			v.mu.Unlock()
			if still && hint <= 0 {
				return nil
			}
			damping = 0
		default:
			return err
		}
	}
}

// listen handles the events of the page, in order. It must not block.
func (v *visit) listen(ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		v.mu.Lock()
		own := ev.ResourceType == network.ResourceTypeDocument && ev.FrameID == v.frame
		if !own {
			v.queue(ev)
		}
		v.mu.Unlock()
		if own {
			go v.document(ev)
		}
	case *fetch.EventAuthRequired:
		// There is no user. The page is what the server sends without a password.
		go cdp.Call(v.time, v.session, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: ev.RequestID,
			AuthChallengeResponse: &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}})
	case *page.EventFrameNavigated:
		if ev.Frame.ParentID == "" {
			v.change(func() { v.commit(ev.Frame) })
		}
	case *page.EventDomContentEventFired:
		v.change(func() { v.parsed = v.phase >= committed })
	case *page.EventLoadEventFired:
		v.change(func() {
			if v.phase == committed {
				v.phase = loaded
			}
		})
	case *page.EventFrameStoppedLoading:
		// A page has no load event if a script stopped it, or if it went to a URL for
		// another program.
		v.change(func() {
			if ev.FrameID == v.frame && v.phase == committed {
				v.phase, v.parsed = loaded, true
			}
		})
	case *page.EventFrameRequestedNavigation:
		if ev.Disposition == page.ClientNavigationDispositionCurrentTab {
			v.hint(ev.FrameID)
		}
	case *page.EventFrameStartedNavigating:
		if ev.NavigationType != page.FrameStartedNavigatingNavigationTypeSameDocument {
			v.hint(ev.FrameID)
		}
	case *page.EventJavascriptDialogOpening:
		// There is no user to answer a dialog. A page may be left.
		leave := ev.Type == page.DialogTypeBeforeunload
		go cdp.Call(v.time, v.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave})
	case *inspector.EventTargetCrashed:
		v.fail(v.crash())
	}
}

// crash returns the fault of a page whose process has ended.
func (v *visit) crash() *Fault {
	if v.chromium.killed() != v.killed {
		return v.faultOf(Memory, fmt.Errorf("the browser may use %d MiB", v.cfg.MaxMemory>>20))
	}
	return v.faultOf(Driver, errors.New("the process of the page crashed"))
}

// hint records that the page is about to navigate.
func (v *visit) hint(frame cdp.FrameID) {
	v.change(func() {
		if frame == v.frame && v.phase == loaded {
			v.hinted = time.Now()
		}
	})
}

// commit records a new document of the page. v.mu must be held.
func (v *visit) commit(f *cdp.Frame) {
	if f.UnreachableURL != "" || strings.HasPrefix(f.URL, "chrome-error:") {
		return // Chromium's error page; navigate reports the fault
	}
	if v.phase == answered {
		v.phase, v.parsed = committed, false
	}
}

// script runs JavaScript in the page's own world and returns its result as JSON, empty if
// it has none. A text with a "return" outside of functions is run as the body of a
// function, as old drivers did.
func (v *visit) script(ctx context.Context, text string) (json.RawMessage, error) {
	value, err := v.evaluate(ctx, text, 0)
	var thrown *scriptError
	if errors.As(err, &thrown) && strings.Contains(thrown.text, "Illegal return statement") {
		// A syntax error: nothing of the script has run.
		return v.evaluate(ctx, "(async function () {\n"+text+"\n})()", 0)
	}
	return value, err
}

// scriptError is an exception of a script.
type scriptError struct{ text string }

func (e *scriptError) Error() string { return "script failed: " + prop.Clip(e.text) }

func (v *visit) evaluate(ctx context.Context, text string, world runtime.ExecutionContextID) (json.RawMessage, error) {
	on := true
	result, err := cdp.Call(ctx, v.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: text, ContextID: world, ReturnByValue: &on, AwaitPromise: &on, UserGesture: &on})
	switch {
	case err != nil:
		return nil, err
	case result.ExceptionDetails != nil:
		thrown := result.ExceptionDetails.Text
		if e := result.ExceptionDetails.Exception; e != nil && e.Description != "" {
			thrown = e.Description
		}
		return nil, &scriptError{thrown}
	case result.Result == nil:
		return nil, nil
	}
	return json.RawMessage(result.Result.Value), nil
}

// close closes the page and its browser context. The proxy goes first: Chromium then
// drops requests that wait for an answer, refused ones included.
func (v *visit) close() {
	if v.proxy != nil {
		v.proxy.close()
	}
	if v.end == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := v.drain(ctx)
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
		v.chromium.retire()
	}
}

// drain stops the events of the page and waits until the driver has handled those that
// it has read. The driver has one goroutine that passes messages to all pages, and a
// queue of 1024 messages for each page. It never empties the queue of a page whose
// context has ended. A page that sends more events while it closes would thus block
// that goroutine, and with it all pages of the browser.
func (v *visit) drain(ctx context.Context) error {
	if v.session == nil {
		return nil
	}
	v.chromium.control.mute(v.session.SessionID)
	// The queue holds the reply after all events. Chromium answers it even if the
	// script of the page hangs.
	_, err := cdp.Call(ctx, v.session, fetch.Disable, cdp.Empty{})
	if errors.Is(err, chromedp.ErrTargetDetached) {
		return nil
	}
	return err
}
