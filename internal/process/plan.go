package process

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"hce/dc/internal/dc"
)

// plan loads the sites, refuses what may not be processed and marks the rest
// Processing (seed, processor steps 2 to 8). It gives one item per item of the
// batch, in order.
func (j *Job) plan(ctx context.Context, batch *dc.Batch, log *slog.Logger) ([]*item, error) {
	work := make([]*item, len(batch.Items))
	bySite := map[string][]*item{}
	var order []string
	for i, bi := range batch.Items {
		it := &item{BatchItem: bi, row: bi.URL}
		work[i] = it
		if bySite[bi.SiteID] == nil {
			order = append(order, bi.SiteID)
		}
		bySite[bi.SiteID] = append(bySite[bi.SiteID], it)
	}
	for _, id := range order {
		if err := j.planSite(ctx, batch, id, bySite[id], log); err != nil {
			return nil, fmt.Errorf("process.plan: site %s: %w", id, err)
		}
	}
	return work, nil
}

func (j *Job) planSite(ctx context.Context, batch *dc.Batch, id string, items []*item, log *slog.Logger) error {
	site, err := j.Data.Site(ctx, id)
	if err != nil {
		return err
	}
	if site == nil {
		for _, it := range items {
			it.row.ErrorMask |= dc.ErrBatchItem
		}
		log.Warn("the site is not known; its items are dropped", "site", id, "items", len(items))
		return nil
	}
	for _, it := range items {
		it.Site.Apply(site)
	}
	if err := j.mark(ctx, batch, id, items); err != nil {
		return err
	}
	now := dc.DateOf(j.Now())
	if bits := overLimits(site); bits != 0 {
		log.Warn("the site passed a limit and is suspended", "site", id, "errors", bits.Names())
		if err := j.Data.Suspend(ctx, id, bits, len(items)); err != nil {
			return err
		}
		for _, it := range items {
			it.refuse(bits, dc.URLEnabled, now)
		}
		return nil
	}
	if site.State != dc.SiteActive {
		log.Info("the site is not active; its items are skipped", "site", id, "state", site.State)
		for _, it := range items {
			it.refuse(dc.ErrSiteState, dc.URLEnabled, now)
		}
		return nil
	}
	for _, it := range items {
		it.site = site
		if it.taken && !processed(site, it.Properties, it.row.ContentType) {
			it.refuse(dc.ErrUnsupportedType, dc.URLError, now)
		}
	}
	return nil
}

func (j *Job) mark(ctx context.Context, batch *dc.Batch, id string, items []*item) error {
	if batch.DBMode&dc.DBWrite == 0 {
		for _, it := range items {
			it.taken = true
		}
		return nil
	}
	md5s := make([]string, 0, len(items))
	for _, it := range items {
		md5s = append(md5s, it.URLID)
	}
	rows, err := j.Data.MarkProcessing(ctx, id, batch.ID, md5s)
	if err != nil {
		return err
	}
	for _, it := range items {
		if row, ok := rows[it.URLID]; ok {
			it.row, it.taken = row, true
			it.row.BatchID = batch.ID
		}
	}
	return nil
}

// overLimits gives the bits of the limits that a site passed; 0 means unlimited
// (DECISIONS 3.2).
func overLimits(s *dc.Site) (bits dc.ErrorMask) {
	if s.MaxErrors > 0 && s.Errors > s.MaxErrors {
		bits |= dc.ErrProcessorMaxErrors
	}
	if s.MaxResources > 0 && s.Resources > s.MaxResources {
		bits |= dc.ErrProcessorMaxResources
	}
	return bits
}

// processed reports whether PROCESS_CTYPES holds the content type: each value is
// a type or a comma list of types; no value means all (processing 1.5).
func processed(site *dc.Site, over map[string]string, contentType string) bool {
	var lists []string
	if v, ok := over["PROCESS_CTYPES"]; ok {
		lists = []string{v}
	} else {
		for _, p := range site.Properties {
			if p.Name == "PROCESS_CTYPES" {
				lists = append(lists, p.Value)
			}
		}
	}
	named := false
	for _, list := range lists {
		for _, t := range strings.Split(list, ",") {
			if t = strings.ToLower(strings.TrimSpace(t)); t != "" {
				named = true
				if t == strings.ToLower(contentType) || t == "*" || t == "*/*" {
					return true
				}
			}
		}
	}
	return !named
}

// refuse ends an item that may not be processed: Crawled as before, with its
// bit; State Error keeps it from being selected again (processing 6.1 #14).
func (it *item) refuse(bits dc.ErrorMask, state int64, now dc.Date) {
	if !it.taken {
		return
	}
	it.taken = false
	it.row.ErrorMask |= bits
	it.row.Status, it.row.State = dc.StatusCrawled, state
	it.row.UDate, it.row.TcDate = now, now
	it.result = dc.Extracted{URLMd5: it.URLID, Set: dc.Patch{
		"Status": int64(dc.StatusCrawled), "State": state, "ErrorMask": int64(it.row.ErrorMask),
		"UDate": string(now), "TcDate": string(now),
	}}
}

// handBack ends an item that was not started in time (processing 1.1).
func (it *item) handBack(now dc.Date) {
	it.taken, it.late = false, true
	it.row.Status = dc.StatusCrawled
	it.row.ErrorMask |= dc.ErrMaxExecutionTime
	it.result = dc.Extracted{URLMd5: it.URLID, Set: dc.Patch{"Status": int64(dc.StatusCrawled), "TcDate": string(now)}}
}
