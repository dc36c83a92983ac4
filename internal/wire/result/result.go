// Package result is the processed content of a page: results with tags and metrics, in the
// form in which they are stored and sent (docs/spec/processing.md 2.6 to 2.8).
//
//	r := result.Result{ID: md5, Time: spent}
//	r.Add(result.Tag{Name: "title", Data: []string{"News"}, Extractor: "NewspaperExtractor"})
//	stored, err := result.Encode([]result.Result{r}, nil)
//	text, err := result.Expand(stored) // {"custom":[],"default":…,"internal":[…]}
//
//	content := result.Decode(stored) // also JSON, base64 and values of the original service
//	words, err := content.Default.Metric("WORDS_NUMBER")
package result

import (
	"strings"
	"time"
)

// Names of extractors that are no extractors of pages.
const (
	Service = "Scraper"             // of service tags, such as source_url
	Feed    = "ProcessorFeedParser" // of the fields of a feed entry
	Custom  = "CustomExtractor"     // of the keys of a JSON object
)

// PlainSuffix ends the names of tags of a feed entry that have the plain text of a tag with markup: the
// tag itself has the value of the document.
const PlainSuffix = "_plain"

// Tag is one named value of a page.
type Tag struct {
	Name       string
	Data       []string // one value, unless several are stored as a list
	XPath      string   // of the rule that found it; "": none
	Extractor  string
	Type       string // of the rule; "": none
	Lang       string
	LangSuffix string

	Default bool // the value is the default of a rule. It does not count and is not stored.
	Plain   bool // Data is stored as a string instead of a list
}

// TypeRecords is the type of a tag whose value is a JSON list of objects. Such a value is not escaped.
const TypeRecords = "records"

// Text returns the values, joined by spaces.
func (t Tag) Text() string { return strings.Join(t.Data, " ") }

// First returns the first value that is not blank, or "".
func (t Tag) First() string {
	for _, v := range t.Data {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

// isFilled reports whether the tag counts: its first value is not blank and no default.
func (t Tag) isFilled() bool {
	return !t.Default && len(t.Data) > 0 && strings.TrimSpace(t.Data[0]) != ""
}

// Result is what one extractor, one template or all extractors together found in a page.
type Result struct {
	ID      string // URLMd5
	Tags    []Tag  // each name once
	Code    int    // error_code
	Message string // error_message
	Time    time.Duration
	Metrics map[string]float64 // by Metric name, as the site asked for them

	// Published and Modified are dates in the form of dates.Value.String, or "". They are no tags, because
	// tags are counted. Published is set if the tags pubdate and pubdate_tz do not say the same.
	Published, Modified string

	// Assumed says that the tag pubdate is not when the page was published: it is the time of processing
	// because PDATE_SOURCES_MASK asks for it, the first day of a month, or after the fetch.
	Assumed bool
}

// Tag returns the tag of this name, or nil. The pointer is valid until a tag is added or
// removed.
func (r *Result) Tag(name string) *Tag {
	for i := range r.Tags {
		if r.Tags[i].Name == name {
			return &r.Tags[i]
		}
	}
	return nil
}

// First returns the first value of a tag that is not blank, or "".
func (r *Result) First(name string) string {
	if t := r.Tag(name); t != nil {
		return t.First()
	}
	return ""
}

// Add adds a tag without its blank values, or replaces the tag of the same name. A tag
// without a value is not added.
func (r *Result) Add(t Tag) {
	values := make([]string, 0, len(t.Data))
	for _, v := range t.Data {
		if strings.TrimSpace(v) != "" {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return
	}
	t.Data = values
	if old := r.Tag(t.Name); old != nil {
		*old = t
		return
	}
	r.Tags = append(r.Tags, t)
}

// Remove removes the tag of this name.
func (r *Result) Remove(name string) {
	for i := range r.Tags {
		if r.Tags[i].Name == name {
			r.Tags = append(r.Tags[:i], r.Tags[i+1:]...)
			return
		}
	}
}

// Count returns TagsCount: all filled tags, service tags included.
func (r *Result) Count() (n int64) {
	for _, t := range r.Tags {
		if t.isFilled() {
			n++
		}
	}
	return n
}

// Mask returns TagsMask: the bits of the filled tags. mapping is TAGS_MAPPING; nil: the
// table of docs/spec/processing.md 2.6.
func (r *Result) Mask(mapping map[string]int64) (m int64) {
	for _, t := range r.Tags {
		if !t.isFilled() {
			continue
		}
		if mapping != nil {
			m |= mapping[t.Name]
		} else if bit, ok := bits[t.Name]; ok {
			m |= 1 << bit
		}
	}
	return m
}

// bits are the bits of TagsMask.
var bits = map[string]int{
	"media": 0, "content_encoded": 1, "content": 1, "pubdate": 2, "published": 2, "title": 3, "link": 4,
	"description": 5, "updated_parsed": 6, "dc_date": 7, "author": 8, "guid": 9, "keywords": 10,
	"media_thumbnail": 11, "enclosure": 12, "media_content": 13, "google_search": 14, "google_search_total": 15,
	"html_lang": 16, "parent_rss_feed": 17, "parent_rss_feed_urlMd5": 18, "summary_detail": 19, "summary": 20,
	"comments": 21, "tags": 22, "updated": 23, "order_number": 24, "source_url": 25,
}
