// Package robotscache keeps the robots.txt of origins for the programs that request them.
//
//	answer, err := cache.Get(origin, valid, func() (*robotscache.Answer, error) {
//		response, err := client.Get(ctx, request)
//		return robotscache.NewAnswer(response, err, time.Now(), time.Hour), nil
//	})
//
// An origin is its scheme, host and port. Source: docs/spec/DECISIONS.md 6.2.
package robotscache

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/robots"
)

const (
	// maxOrigins bounds a Cache. A full one is cleared.
	maxOrigins = 1000
	// MaxBytes is the maximum size that is received. The part of a longer file is parsed
	// (RFC 9309 2.5 asks for at least 500 KiB).
	MaxBytes = 1 << 20
	// MaxRedirects is the maximum number of redirects (RFC 9309 2.3.1.2).
	MaxRedirects = 5
	// Retry is the pause after a robots.txt that is not available.
	Retry = 5 * time.Minute
)

// Cache keeps the answers of origins. The zero value is ready to use. It is safe for concurrent
// use.
type Cache struct {
	mu      sync.Mutex
	origins map[string]*entry
}

type entry struct {
	asking sync.Mutex // held during the request
	stored atomic.Pointer[Answer]
}

// Answer is how the request for a robots.txt ended. It does not change.
type Answer struct {
	Rules       *robots.Rules // nil with Err
	Err         error         // the origin did not answer, or not enough of it
	Asked, Ends time.Time
}

// NewAnswer interprets the response to a request, or its *fetch.Fault. The answer ends after ttl,
// or after Retry if the file is not available.
func NewAnswer(response *fetch.Response, err error, now time.Time, ttl time.Duration) *Answer {
	a := &Answer{Asked: now}
	if err == nil {
		a.Rules = robots.FromStatus(response.Code, response.Body)
	} else if a.Rules = partialRules(err); a.Rules == nil {
		a.Err = err
	}
	if a.Err != nil || a.Rules.Unavailable() {
		ttl = Retry
	}
	a.Ends = now.Add(ttl)
	return a
}

// partialRules returns the rules of a robots.txt that was not received whole, or nil.
func partialRules(err error) *robots.Rules {
	fault, ok := errors.AsType[*fetch.Fault](err)
	if !ok || fault.Partial == nil {
		return nil
	}
	switch kind := fault.Kind; {
	case fault.Code != 0 && (kind == fetch.TooLarge || kind == fetch.BadEncoding):
		return robots.FromStatus(fault.Code, fault.Partial.Body) // the received part contains rules
	case kind == fetch.TooManyRedirects, kind == fetch.RedirectLoop, kind == fetch.BadRedirect,
		kind == fetch.Guard && len(fault.Partial.Redirects) > 0: // a redirect to a refused address is no rule
		return robots.FromStatus(http.StatusNotFound, nil)
	}
	return nil
}

// Known returns the answer of an origin if there is one that valid accepts, otherwise nil.
func (c *Cache) Known(origin string, valid func(*Answer) bool) *Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.origins[origin].knownAnswer(valid)
}

// Get returns the answer that is known, or else that of ask. An origin is asked by one caller at
// a time. An error of ask is not kept.
func (c *Cache) Get(origin string, valid func(*Answer) bool, ask func() (*Answer, error)) (*Answer, error) {
	e := c.originEntry(origin)
	if a := e.knownAnswer(valid); a != nil {
		return a, nil
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if a := e.knownAnswer(valid); a != nil {
		return a, nil
	}
	a, err := ask()
	if err == nil {
		e.stored.Store(a)
	}
	return a, err
}

func (c *Cache) originEntry(origin string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.origins[origin]
	if e == nil {
		if c.origins == nil || len(c.origins) >= maxOrigins {
			c.origins = map[string]*entry{}
		}
		e = &entry{}
		c.origins[origin] = e
	}
	return e
}

func (e *entry) knownAnswer(valid func(*Answer) bool) *Answer {
	if e == nil {
		return nil
	}
	if a := e.stored.Load(); a != nil && valid(a) {
		return a
	}
	return nil
}
