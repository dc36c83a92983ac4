package realtimeresponse

import (
	"encoding/json"
	"maps"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Values of a site's fetchType (docs/spec/crawling.md 4.9).
const (
	fetchDynamic = 2
	fetchAuto    = 7
)

// finalErrors are errors that a browser cannot avoid, or must not avoid.
const finalErrors = errormask.BadURL | errormask.Connection | errormask.Robots | errormask.SiteState | errormask.SiteMaxErrors | errormask.SiteMaxResources |
	errormask.ProcessorMaxErrors | errormask.ProcessorMaxResources | errormask.FiltersBreak | errormask.Guard | errormask.NoTimeWindow |
	errormask.MaxExecutionTime | errormask.URLsSchema | errormask.UnsupportedType | errormask.ProcessorFilters

// NeedsBrowser reports whether an item is to be fetched again in a browser: its site has
// the fetch type auto, its result is poor, and no final error occurred. fetched tells
// whether this batch fetched the page. The client's own content needs no browser.
func NeedsBrowser(item wire.BatchItem, site *wire.Site, g Grade, fetched bool) bool {
	supplied := len(item.URL.URLPut) > 0 && item.URL.URLPut[0] == '{'
	return site != nil && site.FetchType == fetchAuto && fetched && !g.Enough && !supplied && item.URL.ErrorMask&finalErrors == 0
}

// ForBrowser returns a copy of item as it was before fetching, with the fetch type of a
// browser.
func ForBrowser(item wire.BatchItem) wire.BatchItem {
	u := &item.URL
	u.Status, u.State, u.Crawled, u.Processed = wire.StatusSelectedCrawling, wire.URLEnabled, 0, 0
	u.ErrorMask, u.HTTPCode, u.BatchID, u.TagsCount, u.TagsMask = 0, 0, 0, 0, 0
	u.RawContentMd5, u.ETag, u.LastModified = "", "", ""
	overlay := wire.SiteOverlay{}
	var source map[string]json.RawMessage
	if item.Site != nil {
		overlay = *item.Site
		_ = json.Unmarshal(item.Site.Source, &source) // ReadBatch has checked it
	}
	if source == nil {
		source = map[string]json.RawMessage{}
	}
	row := schema.Patch{}
	maps.Copy(row, overlay.Row)
	row["FetchType"] = int64(fetchDynamic)
	source["fetchType"] = json.RawMessage("2")
	overlay.Row = row
	overlay.Source, _ = json.Marshal(source) // a map of valid JSON never fails
	item.Site = &overlay
	return item
}
