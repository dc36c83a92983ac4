package wire

import (
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// URLVerifyRequest is one element of URL_VERIFY (docs/spec/objects.md 2.9, docs/spec/storage.md 4.17).
type URLVerifyRequest struct {
	Null      bool // the element is null; so is its answer
	SiteID    string
	URLMd5    string
	Database  string // "": the answer is null
	Criterion Criterion
}

// ReadURLVerify reads the list of URL_VERIFY.
func ReadURLVerify(raw json.RawMessage, n *lenient.Notes) ([]URLVerifyRequest, error) {
	return lenient.ReadNullable("URLVerify", raw, n, URLVerifyRequest{Null: true}, func(o *lenient.Object) URLVerifyRequest {
		r := URLVerifyRequest{SiteID: readSiteID(o), Database: o.ReadText("dbName"), Criterion: readCriterion(o, "criterions", Criterion{})}
		text, _, md5 := readURLOrKey(o)
		if text == nil {
			o.RefuseField("url", "is missing")
		}
		r.URLMd5 = keyToFind(md5)
		return r
	})
}

// Check refuses invalid site ids. object is the name in errors.
func (r URLVerifyRequest) Check(object string) error {
	if r.Null {
		return nil
	}
	return CheckSiteID(object, "siteId", r.SiteID)
}

// URLRecordsRequest is one element of URL_HISTORY or URL_STATS (docs/spec/objects.md 2.9,
// docs/spec/storage.md 4.18, 4.19).
type URLRecordsRequest struct {
	Null          bool // the element is null; so is its answer
	SiteID        string
	URLMd5        string    // "": URLsCriterion selects the URLs
	URLsCriterion Criterion // empty: all URLs of the site
	Criterion     Criterion // selects rows of the journal or of the event counters
}

// ReadURLHistory reads the list of URL_HISTORY.
func ReadURLHistory(raw json.RawMessage, n *lenient.Notes) ([]URLRecordsRequest, error) {
	return readRecords("URLHistoryRequest", "logCriterions", raw, n)
}

// ReadURLStats reads the list of URL_STATS.
func ReadURLStats(raw json.RawMessage, n *lenient.Notes) ([]URLRecordsRequest, error) {
	return readRecords("URLStatsRequest", "statsCriterions", raw, n)
}

func readRecords(name, criterion string, raw json.RawMessage, n *lenient.Notes) ([]URLRecordsRequest, error) {
	return lenient.ReadNullable(name, raw, n, URLRecordsRequest{Null: true}, func(o *lenient.Object) URLRecordsRequest {
		return URLRecordsRequest{
			SiteID: readSiteID(o), URLMd5: keyToFind(o.ReadMD5("urlMd5")),
			URLsCriterion: readCriterion(o, "urlCriterions", Criterion{}), Criterion: readCriterion(o, criterion, Criterion{}),
		}
	})
}

// Check refuses invalid site ids. object is the name in errors.
func (r URLRecordsRequest) Check(object string) error {
	if r.Null {
		return nil
	}
	return CheckSiteID(object, "siteId", r.SiteID)
}

// LogRow is a row of the journal of the URLs of a site (docs/spec/storage.md 1.8).
type LogRow struct {
	URLMd5 string      `json:"URLMd5" col:"URLMd5"`
	OpCode int64       `json:"OpCode" col:"OpCode"` // docs/spec/objects.md 5.5
	Object string      `json:"Object" col:"Object"` // JSON of the request
	CDate  schema.Date `json:"CDate" col:"CDate"`
	ODate  schema.Date `json:"ODate" col:"ODate"`
}

// FreqRow counts the events of a URL (docs/spec/storage.md 1.8).
type FreqRow struct {
	URLMd5     string      `json:"URLMd5" col:"URLMd5"`
	FIns       int64       `json:"FIns" col:"FIns"`
	FDel       int64       `json:"FDel" col:"FDel"`
	FUpd       int64       `json:"FUpd" col:"FUpd"`
	FNew       int64       `json:"FNew" col:"FNew"`
	FCrawled   int64       `json:"FCrawled" col:"FCrawled"`
	FProcessed int64       `json:"FProcessed" col:"FProcessed"`
	FAged      int64       `json:"FAged" col:"FAged"`
	FDeleted   int64       `json:"FDeleted" col:"FDeleted"`
	FPurged    int64       `json:"FPurged" col:"FPurged"`
	CDate      schema.Date `json:"CDate" col:"CDate"` // of the first event
	MDate      schema.Date `json:"MDate" col:"MDate"` // of the last event
}

// The columns of LogRow and FreqRow.
var (
	LogColumns  = schema.ColumnsOf(LogRow{})
	FreqColumns = schema.ColumnsOf(FreqRow{})
)

// URLHistoryResponse answers one element of URL_HISTORY (docs/spec/objects.md 3.7).
type URLHistoryResponse struct {
	SiteID  string   `json:"siteId"`
	LogRows []LogRow `json:"logRows"`
}

// URLStatsResponse answers one element of URL_STATS (docs/spec/objects.md 3.7).
type URLStatsResponse struct {
	SiteID   string    `json:"siteId"`
	FreqRows []FreqRow `json:"freqRows"`
}

// RecalcRequest is one element of F_RECALC (docs/spec/objects.md 2.9, docs/spec/storage.md 4.20). It
// selects the site SiteID and the sites of Criterion; an empty Criterion selects no site.
type RecalcRequest struct {
	SiteID    string // "": Criterion only
	Partial   bool   // all counters except CollectedURLs
	Criterion Criterion
}

// ReadRecalc reads the list of F_RECALC.
func ReadRecalc(raw json.RawMessage, n *lenient.Notes) ([]RecalcRequest, error) {
	return lenient.ReadList("FieldRecalculator", raw, n, func(o *lenient.Object) RecalcRequest {
		kind := o.ReadInt("recalcType", 0)
		r := RecalcRequest{SiteID: o.ReadText("siteId"), Partial: kind == 1, Criterion: readCriterion(o, "criterions", Criterion{})}
		if kind != 0 && kind != 1 {
			o.RefuseField("recalcType", "is not 0 (all counters) or 1 (all but collectedURLs)")
		}
		if r.SiteID == "" && r.Criterion.Empty() {
			o.RefuseField("siteId", "is missing, and so is criterions")
		}
		return r
	})
}

// Check refuses an invalid site id. object is the name in errors.
func (r RecalcRequest) Check(object string) error {
	return checkGiven(CheckSiteID, object, "siteId", r.SiteID)
}
