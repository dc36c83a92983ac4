package crawl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// planner turns items of a batch into work: with their sites, settings and marked rows.
type planner struct {
	*resultStore
	sites  map[string]*wire.Site // of the items that are planned now; nil: unknown site
	works  map[siteKey]*item.SiteView
	noted  map[item.Key]errormask.Mask // error bits of items from before the first pass
	marked map[item.Key]bool           // items whose rows are marked already
}

// newPlanner returns the planner of a batch.
func newPlanner(e *visit.Environment, data Data, scratch Scratch) *planner {
	return &planner{
		resultStore: &resultStore{Environment: e, data: data, scratch: scratch},
		sites:       map[string]*wire.Site{},
		works:       map[siteKey]*item.SiteView{},
		noted:       map[item.Key]errormask.Mask{},
		marked:      map[item.Key]bool{},
	}
}

// planBatch loads the sites, refuses items that may not be crawled and marks the others Crawling
// (docs/spec/steps.md 1 #2 to #9). It returns one item per item of list, in order.
func (r *planner) planBatch(ctx context.Context, list []wire.BatchItem) ([]*item.Item, error) {
	work := make([]*item.Item, len(list))
	for i, bi := range list {
		work[i] = &item.Item{BatchItem: bi, Row: bi.URL, Before: bi.URL, SuppliedContent: bi.URL.URLPut, Noted: r.noted[item.Key{Site: bi.SiteID, URL: bi.URLID}]}
	}
	for _, items := range wire.Groups(work, func(it *item.Item) string { return it.SiteID }) {
		id := items[0].SiteID
		if err := r.planSite(ctx, id, items); err != nil {
			return nil, fmt.Errorf("plan items of site %s: %w", id, err)
		}
	}
	clear(r.sites)
	return work, nil
}

// planSite plans the items of one site, grouped by siteObj.
func (r *planner) planSite(ctx context.Context, id string, items []*item.Item) error {
	stored, err := r.readSite(ctx, id)
	if err != nil {
		return err
	}
	if stored == nil && r.Config.GeneralForUnknown && id != wire.GeneralSite {
		if stored, err = r.data.Site(ctx, wire.GeneralSite); err != nil {
			return err
		}
		if stored != nil {
			r.Log.Info("unknown site; moved its items to site 0", "site", id, "items", len(items))
			for _, it := range items {
				it.SiteID, it.Row.SiteID, it.Before.SiteID = wire.GeneralSite, wire.GeneralSite, wire.GeneralSite
			}
		}
	}
	if stored == nil {
		r.dropUnknownSite(id, items)
		return nil
	}
	for _, same := range wire.Groups(items, func(it *item.Item) string { return it.Site.Key() }) {
		now := *stored
		same[0].Site.Apply(&now)
		key := siteKey{stored.ID, same[0].Site.Key()}
		site := r.works[key]
		if site == nil {
			site = r.newSiteWork(now)
			r.works[key] = site
		}
		if err := r.planItems(ctx, site, &now, same); err != nil {
			return err
		}
	}
	return nil
}

// siteKey identifies a site as items see it: by its id and the text of their siteObj.
type siteKey struct{ id, object string }

// newSiteWork parses the filters of a site.
func (r *planner) newSiteWork(s wire.Site) *item.SiteView {
	work := &item.SiteView{Site: s, Settings: map[string]*settings.Settings{}}
	var problems []error
	work.FilterSet, problems = filter.Compile(filter.Rules(s.Filters))
	for _, p := range problems {
		r.Log.Warn("left out invalid filter", "site", s.ID, "error", p)
		work.BadFilter = cmp.Or(work.BadFilter, p)
	}
	return work
}

// readSite reads a site. It returns nil for an unknown site, except in real time: there,
// siteObj describes a site that need not be stored (docs/spec/crawling.md 1.4). Without
// filters it accepts every link. The items of one pass or selection see one state of a site.
func (r *planner) readSite(ctx context.Context, id string) (*wire.Site, error) {
	if s, known := r.sites[id]; known {
		return s, nil
	}
	stored, err := r.data.Site(ctx, id)
	if err != nil {
		return nil, err
	}
	if stored == nil && r.RealTime() {
		stored = &wire.Site{ID: id, State: wire.SiteActive, FetchType: 1}
	}
	r.sites[id] = stored
	return stored, nil
}

// planItems plans items with the same site and siteObj. now is the site with its present state and
// counters; its other fields count as they were when the batch first read it.
func (r *planner) planItems(ctx context.Context, site *item.SiteView, now *wire.Site, items []*item.Item) error {
	if !r.Batch.Allows(now) {
		r.Log.Info("site is not active; skipped its items", "site", site.ID, "state", now.State)
		return r.refuseItems(ctx, site, items, errormask.SiteState)
	}
	if bits := now.OverLimits(errormask.SiteMaxErrors, errormask.SiteMaxResources); bits != 0 {
		r.Log.Warn("suspended site: it exceeded a limit", "site", site.ID, "errors", bits.Names())
		if r.MayWrite() {
			if err := r.data.Suspend(ctx, site.ID, bits, len(items)); err != nil && !item.IsSiteGone(err) {
				return err
			}
		}
		return r.refuseItems(ctx, site, items, bits)
	}
	for _, it := range items {
		it.View, it.Settings = site, r.settingsOf(site, it)
	}
	items, err := r.passGuards(ctx, site, items)
	if err != nil || len(items) == 0 {
		return err
	}
	if err := r.markCrawling(ctx, site.ID, items); err != nil {
		return err
	}
	for _, it := range items {
		if it.Todo {
			it.Target = r.TargetOf(it)
		}
	}
	return r.findParents(ctx, site.ID, items)
}

// findParents reads the URLs of linking pages, for items that need them as Referer and for
// entries of feeds.
func (r *planner) findParents(ctx context.Context, site string, items []*item.Item) error {
	var keys []string
	for _, it := range items {
		if it.Todo && (it.Settings.Referer == settings.RefererParent || it.Settings.IsFeedSite()) && !it.Row.Root() {
			keys = append(keys, it.Row.ParentMd5)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	texts, err := r.data.URLTexts(ctx, site, keys)
	if err != nil && !item.IsSiteGone(err) {
		return err
	}
	for _, it := range items {
		if it.Todo {
			it.ParentURL = texts[it.Row.ParentMd5]
		}
	}
	return nil
}

// dropUnknownSite drops the items of an unknown or deleted site.
func (r *planner) dropUnknownSite(id string, items []*item.Item) {
	for _, it := range items {
		it.Empty = true
		it.Row.ErrorMask = errormask.Synchronize
	}
	r.Log.Warn("unknown site; dropped its items", "site", id, "items", len(items))
}

// settingsOf returns the settings of an item, parsed once for all items of a site with the
// same properties.
func (r *planner) settingsOf(site *item.SiteView, it *item.Item) *settings.Settings {
	key := it.PropertiesKey()
	if set := site.Settings[key]; set != nil {
		return set
	}
	set, problems := settings.Read(&site.Site, it.Properties, r.Config)
	for _, p := range problems {
		r.Log.Warn("left out invalid property", "site", site.ID, "error", p)
		set.Bits |= errormask.Initialization
	}
	site.Settings[key] = set
	return set
}

// refuseItems hands all items of a site back. They are selected again when the site is active
// again.
func (r *planner) refuseItems(ctx context.Context, site *item.SiteView, items []*item.Item, bits errormask.Mask) error {
	if err := r.markCrawling(ctx, site.ID, items); err != nil {
		return err
	}
	now := schema.DateOf(r.Now())
	results := make([]wire.Fetched, 0, len(items))
	for _, it := range items {
		if !it.Todo {
			continue
		}
		it.Todo = false
		results = append(results, it.UncrawledOutcome(bits, now).Result)
		it.HandedBack = false // refused, not out of time
	}
	if !r.MayWrite() || len(results) == 0 {
		return nil
	}
	return r.saveSites(ctx, []wire.SiteFetched{{Site: site.ID, Results: results}})
}

// markCrawling sets the rows of a site to Crawling. Items whose row could be taken become todo.
func (r *planner) markCrawling(ctx context.Context, id string, items []*item.Item) error {
	urls := make([]wire.URL, 0, len(items))
	marks := make(map[string]wire.Mark, len(items))
	for _, it := range items {
		if r.marked[it.Key()] {
			marks[it.URLID] = wire.Mark{Row: it.Row, Known: true}
			continue
		}
		if r.RealTime() && canAnswerStored(&it.Row, it.Properties) {
			it.Row.ContentMask, it.Cached = max(it.Row.ContentMask, 1), true
		} else if isCrawlable(it.Row.Status) {
			urls = append(urls, it.Row)
		}
	}
	if r.MayWrite() && len(urls) > 0 {
		more, err := r.data.MarkCrawling(ctx, id, r.Batch.ID, urls)
		switch {
		case item.IsSiteGone(err):
			r.dropUnknownSite(id, items)
			return nil
		case err != nil:
			return err
		}
		maps.Copy(marks, more)
	} else {
		for _, u := range urls {
			marks[u.URLMd5] = wire.Mark{Row: u}
		}
	}
	for _, it := range items {
		mark, ok := marks[it.URLID]
		switch {
		case it.Cached || !isCrawlable(it.Row.Status):
			// Unchanged (docs/spec/crawling.md 2.1 step 1).
		case !ok:
			it.Empty = true
			it.Row.ErrorMask = errormask.Synchronize
		case mark.Done || mark.Busy:
			it.Row = mark.Row // finished, or owned by another batch
		default:
			it.Todo = true
			it.Before, it.Row = mark.Row, mark.Row
			it.Row.ErrorMask, it.Row.BatchID, it.Row.ChainID = 0, r.Batch.ID, it.BatchItem.URL.ChainID
		}
	}
	return nil
}

// canAnswerStored reports whether the stored result can answer a client: the URL was crawled and
// processed without an error, and no recrawl is requested (docs/spec/crawling.md 2.1 step 11).
func canAnswerStored(u *wire.URL, properties map[string]string) bool {
	again, err := strconv.Atoi(strings.TrimSpace(properties["recrawl"]))
	return u.Crawled > 0 && u.ErrorMask == 0 && u.TagsCount > 0 && (err != nil || again == 0)
}

func isCrawlable(status int64) bool {
	return slices.Contains([]int64{wire.StatusNew, wire.StatusSelectedCrawling, wire.StatusSelectedIncremental, wire.StatusCrawling}, status)
}
