package actions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/extraction"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/internal/process/fields"
	"hce/dc/internal/process/reading"
)

// Scraper asks for single pages and reads them. Nothing is stored. Goroutines may share it.
type Scraper struct {
	Web *extraction.Web
	// Read answers a question about a page. Its error wraps ErrUnreadable for a content that nothing reads.
	Read func(ctx context.Context, q reading.Question, body []byte) (json.RawMessage, error)
	// Fetches and Reads bound the pages that are asked for at once, and those that are read at once.
	Fetches, Reads chan struct{}
}

// Scrape says which page is wanted, and what of it.
type Scrape struct {
	URL     string                  `json:"url" minLength:"1" maxLength:"4096" doc:"address of the page" example:"https://example.org/"`
	Formats []string                `json:"formats,omitempty" enum:"markdown,text,html,rawHtml,links,media" maxItems:"6" doc:"parts of the answer besides title, dates and the like; default: markdown"`
	Mode    string                  `json:"mode,omitempty" enum:"balanced,precision,recall,whole" doc:"what to do with doubtful lines; whole keeps all visible text. Default: balanced"`
	Fields  map[string]fields.Field `json:"fields,omitempty" doc:"values to read from an HTML page, by name"`
	Schema  map[string]any          `json:"schema,omitempty" doc:"JSON schema of an object whose properties are read: by their keywords css, xpath, jsonld and match, else by their name in the JSON-LD of the page and in what is read of each page"`
	Headers map[string]string       `json:"headers,omitempty" doc:"headers of the request, such as Accept-Language"`
}

// ScrapedPage is what a page says.
type ScrapedPage struct {
	URL         string         `json:"url" doc:"address of the page, behind redirects"`
	Status      int            `json:"status" doc:"HTTP status of the answer"`
	ContentType string         `json:"contentType,omitempty"`
	Fetched     time.Time      `json:"fetched"`
	Title       string         `json:"title,omitempty"`
	Author      string         `json:"author,omitempty" doc:"several authors are separated by ;"`
	Date        string         `json:"date,omitempty" doc:"of publication, as far as the page states it"`
	Modified    string         `json:"modified,omitempty"`
	Language    string         `json:"language,omitempty"`
	Description string         `json:"description,omitempty"`
	Canonical   string         `json:"canonical,omitempty"`
	Keywords    []string       `json:"keywords,omitempty"`
	Markdown    string         `json:"markdown,omitempty"`
	Text        string         `json:"text,omitempty"`
	HTML        string         `json:"html,omitempty" doc:"the article as clean HTML"`
	RawHTML     string         `json:"rawHtml,omitempty" doc:"the page as received, in UTF-8"`
	Links       []string       `json:"links,omitempty"`
	Media       []string       `json:"media,omitempty"`
	Fields      map[string]any `json:"fields,omitempty" doc:"values of the fields or of the schema that were asked for"`
	Whole       bool           `json:"whole,omitempty" doc:"no article was found: the text is that of the whole page"`
	Problems    []string       `json:"problems,omitempty" doc:"what could not be read"`
}

// Failure says that a page could not be had: its host, its robots.txt or the network is the reason.
type Failure struct {
	Reason  string // forbidden (by robots.txt), guarded (no public address), unreachable, busy
	Message string
}

// Error is the reason for a person.
func (f *Failure) Error() string { return f.Message }

// hiddenHeaders are set by the client itself.
var hiddenHeaders = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "Expect"}

// headerOf checks the headers of a person.
func headerOf(typed map[string]string) (http.Header, error) {
	header := http.Header{}
	for name, value := range typed {
		switch {
		case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
			return nil, &Invalid{"headers", name, "it is not the name of a header"}
		case slices.Contains(hiddenHeaders, http.CanonicalHeaderKey(name)):
			return nil, &Invalid{"headers", name, "the client sets this header itself"}
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, &Invalid{"headers", name, "the value has control characters"}
		}
		header.Set(name, value)
	}
	return header, nil
}

// Page asks for a page and reads it. The error is an *Invalid or a *Failure, or says that ctx has ended.
func (s *Scraper) Page(ctx context.Context, r Scrape) (page ScrapedPage, err error) {
	url, err := canonicalURL("url", r.URL)
	if err != nil {
		return page, err
	}
	mode, known := extraction.Modes[cmp.Or(r.Mode, "balanced")]
	if !known {
		return page, &Invalid{"mode", r.Mode, "it is not one of balanced, precision, recall, whole"}
	}
	if r.Formats == nil {
		r.Formats = []string{"markdown"}
	}
	q := reading.Question{Mode: mode, HTML: slices.Contains(r.Formats, "html"), Parts: append([]string{}, r.Formats...)}
	if err := r.addFields(&q); err != nil {
		return page, err
	}
	header, err := headerOf(r.Headers)
	if err != nil {
		return page, err
	}
	answer, err := s.fetch(ctx, url, header)
	if err != nil {
		return page, err
	}
	q.URL, q.ContentType = answer.FinalURL, answer.Header.Get("Content-Type")
	if err := s.read(ctx, q, answer.Body, &page); err != nil {
		return page, err
	}
	page.URL, page.Status, page.ContentType, page.Fetched = answer.FinalURL, answer.Code, q.ContentType, answer.Started.UTC()
	if slices.Contains(r.Formats, "rawHtml") {
		page.RawHTML = rawText(answer.Body, page.ContentType)
	}
	return page, nil
}

// addFields puts the fields into a question.
func (r Scrape) addFields(q *reading.Question) (err error) {
	field := "fields"
	if r.Fields != nil {
		q.Fields, err = json.Marshal(r.Fields)
	}
	if err == nil && r.Schema != nil {
		field = "schema"
		q.Schema, err = json.Marshal(r.Schema)
	}
	if err == nil {
		_, err = q.Compile()
	}
	if err != nil {
		return &Invalid{Field: field, Message: err.Error()}
	}
	return nil
}

// fetch asks for a page.
func (s *Scraper) fetch(ctx context.Context, url string, header http.Header) (*fetch.Response, error) {
	select {
	case s.Fetches <- struct{}{}:
		defer func() { <-s.Fetches }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	answer, err := s.Web.Get(ctx, url, header)
	return answer, failureOf(ctx, err)
}

// failureOf returns the error of a request as a Failure.
func failureOf(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isGuarded(err):
		return &Failure{"guarded", err.Error()}
	case errors.Is(err, politeclient.ErrForbidden):
		return &Failure{"forbidden", err.Error()}
	case errors.Is(err, politeclient.ErrLater):
		return &Failure{"busy", err.Error()}
	}
	return &Failure{"unreachable", err.Error()}
}

// isGuarded reports whether the egress guard has refused an address.
func isGuarded(err error) bool {
	fault, is := errors.AsType[*fetch.Fault](err)
	return is && fault.Kind == fetch.Guard
}

// read reads a body.
func (s *Scraper) read(ctx context.Context, q reading.Question, body []byte, page *ScrapedPage) error {
	select {
	case s.Reads <- struct{}{}:
		defer func() { <-s.Reads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, err := s.Read(ctx, q, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, page); err != nil {
		return fmt.Errorf("read the answer of a worker: %w", err)
	}
	return nil
}
