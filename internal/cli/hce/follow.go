package hce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
)

const (
	pollEvery   = time.Second      // between two looks at a site
	sampleEvery = 5 * time.Second  // between two looks at errors and hosts
	lineEvery   = 5 * time.Second  // between two lines without a terminal
	rateTime    = 30 * time.Second // over which the rate is measured
	sampled     = 50               // pages of a look at the hosts
	mostErrors  = 2000             // rows whose causes are counted
)

// progress is what hce crawl shows.
type progress struct {
	follow.Look
	Rate     float64
	Causes   map[string]int64
	SlowHost string
	SlowTime time.Duration // mean time of a page of SlowHost
}

// queueLength is the number of URLs that wait.
func (p progress) queueLength() int64 { return p.Site.NewURLs }

// describeLine describes the progress in one line.
func (p progress) describeLine() string {
	parts := []string{
		fmt.Sprintf("%d done", p.Done), plaintext.Count(p.Site.Contents, "page", "pages"), fmt.Sprintf("%d waiting", p.queueLength()), fmt.Sprintf("%.1f/s", p.Rate),
	}
	if p.Site.Errors > 0 {
		text := plaintext.Count(p.Site.Errors, "error", "errors")
		if causes := livescreen.CausesText(p.Causes); causes != "" {
			text += " (" + causes + ")"
		}
		parts = append(parts, text)
	}
	if p.SlowTime >= time.Millisecond {
		parts = append(parts, fmt.Sprintf("slowest %s %s", p.SlowHost, p.SlowTime.Round(time.Millisecond)))
	}
	if text := p.Paused.Line(p.At); text != "" {
		parts = append(parts, text)
	}
	if p.Why != "" {
		parts = append(parts, "waiting because: "+p.Why)
	} else if left := p.estimateLeft(); left > 0 {
		parts = append(parts, "about "+left.String()+" left")
	}
	return strings.Join(parts, ", ")
}

// estimateLeft estimates the time that the known URLs need, 0 if unknown. It is no shorter than the last pause.
func (p progress) estimateLeft() time.Duration {
	ready := p.queueLength() - p.Paused.URLs
	if p.queueLength() == 0 || p.Rate <= 0 && ready > 0 {
		return 0
	}
	left := max(p.Paused.Last.Sub(p.At), 0)
	if ready > 0 {
		left = max(left, time.Duration(float64(ready)/p.Rate*float64(time.Second)))
	}
	if left > time.Minute {
		return left.Round(time.Minute)
	}
	return left.Round(time.Second)
}

// follower shows the progress of one site.
type follower struct {
	c       *crawl
	now     progress
	history []progress // of rateTime
	hosts   causes.Hosts
	sampled time.Time
	counted int64 // errors of the site when their causes were counted
}

// followCrawl crawls, or lets the daemon crawl, and shows the progress until the site has no work left. It returns context.Canceled when ctx is done.
func (c *crawl) followCrawl() error {
	width := 0
	if file, ok := c.Talk.(*os.File); ok {
		width = livescreen.Width(file)
	}
	show := &lines{c: c, width: width}
	defer show.endLine()
	f := &follower{c: c, hosts: causes.Hosts{}}
	showLook := func(look follow.Look, done bool) error {
		f.addLook(look)
		var part *service.Incomplete // the follower has noted it
		if err := f.samplePages(); err != nil && !errors.As(err, &part) {
			return err
		}
		show.showProgress(f.now, done)
		return c.events.showProgress(c.Ctx, f.now, done)
	}
	var err error
	if c.engine != nil {
		err = c.engine.Crawl(c.Ctx, c.site, nil, showLook)
	} else {
		err = (&follow.Follower{Service: c.Service, Site: c.site.ID, Roots: len(c.site.URLs), Show: showLook}).Run(c.Ctx)
	}
	switch {
	case c.Ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, follow.ErrDeleted):
		return command.Refusal{Err: err}
	}
	if stalled, is := errors.AsType[*follow.Stalled](err); is {
		return fmt.Errorf("%w. The same command continues; look at them with: %s", stalled, c.CommandHint("url", "ls", c.site.ID, "--status", "new"))
	}
	return err
}

// addLook takes what a look has found.
func (f *follower) addLook(look follow.Look) {
	f.now.Look = look
	f.history = append(f.history, f.now)
	for len(f.history) > 2 && look.At.Sub(f.history[0].At) > rateTime {
		f.history = f.history[1:]
	}
	first := f.history[0]
	if passed := look.At.Sub(first.At).Seconds(); passed > 0 {
		f.now.Rate = max(0, float64(look.Done-first.Done)/passed)
	}
}

// samplePages looks at some pages, to find the slowest host, and at the causes of errors.
func (f *follower) samplePages() error {
	if f.now.At.Sub(f.sampled) < sampleEvery {
		return nil
	}
	f.sampled = f.now.At
	rows, err := pages.RowsOf(f.c.Ctx, f.c.Service, []pages.Query{pages.Sample(f.c.site.ID, f.now.Site.AVGSpeedCounter, sampled)})
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.hosts.AddPage(row)
	}
	f.now.SlowHost, f.now.SlowTime = f.hosts.Slowest()
	if f.now.Site.Errors == f.counted {
		return nil
	}
	f.counted = f.now.Site.Errors
	failed, err := pages.Rows(f.c.Ctx, f.c.Service, f.c.site.ID, "`ErrorMask`<>0", "", mostErrors)
	if err != nil {
		return err
	}
	f.now.Causes = causes.Count(failed)
	return nil
}

// lines shows the progress: one line that is rewritten on a terminal, else plain lines.
type lines struct {
	c     *crawl
	width int // 0 without a terminal
	last  time.Time
	open  bool // the cursor is behind a line
}

func (l *lines) showProgress(p progress, done bool) {
	switch {
	case l.c.JSON && !done && l.width == 0:
	case l.width > 0:
		fmt.Fprintf(l.c.Talk, "\r%s\x1b[K", plaintext.Cut(plaintext.Clean(p.describeLine()), l.width-1))
		l.open = true
	case done || l.last.IsZero() || p.At.Sub(l.last) >= lineEvery:
		fmt.Fprintln(l.c.Talk, plaintext.Clean(p.describeLine()))
		l.last = p.At
	}
}

// endLine ends the line of a terminal.
func (l *lines) endLine() {
	if l.open {
		fmt.Fprintln(l.c.Talk)
	}
}
