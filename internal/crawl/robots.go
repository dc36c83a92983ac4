package crawl

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/web/robots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

const (
	// maxRobots bounds the cache, in origins; a full one starts anew.
	maxRobots = 1000
	// robotsBytes is the most of a robots.txt that is received. What is longer
	// is judged by what came of it, which has to be 500 KiB at least.
	robotsBytes = 1 << 20
	// robotsRedirects is how many redirects a robots.txt may take (RFC 9309
	// 2.3.1.2).
	robotsRedirects = 5
	// robotsRetry is how long an origin whose robots.txt answers with a server
	// error is left alone.
	robotsRetry = 5 * time.Minute
)

// robotsCache keeps the rules of origins for as long as they may be believed
// (docs/spec/DECISIONS.md 6.2). It is safe for many goroutines; one origin is asked once.
type robotsCache struct {
	mu      sync.Mutex
	origins map[string]*robotsEntry
}

type robotsEntry struct {
	asking sync.Mutex // held while the rules are fetched
	stored atomic.Pointer[robotsAnswer]
}

type robotsAnswer struct {
	rules       *robots.Rules
	asked, ends time.Time
}

func (c *robotsCache) entry(origin string) *robotsEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.origins[origin]
	if e == nil {
		if c.origins == nil || len(c.origins) >= maxRobots {
			c.origins = map[string]*robotsEntry{}
		}
		e = &robotsEntry{}
		c.origins[origin] = e
	}
	return e
}

// known gives the rules of an origin that were fetched already, nil otherwise.
func (r *batchRun) known(origin string) *robots.Rules {
	r.robots.mu.Lock()
	e := r.robots.origins[origin]
	r.robots.mu.Unlock()
	if e == nil {
		return nil
	}
	return r.valid(e)
}

// valid gives an entry's rules unless there are none or they are too old. Those
// fetched for this batch hold to its end (docs/spec/steps.md 1 #11).
func (r *batchRun) valid(e *robotsEntry) *robots.Rules {
	a := e.stored.Load()
	if a == nil || a.asked.Before(r.start) && !r.Now().Before(a.ends) {
		return nil
	}
	return a.rules
}

// allowed refuses target when its robots.txt does, and keeps the delay that it
// asks for. An origin that cannot be reached is not asked for anything else in
// this batch (RFC 9309 2.3.1.4).
func (v *visit) allowed(ctx context.Context, target string) error {
	if !v.settings.robots {
		return nil
	}
	rules, err := v.rules(ctx, target)
	if err != nil {
		return err
	}
	if delay, ok := rules.Delay(v.Config.RobotsAgent); ok && delay > v.delay {
		v.delay = delay
	}
	_, path := split(target)
	if ok, line := rules.Allowed(v.Config.RobotsAgent, path); !ok {
		return refusal{bits: wire.ErrRobots, reason: "robots.txt forbids " + target + ": " + line}
	}
	return nil
}

// rules gives the rules for target, asking its origin when they are not known.
func (v *visit) rules(ctx context.Context, target string) (*robots.Rules, error) {
	origin, _ := split(target)
	if kept := v.keptRobots(v.item, origin); kept != nil {
		return kept, nil
	}
	e := v.robots.entry(origin)
	if known := v.valid(e); known != nil {
		return known, nil
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if known := v.valid(e); known != nil {
		return known, nil
	}
	if err := v.isDown(origin); err != nil {
		return nil, err
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	r := v.request(origin+"/robots.txt", cookies.Robots)
	r.MaxRedirects, r.MaxBytes = robotsRedirects, robotsBytes
	r.Allow = func(ctx context.Context, next *url.URL) error {
		v.leaveGate()
		v.leaveSlot()
		return v.enter(ctx, next.String())
	}
	response, err := v.get(ctx, r)
	v.leaveGate()
	v.leaveSlot()
	code, body, told := 0, []byte(nil), true
	switch {
	case err == nil:
		code, body = response.Code, response.Body
	case cutOff(ctx, err):
		return nil, err
	default:
		code, body, told = partial(err)
	}
	if !told {
		if !proxyFailed(err) { // else another proxy may do
			v.setDown(origin, err)
		}
		return nil, err
	}
	a := &robotsAnswer{rules: robots.FromStatus(code, body), asked: v.Now()}
	a.ends = a.asked.Add(v.Config.RobotsTTL)
	if code >= 500 {
		a.ends = a.asked.Add(min(v.Config.RobotsTTL, robotsRetry))
	}
	e.stored.Store(a)
	return a.rules, nil
}

// keptRobots are the rules of the file that somebody put beside the crawler for
// ROBOTS_CACHE: {"robots.txt": {content: uses}}, of which the most used content
// counts. It is nil when there is none, or the item's site does not want it
// (docs/spec/crawling.md 4.1).
func (r *batchRun) keptRobots(it *item, origin string) *robots.Rules {
	if r.Config.RobotsDir == "" || !it.settings.robotsCache {
		return nil
	}
	path := filepath.Join(r.Config.RobotsDir, statefile.Name(canonical.Host(origin)), statefile.Name(it.SiteID)+".json")
	var kept map[string]map[string]prop.Int
	if err := statefile.Read(path, &kept); err != nil {
		r.log.Warn("a kept robots.txt cannot be read", "file", path, "error", err)
		return nil
	}
	best, uses := "", prop.Int(-1)
	for text, n := range kept["robots.txt"] {
		if n > uses || n == uses && text < best {
			best, uses = text, n
		}
	}
	if uses < 0 {
		return nil
	}
	return robots.Parse([]byte(best))
}

// partial gives what a robots.txt means that could not be had whole: told is
// false when the origin did not answer, or with less than it has to say.
func partial(err error) (code int, body []byte, told bool) {
	var fault *fetch.Fault
	if !errors.As(err, &fault) || fault.Partial == nil {
		return 0, nil, false
	}
	switch fault.Kind {
	case fetch.TooLarge, fetch.BadEncoding:
		// What came of it are rules all the same.
		return fault.Code, fault.Partial.Body, fault.Code != 0
	case fetch.TooManyRedirects, fetch.RedirectLoop, fetch.BadRedirect:
		return http.StatusNotFound, nil, true
	case fetch.Guard:
		// It was reached; that it sends us where nobody may go is no rule.
		return http.StatusNotFound, nil, len(fault.Partial.Redirects) > 0
	}
	return 0, nil, false
}

// isDown gives the reason why an origin could not be reached in this batch.
func (r *batchRun) isDown(origin string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down[origin]
}

func (r *batchRun) setDown(origin string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down[origin] = err
}

// split cuts a URL into its origin (scheme, host and port), which one robots.txt
// rules, and what the rules are compared with: path and query.
func split(target string) (origin, path string) {
	_, rest, _ := strings.Cut(target, "://")
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		return target, "/"
	}
	end += len(target) - len(rest)
	path, _, _ = strings.Cut(target[end:], "#")
	if path == "" {
		path = "/"
	}
	return target[:end], path
}
