package actions

import (
	"context"
	"time"
)

// Crawl is the crawl of a site and how far it is.
type Crawl struct {
	ID       string `json:"id" doc:"id of the site"`
	Status   string `json:"status" enum:"crawling,finished,paused" doc:"finished: no URL waits and every page is processed"`
	Counts   Counts `json:"counts"`
	Complete int    `json:"completePercent" doc:"share of the known URLs that are done, in percent; new URLs may be found"`
}

// crawlOf returns the crawl of a site.
func crawlOf(s Site) Crawl {
	c := Crawl{ID: s.ID, Status: "crawling", Counts: s.Counts}
	switch {
	case s.State != "active" && s.Counts.Waiting > 0:
		c.Status = "paused"
	case s.Finished != nil && *s.Finished:
		c.Status = "finished"
	}
	if n := s.Counts; n.URLs > 0 {
		c.Complete = int(100 * max(0, n.URLs-n.Waiting-n.Crawling-n.Unread-n.Processing) / n.URLs)
	}
	if c.Status != "finished" {
		c.Complete = min(c.Complete, 99)
	}
	return c
}

// StartCrawl creates a site and returns its crawl, which a daemon has begun.
func (a *Actions) StartCrawl(ctx context.Context, n NewSite) (Crawl, error) {
	if a.NoCrawler != "" {
		return Crawl{}, &Conflict{a.NoCrawler}
	}
	site, err := a.CreateSite(ctx, n)
	return crawlOf(site), err
}

// CrawlOf returns the crawl of a site.
func (a *Actions) CrawlOf(ctx context.Context, id string) (Crawl, error) {
	stored, err := a.storedSite(ctx, id, "filters", "properties")
	return crawlOf(siteOf(stored)), err
}

// Looks at a crawl that is waited for.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

// WaitForCrawl returns when the crawl has ended or is paused, and after limit.
func (a *Actions) WaitForCrawl(ctx context.Context, id string, limit time.Duration) (Crawl, error) {
	end := time.After(limit)
	for pause := firstLook; ; pause = min(pause*3/2, lastLook) {
		c, err := a.CrawlOf(ctx, id)
		if err != nil || c.Status != "crawling" {
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, context.Cause(ctx)
		case <-end:
			return c, nil
		case <-time.After(pause):
		}
	}
}
