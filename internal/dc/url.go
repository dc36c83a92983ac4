package dc

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
)

// URL is a stored URL: a row of urls_<site> (objects 2.7, storage 1.5).
type URL struct {
	SiteID          string    `json:"siteId" col:"Site_Id"`
	URL             string    `json:"url" col:"URL"`
	Type            int64     `json:"type" col:"Type"`
	State           int64     `json:"state" col:"State"`
	Status          int64     `json:"status" col:"Status"`
	Crawled         int64     `json:"crawled" col:"Crawled"`
	Processed       int64     `json:"processed" col:"Processed"`
	URLMd5          string    `json:"urlMd5" col:"URLMd5"`
	ContentType     string    `json:"contentType" col:"ContentType"`
	RequestDelay    int64     `json:"requestDelay" col:"RequestDelay"`       // ms
	ProcessingDelay int64     `json:"processingDelay" col:"ProcessingDelay"` // ms
	HTTPTimeout     float64   `json:"httpTimeout" col:"HTTPTimeout"`         // ms
	Charset         string    `json:"charset" col:"Charset"`
	BatchID         int64     `json:"batchId" col:"Batch_Id"`
	ErrorMask       ErrorMask `json:"errorMask" col:"ErrorMask"`
	CrawlingTime    int64     `json:"crawlingTime" col:"CrawlingTime"`     // ms
	ProcessingTime  int64     `json:"processingTime" col:"ProcessingTime"` // ms
	TotalTime       int64     `json:"totalTime" col:"TotalTime"`           // ms
	HTTPCode        int64     `json:"httpCode" col:"HTTPCode"`
	HTTPMethod      string    `json:"httpMethod" col:"HTTPMethod"`
	Size            int64     `json:"size" col:"Size"` // bytes
	LinksI          int64     `json:"linksI" col:"LinksI"`
	LinksE          int64     `json:"linksE" col:"LinksE"`
	Freq            int64     `json:"freq" col:"Freq"`
	Depth           int64     `json:"depth" col:"Depth"`
	RawContentMd5   string    `json:"rawContentMd5" col:"RawContentMd5"`
	ParentMd5       string    `json:"parentMd5" col:"ParentMd5"` // "" for a root URL
	LastModified    Date      `json:"lastModified" col:"LastModified"`
	ETag            string    `json:"eTag" col:"ETag"`
	MRate           float64   `json:"mRate" col:"MRate"`
	MRateCounter    int64     `json:"mRateCounter" col:"MRateCounter"`
	UDate           Date      `json:"UDate" col:"UDate"`
	CDate           Date      `json:"CDate" col:"CDate"`
	TcDate          Date      `json:"tcDate" col:"TcDate"`
	MaxURLsFromPage int64     `json:"maxURLsFromPage" col:"MaxURLsFromPage"`
	TagsMask        int64     `json:"tagsMask" col:"TagsMask"`
	TagsCount       int64     `json:"tagsCount" col:"TagsCount"`
	PDate           Date      `json:"pDate" col:"PDate"`
	ContentURLMd5   string    `json:"contentURLMd5" col:"ContentURLMd5"`
	Priority        int64     `json:"priority" col:"Priority"`
	ClassifierMask  int64     `json:"classifierMask" col:"ClassifierMask"`

	SiteSelect  int64           `json:"siteSelect"`
	ContentMask int64           `json:"contentMask"`
	ChainID     *int64          `json:"chainId"`
	Attributes  []Attribute     `json:"attributes"`
	URLPut      json.RawMessage `json:"urlPut"`
	URLUpdate   json.RawMessage `json:"urlUpdate"`
}

type urlFields URL

// MarshalJSON adds errorNames; attributes are never null.
func (u URL) MarshalJSON() ([]byte, error) {
	if u.Attributes == nil {
		u.Attributes = []Attribute{}
	}
	return json.Marshal(struct {
		urlFields
		ErrorNames []string `json:"errorNames"`
	}{urlFields(u), u.ErrorMask.Names()})
}

// UnmarshalJSON reads a URL as answers and batches carry it. Keys that are
// missing or null leave the fields as they are; see NewURL for the defaults.
func (u *URL) UnmarshalJSON(b []byte) error {
	o := readObject("URL", b)
	p := o.columns(URLColumns)
	u.SiteSelect = o.int("siteSelect", u.SiteSelect)
	u.ContentMask = o.int("contentMask", u.ContentMask)
	u.URLPut = o.raw("urlPut")
	u.URLUpdate = o.raw("urlUpdate")
	if err := o.end(nil); err != nil {
		return err
	}
	Apply(u, URLColumns, p, "")
	return nil
}

// NewURL is a URL with the values that the service gives to URLs it makes itself
// (objects 2.7, column "auto").
func NewURL(siteID, text string) URL {
	return URL{
		SiteID: siteID, URL: text, URLMd5: Md5(text), Status: StatusNew, HTTPMethod: "get",
		RequestDelay: 500, ProcessingDelay: 500, HTTPTimeout: 30000, MaxURLsFromPage: 100,
		SiteSelect: SelectNone,
	}
}

// Root reports whether u is a root URL of its site (storage 4.0.7).
func (u *URL) Root() bool { return u.ParentMd5 == "" }

// Md5 is the key of a URL: the md5 of its bytes, in lower-case hexadecimal.
func Md5(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Attribute is a free named value of a URL or a site (objects 2.13).
type Attribute struct {
	SiteID string `json:"siteId"`
	Name   string `json:"name"`
	URLMd5 string `json:"urlMd5"`
	Value  string `json:"value"`
	CDate  Date   `json:"cDate"`
}
