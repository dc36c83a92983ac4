package politeclient

import (
	"context"
	"fmt"
	"net/url"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/robotscache"
)

// checkRobots returns an error if robots.txt forbids target or is not available, and applies its
// Crawl-delay.
func (v *visit) checkRobots(ctx context.Context, target string) error {
	u, err := parseURL(target)
	if err != nil {
		return err
	}
	origin := u.Scheme + "://" + u.Host
	valid := func(a *robotscache.Answer) bool { return v.Now().Before(a.Ends) }
	answer, err := v.robots.Get(origin, valid, func() (*robotscache.Answer, error) {
		response, err := v.askRobots(ctx, origin)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		return robotscache.NewAnswer(response, err, v.Now(), v.Config.RobotsTTL), nil
	})
	if err == nil {
		err = answer.Err
	}
	if err != nil {
		return notSent{fmt.Errorf("robots.txt of %s cannot be read: %w", origin, err), ErrLater}
	}
	if delay, ok := answer.Rules.Delay(v.Config.RobotsAgent); ok {
		v.delay = max(v.delay, delay)
	}
	if ok, line := answer.Rules.Allowed(v.Config.RobotsAgent, u.RequestURI()); !ok {
		reason := ErrForbidden
		if answer.Rules.Unavailable() {
			reason = ErrLater
		}
		return notSent{fmt.Errorf("robots.txt forbids %s: %s", target, line), reason}
	}
	return nil
}

// askRobots requests the robots.txt of an origin.
func (v *visit) askRobots(ctx context.Context, origin string) (*fetch.Response, error) {
	own := &visit{Client: v.Client, request: Request{Delay: v.request.Delay}, delay: v.delay}
	if err := own.acquireGates(ctx, origin); err != nil {
		return nil, err
	}
	defer func() { _ = own.leaveGates() }() // the next Acquire reports a broken gate
	return own.sendRequest(ctx, fetch.Request{
		URL: origin + "/robots.txt", MaxBytes: robotscache.MaxBytes, MaxRedirects: robotscache.MaxRedirects, InsecureTLS: v.request.InsecureTLS,
		Allow: func(ctx context.Context, next *url.URL) error {
			if err := own.leaveGates(); err != nil {
				return err
			}
			return own.acquireGates(ctx, next.String())
		},
	})
}
