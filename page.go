package dc

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// Page is one URL of a site that was fetched, or failed. Texts are UTF-8. A field that the page does not state is empty.
type Page struct {
	URL      string // as it was linked
	FinalURL string // after redirects
	Site     string // id
	Depth    int    // links from a root URL
	Code     int    // HTTP status; 0: no answer came
	// Problem names why the URL has no content, such as "NOT_EXIST_HTTP_CODE"; "" for a page that was fetched well.
	Problem string
	Fetched time.Time // UTC, seconds

	Title, Author, Description, Language string
	Keywords                             []string
	Text                                 string // of the article, one line of the page a line
	Markdown                             string // of the article: CommonMark with tables
	Published, Modified                  string // dates as the page states them, in the forms of docs/dates.md
	Canonical                            string
	Links                                []string // absolute URLs

	ContentType string
	Header      http.Header // of the answer
	Body        []byte      // as received; text is in UTF-8
}

// pageOf converts a stored page.
func pageOf(p *pages.Page) Page {
	page := Page{
		URL: p.URL.URL, FinalURL: p.FinalURL(), Site: p.SiteID, Depth: int(p.Depth), Code: int(p.AnsweredCode()),
		Problem: problemOf(p), Canonical: p.Canonical, ContentType: p.ContentType, Body: p.Raw,
		Title: p.Text("title"), Author: p.Text("author"), Description: p.Text("description"), Language: p.Text("html_lang"),
		Text: p.Text("content_encoded"), Markdown: p.Text("content_markdown"),
		Published: p.Published().String(), Modified: p.Modified().String(), Header: headerOf(p.Headers),
	}
	page.Fetched, _ = p.UDate.Time()
	if p.Result != nil {
		page.Keywords, page.Links = p.Texts("keywords"), p.Texts("links")
	}
	return page
}

// problemOf names why a URL has no content; "" if it has.
func problemOf(p *pages.Page) string {
	if p.ErrorMask&wire.FailedFetch == 0 && wire.HasContentCode(p.HTTPCode) {
		return ""
	}
	if names := p.ErrorMask.Names(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("HTTP %d", p.HTTPCode)
}

// headerOf reads the stored lines of an answer.
func headerOf(lines []byte) http.Header {
	if len(lines) == 0 {
		return nil
	}
	header := http.Header{}
	for line := range strings.Lines(string(lines)) {
		if name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); found {
			header.Add(name, strings.TrimSpace(value))
		}
	}
	return header
}
