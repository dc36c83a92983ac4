package process

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// plan loads the sites, marks rows Processing and refuses items that may not be processed
// (docs/spec/steps.md 2 #2 to #8). It returns one item for each item of the batch, in
// order.
func (j *Job) plan(ctx context.Context, batch *wire.Batch, log *slog.Logger) ([]*item, error) {
	work := make([]*item, len(batch.Items))
	for i, bi := range batch.Items {
		work[i] = &item{BatchItem: bi, row: bi.URL, live: newLive(batch, &bi)}
	}
	for _, items := range wire.Groups(work, func(it *item) string { return it.SiteID }) {
		id := items[0].SiteID
		if err := j.planSite(ctx, batch, id, items, log); err != nil {
			return nil, fmt.Errorf("plan items of site %s: %w", id, err)
		}
	}
	return work, nil
}

func (j *Job) planSite(ctx context.Context, batch *wire.Batch, id string, items []*item, log *slog.Logger) error {
	stored, err := j.Repository.Site(ctx, id)
	if err != nil {
		return err
	}
	if stored == nil && batch.CrawlerType == wire.CrawlRealTime {
		// siteObj describes the site (docs/spec/crawling.md 1.4).
		stored = &wire.Site{ID: id, State: wire.SiteActive, FetchType: 1}
	}
	if stored == nil {
		unknown(id, items, log)
		return nil
	}
	if err := j.mark(ctx, batch, id, items, log); err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(it *item) bool { return !it.taken && it.live == nil })
	for _, same := range wire.Groups(items, func(it *item) string { return it.Site.Key() }) {
		site := *stored
		same[0].Site.Apply(&site)
		taken := slices.DeleteFunc(same, func(it *item) bool {
			if it.live != nil {
				it.live.site = &site
			}
			return !it.taken
		})
		if err := j.judge(ctx, batch, &site, taken, log); err != nil {
			return err
		}
	}
	return nil
}

// judge refuses items of one site: all if the site is not active or exceeds a limit, and
// those with a content type that the site does not process (docs/spec/steps.md 2 #4, #5,
// #7).
func (j *Job) judge(ctx context.Context, batch *wire.Batch, site *wire.Site, items []*item, log *slog.Logger) error {
	now := wire.DateOf(j.Now())
	refuse := func(bits wire.ErrorMask) {
		for _, it := range items {
			it.refuse(bits, wire.URLEnabled, now)
		}
	}
	if !active(batch, site) {
		log.Info("items skipped: the site is not active", "site", site.ID, "state", site.State)
		refuse(wire.ErrSiteState)
		return nil
	}
	if bits := overLimits(site); bits != 0 {
		log.Warn("suspend the site: it exceeds a limit", "site", site.ID, "errors", bits.Names())
		refuse(bits)
		if batch.DBMode&wire.DBWrite == 0 {
			return nil
		}
		if err := j.Repository.Suspend(ctx, site.ID, bits, len(items)); !deleted(err) {
			return err
		}
		return nil
	}
	for _, it := range items {
		if it.row.Type == wire.TypeFetched {
			// The content is a feed entry as JSON, which no extractor reads yet.
			it.refuse(wire.ErrUnsupportedType, wire.URLError, now)
		} else if !typeAllowed(site, it.Properties, it.row.ContentType) {
			it.refuse(wire.ErrUnsupportedType, wire.URLError, now)
		}
	}
	return nil
}

// active reports whether the state of the site allows processing. Real-time batches also
// process suspended sites (docs/spec/processing.md 6.1 #1).
func active(batch *wire.Batch, site *wire.Site) bool {
	if batch.CrawlerType == wire.CrawlRealTime {
		return site.State != wire.SiteDisabled
	}
	return site.State == wire.SiteActive
}

// unknown adds an error bit to the items of an unknown or deleted site. They stay in the
// batch.
func unknown(id string, items []*item, log *slog.Logger) {
	for _, it := range items {
		it.row.ErrorMask |= wire.ErrBatchItem
	}
	log.Warn("items skipped: unknown site", "site", id, "items", len(items))
}

// mark marks the rows of a site Processing. An item whose row another batch holds stays
// in the batch unchanged.
func (j *Job) mark(ctx context.Context, batch *wire.Batch, id string, items []*item, log *slog.Logger) error {
	if batch.DBMode&wire.DBWrite == 0 {
		for _, it := range items {
			it.taken = it.live == nil || it.live.processable(&it.BatchItem)
		}
		return nil
	}
	md5s := make([]string, 0, len(items))
	for _, it := range items {
		md5s = append(md5s, it.URLID)
	}
	rows, err := j.Repository.MarkProcessing(ctx, id, batch.ID, md5s)
	if deleted(err) {
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

// deleted reports whether a call failed because the site was deleted after it was read.
func deleted(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }

// overLimits returns the bits of the limits that a site exceeds. A limit of 0 means no
// limit (docs/spec/DECISIONS.md 3.2).
func overLimits(s *wire.Site) (bits wire.ErrorMask) {
	if s.MaxErrors > 0 && s.Errors > s.MaxErrors {
		bits |= wire.ErrProcessorMaxErrors
	}
	if s.MaxResources > 0 && s.Resources > s.MaxResources {
		bits |= wire.ErrProcessorMaxResources
	}
	return bits
}

// typeAllowed reports whether PROCESS_CTYPES contains the content type. Each value is a
// list of types separated by commas; without a value all types are allowed
// (docs/spec/processing.md 1.5).
func typeAllowed(site *wire.Site, over map[string]string, contentType string) bool {
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
	var types []string
	for t := range strings.SplitSeq(strings.ToLower(strings.Join(lists, ",")), ",") {
		if t = strings.TrimSpace(t); t != "" {
			types = append(types, t)
		}
	}
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool {
		return t == strings.ToLower(contentType) || t == "*" || t == "*/*"
	})
}

// refuse ends an item that may not be processed: Status is Crawled as before, with an
// error bit. State Error excludes it from later selections (docs/spec/processing.md 6.1
// #14).
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
