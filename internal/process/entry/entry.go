// Package entry reads pages that are JSON made for processing: entries of feeds, which the
// crawler stores, and lists of objects of the scraper SCRAPER_CUSTOM.
//
//	r, published, err := entry.Feed(md5, raw)       // FEED_PARSER: one result
//	results, err := entry.Custom(md5, pageURL, raw) // SCRAPER_CUSTOM: one result for each object
//
// Errors have the bit ErrScraper. Source: docs/spec/processing.md 4.1, 4.4.
package entry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

func scraperErrorf(format string, args ...any) error {
	return &errormask.Error{Mask: errormask.Scraper, Err: fmt.Errorf(format, args...)}
}

// Custom returns a result for each object of a JSON list of objects, or of lists of objects: each
// member is a tag with a text or a list of texts; a value of another kind is its JSON. The first
// result belongs to the page, the others are multi-items. All have source_url. There is always a
// result: with an error it may have source_url only. Elements that are not objects are left out
// with an error that names the first.
func Custom(md5, pageURL string, raw []byte) ([]result.Result, error) {
	var list []json.RawMessage
	err := prop.Decode(string(raw), &list)
	if err != nil {
		err = scraperErrorf("the page %w", err)
	}
	c := &custom{md5: md5, url: pageURL, err: err}
	for i, element := range list {
		if isList(element) {
			var inner []json.RawMessage
			_ = json.Unmarshal(element, &inner) // it is a valid list
			for j, object := range inner {
				c.addObject(object, "[%d][%d]", i, j)
			}
			continue
		}
		c.addObject(element, "[%d]", i)
	}
	if len(c.results) == 0 {
		c.results = append(c.results, c.makeResult(nil))
		if c.err == nil {
			c.err = scraperErrorf("the page is an empty JSON list; expected objects")
		}
	}
	return c.results, c.err
}

// custom is the state of one Custom.
type custom struct {
	md5, url string
	results  []result.Result
	err      error
}

func (c *custom) addObject(object json.RawMessage, place string, numbers ...any) {
	var members prop.Members
	err := members.UnmarshalJSON(object)
	if err == nil && members == nil && bytes.Equal(object, []byte("null")) {
		err = errors.New("is null")
	}
	if err != nil {
		if c.err == nil {
			c.err = scraperErrorf("element "+place+" of the page %w, but %.40s", append(numbers, err, string(object))...)
		}
		return
	}
	c.results = append(c.results, c.makeResult(members))
}

func (c *custom) makeResult(members prop.Members) result.Result {
	r := result.Result{ID: c.md5, Tags: make([]result.Tag, 0, len(members)+1)}
	for _, m := range members {
		if m.Name != "" {
			r.Add(result.Tag{Name: m.Name, Data: textsOf(m.Value), Extractor: result.Custom})
		}
	}
	r.Add(result.Tag{Name: "source_url", Data: []string{c.url}, Extractor: result.Service})
	return r
}

// textsOf returns the texts of a value: its elements, if it is a list.
func textsOf(value json.RawMessage) []string {
	if !isList(value) {
		return []string{textOf(value)}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is a valid list
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = textOf(v)
	}
	return all
}

// textOf returns a text, number or bool as text, "" for null, and other values as JSON.
func textOf(value json.RawMessage) string {
	if bytes.Equal(value, []byte("null")) {
		return ""
	}
	if s, err := prop.Text(value); err == nil {
		return s
	}
	return string(value)
}

func isList(value json.RawMessage) bool { return bytes.HasPrefix(value, []byte("[")) }

func isObject(value json.RawMessage) bool { return bytes.HasPrefix(value, []byte("{")) }

// escapeLink writes "&" as "&amp;", once.
func escapeLink(link string) string {
	return strings.ReplaceAll(strings.ReplaceAll(link, "&amp;", "&"), "&", "&amp;")
}
