package crawl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// siteWork is a site as items of the batch see it, read and parsed once for the batch. Items with different siteObj
// see different versions of a site.
type siteWork struct {
	wire.Site
	filters   *filter.Set
	badFilter error                         // the first filter that cannot be read; such a site is not fetched
	settings  map[string]*settings.Settings // by the JSON of the item's own properties
}

// planner turns items of a batch into work: with their sites, settings and marked rows.
type planner struct {
	*resultStore
	sites  map[string]*wire.Site // of the items that are planned now; nil: unknown site
	works  map[siteKey]*siteWork
	noted  map[chainKey]errormask.Mask // error bits of items from before the first pass
	marked map[chainKey]bool           // items whose rows are marked already
}

// newPlanner returns the planner of a batch.
func newPlanner(e *environment) *planner {
	return &planner{
		resultStore: &resultStore{environment: e},
		sites:       map[string]*wire.Site{},
		works:       map[siteKey]*siteWork{},
		noted:       map[chainKey]errormask.Mask{},
		marked:      map[chainKey]bool{},
	}
}

// planBatch loads the sites, refuses items that may not be crawled and marks the others Crawling
// (docs/spec/steps.md 1 #2 to #9). It returns one item per item of list, in order.
func (r *planner) planBatch(ctx context.Context, list []wire.BatchItem) ([]*item, error) {
	work := make([]*item, len(list))
	for i, bi := range list {
		work[i] = &item{BatchItem: bi, url: bi.URL, row: bi.URL, put: bi.URL.URLPut, noted: r.noted[chainKey{bi.SiteID, bi.URLID}]}
	}
	for _, items := range wire.Groups(work, func(it *item) string { return it.SiteID }) {
		id := items[0].SiteID
		if err := r.planSite(ctx, id, items); err != nil {
			return nil, fmt.Errorf("plan items of site %s: %w", id, err)
		}
	}
	clear(r.sites)
	return work, nil
}

// planSite plans the items of one site, grouped by siteObj.
func (r *planner) planSite(ctx context.Context, id string, items []*item) error {
	stored, err := r.readSite(ctx, id)
	if err != nil {
		return err
	}
	if stored == nil && r.Config.GeneralForUnknown && id != wire.GeneralSite {
		if stored, err = r.Data.Site(ctx, wire.GeneralSite); err != nil {
			return err
		}
		if stored != nil {
			r.log.Info("unknown site; moved its items to site 0", "site", id, "items", len(items))
			for _, it := range items {
				it.SiteID, it.url.SiteID, it.row.SiteID = wire.GeneralSite, wire.GeneralSite, wire.GeneralSite
			}
		}
	}
	if stored == nil {
		r.dropUnknownSite(id, items)
		return nil
	}
	for _, same := range wire.Groups(items, func(it *item) string { return it.Site.Key() }) {
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
func (r *planner) newSiteWork(s wire.Site) *siteWork {
	work := &siteWork{Site: s, settings: map[string]*settings.Settings{}}
	var problems []error
	work.filters, problems = filter.Compile(filter.Rules(s.Filters))
	for _, p := range problems {
		r.log.Warn("left out invalid filter", "site", s.ID, "error", p)
		work.badFilter = cmp.Or(work.badFilter, p)
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
	stored, err := r.Data.Site(ctx, id)
	if err != nil {
		return nil, err
	}
	if stored == nil && r.realTime() {
		stored = &wire.Site{ID: id, State: wire.SiteActive, FetchType: 1}
	}
	r.sites[id] = stored
	return stored, nil
}

// planItems plans items with the same site and siteObj. now is the site with its present state and
// counters; its other fields count as they were when the batch first read it.
func (r *planner) planItems(ctx context.Context, site *siteWork, now *wire.Site, items []*item) error {
	if !r.batch.Allows(now) {
		r.log.Info("site is not active; skipped its items", "site", site.ID, "state", now.State)
		return r.refuseItems(ctx, site, items, errormask.SiteState)
	}
	if bits := now.OverLimits(errormask.SiteMaxErrors, errormask.SiteMaxResources); bits != 0 {
		r.log.Warn("suspended site: it exceeded a limit", "site", site.ID, "errors", bits.Names())
		if r.mayWrite() {
			if err := r.Data.Suspend(ctx, site.ID, bits, len(items)); err != nil && !isSiteGone(err) {
				return err
			}
		}
		return r.refuseItems(ctx, site, items, bits)
	}
	for _, it := range items {
		it.site, it.settings = site, r.settingsOf(site, it)
	}
	items, err := r.passGuards(ctx, site, items)
	if err != nil || len(items) == 0 {
		return err
	}
	if err := r.markCrawling(ctx, site.ID, items); err != nil {
		return err
	}
	for _, it := range items {
		if it.todo {
			it.target = r.targetOf(it)
		}
	}
	return r.findParents(ctx, site.ID, items)
}

// findParents reads the URLs of linking pages, for items that need them as Referer and for
// entries of feeds.
func (r *planner) findParents(ctx context.Context, site string, items []*item) error {
	var keys []string
	for _, it := range items {
		if it.todo && (it.settings.Referer == settings.RefererParent || it.settings.IsFeedSite()) && !it.url.Root() {
			keys = append(keys, it.url.ParentMd5)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	texts, err := r.Data.URLTexts(ctx, site, keys)
	if err != nil && !isSiteGone(err) {
		return err
	}
	for _, it := range items {
		if it.todo {
			it.parent = texts[it.url.ParentMd5]
		}
	}
	return nil
}

// dropUnknownSite drops the items of an unknown or deleted site.
func (r *planner) dropUnknownSite(id string, items []*item) {
	for _, it := range items {
		it.empty = true
		it.url.ErrorMask = errormask.Synchronize
	}
	r.log.Warn("unknown site; dropped its items", "site", id, "items", len(items))
}

// settings.ReadValues returns the settings of an item, parsed once for all items of a site with the
// same properties.
func (r *planner) settingsOf(site *siteWork, it *item) *settings.Settings {
	key := it.PropertiesKey()
	if set := site.settings[key]; set != nil {
		return set
	}
	set, problems := settings.Read(&site.Site, it.Properties, r.Config)
	for _, p := range problems {
		r.log.Warn("left out invalid property", "site", site.ID, "error", p)
		set.Bits |= errormask.Initialization
	}
	site.settings[key] = set
	return set
}

// refuseItems hands all items of a site back. They are selected again when the site is active
// again.
func (r *planner) refuseItems(ctx context.Context, site *siteWork, items []*item, bits errormask.Mask) error {
	if err := r.markCrawling(ctx, site.ID, items); err != nil {
		return err
	}
	now := schema.DateOf(r.Now())
	results := make([]wire.Fetched, 0, len(items))
	for _, it := range items {
		if !it.todo {
			continue
		}
		it.todo = false
		results = append(results, it.uncrawledOutcome(bits, now).result)
		it.handedBack = false // refused, not out of time
	}
	if !r.mayWrite() || len(results) == 0 {
		return nil
	}
	return r.saveSites(ctx, []wire.SiteFetched{{Site: site.ID, Results: results}})
}

// markCrawling sets the rows of a site to Crawling. Items whose row could be taken become todo.
func (r *planner) markCrawling(ctx context.Context, id string, items []*item) error {
	urls := make([]wire.URL, 0, len(items))
	marks := make(map[string]wire.Mark, len(items))
	for _, it := range items {
		if r.marked[chainKey{it.SiteID, it.URLID}] {
			marks[it.URLID] = wire.Mark{Row: it.url, Known: true}
			continue
		}
		if r.realTime() && canAnswerStored(&it.url, it.Properties) {
			it.url.ContentMask, it.cached = max(it.url.ContentMask, 1), true
		} else if isCrawlable(it.url.Status) {
			urls = append(urls, it.url)
		}
	}
	if r.mayWrite() && len(urls) > 0 {
		more, err := r.Data.MarkCrawling(ctx, id, r.batch.ID, urls)
		switch {
		case isSiteGone(err):
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
		case it.cached || !isCrawlable(it.url.Status):
			// Unchanged (docs/spec/crawling.md 2.1 step 1).
		case !ok:
			it.empty = true
			it.url.ErrorMask = errormask.Synchronize
		case mark.Done || mark.Busy:
			it.url = mark.Row // finished, or owned by another batch
		default:
			it.todo = true
			it.row, it.url = mark.Row, mark.Row
			it.url.ErrorMask, it.url.BatchID, it.url.ChainID = 0, r.batch.ID, it.BatchItem.URL.ChainID
		}
	}
	return nil
}

// isSiteGone reports whether a site was deleted after it was read. The batch continues.
func isSiteGone(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }

// canAnswerStored reports whether the stored result can answer a client: the URL was crawled and
// processed without an error, and no recrawl is requested (docs/spec/crawling.md 2.1 step 11).
func canAnswerStored(u *wire.URL, properties map[string]string) bool {
	again, err := strconv.Atoi(strings.TrimSpace(properties["recrawl"]))
	return u.Crawled > 0 && u.ErrorMask == 0 && u.TagsCount > 0 && (err != nil || again == 0)
}

func isCrawlable(status int64) bool {
	return slices.Contains([]int64{wire.StatusNew, wire.StatusSelectedCrawling, wire.StatusSelectedIncremental, wire.StatusCrawling}, status)
}
