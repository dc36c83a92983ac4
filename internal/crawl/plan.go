package crawl

import (
	"context"
	"fmt"

	"hce/dc/internal/dc"
	"hce/dc/internal/filter"
)

// siteWork is a site of the batch with everything that its items need, read
// once.
type siteWork struct {
	dc.Site
	filters *filter.Set
	bits    dc.ErrorMask        // of properties that could not be read
	seen    map[string]struct{} // keys of links met in this batch
}

// plan loads the sites, refuses what may not be crawled and marks the rest
// Crawling (seed, crawler steps 2 to 9). It gives one item per item of the
// batch, in order.
func (r *batchRun) plan(ctx context.Context) ([]*item, error) {
	work := make([]*item, len(r.batch.Items))
	bySite := map[string][]*item{}
	var order []string
	for i, bi := range r.batch.Items {
		it := &item{BatchItem: bi, url: bi.URL, row: bi.URL}
		it.url.ErrorMask = 0
		work[i] = it
		if bySite[bi.SiteID] == nil {
			order = append(order, bi.SiteID)
		}
		bySite[bi.SiteID] = append(bySite[bi.SiteID], it)
	}
	for _, id := range order {
		if err := r.planSite(ctx, id, bySite[id]); err != nil {
			return nil, fmt.Errorf("crawl.plan: site %s: %w", id, err)
		}
	}
	return work, nil
}

func (r *batchRun) planSite(ctx context.Context, id string, items []*item) error {
	stored, err := r.Data.Site(ctx, id)
	if err != nil {
		return err
	}
	if stored == nil {
		for _, it := range items {
			it.empty = true
			it.url.ErrorMask |= dc.ErrSynchronize
		}
		r.log.Warn("the site is not known; its items are dropped", "site", id, "items", len(items))
		return nil
	}
	site := &siteWork{Site: *stored, seen: map[string]struct{}{}}
	for _, it := range items {
		it.Site.Apply(&site.Site)
	}
	if bits := overLimits(&site.Site); bits != 0 {
		r.log.Warn("the site passed a limit and is suspended", "site", id, "errors", bits.Names())
		if err := r.Data.Suspend(ctx, id, bits, len(items)); err != nil {
			return err
		}
		return r.refuse(ctx, id, items, bits)
	}
	if site.State != dc.SiteActive {
		r.log.Info("the site is not active; its items are skipped", "site", id, "state", site.State)
		return r.refuse(ctx, id, items, dc.ErrSiteState)
	}
	var problems []error
	site.filters, problems = filter.Compile(rules(site.Filters))
	for _, p := range problems {
		r.log.Warn("a filter is left out", "site", id, "reason", p)
		site.bits |= dc.ErrInitialization
	}
	r.sites[id] = site
	return r.mark(ctx, site, items)
}

// overLimits gives the bits of the limits that a site passed; 0 means unlimited
// (DECISIONS 3.2).
func overLimits(s *dc.Site) (bits dc.ErrorMask) {
	if s.MaxErrors > 0 && s.Errors > s.MaxErrors {
		bits |= dc.ErrSiteMaxErrors
	}
	if s.MaxResources > 0 && s.Resources > s.MaxResources {
		bits |= dc.ErrSiteMaxResources
	}
	return bits
}

// refuse hands all items of a site back: they are selected again when the site
// is active again.
func (r *batchRun) refuse(ctx context.Context, id string, items []*item, bits dc.ErrorMask) error {
	now := dc.DateOf(r.Now())
	results := make([]dc.Fetched, 0, len(items))
	urls := make([]dc.URL, 0, len(items))
	for _, it := range items {
		urls = append(urls, it.url)
		results = append(results, it.back(bits, now).result)
		it.handedBack = false // refused, not out of time
	}
	if r.batch.DBMode&dc.DBWrite == 0 {
		return nil
	}
	if _, err := r.Data.MarkCrawling(ctx, id, r.batch.ID, urls); err != nil {
		return err
	}
	return r.Data.SaveCrawl(ctx, id, r.batch.ID, results)
}

// mark takes the rows of a site into work.
func (r *batchRun) mark(ctx context.Context, site *siteWork, items []*item) error {
	urls := make([]dc.URL, 0, len(items))
	for _, it := range items {
		if crawlable(it.url.Status) {
			urls = append(urls, it.url)
		}
	}
	marks := map[string]dc.Mark{}
	if r.batch.DBMode&dc.DBWrite != 0 {
		var err error
		if marks, err = r.Data.MarkCrawling(ctx, site.ID, r.batch.ID, urls); err != nil {
			return err
		}
	} else {
		for _, u := range urls {
			marks[u.URLMd5] = dc.Mark{Row: u}
		}
	}
	for _, it := range items {
		it.site = site
		mark, ok := marks[it.URLID]
		switch {
		case !crawlable(it.url.Status):
			it.done = true // crawling 2.1 step 1: skipped as it is
		case !ok:
			it.empty = true
			it.url.ErrorMask |= dc.ErrSynchronize
		case mark.Done || mark.Busy:
			it.done = true // finished, or in another batch's hands
			it.url = mark.Row
		default:
			it.row = mark.Row
			errors := it.url.ErrorMask
			it.url = mark.Row
			it.url.ErrorMask, it.url.BatchID = errors, r.batch.ID
		}
	}
	return nil
}

func crawlable(status int64) bool {
	switch status {
	case dc.StatusNew, dc.StatusSelectedCrawling, dc.StatusSelectedIncremental, dc.StatusCrawling:
		return true
	}
	return false
}

func rules(filters []dc.SiteFilter) []filter.Rule {
	list := make([]filter.Rule, 0, len(filters))
	for _, f := range filters {
		list = append(list, filter.Rule{
			Pattern: f.Pattern, Subject: f.Subject, OpCode: int(f.OpCode), Stage: int(f.Stage),
			Action: int(f.Action), Type: int(f.Type), Mode: int(f.Mode), State: int(f.State), Group: int(f.GroupID),
		})
	}
	return list
}
