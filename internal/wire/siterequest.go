package wire

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// SiteNewRequest is the object of SITE_NEW (docs/spec/objects.md 2.1). Site holds the columns
// that the request sets; ID is Site's Id, or the md5 of the first root URL.
type SiteNewRequest struct {
	ID         string
	Site       Patch
	MoveURLs   bool
	URLs       []Patch // rows of sites_urls; URL and URLMd5 are set
	Filters    []Patch
	Properties []Patch

	masks []int64 // of URLs, in their order
}

// Keys of site requests that are known and do nothing here.
var siteExtras = []string{"updateType", "criterions", "host", "errorNames", "recrawlLock", "_urlNormalizeMask"}

// ReadSiteNew reads the object of SITE_NEW. Only an id or one URL is mandatory
// (docs/spec/DECISIONS.md 1.7).
func ReadSiteNew(raw json.RawMessage, n *Notes) (SiteNewRequest, error) {
	o := readObject("Site", raw)
	r := SiteNewRequest{MoveURLs: o.bool("moveURLs", true)}
	r.Site = o.columns(SiteColumns)
	mask := o.int("_urlNormalizeMask", 0)
	o.accept(siteExtras...)
	r.ID = r.Site.Text("Id")
	for i, elem := range o.list("urls") {
		row, mask, err := readRootURL(fmt.Sprintf("Site.urls[%d]", i), elem, mask, n)
		if err == nil {
			row, err = rootRow(fmt.Sprintf("Site.urls[%d]", i), row)
		}
		if err != nil {
			return r, err
		}
		ownedBy(row, r.Site)
		r.URLs, r.masks = append(r.URLs, row), append(r.masks, mask)
	}
	if r.ID == "" && len(r.URLs) > 0 {
		r.ID = Md5(r.URLs[0].Text("URL"))
	}
	if r.ID == "" && o.err == nil {
		o.err = &FieldError{Object: "Site", Field: "id", Reason: "is missing, and so is urls[0] to make it from"}
	}
	r.Site["Id"] = r.ID
	for i, elem := range o.list("filters") {
		row, err := readFilter(fmt.Sprintf("Site.filters[%d]", i), r.ID, elem, n)
		if err != nil {
			return r, err
		}
		r.Filters = append(r.Filters, row)
	}
	if o.has("properties") {
		var err error
		if r.Properties, err = readProperties("Site.properties", r.ID, o.raw("properties"), n); err != nil {
			return r, err
		}
	}
	return r, o.end(n)
}

// ownedBy gives a root URL the owner of its site, unless it has one.
func ownedBy(row, site Patch) {
	user, given := site["User_Id"]
	if _, own := row["User_Id"]; given && !own {
		row["User_Id"] = user
	}
}

// Normalize brings the root URLs to the form that their masks ask for (docs/spec/objects.md
// 2.2, 4.2): form gives it, or an error, which is the request's. Without a mask
// a URL stays as it is. The site's ID is made of the URL as it was given.
func (r *SiteNewRequest) Normalize(form func(text string, mask int64) (string, error)) error {
	return normalize("Site", r.URLs, r.masks, form)
}

func normalize(object string, rows []Patch, masks []int64, form func(string, int64) (string, error)) error {
	for i, row := range rows {
		text := row.Text("URL")
		if i >= len(masks) || masks[i] == 0 || text == "" {
			continue
		}
		fine, err := form(text, masks[i])
		if err != nil {
			return &FieldError{Object: fmt.Sprintf("%s.urls[%d]", object, i), Field: "url", Value: clip(quoteJSON(text)), Reason: "cannot be normalized: " + err.Error()}
		}
		if row["URLMd5"] == Md5(text) {
			row["URLMd5"] = Md5(fine)
		}
		row["URL"] = fine
	}
	return nil
}

// Check refuses ids and keys that cannot be stored (docs/spec/DECISIONS.md 4).
func (r SiteNewRequest) Check() error {
	if err := CheckSiteID("Site", "id", r.ID); err != nil {
		return err
	}
	for i, f := range r.Filters {
		if err := CheckSiteID(fmt.Sprintf("Site.filters[%d]", i), "siteId", f.Text("Site_Id")); err != nil {
			return err
		}
	}
	for i, p := range r.Properties {
		object := fmt.Sprintf("Site.properties[%d]", i)
		if err := CheckSiteID(object, "siteId", p.Text("Site_Id")); err != nil {
			return err
		}
		if err := checkPropertyURL(object, p); err != nil {
			return err
		}
	}
	return nil
}

func checkPropertyURL(object string, p Patch) error {
	if md5 := p.Text("URLMd5"); md5 != "" {
		return CheckMd5(object, "urlMd5", md5)
	}
	return nil
}

// readRootURL reads an item of a site's urls: the URL as a text, which has the
// request's mask, or its fields with a mask of their own (docs/spec/objects.md 2.2).
func readRootURL(name string, raw json.RawMessage, mask int64, n *Notes) (Patch, int64, error) {
	if len(raw) > 0 && raw[0] == '"' {
		text, ok := readText(raw)
		if !ok {
			return nil, 0, &FieldError{Object: name, Value: clip(raw), Reason: KindText.reason(raw)}
		}
		for _, c := range URLColumns {
			if reason := c.refusal(text); c.Name == "URL" && reason != "" {
				return nil, 0, &FieldError{Object: name, Field: "url", Value: clip(raw), Reason: reason}
			}
		}
		return Patch{"URL": text}, mask, nil
	}
	o := readObject(name, raw)
	row := o.columns(RootURLColumns)
	mask = o.int("_normalizeMask", 0)
	o.accept("siteSelect", "attributes", "urlUpdate", "urlPut", "chainId", "contentMask", "errorNames", "host")
	return row, mask, o.end(n)
}

func rootRow(name string, row Patch) (Patch, error) {
	text := row.Text("URL")
	if text == "" {
		return nil, &FieldError{Object: name, Field: "url", Reason: "is missing"}
	}
	row["URLMd5"] = Md5(text)
	row["ParentMd5"] = ""
	return row, nil
}

// readFilter reads a SiteFilter with the defaults of docs/spec/objects.md 2.3.
func readFilter(name, siteID string, raw json.RawMessage, n *Notes) (Patch, error) {
	row, err := readFilterFields(name, raw, n)
	for column, def := range map[string]any{"Subject": "", "OperationCode": int64(0), "Stage": int64(5),
		"Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0), "Site_Id": siteID} {
		if _, ok := row[column]; !ok {
			row[column] = def
		}
	}
	if _, given := row["Action"]; !given {
		row["Action"] = int64(1)
		// An exclude of the specification's form carries no action: the type decides.
		if row["Type"] == int64(0) {
			row["Action"] = int64(-1)
		}
	}
	return row, err
}

// readFilterFields reads what the object gives alone.
func readFilterFields(name string, raw json.RawMessage, n *Notes) (Patch, error) {
	o := readObject(name, raw)
	row := o.columns(FilterColumns)
	if o.err == nil && !o.has("pattern") {
		o.fail("pattern", "is missing")
	}
	return row, o.end(n)
}

// readProperties reads all three forms of docs/spec/objects.md 2.4; rows without a site get
// siteID. A list stands for siteId, value and urlMd5.
func readProperties(name, siteID string, raw json.RawMessage, n *Notes) ([]Patch, error) {
	return readPropertiesOf(name, siteID, raw, false, n)
}

// readBatchProperties is readProperties for items of batches and their siteObj,
// whose values may be JSON as it is (docs/spec/crawling.md 3, F8): there only a list that can be
// siteId, value and urlMd5 is one, others are values.
func readBatchProperties(name, siteID string, raw json.RawMessage, n *Notes) ([]Patch, error) {
	return readPropertiesOf(name, siteID, raw, true, n)
}

func readPropertiesOf(name, siteID string, raw json.RawMessage, listsAreValues bool, n *Notes) ([]Patch, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return readList(name, raw, func(name string, raw json.RawMessage) (Patch, error) {
			o := readObject(name, raw)
			row := o.columns(PropertyColumns)
			if o.err == nil && row.Text("Name") == "" {
				o.fail("name", "is missing")
			}
			return propertyRow(row, siteID), o.end(n)
		})
	}
	o := readObject(name, raw)
	if o.err != nil {
		return nil, o.err
	}
	rows := []Patch{}
	for _, key := range sortedKeys(o.fields) {
		value := o.fields[key]
		row := Patch{"Name": key}
		if isNull(value) {
			continue
		}
		switch value[0] {
		case '[':
			if listsAreValues && !isPropertyTriple(value) {
				row["Value"] = string(value)
				break
			}
			var triple []json.RawMessage
			texts := json.Unmarshal(value, &triple) == nil && len(triple) == 3
			for i, column := range []string{"Site_Id", "Value", "URLMd5"} {
				if !texts || isNull(triple[i]) {
					continue
				}
				row[column], texts = readText(triple[i])
			}
			if !texts {
				o.fail(key, "is not a list of three texts: siteId, value, urlMd5")
				return nil, o.err
			}
		case '{':
			// A JSON value given as it is, not as its text.
			row["Value"] = string(value)
		default:
			text, ok := readText(value)
			if !ok {
				o.fail(key, KindText.reason(value))
				return nil, o.err
			}
			row["Value"] = text
		}
		for _, c := range PropertyColumns {
			reason := c.refusal(row[c.Name])
			if reason == "" && !clean(row.Text(c.Name)) {
				reason = "has NUL, or bytes that are no character"
			}
			if reason != "" {
				o.fail(key, reason)
				return nil, o.err
			}
		}
		rows = append(rows, propertyRow(row, siteID))
	}
	return rows, nil
}

// isPropertyTriple reports whether a list is siteId, value and urlMd5, each of them
// null where it is not given.
func isPropertyTriple(value json.RawMessage) bool {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) != 3 || !isNull(list[1]) && strings.IndexByte("[{", list[1][0]) >= 0 {
		return false
	}
	for i, check := range map[int]func(object, field, text string) error{0: CheckSiteID, 2: CheckMd5} {
		if isNull(list[i]) {
			continue
		}
		if text, ok := readText(list[i]); !ok || text != "" && check("", "", text) != nil {
			return false
		}
	}
	return true
}

func propertyRow(row Patch, siteID string) Patch {
	if row.Text("Site_Id") == "" {
		row["Site_Id"] = siteID
	}
	for _, column := range []string{"URLMd5", "Value"} {
		if _, ok := row[column]; !ok {
			row[column] = ""
		}
	}
	return row
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// SiteStatusRequest is the object of SITE_STATUS (docs/spec/objects.md 2.6).
type SiteStatusRequest struct {
	ID      string
	Exclude []string // urls, properties, filters
}

// ReadSiteStatus reads the object of SITE_STATUS.
func ReadSiteStatus(raw json.RawMessage, n *Notes) (SiteStatusRequest, error) {
	o := readObject("SiteStatus", raw)
	r := SiteStatusRequest{ID: o.text("id", ""), Exclude: o.texts("excludeList", nil)}
	o.accept("deleteTaskId")
	if r.ID == "" {
		o.fail("id", "is missing")
	}
	return r, o.end(n)
}

// SiteFindRequest is the object of SITE_FIND (docs/spec/objects.md 2.6).
type SiteFindRequest struct {
	URL       *string // left part of a root URL; nil searches sites by Criterion alone
	Criterion Criterion
	Exclude   []string
}

// ReadSiteFind reads the object of SITE_FIND. The defaults of its criterion hold
// for the keys that are absent.
func ReadSiteFind(raw json.RawMessage, n *Notes) (SiteFindRequest, error) {
	o := readObject("SiteFind", raw)
	empty := ""
	r := SiteFindRequest{URL: &empty, Exclude: o.texts("excludeList", nil)}
	if _, given := o.fields["url"]; given {
		r.URL = o.textOrNil("url")
	}
	r.Criterion = o.criterion("criterions", Criterion{OrderBy: "CDate DESC", Limit: "10"})
	return r, o.end(n)
}

// SiteDeleteRequest is one element of SITE_DELETE (docs/spec/objects.md 2.6). Without an ID
// the sites are chosen by Criterion; an empty one chooses none.
type SiteDeleteRequest struct {
	ID          string
	Criterion   Criterion
	DelayedType int64
}

// ReadSiteDelete reads one object or a list of them.
func ReadSiteDelete(raw json.RawMessage, n *Notes) ([]SiteDeleteRequest, error) {
	return oneOrMany("SiteDelete", raw, func(name string, raw json.RawMessage) (SiteDeleteRequest, error) {
		o := readObject(name, raw)
		r := SiteDeleteRequest{ID: o.text("id", ""), DelayedType: o.int("delayedType", Immediate)}
		o.int("taskType", 1)
		r.Criterion = o.criterion("criterions", Criterion{})
		if r.ID == "" && !r.Criterion.Given {
			o.fail("id", "is missing, and so is criterions")
		}
		return r, o.end(n)
	})
}

// SiteCleanupRequest is one element of SITE_CLEANUP (docs/spec/objects.md 2.6).
type SiteCleanupRequest struct {
	ID             string
	DelayedType    int64
	MoveURLs       bool
	SaveRootURLs   bool
	State          int64
	HistoryCleanUp int64
}

// ReadSiteCleanup reads one object or a list of them. Both spellings of
// moveURLs and saveRootURLs are known.
func ReadSiteCleanup(raw json.RawMessage, n *Notes) ([]SiteCleanupRequest, error) {
	return oneOrMany("SiteCleanup", raw, func(name string, raw json.RawMessage) (SiteCleanupRequest, error) {
		o := readObject(name, raw)
		r := SiteCleanupRequest{
			ID:             o.text("id", ""),
			DelayedType:    o.int("delayedType", Immediate),
			MoveURLs:       o.bool("moveURLs", o.bool("moveUrls", true)),
			SaveRootURLs:   o.bool("saveRootURLs", o.bool("saveRootUrls", true)),
			State:          o.bounded("state", SiteActive, boundsOf("u8")),
			HistoryCleanUp: o.int("historyCleanUp", 0),
		}
		o.int("taskType", 1)
		if r.ID == "" {
			o.fail("id", "is missing")
		}
		return r, o.end(n)
	})
}

func oneOrMany[T any](name string, raw json.RawMessage, read func(string, json.RawMessage) (T, error)) ([]T, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return readList(name, raw, read)
	}
	v, err := read(name, raw)
	if err != nil {
		return nil, err
	}
	return []T{v}, nil
}
