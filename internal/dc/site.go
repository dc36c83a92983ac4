package dc

import "encoding/json"

// Site is a stored site (objects 2.1, storage 1.1). URLs, Filters and Properties
// are nil when they were excluded or not read.
type Site struct {
	ID              string    `json:"id" col:"Id"`
	Description     string    `json:"description" col:"Description"`
	CDate           Date      `json:"cDate" col:"CDate"`
	UDate           Date      `json:"uDate" col:"UDate"`
	TcDate          Date      `json:"tcDate" col:"TcDate"`
	TcDateProcess   Date      `json:"tcDateProcess" col:"TcDateProcess"`
	Resources       int64     `json:"resources" col:"Resources"`
	Contents        int64     `json:"contents" col:"Contents"`
	CollectedURLs   int64     `json:"collectedURLs" col:"CollectedURLs"`
	NewURLs         int64     `json:"newURLs" col:"NewURLs"`
	DeletedURLs     int64     `json:"deletedURLs" col:"DeletedURLs"`
	Iterations      int64     `json:"iterations" col:"Iterations"`
	State           int64     `json:"state" col:"State"`
	Priority        int64     `json:"priority" col:"Priority"`
	MaxURLs         int64     `json:"maxURLs" col:"MaxURLs"`
	MaxURLsFromPage int64     `json:"maxURLsFromPage" col:"MaxURLsFromPage"`
	MaxResources    int64     `json:"maxResources" col:"MaxResources"`
	MaxErrors       int64     `json:"maxErrors" col:"MaxErrors"`
	MaxResourceSize int64     `json:"maxResourceSize" col:"MaxResourceSize"` // bytes
	RequestDelay    int64     `json:"requestDelay" col:"RequestDelay"`       // ms
	ProcessingDelay int64     `json:"processingDelay" col:"ProcessingDelay"` // ms
	HTTPTimeout     float64   `json:"httpTimeout" col:"HTTPTimeout"`         // ms
	ErrorMask       ErrorMask `json:"errorMask" col:"ErrorMask"`
	Errors          int64     `json:"errors" col:"Errors"`
	Size            int64     `json:"size" col:"Size"`         // bytes
	AVGSpeed        int64     `json:"avgSpeed" col:"AVGSpeed"` // bytes/s
	AVGSpeedCounter int64     `json:"avgSpeedCounter" col:"AVGSpeedCounter"`
	URLType         int64     `json:"urlType" col:"URLType"`
	UserID          int64     `json:"userId" col:"User_Id"`
	RecrawlPeriod   int64     `json:"recrawlPeriod" col:"RecrawlPeriod"` // minutes
	RecrawlDate     Date      `json:"recrawlDate" col:"RecrawlDate"`
	FetchType       int64     `json:"fetchType" col:"FetchType"`
	CategoryID      int64     `json:"categoryId" col:"Category_Id"`

	RecrawlLock bool           `json:"recrawlLock"` // a column of its own (DECISIONS 3.6)
	MoveURLs    bool           `json:"moveURLs"`    // always true in answers
	URLs        []SiteURL      `json:"urls"`
	Filters     []SiteFilter   `json:"filters"`
	Properties  []SiteProperty `json:"properties"`
}

// MarshalJSON adds errorNames (DECISIONS 1.8).
func (s Site) MarshalJSON() ([]byte, error) {
	type plain Site
	return json.Marshal(struct {
		plain
		ErrorNames []string `json:"errorNames"`
	}{plain(s), s.ErrorMask.Names()})
}

// UnmarshalJSON reads a Site as answers carry it, or as clients write one into a
// batch item; the lists stay as their typed readers give them.
func (s *Site) UnmarshalJSON(b []byte) error {
	o := readObject("Site", b)
	patch := o.columns(SiteColumns)
	if err := o.end(nil); err != nil {
		return err
	}
	Apply(s, SiteColumns, patch, "")
	var lists struct {
		RecrawlLock bool            `json:"recrawlLock"`
		MoveURLs    json.RawMessage `json:"moveURLs"`
		URLs        []SiteURL       `json:"urls"`
		Filters     []SiteFilter    `json:"filters"`
		Properties  json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(b, &lists); err != nil {
		return &FieldError{Object: "Site", Reason: err.Error()}
	}
	s.RecrawlLock, s.MoveURLs = lists.RecrawlLock, true
	s.URLs, s.Filters = lists.URLs, lists.Filters
	if !isNull(lists.Properties) {
		props, err := readProperties("Site.properties", s.ID, lists.Properties, nil)
		if err != nil {
			return err
		}
		s.Properties = []SiteProperty{}
		for _, p := range props {
			var row SiteProperty
			Apply(&row, PropertyColumns, p, "")
			s.Properties = append(s.Properties, row)
		}
	}
	return nil
}

// SiteURL is a root URL of a site (storage 1.4).
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

// UnmarshalJSON reads the fields, or a plain text that is the URL.
func (u *SiteURL) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &u.URL.URL)
	}
	if err := u.URL.UnmarshalJSON(b); err != nil {
		return err
	}
	o := readObject("SiteURL", b)
	u.UserID = o.int("userId", 0)
	return o.err
}

// SiteFilter is a rule that includes or excludes URLs or pages (storage 1.2).
type SiteFilter struct {
	SiteID  string `json:"siteId" col:"Site_Id"`
	Pattern string `json:"pattern" col:"Pattern"`
	Subject string `json:"subject" col:"Subject"`
	OpCode  int64  `json:"opCode" col:"OperationCode"`
	Stage   int64  `json:"stage" col:"Stage"`
	Action  int64  `json:"action" col:"Action"`
	Type    int64  `json:"type" col:"Type"`
	Mode    int64  `json:"mode" col:"Mode"`
	State   int64  `json:"state" col:"State"`
	UDate   Date   `json:"uDate" col:"UDate"`
	CDate   Date   `json:"cDate" col:"CDate"`
	GroupID int64  `json:"groupId" col:"Group_Id"`
}

// UnmarshalJSON reads a filter with the defaults of objects 2.3.
func (f *SiteFilter) UnmarshalJSON(b []byte) error {
	p, err := readFilter("SiteFilter", f.SiteID, b, nil)
	if err != nil {
		return err
	}
	Apply(f, FilterColumns, p, "")
	return nil
}

// SiteProperty is a named value of a site, or of one URL of it (storage 1.3).
type SiteProperty struct {
	SiteID string `json:"siteId" col:"Site_Id"`
	URLMd5 string `json:"urlMd5" col:"URLMd5"`
	Name   string `json:"name" col:"Name"`
	Value  string `json:"value" col:"Value"`
	UDate  Date   `json:"uDate" col:"UDate"`
	CDate  Date   `json:"cDate" col:"CDate"`
}

// Property is the value of the last property with the name, as the crawler reads
// them (objects 2.4).
func (s *Site) Property(name string) (value string, ok bool) {
	for i := len(s.Properties) - 1; i >= 0; i-- {
		if p := s.Properties[i]; p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}
