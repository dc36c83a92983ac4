package process

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"time"

	"hce/dc/internal/process/article"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/wire"
)

// page is the newest raw content of an item: all that a worker needs to extract it.
type page struct {
	ID, URL, Type string
	Text          []byte
}

// extracted is the result of a page.
type extracted struct {
	Content             []byte // JSON to store; nil: there are no tags
	TagsCount, TagsMask int64
	Published           wire.Date
	Bits                wire.ErrorMask
	Message             string // the reason for Bits, for the log
}

// extract converts a page to tags (docs/spec/steps.md 2 #9, #10).
func (p *page) extract() extracted {
	start := time.Now()
	tags, bits, message := p.tags()
	x := extracted{Bits: bits, Message: message}
	if tags.count() == 0 {
		return x
	}
	content, err := tags.content(p.ID, time.Since(start))
	if err != nil {
		return extracted{Bits: wire.ErrScraper, Message: "cannot encode the tags as JSON: " + err.Error()}
	}
	x.Content, x.TagsCount, x.TagsMask, x.Published = content, tags.count(), tags.mask(), tags.published
	return x
}

// tags extracts the tags of a page.
func (p *page) tags() (tags tagList, bits wire.ErrorMask, message string) {
	// The crawler stores texts as UTF-8, whatever charset the page declares.
	text, _, err := charset.Decode(p.Text, mime.FormatMediaType(p.Type, map[string]string{"charset": "utf-8"}))
	if err != nil && text == nil || !isText(p.Type) && bytes.IndexByte(text, 0) >= 0 {
		return tagList{}, wire.ErrRawDecoding, fmt.Sprintf("the raw content is not a text, but %q: %v", p.Type, err)
	}
	if !strings.Contains(p.Type, "html") {
		return newTags(article.Plain(text, p.Type, p.URL), p.URL), 0, ""
	}
	a, err := article.Extract(text, p.URL)
	if err != nil { // a still has the visible text
		return newTags(a, p.URL), wire.ErrScraper, "cannot extract the article, the visible text is used: " + err.Error()
	}
	return newTags(a, p.URL), 0, ""
}

// isText reports whether the crawler stores contents of this type as text. Contents of
// other types, such as JSON, are texts unless they contain NUL.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml"
}
