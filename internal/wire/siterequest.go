package wire

import (
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// SiteStatusRequest is the object of SITE_STATUS (docs/spec/objects.md 2.6).
type SiteStatusRequest struct {
	ID      string
	Exclude []string // urls, properties, filters
}

// ReadSiteStatus reads the object of SITE_STATUS.
func ReadSiteStatus(raw json.RawMessage, n *lenient.Notes) (SiteStatusRequest, error) {
	return lenient.ReadOne("SiteStatus", raw, n, func(o *lenient.Object) SiteStatusRequest {
		r := SiteStatusRequest{ID: o.ReadText("id"), Exclude: o.ReadTexts("excludeList", nil)}
		o.AcceptUnused("deleteTaskId")
		if r.ID == "" {
			o.RefuseField("id", "is missing")
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
func ReadSiteFind(raw json.RawMessage, n *lenient.Notes) (SiteFindRequest, error) {
	return lenient.ReadOne("SiteFind", raw, n, func(o *lenient.Object) SiteFindRequest {
		r := SiteFindRequest{URL: new(string), Exclude: o.ReadTexts("excludeList", nil)}
		if _, given := o.Fields["url"]; given {
			r.URL = o.TextOrNil("url")
		}
		r.Criterion = readCriterion(o, "criterions", Criterion{OrderBy: "CDate DESC", Limit: "10"})
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
func ReadSiteDelete(raw json.RawMessage, n *lenient.Notes) ([]SiteDeleteRequest, error) {
	return lenient.ReadOneOrMany("SiteDelete", raw, n, func(o *lenient.Object) SiteDeleteRequest {
		r := SiteDeleteRequest{ID: o.ReadText("id"), DelayedType: o.ReadInt("delayedType", Immediate)}
		o.ReadInt("taskType", 1)
		r.Criterion = readCriterion(o, "criterions", Criterion{})
		if r.ID == "" && !r.Criterion.Given {
			o.RefuseField("id", "is missing, and so is criterions")
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
func ReadSiteCleanup(raw json.RawMessage, n *lenient.Notes) ([]SiteCleanupRequest, error) {
	return lenient.ReadOneOrMany("SiteCleanup", raw, n, func(o *lenient.Object) SiteCleanupRequest {
		r := SiteCleanupRequest{
			ID:             o.ReadText("id"),
			DelayedType:    o.ReadInt("delayedType", Immediate),
			MoveURLs:       o.ReadBool("moveURLs", o.ReadBool("moveUrls", true)),
			SaveRootURLs:   o.ReadBool("saveRootURLs", o.ReadBool("saveRootUrls", true)),
			State:          o.ReadBoundedInt("state", SiteActive, schema.BoundsOf("u8")),
			HistoryCleanUp: o.ReadInt("historyCleanUp", 0),
		}
		o.ReadInt("taskType", 1)
		if r.ID == "" {
			o.RefuseField("id", "is missing")
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r SiteCleanupRequest) Check(object string) error { return CheckSiteID(object, "id", r.ID) }
