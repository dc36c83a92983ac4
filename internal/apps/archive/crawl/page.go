package crawl

import (
	"context"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/xpath"
)

// longestTitle is the most characters of a title.
const longestTitle = 500

// stageFetched adds a fetched page to a crawl, if it has a body and is of the domain.
func stageFetched(crawl *repository.Crawl, p *pages.Page) (added bool, err error) {
	if p.Raw == nil {
		return false, nil
	}
	kind := p.ContentType
	if kind == "" {
		kind = content.Sniff("", p.Raw)
	}
	page := repository.Page{URL: p.URL.URL, MIMEType: kind, Created: modifiedTime(p), Content: p.Raw}
	if content.IsHTML(kind) {
		page.Title = findTitle(p.Raw, p.Charset)
	}
	err = crawl.Add(page)
	return err == nil, err
}

// modifiedTime returns when the server says that the file was changed, else when it was fetched.
func modifiedTime(p *pages.Page) time.Time {
	if t, ok := p.LastModified.Time(); ok {
		return t
	}
	if t, err := time.Parse("2006-01-02 15:04:05.000", string(p.Stored)); err == nil {
		return t
	}
	return time.Now()
}

var titles = sync.OnceValues(func() (*xpath.Expr, error) { return xpath.Compile("//title") })

// findTitle returns the text of the first title element, "" without one.
func findTitle(body []byte, label string) string {
	declared := ""
	if label != "" {
		declared = "text/html; charset=" + label
	}
	text, _, _ := charset.Decode(body, declared) // the text can be used in any case
	doc, err := xpath.HTML(text)
	if err != nil {
		return "" // it costs too much
	}
	expression, err := titles()
	if err != nil {
		return ""
	}
	found, err := expression.Texts(context.Background(), doc, 1)
	if err != nil || len(found) == 0 {
		return ""
	}
	line := []rune(strings.Join(strings.Fields(found[0]), " "))
	return string(line[:min(len(line), longestTitle)])
}
