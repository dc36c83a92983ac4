// Package politeclient sends single requests for programs that do not crawl. They keep what
// the crawler keeps: the egress guard, TLS verification, the gates of hosts and addresses, and
// robots.txt if the caller asks for it.
//
//	c := &politeclient.Client{Fetch: fetch.New(fetch.Config{}), Gates: gates, Config: cfg, Now: time.Now}
//	answer, err := c.Get(ctx, politeclient.Request{URL: "https://example.com/t.json", Delay: time.Second})
//
// Each request, redirect and robots.txt waits for the gate of its host, and holds it until the
// response was read. Sources: docs/spec/DECISIONS.md 6.1, 6.2, 6.7.
package politeclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hce/dc/canonical"
	"hce/dc/hostgate"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/robotscache"
)

// Config holds the settings of all requests.
type Config struct {
	RobotsAgent  string        // selects the group of a robots.txt
	RobotsTTL    time.Duration // how long a robots.txt is kept
	AddressNames int           // names that share an address without a gate; below 0: any number
	Timeout      time.Duration // of a request with its redirects, without the wait for gates
	MaxWait      time.Duration // for the gates of one request
}

// Client sends requests. Goroutines may share it. All fields are mandatory.
type Client struct {
	Fetch  *fetch.Client
	Gates  *hostgate.Gates
	Config Config
	Now    func() time.Time

	robots robotscache.Cache
}

// Request is one request. Only URL is mandatory.
type Request struct {
	URL         string
	Method      string // GET when empty
	Header      http.Header
	Body        []byte
	Delay       time.Duration // least gap between two requests to the host
	MaxBytes    int64         // of the decoded body; 0: the limit of the fetch.Client
	HeaderOnly  bool          // the body is not read
	InsecureTLS bool          // certificates are not checked
	Robots      bool          // robots.txt of every host on the way decides
	NoRedirects bool          // a redirect is the answer, without its body; also one to nowhere
}

// Reasons why a request was not sent. Errors of Get wrap them.
var (
	// ErrForbidden means that robots.txt forbids the URL.
	ErrForbidden = errors.New("robots.txt forbids it")
	// ErrURL means that the URL cannot be requested.
	ErrURL = errors.New("not a URL with a host")
	// ErrLater means that the host may not be asked now: its robots.txt is not available, or its
	// gate stayed closed for MaxWait.
	ErrLater = errors.New("the host may not be asked now")
)

// notSent is an error that is also its reason.
type notSent struct {
	error
	reason error
}

// Unwrap returns the error and the reason.
func (n notSent) Unwrap() []error { return []error{n.error, n.reason} }

// maxRedirects is the most redirects of a request.
const maxRedirects = 10

// Get sends a request and follows its redirects. Any status is an answer. The error is a
// *fetch.Fault, or says why the request was not sent. ctx limits all.
func (c *Client) Get(ctx context.Context, r Request) (*fetch.Response, error) {
	limited, cancel := context.WithTimeout(ctx, c.Config.Timeout+c.Config.MaxWait)
	defer cancel()
	response, err := c.getURL(limited, r)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no answer within %v, with the wait for other requests: %w", c.Config.Timeout+c.Config.MaxWait, err)
	}
	return response, err
}

func (c *Client) getURL(ctx context.Context, r Request) (*fetch.Response, error) {
	v := &visit{Client: c, request: r}
	if err := v.enterGates(ctx, r.URL); err != nil {
		return nil, err
	}
	defer func() { _ = v.leaveGates() }() // the next Acquire reports a broken gate
	most := maxRedirects
	if r.NoRedirects {
		most = 0
	}
	return v.sendRequest(ctx, fetch.Request{
		URL: r.URL, Method: r.Method, Header: r.Header, Body: r.Body, MaxBytes: r.MaxBytes, HeaderOnly: r.HeaderOnly,
		MaxRedirects: most, InsecureTLS: r.InsecureTLS,
		Allow: func(ctx context.Context, next *url.URL) error {
			if err := v.leaveGates(); err != nil {
				return err
			}
			return v.enterGates(ctx, next.String())
		},
	})
}

// visit is one request at its host, and at the hosts that it is redirected to.
type visit struct {
	*Client
	request Request
	passes  []*hostgate.Pass // of the host and its addresses
	delay   time.Duration    // the longer one of Request.Delay and the Crawl-delay of the host
	hold    time.Duration    // the pause that the last answer asks for
}

// sendRequest sends a request whose gates are held.
func (v *visit) sendRequest(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	r.Timeout = v.Config.Timeout
	response, err := v.Fetch.Get(ctx, r)
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && v.request.NoRedirects && isRedirect(fault) {
		response, err = fault.Partial, nil
	}
	if err == nil && (response.Code == http.StatusTooManyRequests || response.Code == http.StatusServiceUnavailable) {
		v.hold, _ = response.RetryAfter(v.Now()) // hostgate bounds it
	}
	return response, err
}

// isRedirect reports whether a fault is a redirect that was not followed.
func isRedirect(f *fetch.Fault) bool {
	return f.Partial != nil && (f.Kind == fetch.TooManyRedirects || f.Kind == fetch.BadRedirect)
}

// enterGates waits until target may be requested: robots.txt, the gate of its host, those of its
// addresses.
func (v *visit) enterGates(ctx context.Context, target string) error {
	v.delay = v.request.Delay
	if v.request.Robots {
		if err := v.checkRobots(ctx, target); err != nil {
			return err
		}
	}
	return v.acquireGates(ctx, target)
}

// parseURL parses a URL.
func parseURL(target string) (*url.URL, error) {
	u, err := fetch.ParseURL(target)
	if err != nil {
		return nil, notSent{fmt.Errorf("%.200q is not a URL with a host: %w", target, err), ErrURL}
	}
	return u, nil
}

// acquireGates waits for the gates of target, at most MaxWait.
func (v *visit) acquireGates(ctx context.Context, target string) error {
	u, err := parseURL(target)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, v.Config.MaxWait)
	defer cancel()
	host := canonical.Host(target)
	pass, err := v.Gates.Acquire(waiting, host, v.delay, 1)
	if err == nil {
		v.passes = append(v.passes, pass)
		err = v.acquireAddresses(waiting, u.Hostname())
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, v.leaveGates())
	if waiting.Err() != nil && ctx.Err() == nil {
		return notSent{fmt.Errorf("%s may not be requested within %v: other requests, or a pause that it asked for", host, v.Config.MaxWait), ErrLater}
	}
	return err
}

// acquireAddresses waits for the gates that a host shares with other names of its addresses, as
// the crawler does. A name without an address has none; its request fails.
func (v *visit) acquireAddresses(ctx context.Context, name string) error {
	if v.request.Delay <= 0 || v.Config.AddressNames < 0 {
		return nil
	}
	list, err := v.Fetch.Addresses(ctx, name)
	if err != nil {
		return ctx.Err()
	}
	for _, addr := range list {
		pass, err := v.Gates.AcquireAddress(ctx, name, addr, v.Config.AddressNames, v.request.Delay, 1)
		if err != nil {
			return err
		}
		if pass != nil {
			v.passes = append(v.passes, pass)
		}
	}
	return nil
}

// leaveGates releases the gates that are held. The gate of the host, which is the first, stays closed
// for the pause that the answer asked for.
func (v *visit) leaveGates() error {
	var errs []error
	for i, pass := range slices.Backward(v.passes) {
		gap := v.request.Delay
		if i == 0 {
			gap = max(v.delay, v.hold)
		}
		errs = append(errs, pass.Release(gap))
	}
	v.passes, v.hold = nil, 0
	return errors.Join(errs...)
}
