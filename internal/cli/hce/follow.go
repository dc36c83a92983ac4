package hce

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

const (
	pollEvery   = time.Second // between two looks at the site, at most
	firstPoll   = 100 * time.Millisecond
	sampleEvery = 5 * time.Second  // between two looks at errors and hosts
	lineEvery   = 5 * time.Second  // between two lines without a terminal
	rateTime    = 30 * time.Second // over which the rate is measured
	stallLimit  = 15 * time.Minute // without any change
	beginLimit  = 2 * time.Minute  // without any change before the first page
	quietTime   = 5 * time.Second  // without any change: look for the reason
	sampled     = 50               // pages of a look at the hosts
	mostErrors  = 2000             // rows whose causes are counted
)

// progress is what hce crawl shows.
type progress struct {
	at       time.Time
	Site     wire.Site
	Done     int64 // URLs that were fetched or failed
	Rate     float64
	Causes   map[string]int64
	SlowHost string
	SlowTime time.Duration // mean time of a page of SlowHost
	Why      string        // URLs wait although nothing happens: the last failure
}

// queue is the number of URLs that wait.
func (p progress) queue() int64 { return p.Site.NewURLs }

// line describes the progress in one line.
func (p progress) line() string {
	parts := []string{
		fmt.Sprintf("%d done", p.Done), count(p.Site.Contents, "page", "pages"), fmt.Sprintf("%d waiting", p.queue()), fmt.Sprintf("%.1f/s", p.Rate),
	}
	if p.Site.Errors > 0 {
		text := count(p.Site.Errors, "error", "errors")
		if causes := livescreen.CausesText(p.Causes); causes != "" {
			text += " (" + causes + ")"
		}
		parts = append(parts, text)
	}
	if p.SlowTime >= time.Millisecond {
		parts = append(parts, fmt.Sprintf("slowest %s %s", p.SlowHost, p.SlowTime.Round(time.Millisecond)))
	}
	if p.Why != "" {
		parts = append(parts, "waiting because: "+p.Why)
	} else if left := p.left(); left > 0 {
		parts = append(parts, "about "+left.String()+" left")
	}
	return strings.Join(parts, ", ")
}

// left estimates the time that the known URLs need, 0 if unknown.
func (p progress) left() time.Duration {
	if p.Rate <= 0 || p.queue() == 0 {
		return 0
	}
	left := time.Duration(float64(p.queue()) / p.Rate * float64(time.Second))
	if left > time.Minute {
		return left.Round(time.Minute)
	}
	return left.Round(time.Second)
}

// follower watches one site until it is done.
type follower struct {
	c       *crawl
	ask     client.Service
	now     progress
	history []progress // of rateTime
	hosts   hostTimes
	sampled time.Time
	changed time.Time
	counted int64 // errors of the site when their causes were counted
}

// follow shows the progress until the site has no work left. It returns ctx.Err() when ctx is done.
func (c *crawl) follow() error {
	f := &follower{c: c, ask: c.service, hosts: hostTimes{}, changed: time.Now()}
	var ended <-chan struct{}
	if c.daemon != nil {
		ended = c.daemon.Ended()
	}
	width := 0
	if file, ok := c.talk.(*os.File); ok {
		width = livescreen.Width(file)
	}
	show := &lines{c: c, width: width}
	defer show.end()
	for {
		done, err := f.look()
		if err != nil {
			return err
		}
		show.show(f.now, done)
		if done {
			return nil
		}
		select {
		case <-c.ctx.Done():
			return context.Canceled
		case <-ended:
			return errors.New("dc-daemon has ended in the middle of the crawl; see " + c.node.LogDir() + "/dc-daemon.log. The same command continues")
		case <-time.After(min(max(time.Since(c.began)/10, firstPoll), pollEvery)): // a small site ends at once
		}
	}
}

// look reads the counters. done means that the site has no work left.
func (f *follower) look() (done bool, err error) {
	site, found, err := f.c.status(f.c.site.ID, "urls", "filters", "properties")
	var part *client.Incomplete
	switch {
	case errors.As(err, &part): // its hosts rest until the node is back
		return false, f.without(part)
	case err != nil:
		return false, f.orCanceled(err)
	case !found:
		return false, command.Refuse("site %s was deleted during its crawl", f.c.site.ID)
	}
	f.add(site, time.Now())
	if err = f.sample(); err == nil {
		done, err = f.done(site)
	}
	if errors.As(err, &part) {
		return false, f.without(part)
	}
	return done, f.orCanceled(err)
}

// without notes that nodes of a cluster are away.
func (f *follower) without(part *client.Incomplete) error {
	f.now.at, f.now.Why = time.Now(), strings.Join(part.Missing, "; ")
	f.sampled = time.Time{} // forgets the reason when the node is back
	return f.stalled()
}

func (f *follower) orCanceled(err error) error {
	if err != nil && f.c.ctx.Err() != nil {
		return context.Canceled
	}
	return err
}

// add takes new counters.
func (f *follower) add(site wire.Site, at time.Time) {
	if site.CollectedURLs != f.now.Site.CollectedURLs || site.NewURLs != f.now.Site.NewURLs || site.Contents != f.now.Site.Contents || site.Errors != f.now.Site.Errors {
		f.changed = at
	}
	f.now.at, f.now.Site = at, site
	f.now.Done = max(0, site.CollectedURLs+int64(len(f.c.site.URLs))-site.NewURLs-site.CrawlingURLs)
	f.history = append(f.history, f.now)
	for len(f.history) > 2 && at.Sub(f.history[0].at) > rateTime {
		f.history = f.history[1:]
	}
	first := f.history[0]
	if passed := at.Sub(first.at).Seconds(); passed > 0 {
		f.now.Rate = max(0, float64(f.now.Done-first.Done)/passed)
	}
}

// sample looks at some pages, to find the slowest host, and at the causes of errors.
func (f *follower) sample() error {
	if f.now.at.Sub(f.sampled) < sampleEvery {
		return nil
	}
	f.sampled = f.now.at
	f.now.Why = ""
	if f.now.at.Sub(f.changed) >= quietTime && f.c.daemon != nil {
		f.now.Why = f.c.daemon.Reason(f.c.ctx, f.c.site.ID)
	}
	rows, err := pages.RowsOf(f.c.ctx, f.ask, []pages.Query{pages.Sample(f.c.site.ID, f.now.Site.AVGSpeedCounter, sampled)})
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.hosts.add(row)
	}
	f.now.SlowHost, f.now.SlowTime = f.hosts.slowest()
	if f.now.Site.Errors == f.counted {
		return nil
	}
	f.counted = f.now.Site.Errors
	failed, err := pages.Rows(f.c.ctx, f.ask, f.c.site.ID, "`ErrorMask`<>0", "", mostErrors)
	if err != nil {
		return err
	}
	f.now.Causes = causes(failed)
	return nil
}

// hostTimes are the times of sampled pages by host.
type hostTimes map[string]hostTime

type hostTime struct {
	sum time.Duration
	n   int64
}

// add counts a page. Without a time it was not fetched, or took less than a millisecond.
func (t hostTimes) add(row wire.URL) {
	u, err := url.Parse(row.URL)
	if err != nil || row.CrawlingTime == 0 {
		return
	}
	h := t[u.Host]
	t[u.Host] = hostTime{h.sum + time.Duration(row.CrawlingTime)*time.Millisecond, h.n + 1}
}

// slowest returns the host with the largest mean time of a page.
func (t hostTimes) slowest() (host string, mean time.Duration) {
	for name, h := range t {
		if m := h.sum / time.Duration(h.n); m > mean || m == mean && name < host {
			host, mean = name, m
		}
	}
	return host, mean
}

// leftOut are bits of URLs that did not fail: a rule or a limit left them out.
const leftOut = wire.ErrRobots | wire.ErrFiltersBreak | wire.ErrMaxURLsFromPage | wire.ErrUnsupportedType | wire.ErrRawNotStored | wire.ErrBadEncoding | wire.ErrMaxItems | wire.ErrSiteMaxResources

// causes counts the bits of rows by name.
func causes(rows []wire.URL) map[string]int64 {
	all := map[string]int64{}
	for _, row := range rows {
		for _, name := range row.ErrorMask.Names() {
			all[name]++
		}
	}
	return all
}

// done reports whether the site has no work left: no URL is new or in a batch, or waits to be
// processed. A site that a limit has suspended gets no new work.
func (f *follower) done(site wire.Site) (bool, error) {
	conditions := []string{wire.InFlight}
	if site.State == wire.SiteActive {
		if site.NewURLs > 0 {
			return false, f.stalled()
		}
		// In the order in which rows move on: a row that a selection takes between two looks is
		// seen by the second one.
		conditions = []string{"(" + wire.DueCrawl + ") OR " + wire.InFlight, wire.InFlight + " OR (" + wire.DueProcess + ")"}
	}
	for _, where := range conditions {
		rows, err := pages.Rows(f.c.ctx, f.ask, site.ID, where, "", 1)
		if err != nil {
			return false, err
		}
		if len(rows) > 0 {
			return false, f.stalled()
		}
	}
	return true, nil
}

// stalled is an error if nothing has changed for long.
func (f *follower) stalled() error {
	limit := stallLimit
	if f.now.Done == 0 {
		limit = beginLimit
	}
	if f.now.at.Sub(f.changed) < limit {
		return nil
	}
	why := f.now.Why
	if why == "" {
		why = "the host may be down, or put requests off (robots.txt)"
	}
	return fmt.Errorf("nothing has changed for %s, and %s: %s. Look at them with: hce url ls %s --status new. The same command continues",
		limit, count(f.now.queue(), "URL waits", "URLs wait"), why, f.c.site.ID)
}

// lines shows the progress: one line that is rewritten on a terminal, else plain lines.
type lines struct {
	c     *crawl
	width int // 0 without a terminal
	last  time.Time
	open  bool // the cursor is behind a line
}

func (l *lines) show(p progress, done bool) {
	switch {
	case l.c.json && !done && l.width == 0:
	case l.width > 0:
		fmt.Fprintf(l.c.talk, "\r%s\x1b[K", cut(clean(p.line()), l.width-1))
		l.open = true
	case done || l.last.IsZero() || p.at.Sub(l.last) >= lineEvery:
		fmt.Fprintln(l.c.talk, clean(p.line()))
		l.last = p.at
	}
}

// end ends the line of a terminal.
func (l *lines) end() {
	if l.open {
		fmt.Fprintln(l.c.talk)
	}
}
