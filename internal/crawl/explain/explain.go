// Package explain says what crawling a URL would decide, and why.
//
//	e, err := explain.Answer(ctx, source, explain.Question{URL: "https://example.org/"})
//
// Each decision is the crawler's own code: the filters of the site, the visit of the host, the reader of pages.
package explain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// Explanation is every decision that a URL would meet. Unknown parts are null.
type Explanation struct {
	URL        string      `json:"url"` // as requested by the caller
	Canonical  string      `json:"canonical"`
	URLMd5     string      `json:"urlMd5"`
	Node       string      `json:"node,omitempty"` // of the cluster, which owns the host
	Due        bool        `json:"due"`            // the next batch of its site may include it
	Reasons    []string    `json:"reasons"`        // why, or why not
	Refused    []string    `json:"refused"`        // why it is no URL of the site, or is not requested: scheme, filters, robots.txt, limits
	Site       *Site       `json:"site"`
	Row        *Row        `json:"row"`
	Filters    *Filters    `json:"filters"`
	Robots     *Robots     `json:"robots"`
	Politeness *Politeness `json:"politeness"`
	Retry      []Retry     `json:"retry"` // the site's table: RETRY
	Request    *Request    `json:"request"`
	Fetch      *Fetch      `json:"fetch"` // with --fetch
}

// Site is the site of the URL. A limit of 0 is unlimited.
type Site struct {
	ID           string   `json:"id"`
	State        int64    `json:"state"`
	FetchType    int64    `json:"fetchType"`
	ErrorNames   []string `json:"errorNames"`
	MaxURLs      int64    `json:"maxURLs"`
	URLs         int64    `json:"collectedURLs"`
	MaxResources int64    `json:"maxResources"`
	Resources    int64    `json:"resources"`
	MaxErrors    int64    `json:"maxErrors"`
	Errors       int64    `json:"errors"`
	Traps        bool     `json:"traps"`    // TRAPS: URLs of traps are asked last
	Warnings     []string `json:"warnings"` // properties and filters that cannot be read
}

// Row is the stored row of the URL.
type Row struct {
	Status     int64       `json:"status"`
	State      int64       `json:"state"`
	Type       int64       `json:"type"`
	Depth      int64       `json:"depth"`
	Root       bool        `json:"root"`
	Crawled    int64       `json:"crawled"`
	BatchID    int64       `json:"batchId"`
	HTTPCode   int64       `json:"httpCode"`
	ErrorNames []string    `json:"errorNames"`
	Retries    int64       `json:"retries"`    // answers in a row that meant "later"
	RetryDate  schema.Date `json:"retryDate"`  // not asked before
	RetryCause string      `json:"retryCause"` // of the last of them
	Robots     []string    `json:"robots"`     // what its page asks of robots: noindex, nofollow, noarchive
	Until      schema.Date `json:"unavailableAfter"`
	Canonical  string      `json:"canonical"` // URL that its page declares
	TcDate     schema.Date `json:"tcDate"`
	UDate      schema.Date `json:"uDate"`
}

// Filters is the verdict of the site's filters on the URL as a link.
type Filters struct {
	Accepted bool   `json:"accepted"`
	Rules    []Rule `json:"rules"`
	refusal  string // why not
}

// Rule is one filter.
type Rule struct {
	Pattern   string `json:"pattern"`
	Subject   string `json:"subject"`
	Operation int    `json:"operationCode"`
	Stage     int    `json:"stage"`
	Group     int    `json:"groupId"`
	Effect    string `json:"effect"`  // include, exclude, condition or broken
	Applies   bool   `json:"applies"` // to links and redirects
	Matches   bool   `json:"matches"`
}

// Robots is the verdict of robots.txt.
type Robots struct {
	Mode       bool     `json:"mode"` // ROBOTS_MODE: robots.txt is used
	URL        string   `json:"url"`
	Allowed    bool     `json:"allowed"`
	Line       string   `json:"line"` // the deciding line; "" if no line applies
	CrawlDelay float64  `json:"crawlDelaySeconds"`
	Sitemaps   []string `json:"sitemaps"`
	Error      string   `json:"error,omitempty"` // why robots.txt is not available
}

// Politeness says when the next request to the host may be sent.
type Politeness struct {
	Host        string    `json:"host"`
	DelayMs     int64     `json:"delayMs"` // the maximum of RequestDelay and Crawl-delay
	Concurrency int       `json:"concurrency"`
	InFlight    bool      `json:"inFlight"` // a request is running, or its task died
	NextFetch   time.Time `json:"nextFetch"`
}

// Retry is the rule for answers with one cause that means "later".
type Retry struct {
	Cause      retry.Cause `json:"cause"`
	Attempts   int         `json:"attempts"` // requests of a URL; 1: it is not asked again
	Pause      float64     `json:"pauseSeconds"`
	Longest    float64     `json:"longestSeconds"`
	RetryAfter float64     `json:"retryAfterSeconds"` // bound of a Retry-After
	Host       int         `json:"host"`              // answers in a row from which the pause holds for the host; 0: never
}

// mostExplained bounds the links of an Explanation.
const mostExplained = 100

// Source is what an Explanation asks.
type Source struct {
	Rows  Rows
	Gates visit.Gates
	// FindPlacement returns which node of a cluster owns which host.
	FindPlacement func() (placement.Placement, error)
	// OpenBatch returns the reader of a batch of a node that stores nothing, and the context that ends with it.
	OpenBatch func(ctx context.Context, place placement.Placement) (*reader.Reader, context.Context)
}

// Rows is the repository as an Explanation sees it.
type Rows interface {
	// Site reads a site with its filters and properties. It returns nil for an unknown site.
	Site(ctx context.Context, id string) (*wire.Site, error)
	// SiteOf finds the site of a URL. It returns "0" if no site contains it.
	SiteOf(ctx context.Context, url string) (string, error)
	// Rows reads rows of a site by key. Keys without a row are absent from the map.
	Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error)
}

// Question is a URL to be explained.
type Question struct {
	URL   string // the URL
	Site  string // id; empty: the site that contains the URL
	Depth int64  // of the page that links to it, if it has no row
	Fetch bool   // the page is requested
}

// Answer returns every decision that a URL would meet. It requests robots.txt, and the page if the question says
// so, through the host's gate and the site's proxies. It stores nothing except the time of its requests in the gate file.
func Answer(ctx context.Context, from Source, q Question) (*Explanation, error) {
	e := &Explanation{URL: q.URL, Reasons: []string{}, Refused: []string{}}
	text, err := canonical.Canonical(q.URL)
	if err != nil {
		e.Refused = append(e.Refused, "it has no canonical form: "+err.Error())
		e.Reasons = append(e.Reasons, "the URL has no canonical form; give an absolute one of http or https: "+err.Error())
		return e, nil
	}
	e.Canonical, e.URLMd5 = text, urlkey.Of(text)
	place, err := from.FindPlacement()
	if err != nil {
		return nil, err
	}
	stored, err := e.explainPlace(ctx, from.Rows, place, q.Site)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return e, nil
	}
	pages, ctx := from.OpenBatch(ctx, place)
	env := pages.Env
	defer env.Cancel()
	it, err := e.explainItem(ctx, from.Rows, env, stored)
	if err != nil {
		return nil, err
	}
	v := env.NewVisit(it)
	e.explainFilters(v, it.View, q.Depth)
	if err := e.explainRobots(ctx, v); err != nil {
		return nil, err
	}
	host := canonical.Host(it.Target)
	next, inFlight, err := from.Gates.Next(host, v.Delay, it.Settings.Concurrency, env.Now())
	if err != nil {
		return nil, err
	}
	e.Politeness = &Politeness{
		Host: host, DelayMs: v.Delay.Milliseconds(), Concurrency: it.Settings.Concurrency, InFlight: inFlight, NextFetch: next.UTC(),
	}
	for _, cause := range slices.Sorted(maps.Keys(it.Settings.Retries)) {
		rule := it.Settings.Retries[cause]
		e.Retry = append(e.Retry, Retry{cause, rule.Attempts, rule.Pause.Seconds(), rule.Longest.Seconds(), rule.Asked.Seconds(), rule.Host})
	}
	e.explainRequest(v)
	e.decideInclusion(next.Sub(env.Now()), env.Now())
	if q.Fetch {
		e.Fetch = tryFetch(ctx, pages, v)
	}
	return e, nil
}

// explainPlace returns the site of the URL, nil if no site of this node has it.
func (e *Explanation) explainPlace(ctx context.Context, from Rows, place placement.Placement, id string) (*wire.Site, error) {
	if e.Node = place.OwnerOfURL(e.Canonical); !place.Mine(e.Canonical) {
		e.Reasons = append(e.Reasons, fmt.Sprintf("its host belongs to node %s of the cluster, and this is node %s: only %s has its row and requests it", e.Node, place.Self, e.Node))
		return nil, nil
	}
	if id == "" {
		var err error
		if id, err = from.SiteOf(ctx, e.Canonical); err != nil {
			return nil, err
		}
	}
	stored, err := from.Site(ctx, id)
	if err == nil && stored == nil {
		e.Reasons = append(e.Reasons, "the site "+id+" is not known: make it with SITE_NEW, or name another with --site")
	}
	return stored, err
}

// explainItem returns the item that a batch would have, and fills in what is known of it.
func (e *Explanation) explainItem(ctx context.Context, from Rows, env *visit.Environment, stored *wire.Site) (*item.Item, error) {
	rows, err := from.Rows(ctx, stored.ID, []string{e.URLMd5})
	if err != nil {
		return nil, err
	}
	row, known := rows[e.URLMd5]
	if known {
		e.Row = &Row{
			Status: row.Status, State: row.State, Type: row.Type, Depth: row.Depth, Root: row.Root(), Crawled: row.Crawled,
			BatchID: row.BatchID, HTTPCode: row.HTTPCode, ErrorNames: row.ErrorMask.Names(),
			Retries: row.Retries, RetryDate: row.RetryDate, RetryCause: row.RetryCause,
			Robots: robotsOf(&row), Until: row.UnavailableAfter, Canonical: row.Canonical, TcDate: row.TcDate, UDate: row.UDate,
		}
	} else {
		row = wire.NewURL(stored.ID, e.Canonical)
		row.Type, row.RequestDelay, row.HTTPTimeout, row.ParentMd5 = stored.URLType, stored.RequestDelay, stored.HTTPTimeout, wire.Md5("")
	}
	site := &item.SiteView{Site: *stored, Settings: map[string]*settings.Settings{}}
	var problems []error
	site.FilterSet, problems = filter.Compile(filter.Rules(site.Filters))
	cfg := env.Config
	cfg.Dry = true
	set, more := settings.Read(&site.Site, nil, cfg)
	warnings := []string{}
	for _, problem := range append(problems, more...) {
		warnings = append(warnings, problem.Error())
	}
	e.Site = &Site{
		ID: site.ID, State: site.State, FetchType: site.FetchType, ErrorNames: site.ErrorMask.Names(),
		MaxURLs: site.MaxURLs, URLs: site.CollectedURLs, MaxResources: site.MaxResources, Resources: site.Resources,
		MaxErrors: site.MaxErrors, Errors: site.Errors, Traps: set.Traps, Warnings: warnings,
	}
	it := &item.Item{BatchItem: wire.BatchItem{SiteID: site.ID, URLID: e.URLMd5, URL: row}, Row: row, Before: row}
	it.Row.ErrorMask = 0
	it.View, it.Settings = site, set
	it.Target = env.TargetOf(it)
	return it, nil
}

// robotsOf returns the robots directives of a page, an empty list without one.
func robotsOf(row *wire.URL) []string { return append([]string{}, row.RobotsNames()...) }

// explainFilters judges the URL as a link of a page of the given depth, if it has no row.
func (e *Explanation) explainFilters(v *visit.Visit, site *item.SiteView, depth int64) {
	env := v.FilterEnv()
	if e.Row == nil {
		env.Depth = int(depth)
	}
	verdicts, accepted := site.FilterSet.Explain(visit.LinkStage, e.Canonical, env)
	e.Filters = &Filters{Accepted: accepted, Rules: []Rule{}}
	for _, d := range verdicts {
		e.Filters.Rules = append(e.Filters.Rules, Rule{
			Pattern: d.Rule.Pattern, Subject: d.Rule.Subject, Operation: d.Rule.OpCode, Stage: d.Rule.Stage, Group: d.Rule.Group,
			Effect: d.Effect, Applies: d.Applies, Matches: d.Matches,
		})
	}
	if !accepted {
		e.Filters.refusal = filter.Refusal(verdicts)
		host := canonical.Host(e.Canonical)
		if !slices.ContainsFunc(site.URLs, func(r wire.SiteURL) bool { return canonical.Host(r.URL.URL) == host }) {
			e.Filters.refusal += "; no root URL has its host " + host
		}
	}
}

// explainRobots requests robots.txt, unless the site does not use it, or its filters refuse the link.
func (e *Explanation) explainRobots(ctx context.Context, v *visit.Visit) error {
	if e.Row == nil && !e.Filters.Accepted {
		return nil
	}
	origin, path := visit.SplitOrigin(v.Item.Target)
	e.Robots = &Robots{Mode: v.Settings.Robots, URL: origin + "/robots.txt", Allowed: true, Sitemaps: []string{}}
	if !v.Settings.Robots {
		return nil
	}
	err := v.ThroughProxy(ctx, nil)
	var answer *robotscache.Answer
	if err == nil {
		answer, err = v.RobotsRules(ctx, v.Item.Target)
	}
	if err := errors.Join(v.Env.BrokenBy(), ctx.Err()); err != nil {
		return err
	}
	if err != nil {
		e.Robots.Allowed, e.Robots.Error = false, err.Error()
		return nil
	}
	found := answer.Rules
	e.Robots.Allowed, e.Robots.Line = found.Allowed(v.Settings.Agent, path)
	e.Robots.Sitemaps = append(e.Robots.Sitemaps, found.Sitemaps()...)
	if delay, ok := found.Delay(v.Settings.Agent); ok {
		e.Robots.CrawlDelay = delay.Seconds()
		v.Delay = max(v.Delay, delay)
	}
	return nil
}

// decideInclusion decides whether the next batch of the site may include the URL, and why.
func (e *Explanation) decideInclusion(wait time.Duration, now time.Time) {
	var no []string
	add := func(when bool, format string, args ...any) {
		if when {
			no = append(no, fmt.Sprintf(format, args...))
		}
	}
	add(e.Site.State != wire.SiteActive, "the site is not active (state %d)", e.Site.State)
	add(e.Site.MaxErrors > 0 && e.Site.Errors > e.Site.MaxErrors, "the site has more errors (%d) than maxErrors (%d)", e.Site.Errors, e.Site.MaxErrors)
	add(e.Site.MaxResources > 0 && e.Site.Resources > e.Site.MaxResources, "the site has more resources (%d) than maxResources (%d)", e.Site.Resources, e.Site.MaxResources)
	add(e.Row == nil, "the URL is no row of the site: it was not found on a page yet, or was refused")
	if row := e.Row; row != nil {
		add(row.Status != wire.StatusNew, "the row has status %d: only 1 (New) is selected", row.Status)
		add(row.State != wire.URLEnabled, "the row has state %d: only 0 (enabled) is selected", row.State)
		at, waits := row.RetryDate.Time()
		add(row.Status == wire.StatusNew && waits && at.After(now), "it is not selected before %s: asked in vain %d times, the last cause: %s", row.RetryDate, row.Retries, row.RetryCause)
		add(row.RetryCause != "" && row.RetryCause != wire.CauseTrap && !waits, "it was given up after %d requests; the last cause: %s", row.Retries, row.RetryCause)
	}
	known := len(no)
	add(e.Row == nil && e.Site.MaxURLs > 0 && e.Site.URLs >= e.Site.MaxURLs, "the site is full: it has %d URLs of maxURLs (%d)", e.Site.URLs, e.Site.MaxURLs)
	add(e.Row != nil && !e.Row.Root && !e.Filters.Accepted, "the filters of the site refuse it: %s", e.Filters.refusal)
	add(e.Row == nil && !e.Filters.Accepted, "the filters of the site would refuse it as a link: %s", e.Filters.refusal)
	if e.Robots != nil {
		add(!e.Robots.Allowed && e.Robots.Error == "", "robots.txt forbids it: %s", e.Robots.Line)
		add(e.Robots.Error != "", "robots.txt cannot be had: %s", e.Robots.Error)
	}
	e.Refused = append(e.Refused, no[known:]...)
	e.Due, e.Reasons = len(no) == 0, no
	if e.Due {
		e.Reasons = []string{"the row is New and enabled, its site active, filters and robots.txt let it pass"}
		if wait > 0 {
			e.Reasons = append(e.Reasons, fmt.Sprintf("its host may be asked in %v", wait.Round(time.Millisecond)))
		}
	}
}
