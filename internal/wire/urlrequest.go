package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// URLNewRequest is one element of URL_NEW (docs/spec/objects.md 2.7). Row holds the columns
// that the request sets; URLMd5 is set, Site_Id only when the request gives one.
type URLNewRequest struct {
	Row        Patch
	SiteSelect int64
	Attributes []Attribute
	Update     *URLUpdateRequest // applied when the URL is known already
	Put        json.RawMessage   // a URL_PUT to do afterwards
}

// ReadURLNew reads the list of URL_NEW.
func ReadURLNew(raw json.RawMessage, n *Notes) ([]URLNewRequest, error) {
	return readList("URLNew", raw, func(name string, raw json.RawMessage) (URLNewRequest, error) {
		return readURLNew(name, raw, n)
	})
}

func readURLNew(name string, raw json.RawMessage, n *Notes) (URLNewRequest, error) {
	o := readObject(name, raw)
	r := URLNewRequest{Row: o.columns(URLColumns), SiteSelect: o.int("siteSelect", SelectNone)}
	o.accept("contentMask", "chainId", "errorNames", "host")
	text := r.Row.Text("URL")
	if text == "" {
		o.fail("url", "is missing")
	}
	if r.Row.Text("URLMd5") == "" {
		r.Row["URLMd5"] = Md5(text)
	}
	r.Attributes = o.attributes()
	if raw := o.raw("urlUpdate"); raw != nil && raw[0] == '{' {
		u, err := readURLUpdate(name+".urlUpdate", raw, n)
		if err != nil {
			return r, err
		}
		r.Update = &u
	}
	r.Put = o.raw("urlPut")
	return r, o.end(n)
}

// attributes reads items of the form {name: value}; items of another form are
// skipped (docs/spec/objects.md 2.7).
func (o *object) attributes() []Attribute {
	var list []Attribute
	for _, raw := range o.list("attributes") {
		var pair map[string]json.RawMessage
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 1 {
			continue
		}
		for name, value := range pair {
			if isNull(value) {
				continue
			}
			text, ok := readText(value)
			switch reason := AttributeName.text(name); {
			case reason != "" || strings.ContainsRune(name, 0):
				o.fail("attributes", "has a name that is not 1 to 255 characters other than NUL")
			case ok:
				list = append(list, Attribute{Name: name, Value: text})
			case value[0] == '"':
				o.fail("attributes", KindText.reason(value))
			}
		}
	}
	return list
}

// Check refuses ids and keys that cannot be stored.
func (r URLNewRequest) Check(object string) error {
	if id, ok := r.Row["Site_Id"]; ok && id != "" {
		if err := CheckSiteID(object, "siteId", r.Row.Text("Site_Id")); err != nil {
			return err
		}
	}
	if parent := r.Row.Text("ParentMd5"); parent != "" {
		if err := CheckMd5(object, "parentMd5", parent); err != nil {
			return err
		}
	}
	return CheckMd5(object, "urlMd5", r.Row.Text("URLMd5"))
}

// URLUpdateRequest is one element of URL_UPDATE (docs/spec/objects.md 2.8). SiteID and URLMd5
// choose the row and are not part of Set. URLMd5 is "" when the request has
// neither urlMd5 nor url: then Criterion alone chooses.
type URLUpdateRequest struct {
	SiteID     string
	URLMd5     string
	Set        Patch
	Criterion  Criterion
	Attributes []Attribute
	Put        json.RawMessage
}

// ReadURLUpdate reads the list of URL_UPDATE.
func ReadURLUpdate(raw json.RawMessage, n *Notes) ([]URLUpdateRequest, error) {
	return readList("URLUpdate", raw, func(name string, raw json.RawMessage) (URLUpdateRequest, error) {
		return readURLUpdate(name, raw, n)
	})
}

func readURLUpdate(name string, raw json.RawMessage, n *Notes) (URLUpdateRequest, error) {
	o := readObject(name, raw)
	r := URLUpdateRequest{Set: o.columns(URLColumns)}
	r.SiteID = r.Set.Text("Site_Id")
	if r.SiteID == "" {
		r.SiteID = GeneralSite
	}
	r.URLMd5 = r.Set.Text("URLMd5")
	if text := r.Set.Text("URL"); r.URLMd5 == "" && text != "" {
		r.URLMd5 = Md5(text)
	}
	delete(r.Set, "URL")
	delete(r.Set, "URLMd5")
	delete(r.Set, "Site_Id")
	r.Criterion = o.criterion("criterions", Criterion{Limit: "1"})
	r.Attributes = o.attributes()
	r.Put = o.raw("urlPut")
	o.accept("siteSelect", "contentMask", "chainId", "urlUpdate", "errorNames", "host")
	return r, o.end(n)
}

// Check refuses ids and keys that cannot be stored.
func (r URLUpdateRequest) Check(object string) error {
	if err := CheckSiteID(object, "siteId", r.SiteID); err != nil {
		return err
	}
	if r.URLMd5 == "" {
		return nil
	}
	return CheckMd5(object, "urlMd5", r.URLMd5)
}

// URLStatusRequest is one element of URL_STATUS (docs/spec/objects.md 2.9).
type URLStatusRequest struct {
	SiteID string
	URLMd5 string
}

// ReadURLStatus reads the list of URL_STATUS. A URL given as text is turned into
// its key.
func ReadURLStatus(raw json.RawMessage, n *Notes) ([]URLStatusRequest, error) {
	return readList("URLStatus", raw, func(name string, raw json.RawMessage) (URLStatusRequest, error) {
		o := readObject(name, raw)
		r := URLStatusRequest{SiteID: o.text("siteId", ""), URLMd5: o.text("url", "")}
		if r.SiteID == "" {
			r.SiteID = GeneralSite
		}
		if r.URLMd5 == "" {
			o.fail("url", "is missing")
		}
		if o.int("urlType", ByURL) == ByURL {
			r.URLMd5 = Md5(r.URLMd5)
		}
		return r, o.end(n)
	})
}

// Check refuses ids and keys that cannot be stored.
func (r URLStatusRequest) Check(object string) error {
	if err := CheckSiteID(object, "siteId", r.SiteID); err != nil {
		return err
	}
	return CheckMd5(object, "url", r.URLMd5)
}

// URLFetchRequest is one element of URL_FETCH (docs/spec/objects.md 2.9, docs/spec/storage.md 4.10).
type URLFetchRequest struct {
	Sites          []string // none: all that SitesCriterion selects
	SitesCriterion Criterion
	URLsCriterion  Criterion
	MaxURLs        int64 // 0: no total limit
	Algorithm      int64 // 0 site after site, 1 proportional
	Locking        bool
	LockTimeout    int64 // seconds between tries
	SiteUpdate     Patch // columns of sites to set for every visited site
	SiteLists      SiteLists
	URLUpdate      Patch // columns to set in every row returned
	AttributeNames []string

	// Ours, set by the daemon: leave out sites with rows in flight (Status 2, 3
	// or 8), and take from a site at most as many rows as its RequestDelay lets
	// it fetch in PaceTime ms. SiteUpdate is then, and with AsBatch, applied to
	// the sites that gave rows alone.
	SkipBusySites bool
	PaceTime      int64
	// Ours: answer with a Batch of this id instead of a list of URLs, so that a
	// processing task can take it as it is.
	AsBatch int64
}

// ReadURLFetch reads the list of URL_FETCH.
func ReadURLFetch(raw json.RawMessage, n *Notes) ([]URLFetchRequest, error) {
	return readList("URLFetch", raw, func(name string, raw json.RawMessage) (URLFetchRequest, error) {
		return readURLFetch(name, raw, n)
	})
}

func readURLFetch(name string, raw json.RawMessage, n *Notes) (URLFetchRequest, error) {
	o := readObject(name, raw)
	r := URLFetchRequest{
		Sites:          o.texts("sitesList", []string{}),
		SitesCriterion: o.criterion("sitesCriterions", Criterion{OrderBy: "Priority DESC, TcDate ASC"}),
		URLsCriterion:  o.criterion("urlsCriterions", Criterion{OrderBy: "CDate ASC", Limit: "20"}),
		MaxURLs:        o.int("maxURLs", 20),
		Algorithm:      o.int("algorithm", 0),
		Locking:        o.bool("isLocking", true),
		LockTimeout:    o.int("lockIterationTimeout", 1),
		AttributeNames: o.texts("attributeNames", []string{"*"}),
		SkipBusySites:  o.bool("skipBusySites", false),
		PaceTime:       o.int("paceTime", 0),
		AsBatch:        o.bounded("asBatch", 0, boundsOf("u32")),
	}
	if raw := o.raw("siteUpdate"); raw != nil && raw[0] == '{' {
		u, err := readSiteUpdate(name+".siteUpdate", raw, nil)
		if err != nil {
			return r, err
		}
		r.SiteUpdate, r.SiteLists = u.Set, u.SiteLists
	}
	if raw := o.raw("urlUpdate"); raw != nil && raw[0] == '{' {
		u, err := readURLUpdate(name+".urlUpdate", raw, nil)
		if err != nil {
			return r, err
		}
		r.URLUpdate = u.Set
	}
	if r.Algorithm != 0 && r.Algorithm != 1 {
		o.fail("algorithm", "is not 0 (site after site) or 1 (proportional)")
	}
	if r.MaxURLs < 0 {
		o.fail("maxURLs", "is below 0")
	}
	return r, o.end(n)
}

// Check refuses ids that cannot be stored.
func (r URLFetchRequest) Check(object string) error {
	if err := r.SiteLists.check(object + ".siteUpdate"); err != nil {
		return err
	}
	for _, id := range r.Sites {
		if err := CheckSiteID(object, "sitesList", id); err != nil {
			return err
		}
	}
	return nil
}

// DBFields are the columns that URL_CONTENT answers when the request names none
// (docs/spec/objects.md 3.6).
var DBFields = []string{"Status", "Crawled", "Processed", "ContentType", "Charset", "ErrorMask", "CrawlingTime",
	"ProcessingTime", "HTTPCode", "Size", "LinksI", "LinksE", "RawContentMd5", "LastModified", "CDate", "UDate",
	"TagsMask", "TagsCount", "PDate", "ContentURLMd5", "Batch_Id"}

// URLContentRequest is one element of URL_CONTENT (docs/spec/objects.md 2.9, docs/spec/storage.md 4.13). As
// JSON it is what the journal keeps of it, keys in order.
type URLContentRequest struct {
	Null           bool             `json:"-"` // the element was null and is answered with null
	Fetch          *URLFetchRequest `json:"-"`
	AttributeNames []string         `json:"attributeNames"`
	Mask           int64            `json:"contentTypeMask"`
	DBFields       []string         `json:"dbFieldsList"`
	SiteID         string           `json:"siteId"`
	URL            string           `json:"url"`
	URLMd5         string           `json:"urlMd5"`
}

// ReadURLContent reads the list of URL_CONTENT.
func ReadURLContent(raw json.RawMessage, n *Notes) ([]URLContentRequest, error) {
	return readList("URLContentObject", raw, func(name string, raw json.RawMessage) (URLContentRequest, error) {
		if isNull(raw) {
			return URLContentRequest{Null: true}, nil
		}
		o := readObject(name, raw)
		r := URLContentRequest{
			SiteID:         o.text("siteId", ""),
			URL:            o.text("url", ""),
			URLMd5:         o.text("urlMd5", ""),
			Mask:           o.int("contentTypeMask", MaskProcessed|MaskRawLast),
			AttributeNames: o.texts("attributeNames", []string{"*"}),
			DBFields:       DBFields,
		}
		if raw := o.raw("dbFieldsList"); raw != nil && raw[0] == '[' {
			r.DBFields = o.texts("dbFieldsList", nil)
		}
		if raw := o.raw("urlFetch"); raw != nil {
			f, err := readURLFetch(name+".urlFetch", raw, n)
			if err != nil {
				return r, err
			}
			if f.SitesCriterion.Where == "" && r.SiteID != "" {
				f.Sites = append(f.Sites, r.SiteID)
			}
			r.Fetch = &f
		}
		if r.SiteID == "" {
			r.SiteID = GeneralSite
		}
		if r.URLMd5 == "" {
			r.URLMd5 = Md5(r.URL)
		}
		return r, o.end(n)
	})
}

// Check refuses ids and keys that cannot be stored.
func (r URLContentRequest) Check(object string) error {
	if r.Null {
		return nil
	}
	if r.Fetch != nil {
		return r.Fetch.Check(object + ".urlFetch")
	}
	if err := CheckSiteID(object, "siteId", r.SiteID); err != nil {
		return err
	}
	return CheckMd5(object, "urlMd5", r.URLMd5)
}

// URLPutRequest is one element of URL_PUT (docs/spec/objects.md 2.9, docs/spec/storage.md 4.16).
type URLPutRequest struct {
	SiteID      string
	URLMd5      string // "": the URLs that Criterion selects
	Criterion   Criterion
	ContentType int64
	PutDict     PutDict
	Suffix      string // of the files' names; "": they are named by the time
}

// PutDict is the content of a URLPutRequest.
type PutDict struct {
	ID    string  // of a processed content; "": the key of the URL
	Data  *string // nil when it is missing
	CDate Date    // of a processed content; "": now
}

var suffixPattern = regexp.MustCompile(`^[0-9A-Za-z_-]{0,64}$`)

// ReadURLPut reads the list of URL_PUT. Data that are missing are the answer's
// to complain about.
func ReadURLPut(raw json.RawMessage, n *Notes) ([]URLPutRequest, error) {
	return readList("URLPutObj", raw, func(name string, raw json.RawMessage) (URLPutRequest, error) {
		o := readObject(name, raw)
		return o.urlPut(n)
	})
}

// ReadURLPutObject reads one URLPut that another operation carries; siteID and
// urlMd5 stand in for null ones. It checks it, too.
func ReadURLPutObject(name string, raw json.RawMessage, siteID, urlMd5 string) (URLPutRequest, error) {
	o := readObject(name, raw)
	r, err := o.urlPut(nil)
	if err != nil {
		return r, err
	}
	if !o.has("siteId") {
		r.SiteID = siteID
	}
	if r.URLMd5 == "" {
		r.URLMd5 = urlMd5
	}
	if r.PutDict.Data == nil {
		return r, &FieldError{Object: name + ".putDict", Field: "data", Reason: "is missing"}
	}
	if err := CheckMd5(name, "urlMd5", r.URLMd5); err != nil {
		return r, err
	}
	return r, r.Check(name)
}

func (o *object) urlPut(n *Notes) (URLPutRequest, error) {
	r := URLPutRequest{
		SiteID: o.siteID(), URLMd5: o.text("urlMd5", ""), Criterion: o.criterion("criterions", Criterion{}),
		ContentType: o.int("contentType", ContentRaw), Suffix: o.text("fileStorageSuffix", ""),
	}
	if !o.has("putDict") {
		o.fail("putDict", "is missing")
		return r, o.err
	}
	d := readObject(o.name+".putDict", o.raw("putDict"))
	r.PutDict = PutDict{ID: d.text("id", ""), Data: d.bytesOrNil("data"), CDate: d.moment("CDate")}
	d.accept("cDate", "properties")
	if err := d.end(n); err != nil {
		return r, err
	}
	return r, o.end(n)
}

// moment reads a plain date; "" for none, and for an expression.
func (o *object) moment(field string) Date {
	if !o.has(field) {
		return ""
	}
	value, _, ok := readDate(o.fields[field])
	if !ok {
		o.fail(field, KindDate.reason(o.fields[field]))
	}
	text, _ := value.(string)
	return Date(text)
}

// Check refuses ids, keys, types and names that cannot be stored.
func (r URLPutRequest) Check(object string) error {
	if err := CheckSiteID(object, "siteId", r.SiteID); err != nil {
		return err
	}
	if r.URLMd5 != "" {
		if err := CheckMd5(object, "urlMd5", r.URLMd5); err != nil {
			return err
		}
	}
	if !suffixPattern.MatchString(r.Suffix) {
		return &FieldError{Object: object, Field: "fileStorageSuffix", Value: clip(quoteJSON(r.Suffix)), Reason: "is not of letters, digits, - or _"}
	}
	switch r.ContentType {
	case ContentProcessed:
		if r.PutDict.ID != "" {
			return CheckMd5(object+".putDict", "id", r.PutDict.ID)
		}
	case ContentRaw, ContentTidy, ContentHeaders, ContentRequests, ContentMeta, ContentCookies, ContentDynamic, ContentChain:
	default:
		return &FieldError{Object: object, Field: "contentType", Value: fmt.Sprint(r.ContentType), Reason: "is not a type of content"}
	}
	return nil
}

// URLReturnRequest is the object of URL_RETURN, our own operation: rows that a
// batch holds go back to where they can be selected again (docs/spec/DECISIONS.md 3.4, 3.5).
// Rows in Status 2, 3, 8 become 1, or State 2 with bit 52 and Status 4 after
// MaxAttempts; rows in 5, 6 become 4 in the same way.
type URLReturnRequest struct {
	BatchID     int64    `json:"batchId"`     // the batch whose rows go back; 0: those of every batch that is not in Except
	Except      []int64  `json:"except"`      // batches that run
	Sites       []string `json:"sites"`       // where to look; none: every site
	Statuses    []int64  `json:"statuses"`    // rows in these alone; none: 2, 3, 5, 6 and 8
	MaxAttempts int64    `json:"maxAttempts"` // 0: no limit
	Fault       bool     `json:"fault"`       // count an attempt

	// Age is for how many seconds at least UDate has not moved; 0: whatever it is.
	Age int64 `json:"age"`
	// MaxURLs bounds the rows of a node: the oldest first, in equal shares for the
	// sites that have some; 0: all.
	MaxURLs int64 `json:"maxURLs"`
}

// Check refuses ids and numbers that make no sense.
func (r URLReturnRequest) Check(object string) error {
	for _, id := range r.Sites {
		if err := CheckSiteID(object, "sites", id); err != nil {
			return err
		}
	}
	for field, n := range map[string]int64{"batchId": r.BatchID, "maxAttempts": r.MaxAttempts, "age": r.Age, "maxURLs": r.MaxURLs} {
		if n < 0 {
			return &FieldError{Object: object, Field: field, Value: fmt.Sprint(n), Reason: "is below 0"}
		}
	}
	return nil
}
