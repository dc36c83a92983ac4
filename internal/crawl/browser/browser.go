package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"
)

// Values that a zero field of Config stands for.
const (
	DefaultMaxMemory   = 2 << 30
	DefaultMaxPages    = 2
	DefaultMaxRequests = 2000
	DefaultMaxTraffic  = 128 << 20
)

const (
	maxServed  = 1000             // pages of one Chromium, which leaks as all browsers do
	startTime  = 60 * time.Second // for a Chromium to start, whatever its page has
	closeTime  = 10 * time.Second // for a page to close
	maxCookies = 500              // of a page, in and out
	// defaultAnswerTime is how long a browser may take to answer a simple command.
	defaultAnswerTime = 60 * time.Second
)

// Config is what all pages of a Browser have in common.
type Config struct {
	// Path is the Chromium to start. Empty looks for the usual names in PATH.
	Path string
	// Dial opens every connection of every page, and of macros: the egress guard.
	// An error in whose chain a method Refused() bool returns true is a Guard fault.
	// Nil refuses everything.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolve is the same guard for hosts that a request's own proxy is sent to, and
	// that are not dialled here. Nil refuses everything that has a proxy.
	Resolve func(ctx context.Context, host string) error
	// MaxMemory bounds the memory of all processes of the browser, in bytes: the
	// largest of them, as a rule the renderer of one page, is ended when they exceed
	// it.
	MaxMemory int64
	// MaxPages is how many pages may be open at once; more wait.
	MaxPages int
	// MaxRequests and MaxTraffic bound what one page loads, in requests and in bytes
	// from all servers. What exceeds them fails, and the page is marked Cut.
	MaxRequests int
	MaxTraffic  int64
	// LoadMedia lets pages load images, audio, video and fonts.
	LoadMedia bool
	// UserAgent is sent when a request has none of its own. Empty is Chromium's.
	UserAgent string
	// TempDir is where the browser's private folder is made; empty is the system's.
	TempDir string
	// Macros is what macros may do.
	Macros MacroPolicy
	// Log hears what no page is told. Nil logs nothing.
	Log *slog.Logger
	// Now is the clock of Page.Started and Total. Nil is time.Now.
	Now func() time.Time

	answerTime time.Duration // 0 is defaultAnswerTime
}

// Browser renders pages. It may be used by many goroutines at once.
type Browser struct {
	cfg   Config
	slots chan struct{} // one for each page

	life  context.Context // ends with Close
	end   context.CancelCauseFunc
	pages sync.WaitGroup

	starting chan struct{} // one token: who holds it may change running
	running  *chromium
}

// New returns a Browser. It starts nothing yet.
func New(cfg Config) *Browser {
	cfg.MaxMemory = cmp.Or(max(cfg.MaxMemory, 0), DefaultMaxMemory)
	cfg.MaxPages = cmp.Or(max(cfg.MaxPages, 0), DefaultMaxPages)
	cfg.MaxRequests = cmp.Or(max(cfg.MaxRequests, 0), DefaultMaxRequests)
	cfg.MaxTraffic = cmp.Or(max(cfg.MaxTraffic, 0), DefaultMaxTraffic)
	cfg.Macros = cfg.Macros.withDefaults()
	if cfg.Dial == nil {
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errNoDial }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Browser{cfg: cfg, slots: make(chan struct{}, cfg.MaxPages), starting: make(chan struct{}, 1)}
	b.life, b.end = context.WithCancelCause(context.Background())
	return b
}

var errNoDial = errors.New("the browser has no way out: Config.Dial is not set")

// Close ends the pages under way with a Cancelled fault and the browser with all
// its processes, and removes its folder. It returns when that is done. The Browser
// must not be used afterwards.
func (b *Browser) Close() {
	b.end(errClosed)
	b.starting <- struct{}{} // no start follows
	if c := b.running; c != nil {
		c.kill()
		<-c.gone
		b.running = nil
	}
	<-b.starting
	b.pages.Wait()
}

// Get renders one page. Its error is a *Fault.
func (b *Browser) Get(ctx context.Context, req Request) (*Page, error) {
	if err := b.check(&req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.life, func() { cancel(context.Cause(b.life)) })()
	if ctx.Err() != nil || b.life.Err() != nil {
		return nil, &Fault{Kind: Cancelled, URL: req.URL, Err: cmp.Or(context.Cause(b.life), context.Cause(ctx))}
	}
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, &Fault{Kind: Cancelled, URL: req.URL, Err: context.Cause(ctx)}
	}
	c, err := b.take(ctx)
	if err != nil {
		<-b.slots
		return nil, b.startFault(ctx, req.URL, err)
	}
	v := &visit{cfg: &b.cfg, chromium: c, req: &req, began: b.cfg.Now(), changed: make(chan struct{})}
	page, err := v.run(ctx)
	b.pages.Go(func() { // a page whose script hangs takes long to close
		v.close()
		c.release()
		<-b.slots
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// check completes req, or says why it cannot be rendered.
func (b *Browser) check(req *Request) error {
	u, err := url.Parse(req.URL)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		err = errors.New("neither http nor https, or no host")
	}
	if err == nil && req.Method != "" && req.Method != "GET" && req.Method != "POST" {
		err = fmt.Errorf("the method %q is neither GET nor POST", clip(req.Method))
	}
	req.Timeout = cmp.Or(max(req.Timeout, 0), DefaultTimeout)
	if err == nil && req.Damping >= req.Timeout {
		err = fmt.Errorf("the damping of %v leaves no time of %v", req.Damping, req.Timeout)
	}
	if err != nil {
		return &Fault{Kind: BadURL, URL: req.URL, Err: err}
	}
	if req.upstream, err = parseUpstream(req.Proxy); err != nil {
		return &Fault{Kind: ProxyConnect, URL: req.URL, Err: err}
	}
	req.MaxBytes = min(cmp.Or(max(req.MaxBytes, 0), DefaultMaxBytes), DefaultMaxBytes)
	req.MaxRedirects = max(cmp.Or(req.MaxRedirects, DefaultMaxRedirects), 0)
	req.UserAgent = cmp.Or(req.UserAgent, b.cfg.UserAgent)
	if req.Macro != nil {
		if err := b.cfg.Macros.check(req.Macro); err != nil {
			return &Fault{Kind: MacroFailed, URL: req.URL, Err: err}
		}
	}
	return nil
}

// startFault tells what kept a browser from starting.
func (b *Browser) startFault(ctx context.Context, where string, err error) error {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return &Fault{Kind: f.Kind, URL: where, Err: f.Err}
	case ctx.Err() != nil:
		return &Fault{Kind: Cancelled, URL: where, Err: context.Cause(ctx)}
	}
	return &Fault{Kind: Driver, URL: where, Err: err}
}

// take returns the running browser, for one page, and starts it if need be. The
// caller releases it.
func (b *Browser) take(ctx context.Context) (*chromium, error) {
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
		if b.running.use() {
			return b.running, nil
		}
		// One browser at a time: this one ends with its last page.
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
	if !c.use() {
		return nil, errors.New("the browser ended as it had started")
	}
	return c, nil
}

// use counts one more page, or reports that the browser takes none.
func (c *chromium) use() bool {
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

// release is the end of a page. The last one of a retired browser ends it.
func (c *chromium) release() {
	c.mu.Lock()
	c.pages--
	last := c.pages == 0 && c.retired
	c.mu.Unlock()
	if last {
		c.kill()
	}
}

// retire lets the browser end with its last page.
func (c *chromium) retire() {
	c.mu.Lock()
	c.retired = true
	c.mu.Unlock()
}

// killed is how many processes were ended for their memory.
func (c *chromium) killed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory
}
