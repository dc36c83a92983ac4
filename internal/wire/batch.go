package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Batch is the unit of work of crawler-task and processor-task (docs/spec/objects.md 2.11).
type Batch struct {
	ID                int64
	CrawlerType       int64
	Items             []BatchItem
	ErrorMask         ErrorMask
	DBMode            int64 // bits DBRead, DBWrite
	MaxIterations     int64
	MaxItems          int64 // 0: no limit
	MaxExecutionTime  int64 // seconds; 0: no limit
	MaxHostWait       int64 // ms that an item waits for its host before it is handed back; 0: no limit
	RemoveUnprocessed bool  // leave items that were not started out of the answer

	// The manager sets these for the tasks of a real-time batch.
	Folder string // of its raw files; "": those of the node
	Spent  int64  // ms of MaxExecutionTime that earlier tasks used
}

// BatchItem is one URL of a Batch. Its key is (SiteID, URLID).
type BatchItem struct {
	SiteID     string
	URLID      string
	URL        URL
	Given      Patch // the columns that urlObj sets
	Properties map[string]string
	Site       *SiteOverlay // nil: the stored site is not changed
	Depth      int64

	// BaseURL is the base URL of the fetched page, from one task to the next.
	BaseURL string
}

// SiteOverlay is the siteObj of a batch item. Row replaces columns of the stored site;
// Filters and Properties are added to its lists (docs/spec/crawling.md 1.3).
type SiteOverlay struct {
	Row        Patch
	Filters    []Patch
	Properties []Patch
	// Source is the JSON of the object. The tasks of a real-time batch pass it on, because
	// its site may not be stored.
	Source json.RawMessage `json:"-"`
}

// ReadBatch reads a Batch and checks its ids. It drops repeated items.
func ReadBatch(raw json.RawMessage, n *Notes) (Batch, error) {
	o := readObject("Batch", raw)
	b := Batch{
		ID:                batchID(o),
		CrawlerType:       o.int("crawlerType", CrawlNormal),
		ErrorMask:         ErrorMask(o.int("errorMask", 0)),
		DBMode:            o.int("dbMode", DBRead|DBWrite),
		MaxIterations:     o.int("maxIterations", 1),
		MaxItems:          o.int("maxItems", 0),
		MaxExecutionTime:  o.int("maxExecutionTime", 0),
		MaxHostWait:       o.int("maxHostWait", 0),
		RemoveUnprocessed: o.bool("removeUnprocessedItems", false),
		Folder:            o.text("contentFolder", ""),
		Spent:             o.bounded("spentTime", 0, Bounds{Max: math.MaxInt32}),
	}
	if o.err == nil && b.Folder != "" && !FolderName(b.Folder) {
		o.fail("contentFolder", "is not the name of a folder")
	}
	o.accept("errorNames")
	seen := map[[2]string]bool{}
	for i, elem := range o.list("items") {
		item, err := readBatchItem(fmt.Sprintf("BatchItem[%d]", i), elem, n)
		if err != nil {
			return b, err
		}
		key := [2]string{item.SiteID, item.URLID}
		if seen[key] {
			continue
		}
		seen[key] = true
		b.Items = append(b.Items, item)
	}
	return b, o.end(n)
}

// FolderName reports whether name is a valid Batch.Folder: 1 to 64 letters, digits, _
// or -.
func FolderName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(name) > 0 && len(name) <= 64
}

// batchID reads the id, an unsigned number of 32 bits. Older clients write it as a signed
// number.
func batchID(o *object) int64 {
	b := boundsOf("u32")
	n := o.bounded("id", 0, Bounds{Min: math.MinInt32, Max: b.Max})
	if n < 0 {
		n += b.Max + 1
	}
	return n
}

func readBatchItem(name string, raw json.RawMessage, n *Notes) (BatchItem, error) {
	o := readObject(name, raw)
	item := BatchItem{SiteID: o.text("siteId", ""), URLID: o.text("urlId", ""), Depth: o.int("depth", 0), BaseURL: o.text("baseUrl", "")}
	o.accept("urlPutObj", "urlContentResponse", "siteProperties")
	if item.SiteID == "" {
		item.SiteID = GeneralSite
	}
	if o.err == nil && !o.has("urlObj") {
		o.fail("urlObj", "is missing")
		return item, o.err
	}
	u := readObject(name+".urlObj", o.raw("urlObj"))
	u.loose = true // its values come from another task, not from a client
	item.Given = u.columns(URLColumns)
	if text := item.Given.Text("URL"); u.err == nil && text == "" {
		u.fail("url", "is missing")
	}
	item.URL = NewURL(item.SiteID, item.Given.Text("URL"))
	item.URL.ContentMask = u.int("contentMask", 0)
	item.URL.URLPut = u.raw("urlPut")
	item.URL.Attributes = attributesOf(u)
	if u.err != nil {
		return item, u.err
	}
	Apply(&item.URL, URLColumns, item.Given, "")
	if item.URLID == "" {
		item.URLID = item.URL.URLMd5
	}
	if item.URLID == "" {
		item.URLID = Md5(item.URL.URL)
	}
	item.URL.SiteID, item.URL.URLMd5 = item.SiteID, item.URLID
	if raw := o.raw("properties"); raw != nil && raw[0] == '{' {
		rows, err := readBatchProperties(name+".properties", item.SiteID, raw, n)
		if err != nil {
			return item, err
		}
		item.Properties = map[string]string{}
		for _, row := range rows {
			item.Properties[row.Text("Name")] = row.Text("Value")
		}
	}
	if raw := o.raw("siteObj"); raw != nil {
		overlay, err := readOverlay(name+".siteObj", item.SiteID, raw, n)
		if err != nil {
			return item, err
		}
		item.Site = overlay
	}
	if err := o.end(n); err != nil {
		return item, err
	}
	if err := CheckSiteID(name, "siteId", item.SiteID); err != nil {
		return item, err
	}
	return item, CheckMd5(name, "urlId", item.URLID)
}

// attributesOf reads the attributes of urlObj, which go to the answer of a real-time
// batch. It skips invalid ones.
func attributesOf(u *object) []Attribute {
	var list []Attribute
	if u.err != nil || json.Unmarshal(u.raw("attributes"), &list) != nil {
		return nil
	}
	if list = slices.DeleteFunc(list, func(a Attribute) bool { return a.Name == "" }); len(list) == 0 {
		return nil
	}
	return list
}

func readOverlay(name, siteID string, raw json.RawMessage, n *Notes) (*SiteOverlay, error) {
	o := readObject(name, raw)
	s := &SiteOverlay{Row: o.columns(SiteColumns), Source: raw}
	delete(s.Row, "Id")
	o.accept("moveURLs", "urls")
	o.accept(siteExtras...)
	var err error
	s.Filters, err = listOf(o, "filters", func(name string, raw json.RawMessage) (Patch, error) {
		return readFilter(name, siteID, raw, n)
	})
	if err != nil {
		return nil, err
	}
	if o.has("properties") {
		if s.Properties, err = readBatchProperties(name+".properties", siteID, o.raw("properties"), n); err != nil {
			return nil, err
		}
	}
	return s, o.end(n)
}

// Apply changes site. It never writes into lists that other copies of site share. A nil
// overlay changes nothing.
func (o *SiteOverlay) Apply(site *Site) {
	if o == nil {
		return
	}
	Apply(site, SiteColumns, o.Row, "")
	site.Filters, site.Properties = slices.Clip(site.Filters), slices.Clip(site.Properties)
	for _, p := range o.Filters {
		var f SiteFilter
		Apply(&f, FilterColumns, p, "")
		site.Filters = append(site.Filters, f)
	}
	for _, p := range o.Properties {
		var row SiteProperty
		Apply(&row, PropertyColumns, p, "")
		site.Properties = append(site.Properties, row)
	}
}

// Key returns the same text for overlays with the same effect.
func (o *SiteOverlay) Key() string {
	text, _ := json.Marshal(o) // a Patch holds only numbers and texts
	return string(text)
}

// Groups returns the items with the same key together, in the order of their first items.
func Groups[T any](items []T, key func(T) string) [][]T {
	var groups [][]T
	places := map[string]int{}
	for _, item := range items {
		k := key(item)
		i, ok := places[k]
		if !ok {
			i = len(groups)
			places[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}

// MarshalJSON writes the Batch in the form of docs/spec/objects.md 2.11.
func (b Batch) MarshalJSON() ([]byte, error) {
	items := make([]json.RawMessage, len(b.Items))
	for i := range b.Items {
		var err error
		if items[i], err = b.Items[i].encode(b.CrawlerType == CrawlRealTime); err != nil {
			return nil, err
		}
	}
	var maxItems any
	if b.MaxItems > 0 {
		maxItems = b.MaxItems
	}
	object := map[string]any{
		"id": b.ID, "crawlerType": b.CrawlerType, "items": items, "errorMask": b.ErrorMask,
		"errorNames": b.ErrorMask.Names(), "dbMode": b.DBMode, "maxIterations": b.MaxIterations,
		"maxItems": maxItems, "maxExecutionTime": b.MaxExecutionTime, "removeUnprocessedItems": b.RemoveUnprocessed,
	}
	if b.MaxHostWait > 0 { // this key and the next two are not part of the specification
		object["maxHostWait"] = b.MaxHostWait
	}
	if b.Folder != "" {
		object["contentFolder"], object["spentTime"] = b.Folder, b.Spent
	}
	return json.Marshal(object)
}

// MarshalJSON writes the item without siteObj.
func (i BatchItem) MarshalJSON() ([]byte, error) { return i.encode(false) }

// encode writes the item; withSite adds its siteObj.
func (i BatchItem) encode(withSite bool) ([]byte, error) {
	var site json.RawMessage
	if withSite && i.Site != nil {
		site = i.Site.Source
	}
	properties := i.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return json.Marshal(map[string]any{
		"siteId": i.SiteID, "urlId": i.URLID, "urlObj": i.URL, "properties": properties,
		"siteObj": site, "depth": i.Depth, "baseUrl": i.BaseURL,
	})
}
