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
	// maxRobots bounds the cache, in origins. A full cache is cleared.
	maxRobots = 1000
	// robotsBytes is the maximum size that is received. The part of a longer file is parsed
	// (RFC 9309 2.5 asks for at least 500 KiB).
	robotsBytes = 1 << 20
	// robotsRedirects is the maximum number of redirects (RFC 9309 2.3.1.2).
	robotsRedirects = 5
	// robotsRetry is the pause after a robots.txt that is not available, without a Retry-After.
	robotsRetry = 5 * time.Minute
)

// robotsCache keeps the rules of origins while they are valid (docs/spec/DECISIONS.md 6.2). It is
// safe for concurrent use. An origin is requested once.
type robotsCache struct {
	mu      sync.Mutex
	origins map[string]*robotsEntry
}

type robotsEntry struct {
	asking sync.Mutex // held during the request
	stored atomic.Pointer[robotsAnswer]
}

type robotsAnswer struct {
	rules       *robots.Rules
	asked, ends time.Time
	unavailable bool // an error of the server: nothing may be requested until ends
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

// known returns the rules of an origin that were fetched before, or nil. An error of its server is
// no rule about links.
func (r *batchRun) known(origin string) *robots.Rules {
	r.robots.mu.Lock()
	e := r.robots.origins[origin]
	r.robots.mu.Unlock()
	if e == nil {
		return nil
	}
	if a := r.valid(e); a != nil && !a.unavailable {
		return a.rules
	}
	return nil
}

// valid returns the answer of an entry, or nil if it is empty or expired. Rules that were
// fetched for this batch stay valid until it ends (docs/spec/steps.md 1 #11).
func (r *batchRun) valid(e *robotsEntry) *robotsAnswer {
	a := e.stored.Load()
	if a == nil || a.asked.Before(r.start) && !r.Now().Before(a.ends) {
		return nil
	}
	return a
}

// allowed returns an error if robots.txt disallows target, and applies its Crawl-delay. An origin
// that cannot be reached gets no further request in this batch. If its server answers with an error
// or asks for patience, the item is put off (RFC 9309 2.3.1.4).
func (v *visit) allowed(ctx context.Context, target string) error {
	if !v.settings.robots {
		return nil
	}
	answer, err := v.rules(ctx, target)
	if err != nil {
		return err
	}
	rules := answer.rules
	if delay, ok := rules.Delay(v.Config.RobotsAgent); ok && delay > v.delay {
		v.delay = delay
	}
	_, path := split(target)
	if ok, line := rules.Allowed(v.Config.RobotsAgent, path); !ok {
		return refusal{bits: wire.ErrRobots, back: answer.unavailable, until: answer.retry(), reason: "robots.txt forbids " + target + ": " + line}
	}
	return nil
}

// retry returns when a robots.txt that is not available is requested again.
func (a *robotsAnswer) retry() time.Time {
	if a.unavailable {
		return a.ends
	}
	return time.Time{}
}

// rules returns the rules for target, and requests them if they are not known. The gate of its host
// knows the Crawl-delay before it opens for the page.
func (v *visit) rules(ctx context.Context, target string) (*robotsAnswer, error) {
	origin, _ := split(target)
	if kept := v.keptRobots(v.item, origin); kept != nil {
		return &robotsAnswer{rules: kept}, nil
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
	if reason, down := v.down.Load(origin); down {
		return nil, reason.(error)
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	r := v.request(origin+"/robots.txt", cookies.Robots)
	r.MaxRedirects, r.MaxBytes = robotsRedirects, robotsBytes
	r.Allow = func(ctx context.Context, next *url.URL) error {
		v.leave()
		return v.enter(ctx, next.String())
	}
	defer v.leave()
	response, err := v.get(ctx, r)
	code, body, answered := 0, []byte(nil), true
	switch {
	case err == nil:
		code, body = response.Code, response.Body
	case cutOff(ctx, err):
		return nil, err
	default:
		code, body, answered = partial(err)
	}
	if !answered {
		if !proxyFailed(err) { // otherwise another proxy may work
			v.down.Store(origin, err)
		}
		return nil, err
	}
	a := &robotsAnswer{rules: robots.FromStatus(code, body), asked: v.Now()}
	a.ends = a.asked.Add(v.Config.RobotsTTL)
	if a.unavailable = a.rules.Unavailable(); a.unavailable {
		a.ends = a.asked.Add(v.robotsPause(response, a.asked))
	}
	if delay, ok := a.rules.Delay(v.Config.RobotsAgent); ok && v.host == canonical.Host(target) {
		v.hold = max(v.hold, delay)
	}
	e.stored.Store(a)
	return a, nil
}

// robotsPause returns how long a robots.txt that is not available is not requested again. A
// Retry-After holds for the whole host.
func (v *visit) robotsPause(response *fetch.Response, now time.Time) time.Duration {
	if response != nil {
		if hold, ok := retryAfter(response.Header.Get("Retry-After"), now); ok {
			v.hold = max(v.hold, min(hold, longestHold))
			return max(min(hold, longestHold), v.Config.Backoff)
		}
	}
	return robotsRetry
}

// keptRobots returns the rules of a file for ROBOTS_CACHE, {"robots.txt": {content: uses}}; the
// most used content counts. It returns nil if there is no file or the site does not enable it
// (docs/spec/crawling.md 4.1).
func (r *batchRun) keptRobots(it *item, origin string) *robots.Rules {
	if r.Config.RobotsDir == "" || !it.settings.robotsCache {
		return nil
	}
	path := filepath.Join(r.Config.RobotsDir, statefile.Name(canonical.Host(origin)), statefile.Name(it.SiteID)+".json")
	var kept map[string]map[string]prop.Int
	if err := (statefile.Files{}).Read(path, &kept); err != nil {
		r.log.Warn("cannot read robots.txt file of ROBOTS_CACHE", "file", path, "error", err)
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

// partial interprets a robots.txt that was not received whole. answered is false if the origin did not
// answer, or not enough of it.
func partial(err error) (code int, body []byte, answered bool) {
	fault, ok := errors.AsType[*fetch.Fault](err)
	if !ok || fault.Partial == nil {
		return 0, nil, false
	}
	switch fault.Kind {
	case fetch.TooLarge, fetch.BadEncoding:
		// The received part contains rules.
		return fault.Code, fault.Partial.Body, fault.Code != 0
	case fetch.TooManyRedirects, fetch.RedirectLoop, fetch.BadRedirect:
		return http.StatusNotFound, nil, true
	case fetch.Guard:
		// The origin was reached; a redirect to a refused address is no rule.
		return http.StatusNotFound, nil, len(fault.Partial.Redirects) > 0
	}
	return 0, nil, false
}

// split cuts a URL into its origin (scheme, host and port) and the path with query that
// robots.txt rules match.
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
