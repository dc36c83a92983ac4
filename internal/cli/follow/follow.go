// Package follow waits for the end of a site's crawl: of the engine, of a daemon, and of the archive.
//
//	f := follow.Follower{Service: daemon, Site: id, Roots: 1, Crawler: daemon}
//	err := f.Run(ctx)
//
// A crawl has ended when no URL of the site is new, in a batch or waits to be processed. A crawl in which
// nothing changes for long is an error, Stalled, which says why as far as the programs know.
package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

const (
	pollEvery   = time.Second // between two looks at the site, at most
	firstPoll   = 100 * time.Millisecond
	reasonEvery = 5 * time.Second  // between two looks for the reason
	pausedEvery = 5 * time.Second  // between two looks at URLs that are asked again later
	quietTime   = 5 * time.Second  // without any change: look for the reason
	stallLimit  = 15 * time.Minute // without any change
	beginLimit  = 2 * time.Minute  // without any change before the first page
)

// Errors of Run.
var (
	ErrDeleted = errors.New("was deleted during its crawl")
	ErrEnded   = errors.New("dc-daemon has ended in the middle of the crawl")
)

// Stalled means that nothing has changed for long.
type Stalled struct {
	Limit   time.Duration
	Waiting int64 // URLs
	Why     string
}

func (e *Stalled) Error() string {
	waiting := "1 URL waits"
	if e.Waiting != 1 {
		waiting = fmt.Sprintf("%d URLs wait", e.Waiting)
	}
	return fmt.Sprintf("nothing has changed for %s, and %s: %s", e.Limit, waiting, e.Why)
}

// Look is what one look at the site has found.
type Look struct {
	At      time.Time
	Site    wire.Site // without URLs, filters and properties
	Done    int64     // URLs that were fetched or failed
	Why     string    // URLs wait although nothing happens: the last failure
	Paused  Paused
	Changed time.Time // when a counter has changed
}

// Paused are URLs that are asked again later, because of their last answer or that of their host.
type Paused struct {
	Causes map[string]int64 // URLs by cause (docs/properties.md, RETRY); at most mostPaused are counted
	URLs   int64
	Next   time.Time // when the first one may be asked; zero: none waits
	Last   time.Time // when the last one may be asked
}

// mostPaused bounds the URLs that are read for a Paused.
const mostPaused = 1000

// Crawler is what crawls.
type Crawler interface {
	Ended() <-chan struct{} // closed when it has ended; nil: it does not end before its follower
	// Reason says why nothing of a site is fetched; "" if nothing is known.
	Reason(ctx context.Context, site string) string
}

// Follower follows one crawl. One goroutine uses it.
type Follower struct {
	Service     service.Service
	Site        string
	Roots       int     // number of root URLs
	Crawler     Crawler // nil: it runs elsewhere
	Unprocessed bool    // pages are stored and not processed
	// Show, if not nil, is called after each look. An error ends Run.
	Show func(look Look, done bool) error

	now     Look
	sampled time.Time
	looked  time.Time // for Paused
}

// Run returns when the site has no work left. It returns the cause of ctx when ctx is done.
func (f *Follower) Run(ctx context.Context) error {
	began := time.Now()
	f.now.Changed = began
	var ended <-chan struct{}
	if f.Crawler != nil {
		ended = f.Crawler.Ended()
	}
	for {
		done, err := f.readCounters(ctx)
		if err == nil && f.Show != nil {
			err = f.Show(f.now, done)
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return ErrEnded
		case <-time.After(min(max(time.Since(began)/10, firstPoll), pollEvery)): // a small site ends at once
		}
	}
}

// readCounters reads the counters. done means that the site has no work left.
func (f *Follower) readCounters(ctx context.Context) (done bool, err error) {
	var site wire.Site
	exclude := []string{"urls", "filters", "properties"}
	if f.Unprocessed {
		exclude = append(exclude, "finished")
	}
	request := map[string]any{"id": f.Site, "deleteTaskId": nil, "excludeList": exclude}
	err = f.Service.Ask(ctx, wire.SiteStatus, request, &site)
	if err == nil && site.State == wire.SiteNotFound {
		return false, fmt.Errorf("site %s %w", f.Site, ErrDeleted)
	}
	if err == nil {
		f.addCounters(site, time.Now())
		f.findReason(ctx)
		if err = f.findPaused(ctx); err == nil {
			done, err = f.isDone()
		}
	}
	var part *service.Incomplete
	if errors.As(err, &part) { // its hosts rest until the node is back
		f.now.At, f.now.Why = time.Now(), strings.Join(part.Missing, "; ")
		f.sampled = time.Time{} // forgets the reason when the node is back
		return false, f.checkStall()
	}
	return done, err
}

// addCounters takes new counters.
func (f *Follower) addCounters(site wire.Site, at time.Time) {
	last := f.now.Site
	if site.CollectedURLs != last.CollectedURLs || site.NewURLs != last.NewURLs || site.Contents != last.Contents || site.Errors != last.Errors ||
		f.Unprocessed && site.CrawlingURLs != last.CrawlingURLs {
		f.now.Changed = at
	}
	f.now.At, f.now.Site = at, site
	f.now.Done = max(0, site.CollectedURLs+int64(f.Roots)-site.NewURLs-site.CrawlingURLs)
}

// findReason looks now and then why nothing happens.
func (f *Follower) findReason(ctx context.Context) {
	if f.now.At.Sub(f.sampled) < reasonEvery {
		return
	}
	f.sampled, f.now.Why = f.now.At, ""
	if f.now.At.Sub(f.now.Changed) >= quietTime && f.Crawler != nil {
		f.now.Why = f.Crawler.Reason(ctx, f.Site)
	}
}

// findPaused looks now and then which URLs wait for their next request. While one waits, the crawl is
// not stalled.
func (f *Follower) findPaused(ctx context.Context) error {
	if f.now.Site.NewURLs == 0 || f.now.Site.State != wire.SiteActive {
		f.now.Paused = Paused{}
		return nil
	}
	if f.now.At.Sub(f.looked) >= pausedEvery {
		rows, err := pages.Rows(ctx, f.Service, f.Site, wire.Paused, "RetryDate", mostPaused)
		if err != nil {
			return err
		}
		f.looked, f.now.Paused = f.now.At, pausedOf(rows)
	}
	if f.now.Paused.Last.After(f.now.At) {
		f.now.Changed = f.now.At
	}
	return nil
}

// pausedOf counts rows that wait.
func pausedOf(rows []wire.URL) Paused {
	p := Paused{URLs: int64(len(rows)), Causes: map[string]int64{}}
	for _, row := range rows {
		at, _ := row.RetryDate.Time()
		if p.Causes[row.RetryCause]++; p.Next.IsZero() || at.Before(p.Next) {
			p.Next = at
		}
		if at.After(p.Last) {
			p.Last = at
		}
	}
	return p
}

// Line describes the URLs that wait at now; "" if none does. A cause is a code, or a word.
func (p Paused) Line(now time.Time) string {
	if p.URLs == 0 {
		return ""
	}
	var causes []string
	for _, cause := range slices.Sorted(maps.Keys(p.Causes)) {
		causes = append(causes, fmt.Sprintf("%s: %d", cause, p.Causes[cause]))
	}
	wait := max(p.Next.Sub(now), 0).Round(time.Second)
	return fmt.Sprintf("%d asked again later (%s), the next in %s", p.URLs, strings.Join(causes, ", "), wait)
}

// isDone reports whether the site has no work left. If pages are never processed, those that wait are no work.
func (f *Follower) isDone() (bool, error) {
	site := f.now.Site
	done := site.Finished != nil && *site.Finished
	if f.Unprocessed {
		done = site.CrawlingURLs+site.ProcessingURLs == 0 && (site.NewURLs == 0 || site.State != wire.SiteActive)
	}
	if done {
		return true, nil
	}
	return false, f.checkStall()
}

// checkStall is an error if nothing has changed for long.
func (f *Follower) checkStall() error {
	limit := stallLimit
	if f.now.Done == 0 {
		limit = beginLimit
	}
	if f.now.At.Sub(f.now.Changed) < limit {
		return nil
	}
	why := f.now.Why
	if why == "" {
		why = "the host may be down, or put requests off (robots.txt)"
	}
	return &Stalled{limit, f.now.Site.NewURLs, why}
}
