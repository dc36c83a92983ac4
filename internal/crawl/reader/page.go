package reader

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/frontier/seen"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/web/links"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/web/tidy"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Data is the repository as the reader of pages sees it.
type Data interface {
	// Condition evaluates an SQL expression over a row. The error of the verdict says why
	// an expression is refused.
	Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error)
	// KnownURLs and HasContents read rows of a site by key. Keys without a row are absent from the map.
	KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error)
	// LateURLs returns at most most waiting URLs of a site that belong to a trap (wire.CauseTrap), by key.
	LateURLs(ctx context.Context, site string, most int) (map[string]string, error)
}

// Reader reads the pages of a batch. Goroutines may share it.
type Reader struct {
	Env    *visit.Environment
	Data   Data
	Last   bool // pages bring no items of a next pass
	seen   seen.Links
	chains chains
	traps  sync.Map // trapWatch, by site
}

// Page is an answer on its way from the fetch to the save stage.
type Page struct {
	*item.Item
	*visit.Answer
	// requests ends the requests that reading the page sends.
	requests context.Context
	// found is what an HTML page refers to.
	found *links.Page
}

// ReadOutcome turns an answer into its outcome, whole. The end of the batch does not stop it, except
// for requests for the page's links: if one of those is cut off, or the repository fails, the
// item is handed back as not crawled. A page that makes a parser panic fails alone, with
// bit 12.
func (r *Reader) ReadOutcome(requests context.Context, p Page) (out *item.Outcome) {
	ctx := context.WithoutCancel(requests)
	p.requests = requests
	before := p.Item.Row
	defer func() {
		if reason := recover(); reason != nil {
			r.Env.Log.Error("panic while reading a page", "site", p.SiteID, "url", p.Row.URL, "reason", reason, "stack", string(debug.Stack()))
			out = p.Item.FailedOutcome(errormask.HTMLParse, 0, schema.DateOf(r.Env.Now()))
		}
		if p.Item.CutOff {
			out = r.unreadOutcome(p.Item, before)
		}
		r.logOutcome(out)
		if len(out.Result.Files) == 0 {
			p.Item.ReleaseMemory()
		}
	}()
	kind := p.mediaType()
	p.Row.ContentType = clipTo(kind, maxType)
	if p.Item.IsSitemap() {
		p.Row.ContentType = item.SitemapType // or its next crawl would not recognise it
	}
	if p.Row.HTTPMethod == "" {
		p.Row.HTTPMethod = "get"
	}
	p.Row.CrawlingTime = p.Total.Milliseconds()
	if p.Repaired {
		p.Item.Noted |= errormask.FetchHTTP
	}
	if p.Unchanged {
		return r.unchangedOutcome(ctx, p)
	}
	bits := codeBits(p.Answer)
	switch {
	case bits != 0:
	case isUnrequested(p.Answer):
		bits = errormask.FetchHTTP
	case len(p.Body) == 0 && (p.Code/100 != 3 || p.Code == http.StatusMultipleChoices):
		bits = errormask.Empty
	case !p.Settings.ContentTypes.Holds(kind) && !p.Item.IsSitemap():
		bits = errormask.MIME
	}
	if bits != 0 {
		return r.refusedOutcome(p, bits)
	}
	if rule := r.Env.RuleOf(p.Item); p.Rendered && rule.Behavior == revalidate.Restore && !rule.Verdict(&p.Before, visit.SummarizeResponse(p.Response, http.MethodGet)) {
		return r.restoredOutcome(p)
	}
	return r.acceptedOutcome(ctx, p, kind)
}

// unreadOutcome hands an item back whose page was not read whole. url is its row before the page was
// read. Nothing of the page is kept.
func (r *Reader) unreadOutcome(it *item.Item, url wire.URL) *item.Outcome {
	r.chains.leaveChain(it.FirstOfChain(), it.Key())
	it.Row, it.Found, it.Extra = url, nil, nil
	it.Begun, it.Feed, it.Empty = false, false, false
	return it.UncrawledOutcome(0, schema.DateOf(r.Env.Now()))
}

// dataFailed ends the batch with an error of the repository, and hands the item back.
func (r *Reader) dataFailed(it *item.Item, err error) {
	it.CutOff = true
	r.Env.FailBatch(fmt.Errorf("read page %s of site %s: %w", it.Row.URL, it.SiteID, err))
}

// mediaType returns the content type of the body: the declared one, unless it is missing or
// the site wants it detected, mapped by the site's type map.
func (p Page) mediaType() string {
	if p.Kind != "" { // of the browser; the header may declare another type
		return p.Settings.TypeMap.Map(p.Kind)
	}
	declared := visit.DeclaredType(p.Header)
	if p.Supplied {
		declared = ""
	}
	kind := p.Settings.TypeMap.Map(content.Sniff(declared, p.Body))
	if p.Settings.AutoDetect.Detects(p.Row.URL, p.Row.Type, p.Row.Root(), content.Normal(declared)) && len(p.Body) > 0 {
		kind = p.Settings.TypeMap.Map(content.Detect(p.Body))
	}
	return kind
}

// refusedOutcome is the outcome of a response that is not accepted. It keeps headers and request, not
// the body (docs/spec/steps.md 1 #15, #16).
func (r *Reader) refusedOutcome(p Page, bits errormask.Mask) *item.Outcome {
	out := p.Item.FailedOutcome(bits, p.Code, schema.DateOf(r.Env.Now()))
	out.Result.At = p.fileTime(r.Env.Now())
	out.Result.Set["ContentType"], out.Result.Set["HTTPMethod"] = p.Row.ContentType, p.Row.HTTPMethod
	out.SetDuration(p.Row.CrawlingTime)
	out.SetRedirects(p.Response)
	r.addExchange(out, p)
	return out
}

// fileTime returns the time in the names of the page's files.
func (p Page) fileTime(now time.Time) time.Time {
	if p.Started.IsZero() {
		return now
	}
	return p.Started
}

// acceptedOutcome is the outcome of an accepted page (docs/spec/steps.md 1 #13 to #22;
// docs/spec/crawling.md 2.3 steps 24 to 40).
func (r *Reader) acceptedOutcome(ctx context.Context, p Page, kind string) *item.Outcome {
	now := r.Env.Now()
	date := schema.DateOf(now)
	u := &p.Item.Row
	bodyMd5 := wire.Md5(p.Body)
	out := &item.Outcome{Item: p.Item, Result: wire.Fetched{
		URLMd5: p.URLID, URL: u.URL, Crawled: true, First: p.Before.Crawled == 0, At: p.fileTime(now),
		Same:     p.Before.Crawled > 0 && p.Before.RawContentMd5 == bodyMd5,
		SiteBits: p.Settings.Bits, Rules: p.Settings.Rules, Expressions: p.Settings.Expressions,
	}}
	p.reserveText(ctx, r.Env.Config.MaxResourceSize)
	text, bits := r.textBody(ctx, out, p, kind)
	p.Item.TextMemory.Keep(int64(len(text)))
	lastModified := content.LastModified(p.Code, p.Header, timeOf(p.Before.TcDate), now, r.Env.Config.FallbackAge)
	if !p.Item.IsSitemap() && !r.passesContentFilters(ctx, p, text, lastModified) {
		return r.refusedOutcome(p, errormask.FiltersBreak)
	}
	u.LastModified = schema.DateOf(lastModified)
	u.PDate = schema.DateOf(content.PDate(p.Settings.Dates, content.Sources{
		URL: u.URL, Feed: timeOf(p.feedDate()), Header: p.Header, Modified: lastModified,
	}))
	p.Item.Base = p.FinalURL
	if base, err := canonical.Canonical(p.FinalURL); err == nil {
		p.Item.Base = base
	}
	u.LinksI, u.LinksE = 0, 0
	stored := r.gatherLinks(ctx, out, p, text, kind, now)
	r.watchTraps(ctx, p, text, kind, bodyMd5)
	if p.isDuplicate() {
		stored, out.Bits = false, out.Bits|errormask.FiltersBreak
	}
	if r.Env.RealTime() {
		addAttributes(u, out.Result.Attributes, date)
	}
	if stored && p.Settings.StoredTypes.Holds(kind) {
		r.addContent(out, p, text, kind)
		r.addExchange(out, p)
		u.ContentMask = max(u.ContentMask, 1) // a client may have selected contents
	} else if stored {
		out.Bits |= errormask.RawNotStored // MIME_TYPE_STORE_ON_DISK excludes the type
	}
	r.setColumns(out, p, bits, bodyMd5, now)
	if out.Holds {
		delete(out.Result.Set, "Status") // until the batch ends
	}
	return out
}

// reserveText waits for the memory of a page's text. A sitemap may be compressed: its text has at most largest bytes.
func (p Page) reserveText(ctx context.Context, largest int64) {
	if len(p.Body) <= SmallPage {
		return
	}
	most := budget.TextGrowth * int64(len(p.Body))
	if p.Item.IsSitemap() {
		most = max(most, largest)
	}
	if err := p.Item.TextMemory.Grow(context.WithoutCancel(ctx), most, most); err != nil {
		panic(err) // cannot happen: the context never ends
	}
}

// setColumns sets the columns of the row of an accepted page that was read from now on. bits are the damage of its text.
func (r *Reader) setColumns(out *item.Outcome, p Page, bits errormask.Mask, bodyMd5 string, now time.Time) {
	u, date := &p.Item.Row, schema.DateOf(now)
	u.Status, u.State, u.HTTPCode, u.ErrorMask = wire.StatusCrawled, wire.URLEnabled, int64(p.Code), bits|out.Bits|p.Item.Noted
	if status, given := p.Settings.Statuses[p.Code]; given {
		u.Status = status
	}
	u.TotalTime = (p.Total + r.Env.Now().Sub(now)).Milliseconds()
	u.RawContentMd5, u.ETag = bodyMd5, revalidate.ETag(p.Header)
	if len(u.ETag) > maxETag {
		u.ETag = "" // a truncated ETag is useless
	}
	u.MRate, u.MRateCounter = revalidate.Rate(p.Before.MRate, p.Before.MRateCounter, true)
	u.UDate, u.TcDate, u.Crawled = date, date, p.Before.Crawled+1
	if !out.Result.Same || u.ContentDate == "" {
		u.ContentDate = date
	}
	r.setChecksum(out, p)
	out.Result.Set = schema.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "HTTPMethod": u.HTTPMethod,
		"ErrorMask": int64(u.ErrorMask), "ContentType": u.ContentType, "Charset": u.Charset,
		"CrawlingTime": u.CrawlingTime, "TotalTime": u.TotalTime, "Size": u.Size, "RawContentMd5": u.RawContentMd5,
		"ETag": u.ETag, "LastModified": string(u.LastModified), "MRate": u.MRate, "MRateCounter": u.MRateCounter,
		"LinksI": u.LinksI, "LinksE": u.LinksE, "UDate": string(date), "TcDate": string(date),
		"ContentDate": string(u.ContentDate), "SettingsSum": u.SettingsSum,
	}
	maps.Copy(out.Result.Set, u.Declared())
	if p.isDuplicate() { // it is not processed
		u.State = wire.URLError
		out.Result.Set["State"] = u.State
	}
	out.SetRedirects(p.Response)
	if u.Status == wire.StatusNew {
		u.ErrorMask = 0
	}
}

// SmallPage is the size up to which a page is read without reserving memory. Only a few pages
// are read at once.
const SmallPage = 256 << 10

// maxETag is the size of the column.
const maxETag = 128

func timeOf(d schema.Date) time.Time {
	t, _ := d.Time()
	return t
}

// textBody returns a text body as UTF-8, with the site's replacements, and any other body
// unchanged. The bits report damage, which is no failure. The row's Size is the size after the
// replacements.
func (r *Reader) textBody(ctx context.Context, out *item.Outcome, p Page, kind string) ([]byte, errormask.Mask) {
	u := &p.Item.Row
	u.Charset, u.Size = "", int64(len(p.Body))
	if !content.IsText(kind) && !content.IsXML(kind) {
		return p.Body, 0
	}
	var bits errormask.Mask
	text, name := p.Body, p.Charset
	if !p.Rendered {
		var err error
		declared := visit.DeclaredType(p.Header)
		if p.Kind != "" && p.Charset != "" {
			declared = p.Kind + "; charset=" + p.Charset
		}
		if text, name, err = charset.Decode(p.Body, declared); err != nil {
			bits |= errormask.BadEncoding
		}
	} else if bytes.Contains(text, []byte("\uFFFD")) { // as charset.Decode finds it
		bits |= errormask.BadEncoding
	}
	u.Charset = clipTo(name, 32)
	if p.Settings.Replace.Any() {
		replaced, err := p.Settings.Replace.Apply(string(text), func(condition string) (bool, error) {
			return r.evaluateSQL(ctx, p.Item, condition)
		})
		if err != nil {
			r.Env.Log.Warn("applied only valid parts of a property", "site", p.SiteID, "url", u.URL, "reason", "property REPLACE "+err.Error())
			out.Result.SiteBits |= errormask.Initialization
		}
		if replaced != string(text) {
			text, out.Replaced = []byte(replaced), true
			u.Size = int64(len(text))
		}
	}
	return text, bits
}

// passesContentFilters checks content, headers and date of the last change against the filters of stage 1
// (docs/spec/crawling.md 5.6).
func (r *Reader) passesContentFilters(ctx context.Context, p Page, text []byte, lastModified time.Time) bool {
	filters := p.View.FilterSet
	if !filters.Has(filter.StageRaw) {
		return true
	}
	changed := string(schema.DateOf(lastModified))
	env := filter.Env{Now: r.Env.Now(), Depth: int(p.Row.Depth), SQL: r.rowCondition(ctx, p, changed)}
	return filters.AcceptSubject(filter.StageRaw, filter.RawContent, string(text), env) &&
		filters.AcceptSubject(filter.StageRaw, filter.HeadersAll, string(headerText(p.Header, "")), env) &&
		filters.AcceptSubject(filter.StageRaw, filter.LastModified, changed, env)
}

// rowCondition evaluates filter expressions over the page's row; %PDATE% is date.
func (r *Reader) rowCondition(ctx context.Context, p Page, date string) func(string) (bool, error) {
	return func(expression string) (bool, error) {
		ok, err := r.evaluateSQL(ctx, p.Item, wire.DateMacro(expression, "'"+date+"'"))
		if err != nil {
			r.Env.Log.Warn("refused SQL expression of a filter", "site", p.SiteID, "url", p.Row.URL, "error", err)
		}
		return ok, err
	}
}

// evaluateSQL evaluates an SQL expression over the item's row. The error says why the expression is
// refused. A failure of the repository ends the batch.
func (r *Reader) evaluateSQL(ctx context.Context, it *item.Item, expression string) (bool, error) {
	verdict, err := r.Data.Condition(ctx, it.SiteID, it.URLID, expression)
	if err != nil && !item.IsSiteGone(err) {
		r.dataFailed(it, err)
	}
	return verdict.True, cmp.Or(verdict.Err, err)
}

// addContent adds the body, its repaired form and its rendered form as files
// (docs/spec/crawling.md 2.7).
func (r *Reader) addContent(out *item.Outcome, p Page, text []byte, kind string) {
	body := p.Body
	if (content.IsText(kind) || out.Replaced) && (p.Rendered || !p.Settings.StoreReceived) {
		body = text
	}
	out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentRaw, Data: body})
	if p.Rendered {
		out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentDynamic, Data: body})
	}
	if content.IsHTML(kind) && (p.Settings.Recover == 1 || p.Settings.Recover == 2 && tidy.Check(text) != nil) {
		repaired, err := tidy.Tidy(text)
		if err != nil {
			r.Env.Log.Info("cannot repair page", "site", p.SiteID, "url", p.Row.URL, "error", err)
			out.Bits |= errormask.HTMLParse
			return
		}
		out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentTidy, Data: repaired})
	}
}

// feedDate returns the date of the feed entry that led to the page: PDate of a row that was never
// crawled. Later PDate may be the time of a fetch instead. It is kept if it differs from the
// dates that the crawler and the processor use by default without a date of the page.
func (p Page) feedDate() schema.Date {
	row := &p.Before
	if row.Crawled == 0 || p.Settings.Dates == pdate.Default && row.PDate != row.LastModified && row.PDate != row.TcDate && row.PDate != row.UDate {
		return row.PDate
	}
	return ""
}

// logOutcome logs the outcome of a page in the log of its site's project, if it has one.
func (r *Reader) logOutcome(out *item.Outcome) {
	it := out.Item
	if log := r.Env.LogOf(it); log != r.Env.Log {
		log.Info("fetched", "site", it.SiteID, "url", it.Row.URL, "code", it.Row.HTTPCode, "errors", it.Row.ErrorMask.Names(), "links", len(out.Result.Links))
	}
}

// maxType is the size of the column ContentType; the types of office documents have 73 bytes.
const maxType = 255

// clipTo cuts a text of a server to the size of a column, in bytes.
func clipTo(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// clipLine makes a text of a server fit on one line.
func clipLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, s)
}

// codeBits returns the error bits of an answer with an HTTP code of 400 or more, 0 for others: the same
// for a page in a browser (docs/spec/crawling.md 2.8).
func codeBits(a *visit.Answer) errormask.Mask {
	switch code := a.Code; {
	case code < 400:
		return 0
	case code == http.StatusUnauthorized || code == http.StatusProxyAuthRequired:
		return errormask.HTTP | errormask.Authorization
	case code == http.StatusForbidden:
		return errormask.HTTP | errormask.Forbidden
	}
	return errormask.HTTP
}

// isUnrequested reports whether an answer is a part of a page, or says that the page has not changed,
// although the request did not ask for that. Such an answer is no page (RFC 9110 14.2, 15.4.5).
func isUnrequested(a *visit.Answer) bool {
	switch a.Code {
	case http.StatusNotModified:
		return true // an answer to a condition is not read
	case http.StatusPartialContent:
		return a.RequestHeader.Get("Range") == ""
	}
	return false
}

// addAttributes sets attributes in the URL of a real-time answer, because nothing is stored.
// An empty value removes an attribute.
func addAttributes(u *wire.URL, values map[string]string, now schema.Date) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		u.Attributes = slices.DeleteFunc(slices.Clone(u.Attributes), func(a wire.Attribute) bool { return a.Name == name })
		if value := values[name]; value != "" {
			u.Attributes = append(u.Attributes, wire.Attribute{SiteID: u.SiteID, Name: name, URLMd5: u.URLMd5, Value: value, CDate: now})
		}
	}
}
