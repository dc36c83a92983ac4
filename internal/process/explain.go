package process

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/process/chain"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/task"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// Lookup is the part of storage.Repository that only Explain needs.
type Lookup interface {
	// SiteOf returns the site that contains a URL.
	SiteOf(ctx context.Context, url string) (string, error)
	// Rows reads rows by their keys.
	Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error)
}

// Explanation is every decision that processing of a stored URL would make. Unknown parts are null.
type Explanation struct {
	URL        string                  `json:"url"` // as requested by the caller
	URLMd5     string                  `json:"urlMd5"`
	Due        bool                    `json:"due"`     // the next batch of its site may extract it
	Reasons    []string                `json:"reasons"` // why, or why not
	Site       *ExplainedSite          `json:"site"`
	Row        *ExplainedRow           `json:"row"`
	Processor  string                  `json:"processor"` // PROCESSOR_NAME, after PROCESSOR_NAME_REPLACE
	Types      []string                `json:"types"`     // PROCESS_CTYPES; none: all
	Filters    []scraper.FilterVerdict `json:"filters"`   // of stages 7 and 2
	Parts      []string                `json:"parts"`     // URLMd5 of the pages in which it continues
	Extraction *ExplainedExtraction    `json:"extraction"`
}

// ExplainedSite is the site of the URL. A limit of 0 is unlimited.
type ExplainedSite struct {
	ID           string   `json:"id"`
	State        int64    `json:"state"`
	ErrorNames   []string `json:"errorNames"`
	MaxResources int64    `json:"maxResources"`
	Resources    int64    `json:"resources"`
	MaxErrors    int64    `json:"maxErrors"`
	Errors       int64    `json:"errors"`
	Warnings     []string `json:"warnings"` // properties and filters that are left out
}

// ExplainedRow is the stored row of the URL.
type ExplainedRow struct {
	Status      int64       `json:"status"`
	State       int64       `json:"state"`
	Type        int64       `json:"type"`
	HTTPCode    int64       `json:"httpCode"`
	ContentType string      `json:"contentType"`
	Charset     string      `json:"charset"`
	Crawled     int64       `json:"crawled"`
	Processed   int64       `json:"processed"`
	BatchID     int64       `json:"batchId"`
	ErrorNames  []string    `json:"errorNames"`
	TagsCount   int64       `json:"tagsCount"`
	Robots      []string    `json:"robots"` // what the page asks of robots: noindex, nofollow, noarchive
	Until       schema.Date `json:"unavailableAfter"`
	Canonical   string      `json:"canonical"` // URL that the page declares
	PDate       schema.Date `json:"pDate"`
	UDate       schema.Date `json:"uDate"`
	TcDate      schema.Date `json:"tcDate"`          // its last change
	Delay       int64       `json:"processingDelay"` // ms from TcDate until it is selected
}

// ExplainedExtraction is the extraction of the raw content. It is not stored.
type ExplainedExtraction struct {
	Bytes   int               `json:"bytes"`   // of the raw content
	Sources []ExplainedSource `json:"sources"` // TEMPLATE_SOURCE
	scraper.Explanation
	ErrorNames []string    `json:"errorNames"` // error bits that the URL would get
	TagsCount  int64       `json:"tagsCount"`
	TagsMask   int64       `json:"tagsMask"`
	Hash       string      `json:"contentURLMd5"`
	PDate      schema.Date `json:"pDate"`   // of the row
	Items      int         `json:"items"`   // further rows
	Dropped    []string    `json:"dropped"` // media that filters and limits exclude
	TotalMs    int64       `json:"totalMs"`
}

// ExplainedSource is a source of TEMPLATE_SOURCE.
type ExplainedSource struct {
	Name    string `json:"name"`   // of its template
	Kind    string `json:"source"` // "file" or "http"
	Request string `json:"request"`
	Due     bool   `json:"due"` // its schedule asks for it now
	Error   string `json:"error,omitempty"`
}

// Explain returns every decision about a stored URL, as a page of the site siteID, or of the site that
// contains it if siteID is empty. It reads the sources of templates that are due, extracts the raw content
// and stores nothing.
func (j *Job) Explain(ctx context.Context, stored Lookup, raw, siteID string) (*Explanation, error) {
	e := &Explanation{URL: raw, Reasons: []string{}, Types: []string{}, Filters: []scraper.FilterVerdict{}, Parts: []string{}}
	text, err := canonical.Canonical(raw)
	if err != nil {
		e.Reasons = append(e.Reasons, "the URL has no canonical form; give an absolute one of http or https: "+err.Error())
		return e, nil
	}
	e.URLMd5 = urlkey.Of(text)
	it, err := j.explainedItem(ctx, stored, e, text, siteID)
	if err == nil && it != nil {
		err = j.explainItem(ctx, e, it)
	}
	if err != nil {
		return nil, fmt.Errorf("explain %s: %w", raw, err)
	}
	return e, nil
}

// explainedItem returns the item that a batch would have, or nil with a reason.
func (j *Job) explainedItem(ctx context.Context, stored Lookup, e *Explanation, url, siteID string) (*item, error) {
	var err error
	if siteID == "" {
		if siteID, err = stored.SiteOf(ctx, url); err != nil {
			return nil, err
		}
	}
	site, err := j.Repository.Site(ctx, siteID)
	if err != nil {
		return nil, err
	}
	if site == nil {
		e.Reasons = append(e.Reasons, "the site "+siteID+" is not known: make it with SITE_NEW, or name another with --site")
		return nil, nil
	}
	set, problems := readSettings(site, nil)
	e.Site = &ExplainedSite{
		ID: site.ID, State: site.State, ErrorNames: site.ErrorMask.Names(), MaxResources: site.MaxResources, Resources: site.Resources,
		MaxErrors: site.MaxErrors, Errors: site.Errors, Warnings: []string{},
	}
	for _, problem := range problems {
		e.Site.Warnings = append(e.Site.Warnings, problem.Error())
	}
	if set.links != nil {
		e.Site.Warnings = append(e.Site.Warnings, "property LINK_RESOLVE: an explanation requests no links; they are shown as the page has them")
	}
	e.Types = append(e.Types, set.types...)
	rows, err := stored.Rows(ctx, site.ID, []string{e.URLMd5})
	if err != nil {
		return nil, err
	}
	row, known := rows[e.URLMd5]
	if !known {
		e.Reasons = append(e.Reasons, "the URL is no row of the site: crawl it first")
		return nil, nil
	}
	e.Row = &ExplainedRow{
		Status: row.Status, State: row.State, Type: row.Type, HTTPCode: row.HTTPCode, ContentType: row.ContentType, Charset: row.Charset,
		Crawled: row.Crawled, Processed: row.Processed, BatchID: row.BatchID, ErrorNames: row.ErrorMask.Names(), TagsCount: row.TagsCount,
		Robots: append([]string{}, row.RobotsNames()...), Until: row.UnavailableAfter, Canonical: row.Canonical,
		PDate: row.PDate, UDate: row.UDate, TcDate: row.TcDate, Delay: row.ProcessingDelay,
	}
	e.Processor = cmp.Or(set.processorFor(row.ContentType), "scraper")
	row.ErrorMask = 0 // those of this run alone
	return &item{BatchItem: wire.BatchItem{SiteID: site.ID, URLID: e.URLMd5, URL: row}, row: row, taken: true, settings: set}, nil
}

// explainItem judges the item and extracts its raw content, unless a batch would not.
func (j *Job) explainItem(ctx context.Context, e *Explanation, it *item) error {
	if err := j.explainFilters(ctx, e, it); err != nil {
		return err
	}
	if it.settings.needs.Chain {
		file, err := j.readRaw(ctx, it, wire.ContentChain)
		if err != nil {
			return err
		}
		e.Parts = append(e.Parts, chain.Parts(file)...)
	}
	if e.judgeItem(it) {
		return nil
	}
	if err := j.explainSelection(ctx, e, it); err != nil {
		return err
	}
	p, err := j.readPage(ctx, it)
	if task.IsCritical(err) {
		return err
	}
	if err == nil && len(p.Text) == 0 && it.isFeed() {
		e.addReason("the row is a feed: it becomes Processed without a content, and its entries are rows of their own")
		return nil
	}
	if err != nil || len(p.Text) == 0 {
		e.addReason(fmt.Sprintf("the row has no raw content: it becomes Processed with the error %s", strings.Join(errormask.RawMissing.Names(), ",")))
		return nil
	}
	p.Explain = true
	start := j.Now()
	w := watch{over: func() bool { return ctx.Err() != nil }, slow: func() {}, web: ctx, remote: j.newRemoteReader(j.Log).Trial()}
	faults := j.addTemplates(it, p, w)
	x, err := j.Workers.extractPage(p, it.settings.rules, w)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		x.Fail(errormask.TemplateSource, faults...)
	}
	now := j.Now()
	e.addExtraction(it, &x, schema.DateOf(now))
	e.Extraction.Bytes, e.Extraction.TotalMs = len(p.Text), now.Sub(start).Milliseconds()
	if e.Due {
		e.Reasons = append(e.Reasons, "the row is Crawled and enabled, its processingDelay is over, its site active, and filters let it pass")
	}
	return nil
}

// addReason adds a reason why the row is not extracted.
func (e *Explanation) addReason(reason string) { e.Due, e.Reasons = false, append(e.Reasons, reason) }

// explainFilters adds the verdicts of the filters of stage 7 on the URL and on the row.
func (j *Job) explainFilters(ctx context.Context, e *Explanation, it *item) error {
	set, stage := it.settings.filters, filter.StageBeforeProcessor
	env := filter.Env{Now: j.Now(), Depth: int(it.row.Depth)}
	if set.Has(stage) {
		verdicts, accepted := set.ExplainSubject(stage, filter.RawContent, it.row.URL, env)
		e.Filters = append(e.Filters, scraper.Verdict(stage, "URL", verdicts, accepted))
	}
	var failed error
	if set.HasSQL(stage) {
		env.SQL = j.conditionEvaluator(ctx, it, &failed)
		verdicts, accepted := set.ExplainSQL(stage, env)
		e.Filters = append(e.Filters, scraper.Verdict(stage, "row", verdicts, accepted))
	}
	return failed
}

// explainSelection refuses a row that would be due, but that the daemon does not select.
func (j *Job) explainSelection(ctx context.Context, e *Explanation, it *item) error {
	if !e.Due {
		return nil
	}
	row := &it.row
	for _, c := range []struct{ condition, reason string }{
		{wire.ProcessingDelayOver, fmt.Sprintf("processingDelay is %d ms: the daemon selects the row when that has passed since %s", row.ProcessingDelay, row.TcDate)},
		{wire.DueProcess, fmt.Sprintf("the daemon does not select the row with %d bytes, %d fetches and the errors %v (BatchDefaultWhereURLs of dc-daemon.ini)",
			row.Size, row.Crawled, e.Row.ErrorNames)},
	} {
		var failed error
		selected, err := j.conditionEvaluator(ctx, it, &failed)(c.condition)
		if err = cmp.Or(failed, err); err != nil {
			return err
		}
		if !selected {
			e.addReason(c.reason)
		}
	}
	return nil
}

// judgeItem says whether the next batch of the site may extract the row, and why. It reports whether a batch
// with the row would end it without an extraction.
func (e *Explanation) judgeItem(it *item) (ends bool) {
	s, row, set := e.Site, &it.row, it.settings
	add := func(when bool, format string, args ...any) {
		if when {
			e.Reasons = append(e.Reasons, fmt.Sprintf(format, args...))
		}
	}
	add(s.State != wire.SiteActive, "the site is not active (state %d)", s.State)
	add(s.MaxErrors > 0 && s.Errors > s.MaxErrors, "the site has more errors (%d) than maxErrors (%d)", s.Errors, s.MaxErrors)
	add(s.MaxResources > 0 && s.Resources > s.MaxResources, "the site has more resources (%d) than maxResources (%d)", s.Resources, s.MaxResources)
	add(e.Processor == noProcessor, "PROCESSOR_NAME NONE: the row becomes Processed without a content")
	add(!wire.IsPageCode(row.HTTPCode), "the code of the page is %d: the row becomes Processed without a content", row.HTTPCode)
	add(row.Type != wire.TypeFetched && !set.allowsType(row.ContentType), "PROCESS_CTYPES does not have the type %q: the row stays Crawled, with an error", row.ContentType)
	for _, f := range e.Filters {
		add(!f.Accepted, "the filters of stage %d refuse its %s: the row stays Crawled, with an error", f.Stage, f.On)
	}
	ends = len(e.Reasons) > 0
	add(row.Status != wire.StatusCrawled, "the row has status %d: only 4 (Crawled) is selected", row.Status)
	add(row.State != wire.URLEnabled, "the row has state %d: only 0 (enabled) is selected", row.State)
	e.Due = len(e.Reasons) == 0
	return ends
}

// addExtraction adds what an extraction found.
func (e *Explanation) addExtraction(it *item, x *scraper.Output, now schema.Date) {
	found := &ExplainedExtraction{
		ErrorNames: (x.Bits | it.settings.bits).Names(), TagsCount: x.Item.TagsCount, TagsMask: x.Item.TagsMask, Hash: x.Item.Hash,
		PDate: x.Item.Published, Items: len(x.Items), Dropped: append([]string{}, x.Dropped...),
	}
	if x.Item.Content != nil {
		found.PDate = cmp.Or(found.PDate, it.row.LastModified, now)
	}
	if x.Explained != nil {
		found.Explanation = *x.Explained
	} else { // the worker was ended
		found.Problems = []scraper.ExplainedProblem{{ErrorNames: x.Bits.Names(), Message: x.Message}}
	}
	found.addSources(it)
	e.Filters = append(e.Filters, found.Filters...)
	found.Filters = nil
	if x.Refused {
		e.addReason("a filter refuses its raw content: the row stays Crawled, with an error")
	}
	e.Extraction = found
}

// addSources adds what became of TEMPLATE_SOURCE.
func (x *ExplainedExtraction) addSources(it *item) {
	x.Sources = make([]ExplainedSource, len(it.answers))
	for i, a := range it.answers {
		s := it.settings.sources[i]
		x.Sources[i] = ExplainedSource{Name: s.Name, Kind: s.Kind, Request: s.Request, Due: a.Due}
		if a.Err != nil {
			x.Sources[i].Error = a.Err.Error()
			x.Problems = append(x.Problems, scraper.ExplainedProblem{ErrorNames: errormask.TemplateSource.Names(), Message: a.Err.Error()})
		}
	}
}
