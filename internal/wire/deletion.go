package wire

import (
	"cmp"
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// URLDeleteRequest is one element of URL_DELETE (docs/spec/objects.md 2.9, docs/spec/storage.md 4.11). It
// selects one URL by key, or the URLs of Criterion. Its JSON, with sorted keys, goes to
// the journal.
type URLDeleteRequest struct {
	Criterion   Criterion `json:"criterions"`
	DelayedType int64     `json:"delayedType"` // Delayed or Immediate
	Reason      int64     `json:"reason"`
	SiteID      string    `json:"siteId"`
	URL         *string   `json:"url"` // as requested: the URL or its key; nil: Criterion selects
	URLType     int64     `json:"urlType"`
	URLMd5      string    `json:"-"` // "" if URL is nil
}

// Reasons of a deletion, for the journal (docs/spec/storage.md 4.11).
const (
	ReasonUser       = 0
	ReasonAging      = 1
	ReasonAutoRemove = 6
	ReasonRootUpdate = 7
)

// ReadURLDelete reads the list of URL_DELETE.
func ReadURLDelete(raw json.RawMessage, n *lenient.Notes) ([]URLDeleteRequest, error) {
	return lenient.ReadList("URLDelete", raw, n, func(o *lenient.Object) URLDeleteRequest {
		r := URLDeleteRequest{
			Criterion: readCriterion(o, "criterions", Criterion{}), DelayedType: o.ReadInt("delayedType", Immediate),
			Reason: o.ReadInt("reason", ReasonUser), SiteID: readSiteID(o),
		}
		r.URL, r.URLType, r.URLMd5 = readURLOrKey(o)
		return r
	})
}

// readSiteID reads siteId. "" and null mean GeneralSite (docs/spec/storage.md 4.0.2).
func readSiteID(o *lenient.Object) string {
	return cmp.Or(o.ReadText("siteId"), GeneralSite)
}

// readURLOrKey reads url and urlType. text is url as given, or nil if it is absent or null;
// md5 is its key, or "" if text is nil.
func readURLOrKey(o *lenient.Object) (text *string, kind int64, md5 string) {
	text, kind = o.TextOrNil("url"), o.ReadInt("urlType", ByURL)
	switch {
	case text == nil:
	case kind == ByURL:
		md5 = urlkey.Of(*text)
	default:
		md5 = schema.LowerMD5(*text)
	}
	return text, kind, md5
}

// checkURLOrKey refuses an invalid site id and, unless text is nil, an invalid key.
func checkURLOrKey(object, site string, text *string, md5 string) error {
	err := CheckSiteID(object, "siteId", site)
	if text != nil {
		err = cmp.Or(err, CheckMd5(object, "url", md5))
	}
	return err
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r URLDeleteRequest) Check(object string) error {
	return checkURLOrKey(object, r.SiteID, r.URL, r.URLMd5)
}

// URLCleanupRequest is one element of URL_CLEANUP (docs/spec/objects.md 2.9,
// docs/spec/storage.md 4.12). It selects URLs as URLDeleteRequest does.
type URLCleanupRequest struct {
	Criterion   Criterion `json:"criterions"`
	DelayedType int64     `json:"delayedType"`
	SiteID      string    `json:"siteId"`
	State       int64     `json:"state"`
	Status      int64     `json:"status"`
	URL         *string   `json:"url"`
	URLType     int64     `json:"urlType"`
	URLMd5      string    `json:"-"`
}

// ReadURLCleanup reads the list of URL_CLEANUP. Defaults are the state and status of a
// new URL.
func ReadURLCleanup(raw json.RawMessage, n *lenient.Notes) ([]URLCleanupRequest, error) {
	return lenient.ReadList("URLCleanup", raw, n, func(o *lenient.Object) URLCleanupRequest {
		r := URLCleanupRequest{
			Criterion: readCriterion(o, "criterions", Criterion{}), DelayedType: o.ReadInt("delayedType", Immediate), SiteID: readSiteID(o),
			State: o.ReadBoundedInt("state", URLEnabled, schema.BoundsOf("u8")), Status: o.ReadBoundedInt("status", StatusNew, schema.BoundsOf("u8")),
		}
		r.URL, r.URLType, r.URLMd5 = readURLOrKey(o)
		return r
	})
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r URLCleanupRequest) Check(object string) error {
	return checkURLOrKey(object, r.SiteID, r.URL, r.URLMd5)
}

// URLPurgeRequest is one element of URL_PURGE (docs/spec/objects.md 2.9,
// docs/spec/storage.md 4.14). It selects URLs whose deletion was delayed.
type URLPurgeRequest struct {
	SiteID    string // "": the sites of Limits
	URLMd5    string // "": Criterion selects the URLs
	Criterion Criterion
	// Limits selects sites in the order of their ids, from number Offset until Count of
	// them had rows to purge; a negative Count means all. Without Limits and SiteID the
	// element selects no site.
	Limits        bool
	Offset, Count int64
}

// ReadURLPurge reads the list of URL_PURGE.
func ReadURLPurge(raw json.RawMessage, n *lenient.Notes) ([]URLPurgeRequest, error) {
	return lenient.ReadList("URLPurge", raw, n, func(o *lenient.Object) URLPurgeRequest {
		r := URLPurgeRequest{Criterion: readCriterion(o, "criterions", Criterion{Limit: "100"})}
		if o.HasField("siteId") {
			r.SiteID = readSiteID(o)
		}
		text, _, md5 := readURLOrKey(o)
		if r.URLMd5 = md5; text != nil && r.SiteID != "" {
			o.KeepFirstError(CheckMd5(o.Name, "url", md5))
		}
		if o.HasField("siteLimits") {
			var pair []json.RawMessage
			var ok1, ok2 bool
			if json.Unmarshal(o.ReadRaw("siteLimits"), &pair) == nil && len(pair) == 2 {
				r.Offset, ok1 = schema.ReadInt(pair[0])
				r.Count, ok2 = schema.ReadInt(pair[1])
			}
			if r.Limits = ok1 && ok2; !r.Limits {
				o.RefuseField("siteLimits", "is not [offset, count]")
			}
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r URLPurgeRequest) Check(object string) error {
	return checkGiven(CheckSiteID, object, "siteId", r.SiteID)
}

// URLAgeRequest is one element of URL_AGE (docs/spec/objects.md 2.9, docs/spec/storage.md 4.15). Its
// JSON goes to the journal.
type URLAgeRequest struct {
	DelayedType    int64     `json:"delayedType"`
	MaxURLs        int64     `json:"maxURLs"` // of the whole request; 0: no URL
	SitesCriterion Criterion `json:"sitesCriterions"`
	URLsCriterion  Criterion `json:"urlsCriterions"` // its WHERE is never ""
}

// ReadURLAge reads the list of URL_AGE.
func ReadURLAge(raw json.RawMessage, n *lenient.Notes) ([]URLAgeRequest, error) {
	return lenient.ReadList("URLAgeObj", raw, n, func(o *lenient.Object) URLAgeRequest {
		return URLAgeRequest{
			URLsCriterion:  readCriterion(o, "urlsCriterions", Criterion{Limit: "100"}),
			SitesCriterion: readCriterion(o, "sitesCriterions", Criterion{Limit: "10"}),
			MaxURLs:        o.ReadInt("maxURLs", 100), DelayedType: o.ReadInt("delayedType", Immediate),
		}
	})
}
