package wire

import (
	"encoding/json"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// Site is a stored site (docs/spec/objects.md 2.1, docs/spec/storage.md 1.1). URLs, Filters and
// Properties are nil if they were excluded or not read.
type Site struct {
	ID              string         `json:"id" col:"Id" fit:"id"`
	Description     string         `json:"description" col:"Description" fit:"1024"`
	CDate           schema.Date    `json:"cDate" col:"CDate"`
	UDate           schema.Date    `json:"uDate" col:"UDate"`
	TcDate          schema.Date    `json:"tcDate" col:"TcDate"`
	TcDateProcess   schema.Date    `json:"tcDateProcess" col:"TcDateProcess"`
	Resources       int64          `json:"resources" col:"Resources" fit:"u64"`
	Contents        int64          `json:"contents" col:"Contents" fit:"u64"`
	CollectedURLs   int64          `json:"collectedURLs" col:"CollectedURLs" fit:"u64"`
	NewURLs         int64          `json:"newURLs" col:"NewURLs" fit:"u64"`
	DeletedURLs     int64          `json:"deletedURLs" col:"DeletedURLs" fit:"u64"`
	Iterations      int64          `json:"iterations" col:"Iterations" fit:"u32"`
	State           int64          `json:"state" col:"State" fit:"u8"`
	Priority        int64          `json:"priority" col:"Priority" fit:"u32"`
	MaxURLs         int64          `json:"maxURLs" col:"MaxURLs" fit:"u64"`
	MaxURLsFromPage int64          `json:"maxURLsFromPage" col:"MaxURLsFromPage" fit:"u64"`
	MaxResources    int64          `json:"maxResources" col:"MaxResources" fit:"u64"`
	MaxErrors       int64          `json:"maxErrors" col:"MaxErrors" fit:"u64"`
	MaxResourceSize int64          `json:"maxResourceSize" col:"MaxResourceSize" fit:"size"` // bytes
	RequestDelay    int64          `json:"requestDelay" col:"RequestDelay" fit:"u64"`        // ms
	ProcessingDelay int64          `json:"processingDelay" col:"ProcessingDelay" fit:"u64"`  // ms
	HTTPTimeout     float64        `json:"httpTimeout" col:"HTTPTimeout"`                    // ms
	ErrorMask       errormask.Mask `json:"errorMask" col:"ErrorMask" fit:"u64"`
	Errors          int64          `json:"errors" col:"Errors" fit:"u64"`
	Size            int64          `json:"size" col:"Size" fit:"u64"`         // bytes, a sum over rows
	AVGSpeed        int64          `json:"avgSpeed" col:"AVGSpeed" fit:"u64"` // bytes/s
	AVGSpeedCounter int64          `json:"avgSpeedCounter" col:"AVGSpeedCounter" fit:"u64"`
	URLType         int64          `json:"urlType" col:"URLType" fit:"u8"`
	UserID          int64          `json:"userId" col:"User_Id" fit:"u64"`
	RecrawlPeriod   int64          `json:"recrawlPeriod" col:"RecrawlPeriod" fit:"u32"` // minutes
	RecrawlDate     schema.Date    `json:"recrawlDate" col:"RecrawlDate"`
	FetchType       int64          `json:"fetchType" col:"FetchType" fit:"u8"`
	CategoryID      int64          `json:"categoryId" col:"Category_Id" fit:"u32"`

	RecrawlLock    bool  `json:"recrawlLock"`    // a recrawl is running (docs/spec/DECISIONS.md 3.6)
	CrawlingURLs   int64 `json:"crawlingURLs"`   // in crawl batches: Status 2, 3, 8 (docs/spec/DECISIONS.md 3.8)
	ProcessingURLs int64 `json:"processingURLs"` // in processing batches: Status 5, 6
	MoveURLs       bool  `json:"moveURLs"`       // always true in answers
	// Finished: no URL waits for its request or is in a batch, and no page waits to be processed. A site that is
	// not active gets no new work. Only SITE_STATUS of a known site has it.
	Finished   *bool          `json:"finished,omitempty"`
	URLs       []SiteURL      `json:"urls"`
	Filters    []SiteFilter   `json:"filters"`
	Properties []SiteProperty `json:"properties"`
}

// MarshalJSON adds errorNames (docs/spec/DECISIONS.md 1.8).
func (s Site) MarshalJSON() ([]byte, error) {
	type plain Site
	return json.Marshal(struct {
		plain
		ErrorNames []string `json:"errorNames"`
	}{plain(s), s.ErrorMask.Names()})
}

// UnmarshalJSON reads a Site of an answer or of a batch item. Values out of bounds are
// changed to fit (see Column.Fit); lists are replaced.
func (s *Site) UnmarshalJSON(b []byte) error {
	o := new(lenient.Reading).NewObject("Site", b)
	o.Loose = true
	patch := o.ReadColumns(SiteColumns)
	if o.Err != nil {
		return o.Err
	}
	schema.Apply(s, SiteColumns, patch, "")
	var lists struct {
		RecrawlLock    bool            `json:"recrawlLock"`
		CrawlingURLs   int64           `json:"crawlingURLs"`
		ProcessingURLs int64           `json:"processingURLs"`
		MoveURLs       json.RawMessage `json:"moveURLs"`
		Finished       *bool           `json:"finished"`
		URLs           []SiteURL       `json:"urls"`
		Filters        []SiteFilter    `json:"filters"`
	}
	if err := json.Unmarshal(b, &lists); err != nil {
		return &lenient.FieldError{Object: "Site", Reason: err.Error()}
	}
	s.RecrawlLock, s.MoveURLs = lists.RecrawlLock, true
	s.CrawlingURLs, s.ProcessingURLs = lists.CrawlingURLs, lists.ProcessingURLs
	s.URLs, s.Filters, s.Finished = lists.URLs, lists.Filters, lists.Finished
	if o.HasField("properties") {
		s.Properties = schema.RowsOf[SiteProperty](PropertyColumns, readProperties(o, s.ID, false))
	}
	return o.Err
}

// SiteURL is a root URL of a site (docs/spec/storage.md 1.4).
type SiteURL struct {
	URL
	UserID int64
}

// MarshalJSON writes the URL's fields and userId.
func (u SiteURL) MarshalJSON() ([]byte, error) {
	if u.Attributes == nil {
		u.Attributes = []Attribute{}
	}
	return json.Marshal(struct {
		urlFields
		ErrorNames []string `json:"errorNames"`
		UserID     int64    `json:"userId"`
	}{urlFields(u.URL), u.ErrorMask.Names(), u.UserID})
}

// UnmarshalJSON reads an object, or a text that is the URL.
func (u *SiteURL) UnmarshalJSON(b []byte) error {
	if schema.IsNull(b) {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &u.URL.URL)
	}
	if err := u.URL.UnmarshalJSON(b); err != nil {
		return err
	}
	o := new(lenient.Reading).NewObject("SiteURL", b)
	u.UserID = o.ReadInt("userId", 0)
	return o.Err
}

// SiteFilter is a rule that includes or excludes URLs or pages (docs/spec/storage.md 1.2).
type SiteFilter struct {
	SiteID  string      `json:"siteId" col:"Site_Id" fit:"id"`
	Pattern string      `json:"pattern" col:"Pattern" fit:"16000"`
	Subject string      `json:"subject" col:"Subject" fit:"16000"`
	OpCode  int64       `json:"opCode" col:"OperationCode" fit:"u32"`
	Stage   int64       `json:"stage" col:"Stage" fit:"u32"`
	Action  int64       `json:"action" col:"Action" fit:"i32"`
	Type    int64       `json:"type" col:"Type" fit:"u8"`
	Mode    int64       `json:"mode" col:"Mode" fit:"u32"`
	State   int64       `json:"state" col:"State" fit:"u8"`
	UDate   schema.Date `json:"uDate" col:"UDate"`
	CDate   schema.Date `json:"cDate" col:"CDate"`
	GroupID int64       `json:"groupId" col:"Group_Id" fit:"u32"`
}

// UnmarshalJSON reads a filter with the defaults of docs/spec/objects.md 2.3.
func (f *SiteFilter) UnmarshalJSON(b []byte) error {
	p, err := lenient.ReadOne("SiteFilter", b, nil, func(o *lenient.Object) schema.Patch { return readFilter(o, f.SiteID) })
	if err == nil {
		schema.Apply(f, FilterColumns, p, "")
	}
	return err
}

// SiteProperty is a named value of a site, or of one of its URLs (docs/spec/storage.md 1.3).
type SiteProperty struct {
	SiteID string      `json:"siteId" col:"Site_Id" fit:"id"`
	URLMd5 string      `json:"urlMd5" col:"URLMd5" fit:"id"`
	Name   string      `json:"name" col:"Name" fit:"255"`
	Value  string      `json:"value" col:"Value" fit:"1048576 bytes"`
	UDate  schema.Date `json:"uDate" col:"UDate"`
	CDate  schema.Date `json:"cDate" col:"CDate"`
}

// Property returns the value of the last property with the name. Later properties
// override earlier ones (docs/spec/objects.md 2.4).
func (s *Site) Property(name string) (value string, ok bool) {
	for i := len(s.Properties) - 1; i >= 0; i-- {
		if p := s.Properties[i]; p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// OverLimits returns these bits for the limits that the site exceeds. A limit of 0 is unlimited
// (docs/spec/DECISIONS.md 3.2).
func (s *Site) OverLimits(errors, resources errormask.Mask) (bits errormask.Mask) {
	if s.MaxErrors > 0 && s.Errors > s.MaxErrors {
		bits |= errors
	}
	if s.MaxResources > 0 && s.Resources > s.MaxResources {
		bits |= resources
	}
	return bits
}
