package process

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/process/article"
	"hce/dc/internal/wire"
)

// extractor is the extractor name in tags of package article (docs/spec/processing.md 1.4,
// 5.1).
const extractor = "NewspaperExtractor"

// tag is one named value of a page (docs/spec/processing.md 2.8).
type tag struct {
	Name       string   `json:"name"`
	Data       []string `json:"data"`
	XPath      *string  `json:"xpath"`
	Extractor  string   `json:"extractor"`
	Type       *string  `json:"type"`
	Lang       string   `json:"lang,omitempty"`
	LangSuffix string   `json:"lang_suffix,omitempty"`
}

type tagList struct {
	tags      []tag
	published wire.Date
}

// tagBits are the bits of TagsMask (docs/spec/processing.md 2.6).
var tagBits = map[string]int{
	"media": 0, "content_encoded": 1, "content": 1, "pubdate": 2, "title": 3, "link": 4, "description": 5,
	"dc_date": 7, "author": 8, "keywords": 10, "html_lang": 16, "source_url": 25,
}

// newTags converts an article to tags. It skips empty values.
func newTags(a article.Article, pageURL string) tagList {
	t := tagList{published: wire.DateOf(a.Date)}
	add := func(name, by string, values ...string) {
		var data []string
		for _, v := range values {
			if strings.TrimSpace(v) != "" {
				data = append(data, v)
			}
		}
		if len(data) == 0 {
			return
		}
		x := tag{Name: name, Data: data, Extractor: by}
		if by == extractor && a.Language != "" {
			x.Lang, x.LangSuffix = a.Language, "_language"
		}
		t.tags = append(t.tags, x)
	}
	add("title", extractor, a.Title)
	add("content_encoded", extractor, a.Text)
	add("content_markdown", extractor, a.Markdown)
	add("description", extractor, a.Description)
	add("author", extractor, a.Author)
	add("pubdate", extractor, string(t.published))
	add("keywords", extractor, strings.Join(a.Keywords, ","))
	add("html_lang", extractor, a.Language)
	add("link", extractor, a.Canonical)
	add("media", extractor, a.Media...)
	add("links", extractor, a.Links...)
	add("source_url", "Scraper", pageURL)
	return t
}

// count returns TagsCount: all tags, including service tags.
func (t tagList) count() int64 { return int64(len(t.tags)) }

// mask returns TagsMask.
func (t tagList) mask() (m int64) {
	for _, x := range t.tags {
		if bit, ok := tagBits[x.Name]; ok {
			m |= 1 << bit
		}
	}
	return m
}

// content returns the JSON to store for a page: the chosen result, all results, and the
// texts of the site's templates, which this processor does not support
// (docs/spec/processing.md 2.8).
func (t tagList) content(md5 string, spent time.Duration) ([]byte, error) {
	type result struct {
		Data struct {
			ResID   string  `json:"resId"`
			TagList [][]tag `json:"tagList"`
		} `json:"data"`
		ErrorCode    int    `json:"error_code"`
		ErrorMessage string `json:"error_message"`
		Time         string `json:"time"`
		Metrics      string `json:"metrics"`
	}
	r := result{Time: strconv.FormatFloat(spent.Seconds(), 'f', 4, 64), Metrics: "{}"}
	r.Data.ResID, r.Data.TagList = md5, [][]tag{t.tags}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	// The result occurs twice; encoding it again would cost as much again.
	return slices.Concat([]byte(`{"custom":[],"default":`), text, []byte(`,"internal":[`), text, []byte(`]}`)), nil
}
