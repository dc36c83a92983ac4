package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"hce/dc/internal/process/chain"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// planItems loads the sites, marks rows Processing unless the batch has taken them, and refuses items that
// may not be processed (docs/spec/steps.md 2 #2 to #8). It returns one item for each item of the
// batch, in order.
func (j *Job) planItems(ctx context.Context, batch *wire.Batch, taken bool, log *slog.Logger) ([]*item, error) {
	work := make([]*item, len(batch.Items))
	for i, bi := range batch.Items {
		work[i] = &item{BatchItem: bi, row: bi.URL, live: newLive(batch, &bi), taken: taken}
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
		refuseUnknownSite(id, items, log)
		return nil
	}
	if !items[0].taken {
		if err := j.markProcessing(ctx, batch, id, items, log); err != nil {
			return err
		}
	}
	items = slices.DeleteFunc(items, func(it *item) bool { return !it.taken && it.live == nil })
	for _, same := range wire.Groups(items, func(it *item) string { return it.Site.Key() }) {
		site := *stored
		same[0].Site.Apply(&site)
		j.readSettings(&site, same, log)
		taken := slices.DeleteFunc(same, func(it *item) bool {
			if it.live != nil {
				it.live.site = &site
			}
			return !it.taken
		})
		if err := j.refuseItems(ctx, batch, &site, taken, log); err != nil {
			return err
		}
		if err := j.planParts(ctx, batch, taken); err != nil {
			return err
		}
	}
	return nil
}

// planParts marks the pages in which items continue, which the crawler lists in a .chain file. A part
// that another batch holds is left out.
func (j *Job) planParts(ctx context.Context, batch *wire.Batch, items []*item) error {
	for _, it := range items {
		if !it.taken || !it.settings.needs.Chain || !batch.Writes() {
			continue
		}
		file, err := j.readRaw(ctx, it, wire.ContentChain)
		if err != nil {
			return err
		}
		ids := slices.DeleteFunc(chain.Parts(file), func(id string) bool { return id == it.URLID })
		if len(ids) == 0 {
			continue
		}
		rows, err := j.Repository.MarkProcessing(ctx, it.SiteID, batch.ID, ids)
		if err != nil && !isSiteDeleted(err) {
			return err
		}
		for _, id := range ids {
			if row, ok := rows[id]; ok {
				row.BatchID = batch.ID
				it.parts = append(it.parts, &item{
					BatchItem: wire.BatchItem{SiteID: it.SiteID, URLID: id, URL: row}, row: row, taken: true, settings: it.settings,
				})
			}
		}
	}
	return nil
}

// readSettings sets the settings of items of one site, read once for all items with the same
// properties.
func (j *Job) readSettings(site *wire.Site, items []*item, log *slog.Logger) {
	read := map[string]*settings{}
	for _, it := range items {
		key := it.PropertiesKey()
		if read[key] == nil {
			set, problems := readSettings(site, it.Properties)
			for _, err := range problems {
				log.Warn("left out invalid property or filter", "site", site.ID, "error", err)
			}
			read[key] = set
		}
		it.settings = read[key]
	}
}

// refuseItems refuses items of one site: all if the site is not active or exceeds a limit, and
// those with a content type that the site does not process (docs/spec/steps.md 2 #4, #5,
// #7).
func (j *Job) refuseItems(ctx context.Context, batch *wire.Batch, site *wire.Site, items []*item, log *slog.Logger) error {
	now := schema.DateOf(j.Now())
	refuse := func(bits errormask.Mask) {
		for _, it := range items {
			it.refuseProcessing(bits, wire.URLEnabled, now)
		}
	}
	if !batch.Allows(site) {
		log.Info("items skipped: the site is not active", "site", site.ID, "state", site.State)
		refuse(errormask.SiteState)
		return nil
	}
	if bits := site.OverLimits(errormask.ProcessorMaxErrors, errormask.ProcessorMaxResources); bits != 0 {
		log.Warn("suspend the site: it exceeds a limit", "site", site.ID, "errors", bits.Names())
		refuse(bits)
		if !batch.Writes() {
			return nil
		}
		if err := j.Repository.Suspend(ctx, site.ID, bits, len(items)); !isSiteDeleted(err) {
			return err
		}
		return nil
	}
	for _, it := range items {
		if err := j.judgeItem(ctx, it, now); err != nil {
			return err
		}
	}
	return nil
}

// judgeItem ends an item that its settings exclude from processing (docs/spec/processing.md 1.2
// #5 to #13).
func (j *Job) judgeItem(ctx context.Context, it *item, now schema.Date) error {
	set, kind := it.settings, it.row.ContentType
	env := filter.Env{Now: j.Now(), Depth: int(it.row.Depth)}
	it.row.ErrorMask |= set.bits
	switch {
	case set.processorFor(kind) == noProcessor && it.live != nil:
		it.taken = false // its raw content is the answer
		return nil
	case set.processorFor(kind) == noProcessor, !set.reprocess && it.live == nil:
		it.skipProcessing(now)
		return nil
	case it.row.Type != wire.TypeFetched && !set.allowsType(kind):
		it.refuseProcessing(errormask.UnsupportedType, wire.URLError, now)
		return nil
	case !it.passesFilters(env):
		it.refuseProcessing(errormask.ProcessorFilters, wire.URLError, now)
		return nil
	case !set.filters.HasSQL(filter.StageBeforeProcessor):
		return nil
	}
	var failed error
	env.SQL = j.conditionEvaluator(ctx, it, &failed)
	if !set.filters.AcceptSQL(filter.StageBeforeProcessor, env) {
		it.refuseProcessing(errormask.ProcessorFilters, wire.URLError, now)
	}
	return failed
}

// conditionEvaluator returns the function that evaluates SQL expressions over the row of an item. It sets failed
// to an error of the stores.
func (j *Job) conditionEvaluator(ctx context.Context, it *item, failed *error) func(string) (bool, error) {
	return func(expression string) (bool, error) {
		// The row is as the crawler left it, not as the batch has marked it.
		row := it.row
		row.Status = wire.StatusCrawled
		expression = wire.FieldMacros(&row, wire.URLColumns).Replace(expression)
		verdict, err := j.Repository.Condition(ctx, it.SiteID, it.URLID, expression)
		if err != nil && !isSiteDeleted(err) {
			*failed = err
		}
		if verdict.Err != nil {
			j.Log.Warn("refused SQL expression of a filter", "site", it.SiteID, "url", it.row.URL, "error", verdict.Err)
		}
		return verdict.True, cmp.Or(verdict.Err, err)
	}
}

// refuseUnknownSite adds an error bit to the items of an unknown or deleted site. They stay in the
// batch.
func refuseUnknownSite(id string, items []*item, log *slog.Logger) {
	for _, it := range items {
		it.row.ErrorMask |= errormask.BatchItem
	}
	log.Warn("items skipped: unknown site", "site", id, "items", len(items))
}

// markProcessing marks the rows of a site Processing. An item whose row another batch holds stays
// in the batch unchanged.
func (j *Job) markProcessing(ctx context.Context, batch *wire.Batch, id string, items []*item, log *slog.Logger) error {
	if !batch.Writes() {
		for _, it := range items {
			it.taken = it.live == nil || it.live.isProcessable(&it.BatchItem)
		}
		return nil
	}
	md5s := make([]string, 0, len(items))
	for _, it := range items {
		md5s = append(md5s, it.URLID)
	}
	rows, err := j.Repository.MarkProcessing(ctx, id, batch.ID, md5s)
	if isSiteDeleted(err) {
		refuseUnknownSite(id, items, log)
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

// isSiteDeleted reports whether a call failed because the site was deleted after it was read.
func isSiteDeleted(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }

// passesFilters reports whether the filters before processing let the URL pass. Rules of every stage
// were applied when the link was collected, where they know its depth (docs/spec/DECISIONS.md 7).
func (it *item) passesFilters(env filter.Env) bool {
	return it.settings.filters.AcceptSubject(filter.StageBeforeProcessor, filter.RawContent, it.row.URL, env)
}

// skipProcessing ends an item that needs no processing: it is Processed, and its stored content stays
// (docs/spec/processing.md 1.2 #5, #6).
func (it *item) skipProcessing(now schema.Date) {
	it.taken = false
	it.row.Status, it.row.State = wire.StatusProcessed, wire.URLEnabled
	it.row.UDate, it.row.TcDate = now, now
	it.result = wire.Extracted{URLMd5: it.URLID, Set: schema.Patch{
		"Status": it.row.Status, "State": it.row.State, "ErrorMask": int64(it.row.ErrorMask), "UDate": string(now), "TcDate": string(now),
		"SettingsSum": it.row.SettingsSum &^ wire.SumUnprocessed,
	}}
}

// refuseProcessing ends an item that may not be processed: Status is Crawled as before, with an
// error bit. State Error excludes it from later selections (docs/spec/processing.md 6.1
// #14).
func (it *item) refuseProcessing(bits errormask.Mask, state int64, now schema.Date) {
	for _, part := range it.parts {
		part.handBack(now)
	}
	it.taken = false
	it.row.ErrorMask |= bits
	it.row.Status, it.row.State = wire.StatusCrawled, state
	it.row.UDate, it.row.TcDate = now, now
	it.result = wire.Extracted{URLMd5: it.URLID, Set: schema.Patch{
		"Status": int64(wire.StatusCrawled), "State": state, "ErrorMask": int64(it.row.ErrorMask),
		"UDate": string(now), "TcDate": string(now),
	}}
	if state == wire.URLError { // for good
		it.result.Set["SettingsSum"] = it.row.SettingsSum &^ wire.SumUnprocessed
	}
}

// handBack ends an item that was not started in time (docs/spec/processing.md 1.1).
func (it *item) handBack(now schema.Date) {
	for _, part := range it.parts {
		part.handBack(now)
	}
	it.taken, it.late = false, true
	it.row.Status = wire.StatusCrawled
	it.row.ErrorMask |= errormask.MaxExecutionTime
	it.result = wire.Extracted{URLMd5: it.URLID, Set: schema.Patch{"Status": int64(wire.StatusCrawled), "TcDate": string(now)}}
}
