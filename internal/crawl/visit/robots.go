package visit

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/robots"
)

// KnownRules returns the rules of an origin that were fetched before, or nil. An error of its server is
// no rule about links.
func (r *Environment) KnownRules(origin string) *robots.Rules {
	if a := r.Robots.Known(origin, r.isValidRobots); a != nil && !a.Rules.Unavailable() {
		return a.Rules
	}
	return nil
}

// isValidRobots reports whether an answer counts. Rules that were fetched for this batch stay valid until
// it ends (docs/spec/steps.md 1 #11), except those of a server that is not available.
func (r *Environment) isValidRobots(a *robotscache.Answer) bool {
	return !a.Asked.Before(r.Start) && !a.Rules.Unavailable() || r.Now().Before(a.Ends)
}

// checkRobots returns an error if robots.txt disallows target, and applies its Crawl-delay. An origin
// that cannot be reached gets no further request in this batch. If its server answers with an error
// or asks for patience, the item is put off (RFC 9309 2.3.1.4).
func (v *Visit) checkRobots(ctx context.Context, target string) error {
	if !v.Settings.Robots {
		return nil
	}
	answer, err := v.RobotsRules(ctx, target)
	if err != nil {
		return err
	}
	rules, until := answer.Rules, time.Time{}
	if rules.Unavailable() {
		until = answer.Ends
	}
	if delay, ok := rules.Delay(v.Settings.Agent); ok && delay > v.Delay {
		v.Delay = delay
	}
	_, path := SplitOrigin(target)
	if ok, line := rules.Allowed(v.Settings.Agent, path); !ok {
		return Refusal{Bits: errormask.Robots, Forbids: target, Back: rules.Unavailable(), Until: until, reason: "robots.txt forbids " + target + ": " + line}
	}
	return nil
}

// RobotsRules returns the rules for target, and requests them if they are not known. The gate of its host
// knows the Crawl-delay before it opens for the page.
func (v *Visit) RobotsRules(ctx context.Context, target string) (*robotscache.Answer, error) {
	origin, _ := SplitOrigin(target)
	if kept := v.Env.KeptRobots(v.Item, origin); kept != nil {
		return &robotscache.Answer{Rules: kept}, nil
	}
	return v.Env.Robots.Get(origin, v.Env.isValidRobots, func() (*robotscache.Answer, error) { return v.askRobots(ctx, origin, target) })
}

func (v *Visit) askRobots(ctx context.Context, origin, target string) (*robotscache.Answer, error) {
	if reason, down := v.Env.down.Load(origin); down {
		return nil, reason.(error)
	}
	if err := v.enterGates(ctx, target); err != nil {
		return nil, err
	}
	r := v.NewRequest(origin+"/robots.txt", cookies.Robots)
	r.MaxRedirects, r.MaxBytes = robotscache.MaxRedirects, robotscache.MaxBytes
	r.Allow = func(ctx context.Context, next *url.URL) error {
		v.LeaveAll()
		return v.enterGates(ctx, next.String())
	}
	defer v.LeaveAll()
	response, err := v.SendRequest(v.Env.Running, r)
	if CutOff(ctx, err) {
		return nil, err
	}
	a := robotscache.NewAnswer(response, err, v.Env.Now(), v.Env.Config.RobotsTTL)
	if a.Err != nil {
		if !proxyFailed(err) && !v.mayReturn(mostTries) { // otherwise another proxy or request may work
			v.Env.down.Store(origin, err)
		}
		return nil, err
	}
	if response != nil && a.Rules.Unavailable() {
		v.robotsLater(&a.Ends, response)
	}
	if delay, ok := a.Rules.Delay(v.Settings.Agent); ok && v.host == canonical.Host(target) {
		v.hold = max(v.hold, delay)
	}
	return a, nil
}

// KeptRobots returns the rules of a file for ROBOTS_CACHE, {"robots.txt": {content: uses}}; the
// most used content counts. It returns nil if there is no file or the site does not enable it
// (docs/spec/crawling.md 4.1).
func (r *Environment) KeptRobots(it *item.Item, origin string) *robots.Rules {
	if r.Config.RobotsDir == "" || !it.Settings.RobotsCache {
		return nil
	}
	path := filepath.Join(r.Config.RobotsDir, statefile.Name(canonical.Host(origin)), statefile.Name(it.SiteID)+".json")
	var kept map[string]map[string]prop.Int
	if err := (statefile.Files{}).Read(path, &kept); err != nil {
		r.Log.Warn("cannot read robots.txt file of ROBOTS_CACHE", "file", path, "error", err)
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
