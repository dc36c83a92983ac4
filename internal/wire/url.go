package wire

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"time"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// URL is a stored URL: a row of urls_<site> (docs/spec/objects.md 2.7, docs/spec/storage.md 1.5).
type URL struct {
	SiteID          string         `json:"siteId" col:"Site_Id" fit:"id"`
	URL             string         `json:"url" col:"URL" fit:"4096 bytes"`
	Type            int64          `json:"type" col:"Type" fit:"u8"`
	State           int64          `json:"state" col:"State" fit:"u8"`
	Status          int64          `json:"status" col:"Status" fit:"u8"`
	Crawled         int64          `json:"crawled" col:"Crawled" fit:"u64"`
	Processed       int64          `json:"processed" col:"Processed" fit:"u64"`
	URLMd5          string         `json:"urlMd5" col:"URLMd5" fit:"id"`
	ContentType     string         `json:"contentType" col:"ContentType" fit:"255"`
	RequestDelay    int64          `json:"requestDelay" col:"RequestDelay" fit:"u64"`       // ms
	ProcessingDelay int64          `json:"processingDelay" col:"ProcessingDelay" fit:"u64"` // ms
	HTTPTimeout     float64        `json:"httpTimeout" col:"HTTPTimeout"`                   // ms
	Charset         string         `json:"charset" col:"Charset" fit:"64"`
	BatchID         int64          `json:"batchId" col:"Batch_Id" fit:"u32"`
	ErrorMask       errormask.Mask `json:"errorMask" col:"ErrorMask" fit:"u64"`
	CrawlingTime    int64          `json:"crawlingTime" col:"CrawlingTime" fit:"u64"`     // ms
	ProcessingTime  int64          `json:"processingTime" col:"ProcessingTime" fit:"u64"` // ms
	TotalTime       int64          `json:"totalTime" col:"TotalTime" fit:"u64"`           // ms
	HTTPCode        int64          `json:"httpCode" col:"HTTPCode" fit:"u32"`
	HTTPMethod      string         `json:"httpMethod" col:"HTTPMethod" fit:"16"`
	Size            int64          `json:"size" col:"Size" fit:"size"` // bytes
	LinksI          int64          `json:"linksI" col:"LinksI" fit:"u64"`
	LinksE          int64          `json:"linksE" col:"LinksE" fit:"u64"`
	Freq            int64          `json:"freq" col:"Freq" fit:"u64"`
	Depth           int64          `json:"depth" col:"Depth" fit:"u64"`
	RawContentMd5   string         `json:"rawContentMd5" col:"RawContentMd5" fit:"md5"`
	ParentMd5       string         `json:"parentMd5" col:"ParentMd5" fit:"md5"` // "" for a root URL
	LastModified    schema.Date    `json:"lastModified" col:"LastModified"`
	ETag            string         `json:"eTag" col:"ETag" fit:"255"`
	MRate           float64        `json:"mRate" col:"MRate"`
	MRateCounter    int64          `json:"mRateCounter" col:"MRateCounter" fit:"i64"`
	UDate           schema.Date    `json:"UDate" col:"UDate"`
	CDate           schema.Date    `json:"CDate" col:"CDate"`
	TcDate          schema.Date    `json:"tcDate" col:"TcDate"`
	MaxURLsFromPage int64          `json:"maxURLsFromPage" col:"MaxURLsFromPage" fit:"u64"`
	TagsMask        int64          `json:"tagsMask" col:"TagsMask" fit:"u64"`
	TagsCount       int64          `json:"tagsCount" col:"TagsCount" fit:"u64"`
	PDate           schema.Date    `json:"pDate" col:"PDate"`
	ContentURLMd5   string         `json:"contentURLMd5" col:"ContentURLMd5" fit:"md5"`
	Priority        int64          `json:"priority" col:"Priority" fit:"u32"`
	ClassifierMask  int64          `json:"classifierMask" col:"ClassifierMask" fit:"u64"`

	// Columns that the specification does not have. Their keys are missing if they are empty.
	Redirects        string      `json:"redirects,omitempty" col:"Redirects" fit:"65535 bytes"` // see Hops
	Canonical        string      `json:"canonical,omitempty" col:"Canonical" fit:"4096 bytes"`  // declared by HTML or a Link header, absolute
	RobotsMask       int64       `json:"robotsMask,omitempty" col:"RobotsMask" fit:"u8"`        // bits RobotsNoIndex and others
	UnavailableAfter schema.Date `json:"unavailableAfter,omitempty" col:"UnavailableAfter"`     // robots: unavailable_after
	ContentDate      schema.Date `json:"contentDate,omitempty" col:"ContentDate"`               // when the content last changed
	SettingsSum      int64       `json:"settingsSum,omitempty" col:"SettingsSum" fit:"u32"`     // of the settings that the page was read with; see SumUnprocessed
	Retries          int64       `json:"retries,omitempty" col:"Retries" fit:"u32"`             // answers in a row that mean "later"
	RetryDate        schema.Date `json:"retryDate,omitempty" col:"RetryDate"`                   // not selected before
	RetryCause       string      `json:"retryCause,omitempty" col:"RetryCause" fit:"32"`        // of the last of Retries; CauseTrap

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

// UnmarshalJSON reads a URL of an answer or a batch. A missing or null key does not
// change its field. Values out of bounds are changed to fit (see Column.Fit).
func (u *URL) UnmarshalJSON(b []byte) error {
	o := new(lenient.Reading).NewObject("URL", b)
	o.Loose = true
	p := o.ReadColumns(URLColumns)
	u.SiteSelect = o.ReadInt("siteSelect", u.SiteSelect)
	u.ContentMask = o.ReadInt("contentMask", u.ContentMask)
	u.URLPut = o.ReadRaw("urlPut")
	u.URLUpdate = o.ReadRaw("urlUpdate")
	if o.Err == nil {
		schema.Apply(u, URLColumns, p, "")
		if u.URL != "" {
			u.URLMd5 = urlkey.Choose(u.URLMd5, u.URL)
		}
	}
	return o.Err
}

// NewURL returns a URL with the defaults of URLs that the service creates itself
// (docs/spec/objects.md 2.7, column "auto"), except MaxURLsFromPage: the limit of the site.
func NewURL(siteID, text string) URL {
	return URL{
		SiteID: siteID, URL: text, URLMd5: urlkey.Of(text), Status: StatusNew, HTTPMethod: "get",
		RequestDelay: 500, ProcessingDelay: 500, HTTPTimeout: 30000,
		SiteSelect: SelectNone,
	}
}

// Root reports whether u is a root URL of its site (docs/spec/storage.md 4.0.7).
func (u *URL) Root() bool { return u.ParentMd5 == "" }

// CauseTrap is the RetryCause of a waiting URL that belongs to a trap: many URLs that bring no new pages. It is asked
// after the others, since its Priority is 0 and theirs is at least 1 (docs/traps.md).
const CauseTrap = "trap"

// SumUnprocessed is the bit of SettingsSum of a content that was stored and not processed yet. The other
// bits are a checksum of the site's settings, 0 if unknown.
const SumUnprocessed = 1 << 31

// Bits of RobotsMask: the directives of robots meta tags and of the header X-Robots-Tag.
const (
	RobotsNoIndex   = 1
	RobotsNoFollow  = 2
	RobotsNoArchive = 4
)

// IndexedWhere is the condition of rows whose page does not ask robots to leave it out, in the MySQL dialect.
const IndexedWhere = "(`RobotsMask` & 1 = 0 AND (`UnavailableAfter` IS NULL OR `UnavailableAfter` > NOW()))"

// Indexed is IndexedWhere at now.
func (u *URL) Indexed(now time.Time) bool {
	end, limited := u.UnavailableAfter.Time()
	return u.RobotsMask&RobotsNoIndex == 0 && (!limited || end.After(now))
}

// Declared returns the columns of what the page says about itself.
func (u *URL) Declared() schema.Patch {
	p := schema.Patch{"RobotsMask": u.RobotsMask, "Canonical": u.Canonical, "UnavailableAfter": nil}
	if u.UnavailableAfter != "" {
		p["UnavailableAfter"] = string(u.UnavailableAfter)
	}
	return p
}

// RobotsNames returns the directives of RobotsMask; never nil.
func (u *URL) RobotsNames() []string {
	names := []string{}
	for i, name := range []string{"noindex", "nofollow", "noarchive"} {
		if u.RobotsMask>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ResourceMask is the TagsMask of a resource: a script, a style sheet, JSON, XML and the like, which
// processing has found to be no page. Its TagsCount is 0. No other row without tags has a TagsMask.
const ResourceMask = 1 << 26

// PageWhere is the condition of rows that are no resources, in the MySQL dialect.
const PageWhere = "(`TagsCount`>0 OR `TagsMask`=0)"

// Unasked reports whether the row marks a URL that is not requested: one that robots.txt forbids, or
// one that another node crawled. Counters and limits leave such rows out.
func (u *URL) Unasked() bool { return u.Status == StatusCrawled && u.Crawled == 0 }

// Resource reports whether u is a resource.
func (u *URL) Resource() bool { return u.TagsCount == 0 && u.TagsMask != 0 }

// Md5 returns the md5 of a text or of bytes in lower-case hexadecimal. It is the id of a site; the
// key of a URL is that of package urlkey.
func Md5[T string | []byte](data T) string {
	sum := md5.Sum([]byte(data))
	return hex.EncodeToString(sum[:])
}
