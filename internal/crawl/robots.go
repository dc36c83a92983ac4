package crawl

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
	"hce/dc/internal/fetch"
	"hce/dc/internal/robots"
)

// robotsCache keeps the rules of hosts for as long as they may be believed
// (DECISIONS 6.2). It is safe for many goroutines; one host is asked once.
type robotsCache struct {
	mu    sync.Mutex
	hosts map[string]*robotsEntry
}

type robotsEntry struct {
	mu    sync.Mutex // held while the rules are fetched
	rules *robots.Rules
	until time.Time
}

// maxRobots bounds the cache; a full one starts anew.
const maxRobots = 10000

func (c *robotsCache) entry(origin string) *robotsEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil || len(c.hosts) >= maxRobots {
		c.hosts = map[string]*robotsEntry{}
	}
	e := c.hosts[origin]
	if e == nil {
		e = &robotsEntry{}
		c.hosts[origin] = e
	}
	return e
}

// known gives the rules of an origin that were fetched already, nil otherwise.
func (c *robotsCache) known(origin string, now time.Time) *robots.Rules {
	c.mu.Lock()
	e := c.hosts[origin]
	c.mu.Unlock()
	if e == nil || !e.mu.TryLock() {
		return nil
	}
	defer e.mu.Unlock()
	if now.After(e.until) {
		return nil
	}
	return e.rules
}

// allowed refuses target when its robots.txt does, and keeps the delay that it
// asks for. A host that cannot be reached is not asked for anything else in this
// batch (RFC 9309 2.3.1.4).
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
	if ok, line := rules.Allowed(v.Config.RobotsAgent, pathOf(target)); !ok {
		return refusal{dc.ErrRobots, "robots.txt forbids it: " + line}
	}
	return nil
}

func (v *visit) rules(ctx context.Context, target string) (*robots.Rules, error) {
	origin := strings.TrimSuffix(canon.SiteURL(target), "/")
	e := v.robots.entry(origin)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rules != nil && v.Now().Before(e.until) {
		return e.rules, nil
	}
	if v.down != nil && canon.Host(target) == v.name {
		return nil, v.down
	}
	if err := v.enter(ctx, target); err != nil {
		return nil, err
	}
	r := v.request(origin + "/robots.txt")
	r.MaxRedirects, r.MaxBytes = 5, 1<<20
	r.Allow = func(ctx context.Context, next *url.URL) error {
		v.leave()
		return v.enter(ctx, next.String())
	}
	response, err := v.Fetch.Get(ctx, r)
	v.leave()
	var fault *fetch.Fault
	switch {
	case err == nil:
		e.rules = robots.FromStatus(response.Code, response.Body)
	case ctx.Err() != nil:
		return nil, err
	case errors.As(err, &fault) && answered(fault):
		// It answered, but nothing that could be rules: none are given.
		e.rules = robots.FromStatus(404, nil)
	default:
		if canon.Host(target) == v.name {
			v.down = err
		}
		return nil, err
	}
	e.until = v.Now().Add(v.Config.RobotsTTL)
	return e.rules, nil
}

// answered reports whether the host gave an answer that is no robots.txt, as
// against none at all.
func answered(f *fetch.Fault) bool {
	switch f.Kind {
	case fetch.TooManyRedirects, fetch.RedirectLoop, fetch.BadRedirect, fetch.TooLarge, fetch.BadEncoding:
		return true
	}
	return false
}

// pathOf is what robots.txt rules are compared with: path and query.
func pathOf(target string) string {
	rest := strings.TrimPrefix(target, strings.TrimSuffix(canon.SiteURL(target), "/"))
	if rest == "" {
		return "/"
	}
	return rest
}
