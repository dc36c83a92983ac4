package wire

import (
	"cmp"
	"encoding/json"

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
func ReadURLDelete(raw json.RawMessage, n *Notes) ([]URLDeleteRequest, error) {
	return readList("URLDelete", raw, n, func(o *object) URLDeleteRequest {
		r := URLDeleteRequest{
			Criterion: o.readCriterion("criterions", Criterion{}), DelayedType: o.readInt("delayedType", Immediate),
			Reason: o.readInt("reason", ReasonUser), SiteID: o.siteID(),
		}
		r.URL, r.URLType, r.URLMd5 = o.urlOrKey()
		return r
	})
}

// siteID reads siteId. "" and null mean GeneralSite (docs/spec/storage.md 4.0.2).
func (o *object) siteID() string {
	return cmp.Or(o.readText("siteId"), GeneralSite)
}

// urlOrKey reads url and urlType. text is url as given, or nil if it is absent or null;
// md5 is its key, or "" if text is nil.
func (o *object) urlOrKey() (text *string, kind int64, md5 string) {
	text, kind = o.textOrNil("url"), o.readInt("urlType", ByURL)
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
func ReadURLCleanup(raw json.RawMessage, n *Notes) ([]URLCleanupRequest, error) {
	return readList("URLCleanup", raw, n, func(o *object) URLCleanupRequest {
		r := URLCleanupRequest{
			Criterion: o.readCriterion("criterions", Criterion{}), DelayedType: o.readInt("delayedType", Immediate), SiteID: o.siteID(),
			State: o.readBoundedInt("state", URLEnabled, schema.BoundsOf("u8")), Status: o.readBoundedInt("status", StatusNew, schema.BoundsOf("u8")),
		}
		r.URL, r.URLType, r.URLMd5 = o.urlOrKey()
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
func ReadURLPurge(raw json.RawMessage, n *Notes) ([]URLPurgeRequest, error) {
	return readList("URLPurge", raw, n, func(o *object) URLPurgeRequest {
		r := URLPurgeRequest{Criterion: o.readCriterion("criterions", Criterion{Limit: "100"})}
		if o.hasField("siteId") {
			r.SiteID = o.siteID()
		}
		text, _, md5 := o.urlOrKey()
		if r.URLMd5 = md5; text != nil && r.SiteID != "" {
			o.keepFirstError(CheckMd5(o.name, "url", md5))
		}
		if o.hasField("siteLimits") {
			var pair []json.RawMessage
			var ok1, ok2 bool
			if json.Unmarshal(o.readRaw("siteLimits"), &pair) == nil && len(pair) == 2 {
				r.Offset, ok1 = schema.ReadInt(pair[0])
				r.Count, ok2 = schema.ReadInt(pair[1])
			}
			if r.Limits = ok1 && ok2; !r.Limits {
				o.refuseField("siteLimits", "is not [offset, count]")
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
func ReadURLAge(raw json.RawMessage, n *Notes) ([]URLAgeRequest, error) {
	return readList("URLAgeObj", raw, n, func(o *object) URLAgeRequest {
		return URLAgeRequest{
			URLsCriterion:  o.readCriterion("urlsCriterions", Criterion{Limit: "100"}),
			SitesCriterion: o.readCriterion("sitesCriterions", Criterion{Limit: "10"}),
			MaxURLs:        o.readInt("maxURLs", 100), DelayedType: o.readInt("delayedType", Immediate),
		}
	})
}
