package crawl

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/robots"
)

// knownRules returns the rules of an origin that were fetched before, or nil. An error of its server is
// no rule about links.
func (r *environment) knownRules(origin string) *robots.Rules {
	if a := r.robots.Known(origin, r.isValidRobots); a != nil && !a.Rules.Unavailable() {
		return a.Rules
	}
	return nil
}

// isValidRobots reports whether an answer counts. Rules that were fetched for this batch stay valid until
// it ends (docs/spec/steps.md 1 #11), except those of a server that is not available.
func (r *environment) isValidRobots(a *robotscache.Answer) bool {
	return !a.Asked.Before(r.start) && !a.Rules.Unavailable() || r.Now().Before(a.Ends)
}

// checkRobots returns an error if robots.txt disallows target, and applies its Crawl-delay. An origin
// that cannot be reached gets no further request in this batch. If its server answers with an error
// or asks for patience, the item is put off (RFC 9309 2.3.1.4).
func (v *visit) checkRobots(ctx context.Context, target string) error {
	if !v.settings.Robots {
		return nil
	}
	answer, err := v.robotsRules(ctx, target)
	if err != nil {
		return err
	}
	rules, until := answer.Rules, time.Time{}
	if rules.Unavailable() {
		until = answer.Ends
	}
	if delay, ok := rules.Delay(v.settings.Agent); ok && delay > v.delay {
		v.delay = delay
	}
	_, path := splitOrigin(target)
	if ok, line := rules.Allowed(v.settings.Agent, path); !ok {
		return refusal{bits: errormask.Robots, forbids: target, back: rules.Unavailable(), until: until, reason: "robots.txt forbids " + target + ": " + line}
	}
	return nil
}

// robotsRules returns the rules for target, and requests them if they are not known. The gate of its host
// knows the Crawl-delay before it opens for the page.
func (v *visit) robotsRules(ctx context.Context, target string) (*robotscache.Answer, error) {
	origin, _ := splitOrigin(target)
	if kept := v.keptRobots(v.item, origin); kept != nil {
		return &robotscache.Answer{Rules: kept}, nil
	}
	return v.robots.Get(origin, v.isValidRobots, func() (*robotscache.Answer, error) { return v.askRobots(ctx, origin, target) })
}

func (v *visit) askRobots(ctx context.Context, origin, target string) (*robotscache.Answer, error) {
	if reason, down := v.down.Load(origin); down {
		return nil, reason.(error)
	}
	if err := v.enterGates(ctx, target); err != nil {
		return nil, err
	}
	r := v.newRequest(origin+"/robots.txt", cookies.Robots)
	r.MaxRedirects, r.MaxBytes = robotscache.MaxRedirects, robotscache.MaxBytes
	r.Allow = func(ctx context.Context, next *url.URL) error {
		v.leaveAll()
		return v.enterGates(ctx, next.String())
	}
	defer v.leaveAll()
	response, err := v.sendRequest(v.running, r)
	if cutOff(ctx, err) {
		return nil, err
	}
	a := robotscache.NewAnswer(response, err, v.Now(), v.Config.RobotsTTL)
	if a.Err != nil {
		if !proxyFailed(err) && !v.mayReturn(mostTries) { // otherwise another proxy or request may work
			v.down.Store(origin, err)
		}
		return nil, err
	}
	if response != nil && a.Rules.Unavailable() {
		v.robotsLater(&a.Ends, response)
	}
	if delay, ok := a.Rules.Delay(v.settings.Agent); ok && v.host == canonical.Host(target) {
		v.hold = max(v.hold, delay)
	}
	return a, nil
}

// keptRobots returns the rules of a file for ROBOTS_CACHE, {"robots.txt": {content: uses}}; the
// most used content counts. It returns nil if there is no file or the site does not enable it
// (docs/spec/crawling.md 4.1).
func (r *environment) keptRobots(it *item, origin string) *robots.Rules {
	if r.Config.RobotsDir == "" || !it.settings.RobotsCache {
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

// splitOrigin cuts a URL into its origin (scheme, host and port) and the path with query that
// robots.txt rules match.
func splitOrigin(target string) (origin, path string) {
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
