package events

import (
	"context"
	"fmt"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// failedRequests is how many requests in a row must fail before a site is in trouble.
const failedRequests = 10

// askFinished asks whether no URL of a site waits for its request and no page for its processing. A paused site with URLs that wait is
// not finished.
func (v *visit) askFinished(ctx context.Context) error {
	v.asked, v.state.Finished = true, false
	if v.site.CrawlingURLs+v.site.ProcessingURLs > 0 || v.site.State != wire.SiteActive && v.site.NewURLs > 0 {
		return nil
	}
	var stored wire.Site
	err := v.service.Ask(ctx, wire.SiteStatus, map[string]any{"id": v.site.ID, "deleteTaskId": nil, "excludeList": []string{"urls", "filters", "properties"}}, &stored)
	if err == nil && stored.State != wire.SiteNotFound {
		v.site, v.state.Finished = &stored, stored.Finished != nil && *stored.Finished
	}
	return err
}

// tellSite writes the events of a site itself, which follow those of its pages. A site that is finished is told once for all that was
// done before.
func (v *visit) tellSite(ctx context.Context) error {
	var c change
	now := v.now().UTC()
	if v.asked && v.state.Finished && v.state.Worked && !v.state.Silent {
		if v.state.Worked = false; v.site.Contents+v.site.Resources+v.site.Errors > 0 {
			c.events = append(c.events, v.siteEvent(SiteFinished, "", now))
		}
	}
	if v.changed || v.paused != "" || v.state.Trouble != "" {
		trouble, err := v.findTrouble(ctx)
		if err != nil {
			return err
		}
		if trouble != "" && trouble != v.state.Trouble {
			c.events = append(c.events, v.siteEvent(SiteTrouble, trouble, now))
		}
		v.state.Trouble = trouble
	}
	return v.write(ctx, c)
}

// findTrouble returns why a site makes no progress; "": it does, or has nothing to do.
func (v *visit) findTrouble(ctx context.Context) (string, error) {
	waits := v.site.State == wire.SiteActive && v.site.NewURLs > 0
	switch {
	case waits && v.site.OverLimits(errormask.SiteMaxErrors, 0) != 0:
		return fmt.Sprintf("the site has more errors than maxErrors (%d) allows", v.site.MaxErrors), nil
	case waits && v.paused != "":
		return "the daemon pauses: " + v.paused, nil
	case !v.changed && v.state.Trouble != "":
		if v.state.Trouble == allFailed {
			return allFailed, nil // nothing was asked since
		}
		return "", nil
	case !v.failed:
		return "", nil
	}
	rows, err := pages.Rows(ctx, v.service, v.site.ID, "`UDate` IS NOT NULL AND (`Crawled` > 0 OR `Retries` > 0)", "`UDate` DESC", failedRequests)
	for i := range rows {
		if !isFailed(&rows[i]) {
			return "", err
		}
	}
	if len(rows) == 0 {
		return "", err
	}
	return allFailed, err
}

// allFailed is the reason of a site whose server does not serve the crawler.
const allFailed = "none of the last requests brought a page: no answer, 401, 403, 407, 429, or 5xx"

func (v *visit) siteEvent(kind, reason string, now time.Time) Event {
	s := v.site
	return Event{Type: kind, Time: now, Data: EventData{Site: s.ID, Reason: reason, Counts: &SiteCounts{
		URLs: s.CollectedURLs, Waiting: s.NewURLs, Pages: s.Contents, Errors: s.Errors,
	}}}
}

// askPauses asks the managers from time to time why they pause, if a site has work for them.
func (r *reader) askPauses(ctx context.Context, sites []wire.Site) {
	if r.pauses == nil || r.now().Sub(r.asked) < slowLook {
		return
	}
	waits := false
	for i := range sites {
		waits = waits || sites[i].NewURLs > 0
	}
	if !waits && r.paused == "" {
		return
	}
	r.paused, r.asked = r.pauses(ctx), r.now()
}
