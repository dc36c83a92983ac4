package wire

import (
	"encoding/json"

	"hce/dc/internal/wire/schema"
)

// SiteStatusRequest is the object of SITE_STATUS (docs/spec/objects.md 2.6).
type SiteStatusRequest struct {
	ID      string
	Exclude []string // urls, properties, filters
}

// ReadSiteStatus reads the object of SITE_STATUS.
func ReadSiteStatus(raw json.RawMessage, n *Notes) (SiteStatusRequest, error) {
	return readOne("SiteStatus", raw, n, func(o *object) SiteStatusRequest {
		r := SiteStatusRequest{ID: o.readText("id"), Exclude: o.readTexts("excludeList", nil)}
		o.acceptUnused("deleteTaskId")
		if r.ID == "" {
			o.refuseField("id", "is missing")
		}
		return r
	})
}

// SiteFindRequest is the object of SITE_FIND (docs/spec/objects.md 2.6).
type SiteFindRequest struct {
	URL       *string // prefix of a root URL; nil: Criterion only
	Criterion Criterion
	Exclude   []string
}

// ReadSiteFind reads the object of SITE_FIND. Keys that its criterion lacks get defaults.
func ReadSiteFind(raw json.RawMessage, n *Notes) (SiteFindRequest, error) {
	return readOne("SiteFind", raw, n, func(o *object) SiteFindRequest {
		r := SiteFindRequest{URL: new(string), Exclude: o.readTexts("excludeList", nil)}
		if _, given := o.fields["url"]; given {
			r.URL = o.textOrNil("url")
		}
		r.Criterion = o.readCriterion("criterions", Criterion{OrderBy: "CDate DESC", Limit: "10"})
		return r
	})
}

// SiteDeleteRequest is one element of SITE_DELETE (docs/spec/objects.md 2.6). If ID is "",
// Criterion selects the sites; an empty Criterion selects no site.
type SiteDeleteRequest struct {
	ID          string
	Criterion   Criterion
	DelayedType int64
}

// ReadSiteDelete reads one object or a list of them.
func ReadSiteDelete(raw json.RawMessage, n *Notes) ([]SiteDeleteRequest, error) {
	return readOneOrMany("SiteDelete", raw, n, func(o *object) SiteDeleteRequest {
		r := SiteDeleteRequest{ID: o.readText("id"), DelayedType: o.readInt("delayedType", Immediate)}
		o.readInt("taskType", 1)
		r.Criterion = o.readCriterion("criterions", Criterion{})
		if r.ID == "" && !r.Criterion.Given {
			o.refuseField("id", "is missing, and so is criterions")
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r SiteDeleteRequest) Check(object string) error {
	return checkGiven(CheckSiteID, object, "id", r.ID)
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

// ReadSiteCleanup reads one object or a list of them. It accepts both spellings of
// moveURLs and saveRootURLs.
func ReadSiteCleanup(raw json.RawMessage, n *Notes) ([]SiteCleanupRequest, error) {
	return readOneOrMany("SiteCleanup", raw, n, func(o *object) SiteCleanupRequest {
		r := SiteCleanupRequest{
			ID:             o.readText("id"),
			DelayedType:    o.readInt("delayedType", Immediate),
			MoveURLs:       o.readBool("moveURLs", o.readBool("moveUrls", true)),
			SaveRootURLs:   o.readBool("saveRootURLs", o.readBool("saveRootUrls", true)),
			State:          o.readBoundedInt("state", SiteActive, schema.BoundsOf("u8")),
			HistoryCleanUp: o.readInt("historyCleanUp", 0),
		}
		o.readInt("taskType", 1)
		if r.ID == "" {
			o.refuseField("id", "is missing")
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r SiteCleanupRequest) Check(object string) error { return CheckSiteID(object, "id", r.ID) }
