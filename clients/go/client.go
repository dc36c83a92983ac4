// Package hceclient is the client of the REST API of the HCE Distributed Crawler, with the standard library alone.
//
//	c := hceclient.Client{}
//	page, err := c.Scrape(ctx, hceclient.Scrape{URL: "https://example.org/"})
//	fmt.Println(page.Markdown)
//
// An answer that is no success is a *Problem. Goroutines may share a Client.
package hceclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultURL is where a daemon serves the API unless its ini file says otherwise.
const DefaultURL = "http://127.0.0.1:5581"

// Client talks to one daemon. The zero value is the daemon of this machine, without a key.
type Client struct {
	URL  string       // default DefaultURL
	Key  string       // of "hce key new"; "": none
	HTTP *http.Client // default http.DefaultClient; contexts limit the time of requests
}

// Problem is an error as RFC 9457 describes it.
type Problem struct {
	Status int             `json:"status"`
	Title  string          `json:"title"`
	Detail string          `json:"detail"`
	Remedy string          `json:"remedy"` // what to do next
	Trace  string          `json:"trace"`  // names the request in the log of the daemon
	Errors []ProblemDetail `json:"errors"`
}

// ProblemDetail is a wrong value with its place.
type ProblemDetail struct {
	Message  string `json:"message"`
	Location string `json:"location"`
	Value    any    `json:"value"`
}

// Error has the detail and the places.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%d %s", p.Status, cmp.Or(p.Detail, p.Title))
	for _, e := range p.Errors {
		text += "; " + e.Location + ": " + e.Message
	}
	return text
}

// Scrape reads one page.
func (c Client) Scrape(ctx context.Context, s Scrape) (page ScrapedPage, err error) {
	return page, c.exchange(ctx, http.MethodPost, "/v1/scrape", nil, s, &page)
}

// Map lists the URLs of a site without a crawl.
func (c Client) Map(ctx context.Context, m Map) (found URLMap, err error) {
	return found, c.exchange(ctx, http.MethodPost, "/v1/map", nil, m, &found)
}

// StartCrawl creates a site and crawls it. With wait, the answer comes when the crawl has ended, or after this time.
func (c Client) StartCrawl(ctx context.Context, site NewSite, wait time.Duration) (crawl Crawl, err error) {
	return crawl, c.exchange(ctx, http.MethodPost, "/v1/crawl", waitHeader(wait), site, &crawl)
}

// Crawl shows how far a crawl is. With wait, the answer comes when it has ended, or after this time.
func (c Client) Crawl(ctx context.Context, site string, wait time.Duration) (crawl Crawl, err error) {
	return crawl, c.exchange(ctx, http.MethodGet, join("/v1/crawl", site), waitHeader(wait), nil, &crawl)
}

// StopCrawl pauses a crawl; its pages stay.
func (c Client) StopCrawl(ctx context.Context, site string) (crawl Crawl, err error) {
	return crawl, c.exchange(ctx, http.MethodDelete, join("/v1/crawl", site), nil, nil, &crawl)
}

// Sites returns all sites, ordered by id. The error is the last value.
func (c Client) Sites(ctx context.Context) iter.Seq2[Site, error] {
	return items[Site](ctx, c, "/v1/sites", nil)
}

// CreateSite creates a site, which the daemon crawls at once. A repeated request with the same settings and any key makes no second site; "":
// it is an error.
func (c Client) CreateSite(ctx context.Context, site NewSite, idempotencyKey string) (made Site, err error) {
	header := http.Header{}
	if idempotencyKey != "" {
		header.Set("Idempotency-Key", idempotencyKey)
	}
	return made, c.exchange(ctx, http.MethodPost, "/v1/sites", header, site, &made)
}

// Site shows a site with its settings.
func (c Client) Site(ctx context.Context, id string) (site Site, err error) {
	return site, c.exchange(ctx, http.MethodGet, join("/v1/sites", id), nil, nil, &site)
}

// ChangeSite changes, pauses or resumes a site.
func (c Client) ChangeSite(ctx context.Context, id string, change SiteChange) (site Site, err error) {
	return site, c.exchange(ctx, http.MethodPatch, join("/v1/sites", id), nil, change, &site)
}

// DeleteSite deletes a site with all its pages.
func (c Client) DeleteSite(ctx context.Context, id string) error {
	return c.exchange(ctx, http.MethodDelete, join("/v1/sites", id), nil, nil, nil)
}

// Recrawl asks for all pages of a site again, and returns their number. failed: only URLs with an error; full: read unchanged pages, too.
func (c Client) Recrawl(ctx context.Context, id string, failed, full bool) (urls int64, err error) {
	var answer struct {
		URLs int64 `json:"urls"`
	}
	err = c.exchange(ctx, http.MethodPost, join("/v1/sites", id, "recrawl"), nil, map[string]bool{"failed": failed, "full": full}, &answer)
	return answer.URLs, err
}

// URLs returns URLs of a site in the order of their keys. The error is the last value.
func (c Client) URLs(ctx context.Context, site string, choice Choice) iter.Seq2[Page, error] {
	return items[Page](ctx, c, join("/v1/sites", site, "urls"), choice.query())
}

// Pages returns processed pages of a site. The error is the last value.
func (c Client) Pages(ctx context.Context, site string, choice Choice) iter.Seq2[Page, error] {
	return items[Page](ctx, c, join("/v1/sites", site, "pages"), choice.query())
}

// AddURLs adds URLs to a site. known counts those that it had.
func (c Client) AddURLs(ctx context.Context, site string, urls ...string) (added, known int, err error) {
	var answer struct{ Added, Known int }
	err = c.exchange(ctx, http.MethodPost, join("/v1/sites", site, "urls"), nil, map[string][]string{"urls": urls}, &answer)
	return answer.Added, answer.Known, err
}

// DeleteURL deletes a URL with its page. The key is the md5 of the URL.
func (c Client) DeleteURL(ctx context.Context, site, key string) error {
	return c.exchange(ctx, http.MethodDelete, join("/v1/sites", site, "urls", key), nil, nil, nil)
}

// Page shows a page with these fields; none: the usual ones.
func (c Client) Page(ctx context.Context, site, key string, fields ...string) (page Page, err error) {
	return page, c.exchange(ctx, http.MethodGet, join("/v1/sites", site, "pages", key)+"?"+Choice{Fields: fields}.query().Encode(), nil, nil, &page)
}

// Versions returns the stored versions of a page, the oldest first.
func (c Client) Versions(ctx context.Context, site, key string) ([]Version, error) {
	var answer struct{ Items []Version }
	err := c.exchange(ctx, http.MethodGet, join("/v1/sites", site, "pages", key, "versions"), nil, nil, &answer)
	return answer.Items, err
}

// Content returns a page as it was received: the present one for version 0, else the version. Close it.
func (c Client) Content(ctx context.Context, site, key string, version int) (io.ReadCloser, error) {
	query := ""
	if version > 0 {
		query = "?version=" + strconv.Itoa(version)
	}
	answer, err := c.send(ctx, http.MethodGet, join("/v1/sites", site, "pages", key, "content")+query, nil, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Export returns the pages of a site as a stream: jsonl, csv, sitemap or warc. Close it. An export that breaks off ends with an error.
func (c Client) Export(ctx context.Context, site, format string, fields ...string) (io.ReadCloser, error) {
	query := Choice{Fields: fields}.query()
	query.Set("format", format)
	answer, err := c.send(ctx, http.MethodGet, join("/v1/sites", site, "export")+"?"+query.Encode(), nil, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Explain returns what crawling decides about a URL. site may be "".
func (c Client) Explain(ctx context.Context, page, site string) (decisions map[string]any, err error) {
	query := url.Values{"url": {page}}
	if site != "" {
		query.Set("site", site)
	}
	return decisions, c.exchange(ctx, http.MethodGet, "/v1/explain?"+query.Encode(), nil, nil, &decisions)
}

// Status says what runs and what is wrong.
func (c Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.exchange(ctx, http.MethodGet, "/v1/status", nil, nil, &s)
}

// Whoami says what the key allows.
func (c Client) Whoami(ctx context.Context) (w Caller, err error) {
	return w, c.exchange(ctx, http.MethodGet, "/v1/whoami", nil, nil, &w)
}

// join returns a path with escaped parts.
func join(base string, parts ...string) string {
	for _, part := range parts {
		base += "/" + url.PathEscape(part)
	}
	return base
}

func waitHeader(wait time.Duration) http.Header {
	if wait < time.Second {
		return nil
	}
	return http.Header{"Prefer": {"wait=" + strconv.Itoa(int(wait.Seconds()))}}
}

// query returns the parameters of a choice.
func (c Choice) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"fields": strings.Join(c.Fields, ","), "status": c.Status, "prefix": c.Prefix, "url": c.URL} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Failed {
		query.Set("failed", "true")
	}
	return query
}

// items returns the objects of a list.
func items[T any](ctx context.Context, c Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := url.Values{}
		for name, values := range query {
			next[name] = values
		}
		for {
			var part struct {
				Items []T    `json:"items"`
				Next  string `json:"next"`
			}
			if err := c.exchange(ctx, http.MethodGet, path+"?"+next.Encode(), nil, nil, &part); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range part.Items {
				if !yield(one, nil) {
					return
				}
			}
			if part.Next == "" {
				return
			}
			next.Set("cursor", part.Next)
		}
	}
}

// exchange sends a request and decodes its answer, unless answer is nil.
func (c Client) exchange(ctx context.Context, method, path string, header http.Header, body, answer any) error {
	r, err := c.send(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(r.Body).Decode(answer); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// maxProblem bounds the text of a problem.
const maxProblem = 1 << 20

// send sends a request. The error is a *Problem, or that of http.Client.
func (c Client) send(ctx context.Context, method, path string, header http.Header, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(cmp.Or(c.URL, DefaultURL), "/")+path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	answer, err := cmp.Or(c.HTTP, http.DefaultClient).Do(r)
	if err != nil || answer.StatusCode < 400 {
		return answer, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Status == 0 {
		p = &Problem{Status: answer.StatusCode, Title: http.StatusText(answer.StatusCode), Detail: fmt.Sprintf("%.200s", text)}
	}
	if err != nil {
		return nil, errors.Join(p, err)
	}
	return nil, p
}
