package realtimeresponse

import (
	"encoding/json"

	"hce/dc/internal/wire"
)

// Values of a site's fetchType (docs/spec/crawling.md 4.9).
const (
	fetchDynamic = 2
	fetchAuto    = 7
)

// hopeless are errors that a browser would meet as well, or must not try again.
const hopeless = wire.ErrBadURL | wire.ErrConnection | wire.ErrRobots | wire.ErrSiteState | wire.ErrSiteMaxErrors | wire.ErrSiteMaxResources |
	wire.ErrProcessorMaxErrors | wire.ErrProcessorMaxResources | wire.ErrFiltersBreak | wire.ErrGuard | wire.ErrNoTimeWindow |
	wire.ErrMaxExecutionTime | wire.ErrURLsSchema | wire.ErrUnsupportedType | wire.ErrProcessorFilters

// Repeats reports whether an item goes round once more: its site leaves the way of
// fetching open, its result is poor, and a browser could do better. What the client
// brought itself, and what was not fetched, does not.
func Repeats(item wire.BatchItem, site *wire.Site, g Grade, fetched bool) bool {
	supplied := len(item.URL.URLPut) > 0 && item.URL.URLPut[0] == '{'
	return site != nil && site.FetchType == fetchAuto && fetched && !g.Enough && !supplied && item.URL.ErrorMask&hopeless == 0
}

// Again is an item as it was before it was fetched, now for a browser.
func Again(item wire.BatchItem) wire.BatchItem {
	u := &item.URL
	u.Status, u.State, u.Crawled, u.Processed = wire.StatusSelectedCrawling, wire.URLEnabled, 0, 0
	u.ErrorMask, u.HTTPCode, u.BatchID, u.TagsCount, u.TagsMask = 0, 0, 0, 0, 0
	u.RawContentMd5, u.ETag, u.LastModified = "", "", ""
	overlay := wire.SiteOverlay{Row: wire.Patch{}}
	source := map[string]json.RawMessage{}
	if item.Site != nil {
		overlay = *item.Site
		_ = json.Unmarshal(item.Site.Source, &source) // was read before; else the overlay is all that there is
	}
	if source == nil {
		source = map[string]json.RawMessage{}
	}
	row := wire.Patch{}
	for name, value := range overlay.Row {
		row[name] = value
	}
	row["FetchType"] = int64(fetchDynamic)
	source["fetchType"] = json.RawMessage("2")
	overlay.Row = row
	overlay.Source, _ = json.Marshal(source) // of texts that were JSON
	item.Site = &overlay
	return item
}
