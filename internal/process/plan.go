package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// plan loads the sites, refuses what may not be processed and marks the rest
// Processing (docs/spec/steps.md 2 #2 to #8). It gives one item per item of the
// batch, in order.
func (j *Job) plan(ctx context.Context, batch *wire.Batch, log *slog.Logger) ([]*item, error) {
	work := make([]*item, len(batch.Items))
	bySite := map[string][]*item{}
	var order []string
	for i, bi := range batch.Items {
		it := &item{BatchItem: bi, row: bi.URL, live: newLive(batch, &bi)}
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

func (j *Job) planSite(ctx context.Context, batch *wire.Batch, id string, items []*item, log *slog.Logger) error {
	stored, err := j.Data.Site(ctx, id)
	if err != nil {
		return err
	}
	if stored == nil && batch.CrawlerType == wire.CrawlRealTime {
		// What it is like says siteObj (docs/spec/crawling.md 1.4).
		stored = &wire.Site{ID: id, State: wire.SiteActive, FetchType: 1}
	}
	if stored == nil {
		unknown(id, items, log)
		return nil
	}
	if err := j.mark(ctx, batch, id, items, log); err != nil {
		return err
	}
	byOverlay := map[string][]*item{}
	var order []string
	for _, it := range items {
		if !it.taken && it.live == nil {
			continue
		}
		key := ""
		if it.Site != nil {
			text, err := json.Marshal(it.Site)
			if err != nil {
				return err
			}
			key = string(text)
		}
		if byOverlay[key] == nil {
			order = append(order, key)
		}
		byOverlay[key] = append(byOverlay[key], it)
	}
	for _, key := range order {
		site := *stored
		byOverlay[key][0].Site.Apply(&site)
		taken := slices.DeleteFunc(byOverlay[key], func(it *item) bool {
			it.live.seesSite(&site)
			return !it.taken
		})
		if err := j.judge(ctx, batch, &site, taken, log); err != nil {
			return err
		}
	}
	return nil
}

// judge refuses what may not be processed of the items that see one site (docs/spec/steps.md 2
// #4, #5, #7).
func (j *Job) judge(ctx context.Context, batch *wire.Batch, site *wire.Site, items []*item, log *slog.Logger) error {
	now := wire.DateOf(j.Now())
	refuse := func(bits wire.ErrorMask) {
		for _, it := range items {
			it.refuse(bits, wire.URLEnabled, now)
		}
	}
	if !active(batch, site) {
		log.Info("the site is not active; its items are skipped", "site", site.ID, "state", site.State)
		refuse(wire.ErrSiteState)
		return nil
	}
	if bits := overLimits(site); bits != 0 {
		log.Warn("the site passed a limit and is suspended", "site", site.ID, "errors", bits.Names())
		refuse(bits)
		if batch.DBMode&wire.DBWrite == 0 {
			return nil
		}
		if err := j.Data.Suspend(ctx, site.ID, bits, len(items)); !gone(err) {
			return err
		}
		return nil
	}
	for _, it := range items {
		if !processed(site, it.Properties, it.row.ContentType) {
			it.refuse(wire.ErrUnsupportedType, wire.URLError, now)
		}
	}
	return nil
}

// active reports whether the site may be processed. Clients may ask in real time
// for pages of a site that rests (docs/spec/processing.md 6.1 #1).
func active(batch *wire.Batch, site *wire.Site) bool {
	if batch.CrawlerType == wire.CrawlRealTime {
		return site.State != wire.SiteDisabled
	}
	return site.State == wire.SiteActive
}

// unknown marks the items of a site that does not exist, or not any more. They
// stay in the batch as they are.
func unknown(id string, items []*item, log *slog.Logger) {
	for _, it := range items {
		it.row.ErrorMask |= wire.ErrBatchItem
	}
	log.Warn("the site is not known; its items are left out", "site", id, "items", len(items))
}

// mark takes the rows of a site into work. A row that could not be taken stays
// in the batch as it is.
func (j *Job) mark(ctx context.Context, batch *wire.Batch, id string, items []*item, log *slog.Logger) error {
	if batch.DBMode&wire.DBWrite == 0 {
		for _, it := range items {
			it.taken = it.live == nil || it.live.has(&it.BatchItem)
		}
		return nil
	}
	md5s := make([]string, 0, len(items))
	for _, it := range items {
		md5s = append(md5s, it.URLID)
	}
	rows, err := j.Data.MarkProcessing(ctx, id, batch.ID, md5s)
	if gone(err) {
		unknown(id, items, log)
		return nil
	}
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

// gone tells that a site was deleted since it was read: no fault of the batch.
func gone(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }

// overLimits gives the bits of the limits that a site passed; 0 means unlimited
// (docs/spec/DECISIONS.md 3.2).
func overLimits(s *wire.Site) (bits wire.ErrorMask) {
	if s.MaxErrors > 0 && s.Errors > s.MaxErrors {
		bits |= wire.ErrProcessorMaxErrors
	}
	if s.MaxResources > 0 && s.Resources > s.MaxResources {
		bits |= wire.ErrProcessorMaxResources
	}
	return bits
}

// processed reports whether PROCESS_CTYPES holds the content type: each value is
// a type or a comma list of types; no value means all (docs/spec/processing.md 1.5).
func processed(site *wire.Site, over map[string]string, contentType string) bool {
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
// bit; State Error keeps it from being selected again (docs/spec/processing.md 6.1 #14).
func (it *item) refuse(bits wire.ErrorMask, state int64, now wire.Date) {
	it.taken = false
	it.row.ErrorMask |= bits
	it.row.Status, it.row.State = wire.StatusCrawled, state
	it.row.UDate, it.row.TcDate = now, now
	it.result = wire.Extracted{URLMd5: it.URLID, Set: wire.Patch{
		"Status": int64(wire.StatusCrawled), "State": state, "ErrorMask": int64(it.row.ErrorMask),
		"UDate": string(now), "TcDate": string(now),
	}}
}

// handBack ends an item that was not started in time (docs/spec/processing.md 1.1).
func (it *item) handBack(now wire.Date) {
	it.taken, it.late = false, true
	it.row.Status = wire.StatusCrawled
	it.row.ErrorMask |= wire.ErrMaxExecutionTime
	it.result = wire.Extracted{URLMd5: it.URLID, Set: wire.Patch{"Status": int64(wire.StatusCrawled), "TcDate": string(now)}}
}
