package wire

import (
	"cmp"
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// URLFetchRequest is one element of URL_FETCH (docs/spec/objects.md 2.9, docs/spec/storage.md 4.10).
type URLFetchRequest struct {
	Sites          []string // empty: all that SitesCriterion selects
	SitesCriterion Criterion
	URLsCriterion  Criterion
	MaxURLs        int64 // 0: no total limit
	Algorithm      int64 // 0 site after site, 1 proportional
	Locking        bool
	LockTimeout    int64        // seconds between tries
	SiteUpdate     schema.Patch // columns to set in every visited site
	SiteLists      SiteLists
	URLUpdate      schema.Patch // columns to set in every returned row
	AttributeNames []string

	// The daemon sets the fields below; they are not part of the specification.

	// SkipBusySites leaves out sites with rows in flight (Status 2, 3 or 8). With it,
	// or with AsBatch, SiteUpdate applies only to sites that return rows.
	SkipBusySites bool
	// Own are sites that are not skipped although they have rows in flight, because these
	// belong to the caller. It does not travel.
	Own []string
	// Pace returns the time of a request in ms of a site that the caller knows; 0: the site answers
	// quickly. It counts like a RequestDelay of the site. Unknown sites give at most FirstURLs
	// rows. nil sets no limit. It does not travel.
	Pace func(site string) (ms int64, known bool)
	// Hosts returns the number of hosts of a site that the caller has requests for, at least 1. Each
	// has the delay of the site. nil means 1. It does not travel.
	Hosts func(site string) int64
	// PaceTime limits the rows of a site to what the delay of its hosts allows in that time,
	// in ms; 0: no limit.
	PaceTime int64
	// AsBatch is the id of the Batch to answer with; 0: a list of URLs.
	AsBatch int64
}

// FirstURLs is the number of rows of a site that a batch which selects by itself takes before it
// knows how fast the site answers.
const FirstURLs = 8

// ReadURLFetch reads the list of URL_FETCH.
func ReadURLFetch(raw json.RawMessage, n *lenient.Notes) ([]URLFetchRequest, error) {
	return lenient.ReadList("URLFetch", raw, n, readURLFetch)
}

func readURLFetch(o *lenient.Object) URLFetchRequest {
	r := URLFetchRequest{
		Sites:          o.ReadTexts("sitesList", []string{}),
		SitesCriterion: readCriterion(o, "sitesCriterions", Criterion{OrderBy: "Priority DESC, TcDate ASC"}),
		URLsCriterion:  readCriterion(o, "urlsCriterions", Criterion{OrderBy: "CDate ASC", Limit: "20"}),
		MaxURLs:        o.ReadInt("maxURLs", 20),
		Algorithm:      o.ReadInt("algorithm", 0),
		Locking:        o.ReadBool("isLocking", true),
		LockTimeout:    o.ReadInt("lockIterationTimeout", 1),
		AttributeNames: o.ReadTexts("attributeNames", []string{"*"}),
		SkipBusySites:  o.ReadBool("skipBusySites", false),
		PaceTime:       o.ReadInt("paceTime", 0),
		AsBatch:        o.ReadBoundedInt("asBatch", 0, schema.BoundsOf("u32")),
	}
	notes := o.Notes
	o.Notes = nil // unknown keys of updates are not noted
	if o.IsObject("siteUpdate") {
		u := readSiteUpdate(o.ReadChild("siteUpdate"))
		r.SiteUpdate, r.SiteLists = u.Set, u.SiteLists
	}
	if o.IsObject("urlUpdate") {
		r.URLUpdate = readURLUpdate(o.ReadChild("urlUpdate")).Set
	}
	o.Notes = notes
	if r.Algorithm != 0 && r.Algorithm != 1 {
		o.RefuseField("algorithm", "is not 0 (site after site) or 1 (proportional)")
	}
	if r.MaxURLs < 0 {
		o.RefuseField("maxURLs", "is below 0")
	}
	return r
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r URLFetchRequest) Check(object string) error {
	err := r.SiteLists.checkLists(object + ".siteUpdate")
	for _, id := range r.Sites {
		err = cmp.Or(err, CheckSiteID(object, "sitesList", id))
	}
	return err
}

// URLReturnRequest is the object of URL_RETURN, our own operation. It makes rows in flight
// selectable again (docs/spec/DECISIONS.md 3.4, 3.5). Rows in Status 2, 3 and 8 get
// Status 1, rows in 5 and 6 get Status 4. After MaxAttempts a row gets State 2, error bit
// 52 and Status 4. The answer is the number of rows that are not in flight any more. With Keep
// the kept rows follow it: the daemon uses it to find the URL that ends its task program
// (docs/spec/DECISIONS.md 3.5).
type URLReturnRequest struct {
	BatchID     int64    `json:"batchId"`     // whose rows; 0: all batches except Except
	Except      []int64  `json:"except"`      // batches that are running
	Sites       []string `json:"sites"`       // empty: every site
	Statuses    []int64  `json:"statuses"`    // of the rows; empty: 2, 3, 5, 6 and 8
	MaxAttempts int64    `json:"maxAttempts"` // 0: no limit
	Fault       bool     `json:"fault"`       // count an attempt
	Keep        bool     `json:"keep"`        // rows stay with the batch, except those without attempts left

	// URLs are the only rows; empty: all. Used with Keep.
	URLs []URLKey `json:"urls"`

	// Age is the minimum age of UDate in seconds; 0: any age.
	Age int64 `json:"age"`
	// MaxURLs limits the rows of a node, oldest first, in equal shares for all sites
	// with such rows; 0: no limit.
	MaxURLs int64 `json:"maxURLs"`
}

// URLKey is the key of a row.
type URLKey struct {
	SiteID string `json:"siteId"`
	URLMd5 string `json:"urlMd5"`
}

// Check refuses invalid site ids and negative numbers. object is the name in errors.
func (r URLReturnRequest) Check(object string) (err error) {
	for _, id := range r.Sites {
		err = cmp.Or(err, CheckSiteID(object, "sites", id))
	}
	for field, n := range map[string]int64{"batchId": r.BatchID, "maxAttempts": r.MaxAttempts, "age": r.Age, "maxURLs": r.MaxURLs} {
		if n < 0 && err == nil {
			err = &lenient.FieldError{Object: object, Field: field, Value: fmt.Sprint(n), Reason: "is below 0"}
		}
	}
	return err
}
