package hce

import (
	"context"
	"fmt"
	"time"

	"hce/dc/internal/cli/causes"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// runStart is what a site was before a run of hce crawl.
type runStart struct {
	at      time.Time // whole seconds, as dates of rows; no row was fetched before in this second
	urls    int64     // that were known, the root URLs included
	waiting int64     // of them
	first   bool      // nothing was ever fetched
}

// readStart reads what the site is before the run. Dates of rows have whole seconds, so it waits for the
// next second if a run has just ended.
func (c *crawl) readStart() error {
	site, _, err := c.SiteStatus(c.site.ID, "filters", "properties")
	if err != nil {
		return err
	}
	c.run0 = runStart{urls: site.CollectedURLs + int64(len(site.URLs)), waiting: site.NewURLs, first: site.AVGSpeedCounter == 0 && site.Size == 0}
	now := time.Now()
	c.run0.at = now.UTC().Truncate(time.Second)
	if last, known := site.TcDate.Time(); !known || c.run0.first || c.Node == nil || last.Before(c.run0.at) {
		return nil
	}
	c.run0.at = c.run0.at.Add(time.Second)
	select {
	case <-c.Ctx.Done():
		return context.Canceled
	case <-time.After(c.run0.at.Sub(now)):
		return nil
	}
}

// outcomes counts the URLs that a run has asked for.
type outcomes struct {
	run   runStart
	asked int64 // URLs
	met   int64 // of them, counted by their rows
}

// rowCondition is the condition of the rows that are counted one by one: all but those that are new in the first
// run, and those that are unchanged in a later one.
func (o *outcomes) rowCondition() string {
	where := "`ErrorMask`<>0 OR `RobotsMask`<>0 OR `HTTPCode`=304 OR NOT " + wire.PageWhere + " OR NOT " + wire.IndexedWhere
	if !o.run.first {
		where += " OR `ContentDate`>='" + o.run.at.Format(time.DateTime) + "'"
	}
	return where
}

// addRow counts a row that has an outcome, if this run has asked for it. The URLs of a site do not count those that
// robots.txt forbids.
func (o *outcomes) addRow(u *wire.URL) {
	if u.Unasked() {
		return
	}
	if at, known := u.UDate.Time(); known && !at.Before(o.run.at) {
		o.met++
	}
}

// outcome is what a run has found out about a URL.
type outcome string

// Outcomes of a finished URL.
const (
	isNew       outcome = "new"       // its first content was stored
	isChanged   outcome = "changed"   // it had another content
	isUnchanged outcome = "unchanged" // it had the same content
	isGone      outcome = "gone"      // it had a content and now answers 404 or 410
	isFailed    outcome = "failed"    // with another error
	isSkipped   outcome = "skipped"   // robots.txt, a filter or a limit left it out
)

// outcomeOf returns that of a URL that does not wait.
func (s runStart) outcomeOf(p *pages.Page) outcome {
	u := &p.URL
	switch resource := isResource(u); {
	case p.Outdated() == "gone":
		return isGone
	case !resource && u.ErrorMask&^causes.LeftOut != 0:
		return isFailed
	case !resource && u.ErrorMask != 0 && u.TagsCount == 0:
		return isSkipped
	}
	if at, known := u.ContentDate.Time(); !s.first && (!known || at.Before(s.at)) {
		return isUnchanged
	}
	if s.first || u.Type == wire.TypeFetched && u.Crawled <= 1 || u.Type != wire.TypeFetched && u.MRateCounter <= 1 {
		return isNew
	}
	return isChanged
}

// countRest counts the rows that were not read.
func (o *outcomes) countRest(r *summary) {
	n := max(0, o.asked-o.met)
	r.asked = max(o.asked, o.met)
	if o.run.first {
		r.New += n
	} else {
		r.Unchanged += n
	}
}

// unchangedPage reports whether a row is a page whose last answer was 304, and that DETECT_MODIFIED has
// left as crawled.
func unchangedPage(u *wire.URL) bool {
	return u.HTTPCode == 304 && u.Status == wire.StatusCrawled && u.TagsCount > 0 && u.Processed > 0
}

// outcomesLine is the line of the outcomes of a run; "" if all was new.
func (r summary) outcomesLine() string {
	switch {
	case r.Changed+r.Unchanged+r.Gone == 0 && r.asked > 0:
		return ""
	case r.asked == 0:
		return fmt.Sprintf("  no URL was due; let all be asked for again with: %s\n", r.CommandHint("site", "recrawl", r.Site))
	}
	return fmt.Sprintf("  %d new, %d changed, %d unchanged, %d gone\n", r.New, r.Changed, r.Unchanged, r.Gone)
}
