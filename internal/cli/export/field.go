package export

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/parquetfile"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// field is a column of jsonl, csv and parquet.
type field struct {
	kind  parquetfile.Kind // text, unless set
	needs pages.Needs
	tags  []string // processed values that value reads
	// value returns a string, an int64, a dates.Value, a list of strings, objects, or nil for a missing date.
	value func(p *pages.Page, s Settings) any
}

// fields are all columns by name.
var fields = map[string]field{
	"url":          {value: func(p *pages.Page, _ Settings) any { return p.URL.URL }},
	"urlMd5":       {value: func(p *pages.Page, _ Settings) any { return p.URLMd5 }},
	"site":         {value: func(p *pages.Page, _ Settings) any { return p.SiteID }},
	"status":       {value: func(p *pages.Page, _ Settings) any { return StatusName(p.Status) }},
	"httpCode":     {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.AnsweredCode() }},
	"firstCode":    {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.FirstCode() }},
	"finalUrl":     {value: func(p *pages.Page, _ Settings) any { return p.FinalURL() }},
	"redirects":    {kind: parquetfile.Texts, value: func(p *pages.Page, _ Settings) any { return redirectList(p) }},
	"contentType":  {value: func(p *pages.Page, _ Settings) any { return p.ContentType }},
	"charset":      {value: func(p *pages.Page, _ Settings) any { return p.Charset }},
	"size":         {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.Size }},
	"depth":        {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.Depth }},
	"parentMd5":    {value: func(p *pages.Page, _ Settings) any { return p.ParentMd5 }},
	"contentMd5":   {value: func(p *pages.Page, _ Settings) any { return p.RawContentMd5 }}, // of what the server sent
	"crawled":      {kind: parquetfile.Time, value: func(p *pages.Page, _ Settings) any { return rowTime(p.UDate) }},
	"changed":      {kind: parquetfile.Time, value: func(p *pages.Page, _ Settings) any { return rowTime(p.ContentDate) }}, // the content
	"outdated":     {value: func(p *pages.Page, _ Settings) any { return p.Outdated() }},
	"found":        {kind: parquetfile.Time, value: func(p *pages.Page, _ Settings) any { return rowTime(p.CDate) }},
	"modified":     {kind: parquetfile.Time, needs: pages.Processed | pages.Headers, tags: tagNames("updated"), value: func(p *pages.Page, _ Settings) any { return statedTime(p.Modified()) }},
	"errors":       {kind: parquetfile.Texts, value: func(p *pages.Page, _ Settings) any { return p.ErrorMask.Names() }},
	"milliseconds": {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.CrawlingTime }},
	"linksInside":  {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.LinksI }},
	"linksOutside": {kind: parquetfile.Integer, value: func(p *pages.Page, _ Settings) any { return p.LinksE }},

	referrersField: {kind: parquetfile.Texts, value: func(p *pages.Page, _ Settings) any { return objects(p.Referrers) }},

	"robots":           {kind: parquetfile.Texts, value: func(p *pages.Page, _ Settings) any { return p.RobotsNames() }},
	"unavailableAfter": {kind: parquetfile.Time, value: func(p *pages.Page, _ Settings) any { return rowTime(p.UnavailableAfter) }},

	"title":       textField("title"),
	"markdown":    textField("content_markdown"),
	"description": textField("description"),
	"author":      textField("author"),
	"language":    textField("html_lang"),
	"keywords":    textField("keywords"),
	"canonical": {needs: pages.Processed, tags: tagNames("link"), value: func(p *pages.Page, _ Settings) any {
		return cmp.Or(p.Canonical, p.Text("link")) // of a page that an older version fetched
	}},
	"text": {needs: pages.Processed, tags: tagNames("content_encoded", "content_markdown"), value: func(p *pages.Page, s Settings) any {
		if s.Markdown {
			return p.Text("content_markdown")
		}
		return p.Text("content_encoded")
	}},
	"date":     {kind: parquetfile.Time, needs: pages.Processed, tags: dateTags, value: func(p *pages.Page, _ Settings) any { return statedTime(p.Published()) }},
	"dateText": {needs: pages.Processed, tags: dateTags, value: func(p *pages.Page, _ Settings) any { return p.Published().String() }},
	"links":    valuesField("links"),
	"html":     {needs: pages.Raw, value: func(p *pages.Page, _ Settings) any { return strings.ToValidUTF8(string(p.Raw), "\uFFFD") }},
}

// referrersField is the column of the links to a URL. It reads the contents of all pages of the site.
const referrersField = "referrers"

// OnRequest reports whether a field is so large, or costs so much, that only a user who names it gets it.
func OnRequest(name string) bool { return name == "html" || name == referrersField }

// tagPrefix begins the names of further columns, one for each tag of a processed page.
const tagPrefix = "tag:"

// fieldOf returns the column with a name: one of fields, or tag:NAME. An unknown one has no value
// function.
func fieldOf(name string) field {
	if tag, is := strings.CutPrefix(name, tagPrefix); is && tag != "" {
		return valuesField(tag)
	}
	return fields[name]
}

// Columns of the tables, unless the user chooses.
var (
	jsonFields = []string{"url", "title", "text", "author", "date", "language", "description", "status", "httpCode", "contentType", "size", "depth", "crawled", "changed", "outdated", "errors", "robots", "canonical", "urlMd5"}
	// A timestamp does not say whether a time is stated, so Parquet has its text too.
	parquetFields = slices.Insert(slices.Clone(jsonFields), slices.Index(jsonFields, "date")+1, "dateText")
	csvFields     = []string{"url", "title", "author", "date", "language", "status", "httpCode", "contentType", "size", "depth", "crawled", "changed", "outdated", "errors", "robots", "canonical"}
)

// FieldNames are the names of all columns but those of tags.
func FieldNames() []string { return slices.Sorted(maps.Keys(fields)) }

func textField(tag string) field {
	return field{needs: pages.Processed, tags: tagNames(tag), value: func(p *pages.Page, _ Settings) any { return p.Text(tag) }}
}

// tagNames are the tags that Page.Text reads for values.
func tagNames(values ...string) (tags []string) {
	for _, value := range values {
		tags = append(tags, value, value+result.PlainSuffix)
	}
	return tags
}

// dateTags are the tags that Page.Published reads.
var dateTags = tagNames("pubdate", "pubdate_tz", "published")

// valuesField has all values of a tag.
func valuesField(tag string) field {
	return field{kind: parquetfile.Texts, needs: pages.Processed, tags: []string{tag}, value: func(p *pages.Page, _ Settings) any {
		if p.Result == nil {
			return []string{}
		}
		t := p.Result.Tag(tag)
		if t == nil {
			return []string{}
		}
		if list, is := objectsOf(t); is {
			return list
		}
		return t.Data
	}}
}

// objects are the values of a rule of a template that makes a list of objects.
type objects []json.RawMessage

// redirectList returns the redirects of a page, each as an object with code and url.
func redirectList(p *pages.Page) any {
	list := objects{}
	if p.Redirects != "" {
		_ = json.Unmarshal([]byte(p.Redirects), &list) // the crawler has written it
	}
	return list
}

// objectsOf returns the objects of a tag, and whether it has a list of them.
func objectsOf(t *result.Tag) (list objects, is bool) {
	is = t.Type == result.TypeRecords && json.Unmarshal([]byte(t.First()), &list) == nil
	return list, is
}

// asTexts returns each object as a text.
func (o objects) asTexts() []string {
	list := make([]string, len(o))
	for i := range o {
		list[i] = string(o[i])
	}
	return list
}

// rowTime returns the moment of a date of the row, nil without one.
func rowTime(d schema.Date) any {
	if at, ok := d.Time(); ok {
		return dates.InstantOf(at)
	}
	return nil
}

// statedTime returns a date that a page states, nil without one.
func statedTime(v dates.Value) any {
	if v.IsZero() {
		return nil
	}
	return v
}

// statusNames are the names of the status of a URL (docs/spec/objects.md 5.3).
var statusNames = [...]string{"undefined", "new", "selected", "crawling", "crawled", "selected", "processing", "processed", "selected"}

// StatusName returns the name of a URL's status.
func StatusName(status int64) string {
	if status >= 0 && status < int64(len(statusNames)) {
		return statusNames[status]
	}
	return "unknown"
}

// NeedsOf returns the contents that fields are read from.
func NeedsOf(names []string) (needs pages.Needs) {
	for _, name := range names {
		needs |= fieldOf(name).needs
	}
	return needs
}

// URLFields are the fields of a line about a URL, of hce url ls --json and of hce crawl --json.
var URLFields = []string{"url", "urlMd5", "site", "status", "httpCode", "firstCode", "finalUrl", "contentType", "size", "depth", "crawled", "found", "errors", "milliseconds"}
