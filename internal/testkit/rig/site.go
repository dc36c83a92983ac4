package rig

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"

	"hce/dc/internal/wire"
)

// Site holds the options of a site. Other fields have the defaults of docs/spec/objects.md
// 2.1. Zero limits mean no limit.
type Site struct {
	Root            string // first page, absolute URL
	Filter          string // pattern of the pages to crawl; "" means all that begin with Root
	RequestDelay    int    // ms between two requests
	HTTPTimeout     int    // ms; 0 means 30000
	MaxURLs         int
	MaxResources    int
	MaxResourceSize int // bytes
	// Properties are added to the defaults, by name.
	Properties map[string]string
}

// siteRequest is the JSON of SITE_NEW.
type siteRequest struct {
	ID               string            `json:"id"`
	Description      string            `json:"description"`
	State            int               `json:"state"`
	Priority         int               `json:"priority"`
	URLs             []string          `json:"urls"`
	Filters          []filterRequest   `json:"filters"`
	Properties       map[string]string `json:"properties"`
	RequestDelay     int               `json:"requestDelay"`
	ProcessingDelay  int               `json:"processingDelay"`
	HTTPTimeout      int               `json:"httpTimeout"`
	MaxURLs          int               `json:"maxURLs"`
	MaxResources     int               `json:"maxResources"`
	MaxErrors        int               `json:"maxErrors"`
	MaxResourceSize  int               `json:"maxResourceSize"`
	MaxURLsFromPage  int               `json:"maxURLsFromPage"`
	URLNormalizeMask int               `json:"_urlNormalizeMask"`
}

type filterRequest struct {
	Pattern string `json:"pattern"`
	Type    int    `json:"type"` // 1 include
}

// SiteID returns the id of a site by its first root URL: docs/spec/objects.md 4.1.
func SiteID(root string) string {
	sum := md5.Sum([]byte(root))
	return hex.EncodeToString(sum[:])
}

// NewSite creates the site with SITE_NEW and returns its id. The crawl begins at once.
func (r *Rig) NewSite(ctx context.Context, s Site) (id string, err error) {
	if s.Filter == "" {
		s.Filter = "^" + regexp.QuoteMeta(s.Root)
	}
	if s.HTTPTimeout == 0 {
		s.HTTPTimeout = 30000
	}
	request := siteRequest{
		ID: SiteID(s.Root), Description: "one run", State: 1, Priority: 100,
		URLs:    []string{s.Root},
		Filters: []filterRequest{{Pattern: s.Filter, Type: 1}},
		Properties: map[string]string{
			"PROCESS_CTYPES": "text/html", "STORE_HTTP_HEADERS": "1", "STORE_HTTP_REQUEST": "1",
		},
		RequestDelay: s.RequestDelay, HTTPTimeout: s.HTTPTimeout,
		MaxURLs: s.MaxURLs, MaxResources: s.MaxResources, MaxResourceSize: s.MaxResourceSize,
	}
	maps.Copy(request.Properties, s.Properties)
	var answer struct {
		ErrorCode    any    `json:"errorCode"`
		ErrorMessage string `json:"errorMessage"`
	}
	if err := r.Ask(ctx, "SITE_NEW", request, &answer); err != nil {
		return "", err
	}
	if isFailure(answer.ErrorCode) {
		return "", fmt.Errorf("create site %s: %s (%v)", s.Root, answer.ErrorMessage, answer.ErrorCode)
	}
	return request.ID, nil
}

// Status is the answer of SITE_STATUS.
type Status struct {
	State         int   `json:"state"` // 1 active, 3 suspended, 9 not found
	Resources     int   `json:"resources"`
	Contents      int   `json:"contents"`
	CollectedURLs int   `json:"collectedURLs"`
	NewURLs       int   `json:"newURLs"`
	Errors        int   `json:"errors"`
	Size          int64 `json:"size"` // bytes
}

// Site states: docs/spec/objects.md 5.2.
const (
	SiteActive    = 1
	SiteSuspended = 3
)

// Status returns the state and the counters of a site.
func (r *Rig) Status(ctx context.Context, id string) (Status, error) {
	var s Status
	err := r.Ask(ctx, "SITE_STATUS", map[string]any{
		"id": id, "deleteTaskId": nil, "excludeList": []string{"urls", "filters", "properties"},
	}, &s)
	return s, err
}

// Row is one URL of a site.
type Row struct {
	URL         string   `json:"url"`
	MD5         string   `json:"urlMd5"`
	Status      int      `json:"status"`
	State       int      `json:"state"`
	HTTPCode    int      `json:"httpCode"`
	Size        int64    `json:"size"`
	ContentType string   `json:"contentType"`
	ErrorMask   int64    `json:"errorMask"`
	ErrorNames  []string `json:"errorNames"`
}

// Statuses of a crawled and of a processed page: docs/spec/objects.md 5.3.
const (
	StatusCrawled   = 4
	StatusProcessed = 7
)

// Rows returns at most limit rows of a site from offset on, by URL, that match the SQL
// condition where ("" means all).
func (r *Rig) Rows(ctx context.Context, id, where string, offset, limit int) ([]Row, error) {
	urls := map[string]any{"ORDER BY": "`URL` ASC", "LIMIT": []int{offset, limit}}
	if where != "" {
		urls["WHERE"] = where
	}
	var rows []Row
	err := r.Ask(ctx, "URL_FETCH", []any{map[string]any{
		"sitesList": []string{id}, "sitesCriterions": map[string]any{"WHERE": "`State` IN (1,2,3)"},
		"urlsCriterions": urls, "maxURLs": limit, "algorithm": 0, "attributeNames": []string{},
	}}, &rows)
	return rows, err
}

// AllRows returns all rows of a site, by URL.
func (r *Rig) AllRows(ctx context.Context, id string) ([]Row, error) {
	const portion = 1000
	var all []Row
	for {
		rows, err := r.Rows(ctx, id, "", len(all), portion)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < portion {
			return all, nil
		}
	}
}

// Conditions of rows with pending work.
const (
	waitsForCrawling   = "(`Status` = 1 AND `State` = 0) OR `Status` IN (2,3,8)"
	waitsForProcessing = "`Status` IN (5,6) OR (" + wire.DueProcess + ")"
	isInFlight         = "`Status` IN (2,3,5,6,8)"
)

// Done reports whether a site has no work left: no row is new, in flight or waits for
// processing. A suspended site gets no new batches, so only rows in flight count.
func (r *Rig) Done(ctx context.Context, id string, s Status) (bool, error) {
	conditions := []string{waitsForCrawling, waitsForProcessing}
	if s.State != SiteActive {
		conditions = []string{isInFlight}
	} else if s.NewURLs > 0 {
		return false, nil
	}
	for _, where := range conditions {
		rows, err := r.Rows(ctx, id, where, 0, 1)
		if err != nil || len(rows) > 0 {
			return false, err
		}
	}
	return true, nil
}

// Crawled reports whether a site has nothing left to crawl. Pages may still wait for
// processing.
func (r *Rig) Crawled(ctx context.Context, id string, s Status) (bool, error) {
	if s.State == SiteActive && s.NewURLs > 0 {
		return false, nil
	}
	rows, err := r.Rows(ctx, id, waitsForCrawling, 0, 1)
	return len(rows) == 0, err
}
