package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"hce/dc/internal/wire/counting"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// Batch is the unit of work of crawler-task and processor-task (docs/spec/objects.md 2.11).
type Batch struct {
	ID                int64
	CrawlerType       int64
	Items             []BatchItem
	ErrorMask         errormask.Mask
	DBMode            int64 // bits DBRead, DBWrite
	MaxIterations     int64
	MaxItems          int64 // 0: no limit
	MaxExecutionTime  int64 // seconds; 0: no limit
	MaxHostWait       int64 // ms that an item waits for its host before it is handed back; 0: no limit
	Retry             bool  // URLs whose answers mean "later" are asked again (RETRY); false: each item once
	RemoveUnprocessed bool  // leave items that were not started out of the answer

	// Refill, if not empty, is the URL_FETCH that selects more URLs for this batch when its
	// items are done, for RefillTime ms from the start. Refilled counts them in the answer.
	Refill     []URLFetchRequest
	RefillTime int64
	Refilled   int64

	Tally counting.Tally // in the answer: what the task counted

	// The manager sets these for the tasks of a real-time batch.
	Folder string // of its raw files; "": those of the node
	Spent  int64  // ms of MaxExecutionTime that earlier tasks used
}

// BatchItem is one URL of a Batch. Its key is (SiteID, URLID). An item whose URL.URLPut has the
// content needs no URL text.
type BatchItem struct {
	SiteID     string
	URLID      string
	URL        URL
	Given      schema.Patch // the columns that urlObj sets
	Properties map[string]string
	Site       *SiteOverlay // nil: the stored site is not changed
	Depth      int64

	// BaseURL is the base URL of the fetched page, from one task to the next.
	BaseURL string
	// Put is urlPutObj in an answer of processor-task to a real-time batch: the processed
	// content. It is not read.
	Put json.RawMessage `json:"-"`
}

// SiteOverlay is the siteObj of a batch item. Row replaces columns of the stored site;
// Filters and Properties are added to its lists (docs/spec/crawling.md 1.3).
type SiteOverlay struct {
	Row        schema.Patch
	Filters    []schema.Patch
	Properties []schema.Patch
	// Source is the JSON of the object. The tasks of a real-time batch pass it on, because
	// its site may not be stored.
	Source json.RawMessage `json:"-"`
}

// ReadBatch reads a Batch and checks its ids. It drops repeated items.
func ReadBatch(raw json.RawMessage, n *lenient.Notes) (Batch, error) {
	return lenient.ReadOne("Batch", raw, n, func(o *lenient.Object) Batch {
		b := Batch{
			ID:                batchID(o),
			CrawlerType:       o.ReadInt("crawlerType", CrawlNormal),
			ErrorMask:         errormask.Mask(o.ReadInt("errorMask", 0)),
			DBMode:            o.ReadInt("dbMode", DBRead|DBWrite),
			MaxIterations:     o.ReadInt("maxIterations", 1),
			MaxItems:          o.ReadInt("maxItems", 0),
			MaxExecutionTime:  o.ReadInt("maxExecutionTime", 0),
			MaxHostWait:       o.ReadInt("maxHostWait", 0),
			Retry:             o.ReadBool("retry", false),
			RemoveUnprocessed: o.ReadBool("removeUnprocessedItems", false),
			Folder:            o.ReadText("contentFolder"),
			Spent:             o.ReadBoundedInt("spentTime", 0, schema.Bounds{Max: math.MaxInt32}),
		}
		if b.Folder != "" && !FolderName(b.Folder) {
			o.RefuseField("contentFolder", "is not the name of a folder")
		}
		o.AcceptUnused("errorNames", "refilled", "tally")
		if o.HasField("refill") {
			b.Refill = lenient.ReadObject(o.Reading, "Batch.refill", o.Fields["refill"], func(o *lenient.Object) []URLFetchRequest { return readRefill(o, &b) })
			b.RefillTime = o.ReadBoundedInt("refillTime", 0, schema.Bounds{Max: math.MaxInt32})
		}
		seen := map[[2]string]bool{}
		for i, raw := range o.ReadList("items") {
			item := lenient.ReadObject(o.Reading, fmt.Sprintf("BatchItem[%d]", i), raw, readBatchItem)
			key := [2]string{item.SiteID, item.URLID}
			if !seen[key] {
				b.Items = append(b.Items, item)
			}
			seen[key] = true
		}
		return b
	})
}

// readRefill reads a selection, whose rows the batch must hold.
func readRefill(o *lenient.Object, b *Batch) []URLFetchRequest {
	r := readURLFetch(o)
	status := int64(StatusSelectedCrawling)
	switch b.CrawlerType {
	case CrawlProcess:
		status = StatusSelectedProcessing
	case CrawlIncremental:
		status = StatusSelectedIncremental
	}
	if r.URLUpdate["Status"] != status || r.URLUpdate["Batch_Id"] != b.ID {
		o.RefuseField("urlUpdate", "does not select for this batch")
	}
	if r.SiteLists.Given() {
		o.RefuseField("siteUpdate", "changes lists of a site")
	}
	o.KeepFirstError(r.Check(o.Name))
	return []URLFetchRequest{r}
}

// FolderName reports whether name is a valid Batch.Folder: 1 to 64 letters, digits, _
// or -.
func FolderName(name string) bool { return namePattern.MatchString(name) }

// batchID reads the id, an unsigned number of 32 bits. Older clients write it as a signed
// number.
func batchID(o *lenient.Object) int64 {
	b := schema.BoundsOf("u32")
	n := o.ReadBoundedInt("id", 0, schema.Bounds{Min: math.MinInt32, Max: b.Max})
	if n < 0 {
		n += b.Max + 1
	}
	return n
}

func readBatchItem(o *lenient.Object) BatchItem {
	item := BatchItem{SiteID: readSiteID(o), URLID: o.ReadMD5("urlId"), Depth: o.ReadInt("depth", 0), BaseURL: o.ReadText("baseUrl")}
	o.AcceptUnused("urlPutObj", "urlContentResponse", "siteProperties")
	if !o.HasField("urlObj") {
		o.RefuseField("urlObj", "is missing")
		return item
	}
	u := o.ReadChild("urlObj")
	u.Loose = true // its values come from another task, not from a client
	item.Given = u.ReadColumns(URLColumns)
	text := item.Given.Text("URL")
	item.URL = NewURL(item.SiteID, text)
	item.URL.ContentMask = u.ReadInt("contentMask", 0)
	item.URL.URLPut = u.ReadRaw("urlPut")
	item.URL.Attributes = attributesOf(u)
	u.AcceptUnused("siteId", "siteSelect", "urlUpdate", "errorNames", "host", "chainId")
	u.NoteUnused()
	schema.Apply(&item.URL, URLColumns, item.Given, "")
	if item.URLID = cmp.Or(item.URLID, item.Given.Text("URLMd5")); text != "" {
		item.URLID = urlkey.Choose(item.URLID, text)
	} else if !HasData(item.URL.URLPut) {
		u.RefuseField("url", "is missing, and so is urlPut.putDict.data")
	} else if item.URLID == "" {
		item.URLID = Md5(string(item.URL.URLPut)) // contents differ, so keys must
	}
	item.URL.SiteID, item.URL.URLMd5 = item.SiteID, item.URLID
	if o.IsObject("properties") {
		item.Properties = map[string]string{}
		for _, row := range readProperties(o, item.SiteID, true) {
			item.Properties[row.Text("Name")] = row.Text("Value")
		}
	}
	if o.HasField("siteObj") {
		s := lenient.ReadObject(o.Reading, o.Name+".siteObj", o.Fields["siteObj"], func(o *lenient.Object) SiteOverlay { return readOverlay(o, item.SiteID) })
		s.Source = o.Fields["siteObj"]
		item.Site = &s
	}
	o.KeepFirstError(cmp.Or(CheckSiteID(o.Name, "siteId", item.SiteID), CheckMd5(o.Name, "urlId", item.URLID)))
	return item
}

// attributesOf reads the attributes of urlObj, which go to the answer of a real-time
// batch. It skips invalid ones.
func attributesOf(u *lenient.Object) []Attribute {
	var list []Attribute
	if json.Unmarshal(u.ReadRaw("attributes"), &list) != nil {
		return nil
	}
	if list = slices.DeleteFunc(list, func(a Attribute) bool { return a.Name == "" }); len(list) == 0 {
		return nil
	}
	return list
}

func readOverlay(o *lenient.Object, siteID string) SiteOverlay {
	s := SiteOverlay{Row: o.ReadColumns(SiteColumns)}
	delete(s.Row, "Id")
	o.AcceptUnused("moveURLs", "urls")
	o.AcceptUnused(siteExtras...)
	s.Filters = lenient.ListOf(o, "filters", func(o *lenient.Object) schema.Patch { return readFilter(o, siteID) })
	s.Properties = readProperties(o, siteID, true)
	return s
}

// BatchItems returns items of stored rows, such as a selection.
func BatchItems(rows []URL) []BatchItem {
	items := make([]BatchItem, len(rows))
	for i, u := range rows {
		items[i] = BatchItem{SiteID: u.SiteID, URLID: u.URLMd5, URL: u}
	}
	return items
}

// Apply changes site. It never writes into lists that other copies of site share. A nil
// overlay changes nothing.
func (o *SiteOverlay) Apply(site *Site) {
	if o == nil {
		return
	}
	schema.Apply(site, SiteColumns, o.Row, "")
	site.Filters, site.Properties = slices.Clip(site.Filters), slices.Clip(site.Properties)
	site.Filters = append(site.Filters, schema.RowsOf[SiteFilter](FilterColumns, o.Filters)...)
	site.Properties = append(site.Properties, schema.RowsOf[SiteProperty](PropertyColumns, o.Properties)...)
}

// Key returns the same text for overlays with the same effect.
func (o *SiteOverlay) Key() string {
	text, _ := json.Marshal(o) // a Patch holds only numbers and texts
	return string(text)
}

// PropertiesKey returns the same text for items with the same properties.
func (it *BatchItem) PropertiesKey() string {
	if len(it.Properties) == 0 {
		return ""
	}
	text, _ := json.Marshal(it.Properties) // a map of texts: sorted, and never an error
	return string(text)
}

// Allows reports whether the state of a site permits its crawling and processing. Real-time batches
// also use a suspended site (docs/spec/crawling.md 2.1 step 8, docs/spec/processing.md 6.1 #1).
func (b *Batch) Allows(s *Site) bool {
	if b.CrawlerType == CrawlRealTime {
		return s.State != SiteDisabled
	}
	return s.State == SiteActive
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
		if items[i], err = b.Items[i].encodeItem(b.CrawlerType == CrawlRealTime); err != nil {
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
	if b.MaxHostWait > 0 { // this key and the next ones are not part of the specification
		object["maxHostWait"] = b.MaxHostWait
	}
	if b.Retry {
		object["retry"] = true
	}
	if b.Refilled > 0 {
		object["refilled"] = b.Refilled
	}
	if len(b.Tally) > 0 {
		object["tally"] = b.Tally
	}
	if b.Folder != "" {
		object["contentFolder"], object["spentTime"] = b.Folder, b.Spent
	}
	return json.Marshal(object)
}

// Writes reports whether the tasks of the batch change rows and stored contents. Those of a
// real-time batch never do.
func (b *Batch) Writes() bool { return b.DBMode&DBWrite != 0 && b.CrawlerType != CrawlRealTime }

// MarshalJSON writes the item without siteObj.
func (i BatchItem) MarshalJSON() ([]byte, error) { return i.encodeItem(false) }

// encodeItem writes the item; withSite adds its siteObj.
func (i BatchItem) encodeItem(withSite bool) ([]byte, error) {
	var site json.RawMessage
	if withSite && i.Site != nil {
		site = i.Site.Source
	}
	properties := i.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	object := map[string]any{
		"siteId": i.SiteID, "urlId": i.URLID, "urlObj": i.URL, "properties": properties,
		"siteObj": site, "depth": i.Depth, "baseUrl": i.BaseURL,
	}
	if i.Put != nil {
		object["urlPutObj"] = i.Put
	}
	return json.Marshal(object)
}
