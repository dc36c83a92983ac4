package crawl

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/budget"
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

// page is an answer on its way from the fetch to the save stage.
type page struct {
	*item
	*answer
	// requests ends the requests that reading the page sends.
	requests context.Context
	// found is what an HTML page refers to.
	found *links.Page
}

// readOutcome turns an answer into its outcome, whole. The end of the batch does not stop it, except
// for requests for the page's links: if one of those is cut off, or the repository fails, the
// item is handed back as not crawled. A page that makes a parser panic fails alone, with
// bit 12.
func (r *batchRun) readOutcome(requests context.Context, p page) (out *outcome) {
	ctx := context.WithoutCancel(requests)
	p.requests = requests
	before := p.item.url
	defer func() {
		if reason := recover(); reason != nil {
			r.log.Error("panic while reading a page", "site", p.SiteID, "url", p.url.URL, "reason", reason, "stack", string(debug.Stack()))
			out = p.item.failedOutcome(errormask.HTMLParse, 0, schema.DateOf(r.Now()))
		}
		if p.item.cutOff {
			out = r.unreadOutcome(p.item, before)
		}
		r.logOutcome(out)
		if len(out.result.Files) == 0 {
			p.item.releaseMemory()
		}
	}()
	kind := p.mediaType()
	p.url.ContentType = clipTo(kind, maxType)
	if p.item.isSitemap() {
		p.url.ContentType = sitemapType // or its next crawl would not recognise it
	}
	if p.url.HTTPMethod == "" {
		p.url.HTTPMethod = "get"
	}
	p.url.CrawlingTime = p.Total.Milliseconds()
	if p.Repaired {
		p.item.noted |= errormask.FetchHTTP
	}
	if p.unchanged {
		return r.unchangedOutcome(ctx, p)
	}
	bits := p.codeBits()
	switch {
	case bits != 0:
	case p.isUnrequested():
		bits = errormask.FetchHTTP
	case len(p.Body) == 0 && (p.Code/100 != 3 || p.Code == http.StatusMultipleChoices):
		bits = errormask.Empty
	case !p.settings.ContentTypes.Holds(kind) && !p.item.isSitemap():
		bits = errormask.MIME
	}
	if bits != 0 {
		return r.refusedOutcome(p, bits)
	}
	if rule := r.ruleOf(p.item); p.rendered && rule.Behavior == revalidate.Restore && !rule.Verdict(&p.row, summarizeResponse(p.Response, http.MethodGet)) {
		return r.restoredOutcome(p)
	}
	return r.acceptedOutcome(ctx, p, kind)
}

// unreadOutcome hands an item back whose page was not read whole. url is its row before the page was
// read. Nothing of the page is kept.
func (r *batchRun) unreadOutcome(it *item, url wire.URL) *outcome {
	r.chains.leaveChain(it.chainKey(), chainKey{it.SiteID, it.URLID})
	it.url, it.found, it.extra = url, nil, nil
	it.started, it.feed, it.empty = false, false, false
	return it.uncrawledOutcome(0, schema.DateOf(r.Now()))
}

// dataFailed ends the batch with an error of the repository, and hands the item back.
func (r *environment) dataFailed(it *item, err error) {
	it.cutOff = true
	r.failBatch(fmt.Errorf("read page %s of site %s: %w", it.url.URL, it.SiteID, err))
}

// mediaType returns the content type of the body: the declared one, unless it is missing or
// the site wants it detected, mapped by the site's type map.
func (p page) mediaType() string {
	if p.kind != "" { // of the browser; the header may declare another type
		return p.settings.TypeMap.Map(p.kind)
	}
	declared := declaredType(p.Header)
	if p.supplied {
		declared = ""
	}
	kind := p.settings.TypeMap.Map(content.Sniff(declared, p.Body))
	if p.settings.AutoDetect.Detects(p.url.URL, p.url.Type, p.url.Root(), content.Normal(declared)) && len(p.Body) > 0 {
		kind = p.settings.TypeMap.Map(content.Detect(p.Body))
	}
	return kind
}

// declaredType joins all Content-Type headers.
func declaredType(h http.Header) string { return strings.Join(h.Values("Content-Type"), ", ") }

// refusedOutcome is the outcome of a response that is not accepted. It keeps headers and request, not
// the body (docs/spec/steps.md 1 #15, #16).
func (r *batchRun) refusedOutcome(p page, bits errormask.Mask) *outcome {
	out := p.item.failedOutcome(bits, p.Code, schema.DateOf(r.Now()))
	out.result.At = p.fileTime(r.Now())
	out.result.Set["ContentType"], out.result.Set["HTTPMethod"] = p.url.ContentType, p.url.HTTPMethod
	out.setDuration(p.url.CrawlingTime)
	out.setRedirects(p.Response)
	r.addExchange(out, p)
	return out
}

// fileTime returns the time in the names of the page's files.
func (p page) fileTime(now time.Time) time.Time {
	if p.Started.IsZero() {
		return now
	}
	return p.Started
}

// acceptedOutcome is the outcome of an accepted page (docs/spec/steps.md 1 #13 to #22;
// docs/spec/crawling.md 2.3 steps 24 to 40).
func (r *batchRun) acceptedOutcome(ctx context.Context, p page, kind string) *outcome {
	now := r.Now()
	date := schema.DateOf(now)
	u := &p.item.url
	bodyMd5 := wire.Md5(p.Body)
	out := &outcome{item: p.item, result: wire.Fetched{
		URLMd5: p.URLID, URL: u.URL, Crawled: true, First: p.row.Crawled == 0, At: p.fileTime(now),
		Same:     p.row.Crawled > 0 && p.row.RawContentMd5 == bodyMd5,
		SiteBits: p.settings.Bits, Rules: p.settings.Rules, Expressions: p.settings.Expressions,
	}}
	if len(p.Body) > smallPage {
		most := budget.TextGrowth * int64(len(p.Body))
		if p.item.isSitemap() { // may be compressed
			most = max(most, r.Config.MaxResourceSize)
		}
		if err := p.item.text.Grow(context.WithoutCancel(ctx), most, most); err != nil {
			panic(err) // cannot happen: the context never ends
		}
	}
	text, bits := r.textBody(ctx, out, p, kind)
	p.item.text.Keep(int64(len(text)))
	lastModified := content.LastModified(p.Code, p.Header, timeOf(p.row.TcDate), now, r.Config.FallbackAge)
	if !p.item.isSitemap() && !r.passesContentFilters(ctx, p, text, lastModified) {
		return r.refusedOutcome(p, errormask.FiltersBreak)
	}
	u.LastModified = schema.DateOf(lastModified)
	u.PDate = schema.DateOf(content.PDate(p.settings.Dates, content.Sources{
		URL: u.URL, Feed: timeOf(p.feedDate()), Header: p.Header, Modified: lastModified,
	}))
	p.item.baseURL = p.FinalURL
	if base, err := canonical.Canonical(p.FinalURL); err == nil {
		p.item.baseURL = base
	}
	u.LinksI, u.LinksE = 0, 0
	stored := r.gatherLinks(ctx, out, p, text, kind, now)
	r.watchTraps(ctx, p, text, kind, bodyMd5)
	if p.isDuplicate() {
		stored, out.bits = false, out.bits|errormask.FiltersBreak
	}
	if r.realTime() {
		addAttributes(u, out.result.Attributes, date)
	}
	if stored && p.settings.StoredTypes.Holds(kind) {
		r.addContent(out, p, text, kind)
		r.addExchange(out, p)
		u.ContentMask = max(u.ContentMask, 1) // a client may have selected contents
	} else if stored {
		out.bits |= errormask.RawNotStored // MIME_TYPE_STORE_ON_DISK excludes the type
	}
	u.Status, u.State, u.HTTPCode, u.ErrorMask = wire.StatusCrawled, wire.URLEnabled, int64(p.Code), bits|out.bits|p.item.noted
	if status, given := p.settings.Statuses[p.Code]; given {
		u.Status = status
	}
	u.TotalTime = (p.Total + r.Now().Sub(now)).Milliseconds()
	u.RawContentMd5, u.ETag = bodyMd5, revalidate.ETag(p.Header)
	if len(u.ETag) > maxETag {
		u.ETag = "" // a truncated ETag is useless
	}
	u.MRate, u.MRateCounter = revalidate.Rate(p.row.MRate, p.row.MRateCounter, true)
	u.UDate, u.TcDate, u.Crawled = date, date, p.row.Crawled+1
	if !out.result.Same || u.ContentDate == "" {
		u.ContentDate = date
	}
	r.setChecksum(out, p)
	out.result.Set = schema.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "HTTPMethod": u.HTTPMethod,
		"ErrorMask": int64(u.ErrorMask), "ContentType": u.ContentType, "Charset": u.Charset,
		"CrawlingTime": u.CrawlingTime, "TotalTime": u.TotalTime, "Size": u.Size, "RawContentMd5": u.RawContentMd5,
		"ETag": u.ETag, "LastModified": string(u.LastModified), "MRate": u.MRate, "MRateCounter": u.MRateCounter,
		"LinksI": u.LinksI, "LinksE": u.LinksE, "UDate": string(date), "TcDate": string(date),
		"ContentDate": string(u.ContentDate), "SettingsSum": u.SettingsSum,
	}
	maps.Copy(out.result.Set, u.Declared())
	if p.isDuplicate() { // it is not processed
		u.State = wire.URLError
		out.result.Set["State"] = u.State
	}
	out.setRedirects(p.Response)
	if u.Status == wire.StatusNew {
		u.ErrorMask = 0
	}
	if out.holds {
		delete(out.result.Set, "Status") // until the batch ends
	}
	return out
}

// smallPage is the size up to which a page is read without reserving memory. Only a few pages
// are read at once.
const smallPage = 256 << 10

// maxETag is the size of the column.
const maxETag = 128

func timeOf(d schema.Date) time.Time {
	t, _ := d.Time()
	return t
}

// textBody returns a text body as UTF-8, with the site's replacements, and any other body
// unchanged. The bits report damage, which is no failure. The row's Size is the size after the
// replacements.
func (r *batchRun) textBody(ctx context.Context, out *outcome, p page, kind string) ([]byte, errormask.Mask) {
	u := &p.item.url
	u.Charset, u.Size = "", int64(len(p.Body))
	if !content.IsText(kind) && !content.IsXML(kind) {
		return p.Body, 0
	}
	var bits errormask.Mask
	text, name := p.Body, p.charset
	if !p.rendered {
		var err error
		declared := declaredType(p.Header)
		if p.kind != "" && p.charset != "" {
			declared = p.kind + "; charset=" + p.charset
		}
		if text, name, err = charset.Decode(p.Body, declared); err != nil {
			bits |= errormask.BadEncoding
		}
	} else if bytes.Contains(text, []byte("\uFFFD")) { // as charset.Decode finds it
		bits |= errormask.BadEncoding
	}
	u.Charset = clipTo(name, 32)
	if p.settings.Replace.Any() {
		replaced, err := p.settings.Replace.Apply(string(text), func(condition string) (bool, error) {
			return r.evaluateSQL(ctx, p.item, condition)
		})
		if err != nil {
			r.log.Warn("applied only valid parts of a property", "site", p.SiteID, "url", u.URL, "reason", "property REPLACE "+err.Error())
			out.result.SiteBits |= errormask.Initialization
		}
		if replaced != string(text) {
			text, out.replaced = []byte(replaced), true
			u.Size = int64(len(text))
		}
	}
	return text, bits
}

// passesContentFilters checks content, headers and date of the last change against the filters of stage 1
// (docs/spec/crawling.md 5.6).
func (r *batchRun) passesContentFilters(ctx context.Context, p page, text []byte, lastModified time.Time) bool {
	filters := p.site.filters
	if !filters.Has(filter.StageRaw) {
		return true
	}
	changed := string(schema.DateOf(lastModified))
	env := filter.Env{Now: r.Now(), Depth: int(p.url.Depth), SQL: r.rowCondition(ctx, p, changed)}
	return filters.AcceptSubject(filter.StageRaw, filter.RawContent, string(text), env) &&
		filters.AcceptSubject(filter.StageRaw, filter.HeadersAll, string(headerText(p.Header, "")), env) &&
		filters.AcceptSubject(filter.StageRaw, filter.LastModified, changed, env)
}

// rowCondition evaluates filter expressions over the page's row; %PDATE% is date.
func (r *environment) rowCondition(ctx context.Context, p page, date string) func(string) (bool, error) {
	return func(expression string) (bool, error) {
		ok, err := r.evaluateSQL(ctx, p.item, wire.DateMacro(expression, "'"+date+"'"))
		if err != nil {
			r.log.Warn("refused SQL expression of a filter", "site", p.SiteID, "url", p.url.URL, "error", err)
		}
		return ok, err
	}
}

// evaluateSQL evaluates an SQL expression over the item's row. The error says why the expression is
// refused. A failure of the repository ends the batch.
func (r *environment) evaluateSQL(ctx context.Context, it *item, expression string) (bool, error) {
	verdict, err := r.Data.Condition(ctx, it.SiteID, it.URLID, expression)
	if err != nil && !isSiteGone(err) {
		r.dataFailed(it, err)
	}
	return verdict.True, cmp.Or(verdict.Err, err)
}

// addContent adds the body, its repaired form and its rendered form as files
// (docs/spec/crawling.md 2.7).
func (r *batchRun) addContent(out *outcome, p page, text []byte, kind string) {
	body := p.Body
	if (content.IsText(kind) || out.replaced) && (p.rendered || !p.settings.StoreReceived) {
		body = text
	}
	out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentRaw, Data: body})
	if p.rendered {
		out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentDynamic, Data: body})
	}
	if content.IsHTML(kind) && (p.settings.Recover == 1 || p.settings.Recover == 2 && tidy.Check(text) != nil) {
		repaired, err := tidy.Tidy(text)
		if err != nil {
			r.log.Info("cannot repair page", "site", p.SiteID, "url", p.url.URL, "error", err)
			out.bits |= errormask.HTMLParse
			return
		}
		out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentTidy, Data: repaired})
	}
}

// feedDate returns the date of the feed entry that led to the page: PDate of a row that was never
// crawled. Later PDate may be the time of a fetch instead. It is kept if it differs from the
// dates that the crawler and the processor use by default without a date of the page.
func (p page) feedDate() schema.Date {
	row := &p.row
	if row.Crawled == 0 || p.settings.Dates == pdate.Default && row.PDate != row.LastModified && row.PDate != row.TcDate && row.PDate != row.UDate {
		return row.PDate
	}
	return ""
}

// logOutcome logs the outcome of a page in the log of its site's project, if it has one.
func (r *batchRun) logOutcome(out *outcome) {
	it := out.item
	if log := r.logOf(it); log != r.log {
		log.Info("fetched", "site", it.SiteID, "url", it.url.URL, "code", it.url.HTTPCode, "errors", it.url.ErrorMask.Names(), "links", len(out.result.Links))
	}
}

// logOf returns the log of an item: that of its site's project, if it has one.
func (r *environment) logOf(it *item) *slog.Logger {
	if r.ProjectLog == nil || it.settings == nil || it.settings.Suffix == "" {
		return r.log
	}
	return r.ProjectLog(it.settings.Suffix).With("batch", r.batch.ID)
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
