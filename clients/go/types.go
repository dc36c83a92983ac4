package hceclient

import "time"

// Scrape says which page is wanted, and what of it.
type Scrape struct {
	URL     string            `json:"url"`
	Formats []string          `json:"formats,omitempty"` // markdown (default), text, html, rawHtml, links, media
	Mode    string            `json:"mode,omitempty"`    // balanced (default), precision, recall, whole
	Fields  map[string]Field  `json:"fields,omitempty"`
	Schema  map[string]any    `json:"schema,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Field says where a value is, and what it is: one of CSS, XPath and JSONLD, or a pattern for the text of the page.
type Field struct {
	CSS     string           `json:"css,omitempty"`
	XPath   string           `json:"xpath,omitempty"`
	JSONLD  string           `json:"jsonld,omitempty"`
	Pattern string           `json:"pattern,omitempty"`
	Type    string           `json:"type,omitempty"` // text (default), number, integer, boolean, url
	List    bool             `json:"list,omitempty"`
	Fields  map[string]Field `json:"fields,omitempty"`
}

// ScrapedPage is what a page says.
type ScrapedPage struct {
	URL         string         `json:"url"`
	Status      int            `json:"status"`
	ContentType string         `json:"contentType"`
	Fetched     time.Time      `json:"fetched"`
	Title       string         `json:"title"`
	Author      string         `json:"author"`
	Date        string         `json:"date"`
	Modified    string         `json:"modified"`
	Language    string         `json:"language"`
	Description string         `json:"description"`
	Canonical   string         `json:"canonical"`
	Keywords    []string       `json:"keywords"`
	Markdown    string         `json:"markdown"`
	Text        string         `json:"text"`
	HTML        string         `json:"html"`
	RawHTML     string         `json:"rawHtml"`
	Links       []string       `json:"links"`
	Media       []string       `json:"media"`
	Fields      map[string]any `json:"fields"`
	Whole       bool           `json:"whole"`
	Problems    []string       `json:"problems"`
}

// Map says which URLs of a site are wanted.
type Map struct {
	URL    string `json:"url"`
	Scope  string `json:"scope,omitempty"` // host (default), domain, prefix
	Limit  int    `json:"limit,omitempty"`
	Search string `json:"search,omitempty"`
}

// URLMap has URLs of a site.
type URLMap struct {
	URLs     []MappedURL `json:"urls"`
	Sitemaps []string    `json:"sitemaps"`
	More     bool        `json:"more"`
	Problems []string    `json:"problems"`
}

// MappedURL is one of them.
type MappedURL struct {
	URL      string     `json:"url"`
	Source   string     `json:"source"` // sitemap, link, root
	Modified *time.Time `json:"modified"`
}

// Settings say what is crawled and how. Nil and empty values are the defaults, or in a change what stays.
type Settings struct {
	Depth          *int              `json:"depth,omitempty"`
	Scope          string            `json:"scope,omitempty"` // host (default), domain, prefix, any
	Include        []string          `json:"include,omitempty"`
	Exclude        []string          `json:"exclude,omitempty"`
	MaxURLs        *int64            `json:"maxUrls,omitempty"`
	DelayMs        *int64            `json:"delayMs,omitempty"`
	RecrawlMinutes *int64            `json:"recrawlMinutes,omitempty"`
	Browser        *bool             `json:"browser,omitempty"`
	Properties     map[string]string `json:"properties,omitempty"`
}

// NewSite is a site to create.
type NewSite struct {
	ID          string    `json:"id,omitempty"`
	Roots       []string  `json:"roots"`
	Description string    `json:"description,omitempty"`
	Settings    *Settings `json:"settings,omitempty"`
}

// SiteChange changes a site.
type SiteChange struct {
	State       string    `json:"state,omitempty"` // active, paused, disabled
	Description *string   `json:"description,omitempty"`
	Settings    *Settings `json:"settings,omitempty"`
}

// Counts are the counters of a site.
type Counts struct {
	URLs        int64 `json:"urls"`
	Waiting     int64 `json:"waiting"`
	Crawling    int64 `json:"crawling"`
	Unprocessed int64 `json:"unprocessed"`
	Processing  int64 `json:"processing"`
	Pages       int64 `json:"pages"`
	Errors      int64 `json:"errors"`
	Bytes       int64 `json:"bytes"`
}

// Site is a site with its counters.
type Site struct {
	ID          string     `json:"id"`
	Roots       []string   `json:"roots"`
	State       string     `json:"state"`
	Finished    *bool      `json:"finished"`
	Description string     `json:"description"`
	Counts      Counts     `json:"counts"`
	Settings    *Settings  `json:"settings"`
	Created     *time.Time `json:"created"`
	Changed     *time.Time `json:"changed"`
	NextCrawl   *time.Time `json:"nextCrawl"`
}

// Crawl says how far the crawl of a site is.
type Crawl struct {
	ID       string `json:"id"`
	Status   string `json:"status"` // crawling, finished, paused
	Counts   Counts `json:"counts"`
	Complete int    `json:"completePercent"`
}

// Page is a URL or page with the fields that were asked for (docs/hce.md, Fields).
type Page map[string]any

// Text returns a field that is a text, "" for others.
func (p Page) Text(field string) string {
	text, _ := p[field].(string)
	return text
}

// Choice chooses URLs of a site.
type Choice struct {
	Fields []string
	Status string // new, crawling, crawled, processing, processed
	Failed bool
	Prefix string // of the URL
	URL    string
}

// Version is a stored version of a page.
type Version struct {
	Number int        `json:"number"` // from 1, the oldest
	Stored *time.Time `json:"stored"`
	Bytes  int        `json:"bytes"`
}

// Status says what runs and what is wrong.
type Status struct {
	State        string            `json:"state"` // ok, unhealthy
	Reasons      []string          `json:"reasons"`
	Managers     map[string]string `json:"managers"`
	Pauses       map[string]string `json:"pauses"`
	SilentNodes  []string          `json:"silentNodes"`
	RefusedNodes []string          `json:"refusedNodes"`
}

// Caller says what a key allows.
type Caller struct {
	Key   string   `json:"key"`
	Name  string   `json:"name"`
	Scope string   `json:"scope"` // read, crawl, admin
	Sites []string `json:"sites"`
}
