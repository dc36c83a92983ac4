package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/wire/prop"
)

// Defaults of Config.
const (
	DefaultMaxMemory   = 2 << 30
	DefaultMaxPages    = 2
	DefaultMaxRequests = 2000
	DefaultMaxTraffic  = 128 << 20
)

const (
	maxServed  = 1000             // pages of one Chromium: all browsers leak memory
	startTime  = 60 * time.Second // limit for the start of a Chromium
	closeTime  = 10 * time.Second // limit for closing a page
	maxCookies = 500              // sent to and read from one page
	// defaultAnswerTime is how long a browser may take to answer a simple command.
	defaultAnswerTime = 60 * time.Second
)

// Config holds the settings that all pages of a Browser share.
type Config struct {
	// Path is the Chromium to start. If empty, the usual names are looked up in PATH.
	Path string
	// Dial opens every connection of every page and macro: it is the egress guard. An error
	// that wraps one with a method Refused() bool that returns true is a Guard fault.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolve is the same guard for hosts behind the proxy of a request, which are not
	// dialled here. If nil, every request with a proxy is refused.
	Resolve func(ctx context.Context, host string) error
	// MaxMemory limits the memory of all processes of the browser, in bytes. Above it the
	// largest process is killed, which usually is the renderer of one page.
	MaxMemory int64
	// MaxPages is how many pages may run at once. Further calls of Get wait. Pages that wait in
	// Allow do not count; at most eight times as many are open.
	MaxPages int
	// MaxRequests and MaxTraffic limit what one page loads, in requests and in bytes from
	// all servers. Requests above a limit fail.
	MaxRequests int
	MaxTraffic  int64
	// LoadMedia lets pages load images, audio, video and fonts.
	LoadMedia bool
	// TempDir is the parent of the browser's private folder. Empty means the system's
	// folder for temporary files.
	TempDir string
	// Macros limits what macros may do.
	Macros MacroPolicy
	// Log receives messages that concern no single page. Nil logs nothing.
	Log *slog.Logger

	answerTime time.Duration // 0 is defaultAnswerTime
}

// Browser renders pages. Goroutines may share it.
type Browser struct {
	cfg  Config
	tabs tabs

	life  context.Context // ends with Close
	end   context.CancelCauseFunc
	pages sync.WaitGroup

	starting chan struct{} // one token, whose holder may change running
	running  *chromium
}

// New returns a Browser. The first Get starts Chromium.
func New(cfg Config) *Browser {
	cfg.MaxMemory = cmp.Or(max(cfg.MaxMemory, 0), DefaultMaxMemory)
	cfg.MaxPages = cmp.Or(max(cfg.MaxPages, 0), DefaultMaxPages)
	cfg.MaxRequests = cmp.Or(max(cfg.MaxRequests, 0), DefaultMaxRequests)
	cfg.MaxTraffic = cmp.Or(max(cfg.MaxTraffic, 0), DefaultMaxTraffic)
	cfg.Macros = cfg.Macros.withDefaults()
	if cfg.Resolve == nil {
		cfg.Resolve = func(context.Context, string) error { return errNoResolve }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Browser{cfg: cfg, tabs: newTabs(cfg.MaxPages), starting: make(chan struct{}, 1)}
	b.life, b.end = context.WithCancelCause(context.Background())
	return b
}

// Close ends open pages with a Cancelled fault, kills the browser with all its processes
// and removes its folder. It returns when that is done. The Browser must not be used
// afterwards.
func (b *Browser) Close() {
	b.end(errClosed)
	b.starting <- struct{}{} // no start follows
	if c := b.running; c != nil {
		c.killProcesses()
		<-c.gone
		b.running = nil
	}
	<-b.starting
	b.pages.Wait()
}

// Get renders one page. Its error is a *Fault.
func (b *Browser) Get(ctx context.Context, req Request) (*Page, error) {
	if err := b.checkRequest(&req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.life, func() { cancel(context.Cause(b.life)) })()
	if ctx.Err() != nil || b.life.Err() != nil {
		return nil, &Fault{Kind: Cancelled, URL: req.URL, Err: cmp.Or(context.Cause(b.life), context.Cause(ctx))}
	}
	tab, err := b.tabs.takeTab(ctx)
	if err != nil {
		return nil, &Fault{Kind: Cancelled, URL: req.URL, Err: err}
	}
	c, err := b.takeBrowser(ctx)
	if err != nil {
		tab.endTab()
		return nil, b.startFault(ctx, req.URL, err)
	}
	v := &visit{cfg: &b.cfg, chromium: c, tab: tab, req: &req, began: time.Now(), changed: make(chan struct{})}
	page, err := v.renderPage(ctx)
	b.pages.Go(func() { // a page with a hanging script closes slowly
		v.closePage()
		c.releaseUse()
		tab.endTab()
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// checkRequest sets the defaults of req and validates it.
func (b *Browser) checkRequest(req *Request) error {
	u, err := canonical.Net(req.URL)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		err = errors.New("want an http or https URL with a host")
	}
	if err == nil && req.Method != "" && req.Method != "GET" && req.Method != "POST" {
		err = fmt.Errorf("unsupported method %q; want GET or POST", prop.Clip(req.Method))
	}
	req.Timeout = cmp.Or(max(req.Timeout, 0), DefaultTimeout)
	if err == nil && req.Damping >= req.Timeout {
		err = fmt.Errorf("damping %v is not shorter than the timeout %v", req.Damping, req.Timeout)
	}
	if err != nil {
		return &Fault{Kind: BadURL, URL: req.URL, Err: err}
	}
	if req.upstream, err = parseUpstream(req.Proxy); err != nil {
		return &Fault{Kind: ProxyConnect, URL: req.URL, Err: err}
	}
	req.MaxBytes = min(cmp.Or(max(req.MaxBytes, 0), DefaultMaxBytes), DefaultMaxBytes)
	req.MaxRedirects = max(cmp.Or(req.MaxRedirects, DefaultMaxRedirects), 0)
	if req.Macro != nil {
		if err := b.cfg.Macros.checkMacro(req.Macro); err != nil {
			return &Fault{Kind: MacroFailed, URL: req.URL, Err: err}
		}
	}
	return nil
}

// startFault is the fault for a browser that did not start.
func (b *Browser) startFault(ctx context.Context, pageURL string, err error) error {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return &Fault{Kind: f.Kind, URL: pageURL, Err: f.Err}
	case ctx.Err() != nil:
		return &Fault{Kind: Cancelled, URL: pageURL, Err: context.Cause(ctx)}
	}
	return &Fault{Kind: Driver, URL: pageURL, Err: err}
}

// takeBrowser returns the running browser for one more page, and starts one if needed. The caller
// must release it.
func (b *Browser) takeBrowser(ctx context.Context) (*chromium, error) {
	select {
	case b.starting <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-b.starting }()
	if b.life.Err() != nil {
		return nil, errClosed
	}
	if b.running != nil {
		if b.running.countUse() {
			return b.running, nil
		}
		// Only one browser runs at a time. A retired one ends with its last page.
		select {
		case <-b.running.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		b.running = nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, err := startChromium(ctx, &b.cfg)
	if err != nil {
		return nil, err
	}
	b.running = c
	if !c.countUse() {
		return nil, errors.New("the browser ended during its start")
	}
	return c, nil
}

// countUse counts one more page. It returns false if the browser takes no more pages.
func (c *chromium) countUse() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.pages++
	c.served++
	c.retired = c.served >= maxServed
	return true
}

// releaseUse ends one use. The last release kills a retired browser.
func (c *chromium) releaseUse() {
	c.mu.Lock()
	c.pages--
	last := c.pages == 0 && c.retired
	c.mu.Unlock()
	if last {
		c.killProcesses()
	}
}

// retireBrowser stops further uses. The browser ends with its last page.
func (c *chromium) retireBrowser() {
	c.mu.Lock()
	c.retired = true
	c.mu.Unlock()
}

// killedCount returns how many processes were killed for their memory.
func (c *chromium) killedCount() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory
}
