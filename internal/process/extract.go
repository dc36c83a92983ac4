package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"hce/dc/internal/process/remote"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// extractItem processes the raw content of an item and sets its row and result
// (docs/spec/steps.md 2 #9, #10, #13). It hands the item back and returns an error if its
// page was not extracted: errOver, or a fault of the machine.
func (j *Job) extractItem(ctx context.Context, it *item, watch watch, log *slog.Logger) error {
	start := j.Now()
	var x scraper.Output
	if wire.IsPageCode(it.row.HTTPCode) || it.live != nil {
		if j.useStored(ctx, it, log) {
			return nil
		}
		var err error
		if x, err = j.extractContent(ctx, it, watch, log); err != nil {
			it.handBack(schema.DateOf(j.Now()))
			return err
		}
	}
	if len(it.parts) > 0 && x.Item.Content != nil {
		var err error
		if x, err = j.foldParts(ctx, it, x, watch, log); err != nil {
			it.handBack(schema.DateOf(j.Now()))
			return err
		}
	}
	now := j.Now()
	date := schema.DateOf(now)
	spent := now.Sub(start).Milliseconds()
	r := &it.row
	if x.Refused {
		it.refuseProcessing(x.Bits, wire.URLError, date)
		return nil
	}
	r.Status, r.State = wire.StatusProcessed, wire.URLEnabled
	if x.Bits != 0 {
		r.State = wire.URLError
	}
	r.ErrorMask |= x.Bits
	r.ProcessingTime, r.TotalTime = spent, r.TotalTime+spent
	r.UDate, r.TcDate = date, date
	r.Processed++
	set := schema.Patch{
		"Status": r.Status, "State": r.State, "ErrorMask": int64(r.ErrorMask),
		"ProcessingTime": r.ProcessingTime, "TotalTime": r.TotalTime, "UDate": string(date), "TcDate": string(date),
		"SettingsSum": r.SettingsSum &^ wire.SumUnprocessed,
	}
	found := x.Item
	if x.Resource {
		found = resourceItem(it)
		set["TagsCount"], set["TagsMask"] = found.TagsCount, found.TagsMask
		r.TagsCount, r.TagsMask = found.TagsCount, found.TagsMask
	}
	if found.Content != nil {
		r.TagsCount, r.TagsMask = found.TagsCount, found.TagsMask
		set["TagsCount"], set["TagsMask"] = r.TagsCount, r.TagsMask
		r.PDate = cmp.Or(found.Published, r.LastModified, date)
		set["PDate"] = string(r.PDate)
		if found.Hash != "" {
			r.ContentURLMd5 = found.Hash
			set["ContentURLMd5"] = found.Hash
		}
	}
	it.result = wire.Extracted{
		URLMd5: it.URLID, Set: set, Processed: true, Content: found.Content, Expressions: it.settings.expressions,
		Items: x.Items, Files: it.copies,
	}
	for _, part := range it.parts {
		part.skipProcessing(date)
		part.result.Processed = true
	}
	it.extra, it.copies = extraItems(it, x.Items, now), nil
	if it.live != nil {
		it.live.content = wire.Entry{ID: it.URLID, Data: found.Content, CDate: now}
	}
	return nil
}

// resourceItem is what is stored of a resource: only its mark in the row. If an earlier version was a page,
// an empty content takes the place of its text.
func resourceItem(it *item) scraper.Item {
	found := scraper.Item{TagsMask: wire.ResourceMask}
	if it.row.TagsCount > 0 {
		found.Content, _ = result.Encode([]result.Result{{ID: it.URLID}}, nil) // it has no values
	}
	return found
}

// foldParts extracts the further parts of a page and joins all parts (docs/spec/processing.md 1.7).
// The parts are processed with the page, and have no contents of their own.
func (j *Job) foldParts(ctx context.Context, it *item, first scraper.Output, watch watch, log *slog.Logger) (scraper.Output, error) {
	contents := [][]byte{first.Item.Content}
	for _, part := range it.parts {
		x, err := j.extractContent(ctx, part, watch, log)
		if err != nil {
			return x, err
		}
		first.Bits |= x.Bits
		if x.Item.Content != nil {
			contents = append(contents, x.Item.Content)
		}
	}
	p := j.describePage(it)
	p.Chain, p.Mask, p.Templates = contents, p.Mask|first.Bits, it.templates
	x, err := j.Workers.extractPage(p, it.settings.rules, watch)
	x.Bits |= first.Bits
	return x, err
}

// extraItems returns the items that a page gives, for the answer.
func extraItems(it *item, rows []wire.ExtractedItem, now time.Time) []*item {
	list := make([]*item, len(rows))
	for i := range rows {
		row := rows[i].Row
		list[i] = &item{BatchItem: wire.BatchItem{SiteID: it.SiteID, URLID: row.URLMd5, Depth: it.Depth}, row: row, settings: it.settings}
		if it.live != nil {
			own := *it.live
			own.content = wire.Entry{ID: row.URLMd5, Data: rows[i].Content, CDate: now}
			list[i].live = &own
		}
	}
	return list
}

// describePage returns the page of an item without its stored contents.
func (j *Job) describePage(it *item) *scraper.Page {
	row, set := &it.row, it.settings
	p := &scraper.Page{
		ID: it.URLID, URL: row.URL, Type: row.ContentType, Charset: row.Charset, Processor: set.processorFor(row.ContentType),
		Entry: row.Type == wire.TypeFetched, Depth: int(row.Depth),
		Root:         row.Root(),
		Asked:        it.live != nil || set.namesType(row.ContentType),
		CrawlingTime: time.Duration(row.CrawlingTime) * time.Millisecond, Mask: row.ErrorMask,
		Now: j.Now(), Base: it.BaseURL, Room: -1,
	}
	if at, ok := row.TcDate.Time(); ok && at.Before(p.Now) { // of the fetch, or of an earlier processing
		p.Fetched = at
	}
	if set.needs.Fields {
		p.Fields = rowFields(row)
	}
	if set.needs.Row {
		p.Row, p.Limits = row, set.site
	}
	return p
}

// readPage reads what the extraction of an item needs. Text is empty without a raw content.
func (j *Job) readPage(ctx context.Context, it *item) (p *scraper.Page, err error) {
	p, set := j.describePage(it), it.settings
	p.Text, err = wire.SuppliedContent(it.URL.URLPut, it.SiteID, it.URLID)
	if err == nil && p.Text == nil && set.tidy {
		p.Text, err = j.readRaw(ctx, it, wire.ContentTidy)
	}
	if err == nil && len(p.Text) == 0 {
		p.Text, err = j.readRaw(ctx, it, wire.ContentRaw)
	}
	if err != nil {
		return nil, err
	}
	if most := j.Config.MaxContentSize; most > 0 && int64(len(p.Text)) > most {
		for most > 0 && !utf8.RuneStart(p.Text[most]) {
			most--
		}
		p.Text = p.Text[:most]
	}
	if set.needs.Header {
		if p.Header, err = j.readRaw(ctx, it, wire.ContentHeaders); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// rowFields returns the fields of a row as texts, by their names in JSON.
func rowFields(row *wire.URL) map[string]string {
	values := map[string]any{}
	if encoded, err := json.Marshal(row); err == nil {
		d := json.NewDecoder(bytes.NewReader(encoded))
		d.UseNumber()
		_ = d.Decode(&values) // it was encoded before
	}
	texts := make(map[string]string, len(values))
	for name, value := range values {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case json.Number:
			texts[name] = v.String()
		}
	}
	return texts
}

// feedParser is the PROCESSOR_NAME with which the crawler stores the entries of a feed and not the feed.
const feedParser = "FEED_PARSER"

// isFeed reports whether the item is a feed, whose entries are rows of their own.
func (it *item) isFeed() bool {
	return it.row.Type != wire.TypeFetched && it.settings.processorFor(it.row.ContentType) == feedParser
}

// extractContent extracts the newest raw content of an item in a worker. Its error is one of
// Workers. A panic of the stores fails this item only, with bit 51.
func (j *Job) extractContent(ctx context.Context, it *item, watch watch, log *slog.Logger) (x scraper.Output, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Error("panic while processing a page", "site", it.SiteID, "url", it.row.URL, "reason", reason, "stack", string(debug.Stack()))
			x, err = scraper.Output{Bits: errormask.BatchItem}, nil
		}
	}()
	p, err := j.readPage(ctx, it)
	if task.IsCritical(err) {
		return scraper.Output{}, err
	}
	if err == nil && len(p.Text) == 0 && it.isFeed() {
		return scraper.Output{}, nil
	}
	if err != nil || len(p.Text) == 0 {
		log.Warn("no raw content", "site", it.SiteID, "url", it.row.URL, "error", err)
		return scraper.Output{Bits: errormask.RawMissing}, nil
	}
	faults := j.addTemplates(it, p, watch)
	if len(faults) > 0 && watch.web.Err() != nil {
		return x, errOver // the end of the batch, not the source
	}
	if x, err = j.Workers.extractPage(p, it.settings.rules, watch); err == nil && len(x.Links) > 0 {
		x, err = j.resolveLinks(it, p, x, watch)
	}
	if len(faults) > 0 {
		x.Fail(errormask.TemplateSource, faults...)
	}
	if len(x.Dropped) > 0 {
		log.Info("media left out", "site", it.SiteID, "url", it.row.URL, "reasons", x.Dropped)
	}
	if len(x.Items) > 0 {
		it.copies = []wire.File{{Type: wire.ContentRaw, Data: p.Text}}
	}
	if x.Message != "" {
		log.Warn("the page was not extracted as it should be", "site", it.SiteID, "url", it.row.URL, "errors", x.Bits.Names(), "error", x.Message)
	}
	return x, err
}

// addTemplates reads the templates of TEMPLATE_SOURCE that are due for a page.
func (j *Job) addTemplates(it *item, p *scraper.Page, w watch) (faults []error) {
	if len(it.settings.sources) == 0 {
		return nil
	}
	w.slow()
	it.answers = w.remote.Templates(w.web, remotePage(it, p), it.settings.sources)
	for _, a := range it.answers {
		switch {
		case a.Err != nil:
			faults = append(faults, a.Err)
		case a.Due:
			p.Templates = append(p.Templates, scraper.SourceTemplate{Source: a.Source, Name: a.Name, Text: a.Text})
		}
	}
	it.templates = p.Templates
	return faults
}

// resolveLinks requests the links of a page that LINK_RESOLVE asks for, and extracts it again if one of
// them leads elsewhere.
func (j *Job) resolveLinks(it *item, p *scraper.Page, first scraper.Output, w watch) (x scraper.Output, err error) {
	w.slow()
	found, faults := w.remote.Links(w.web, remotePage(it, p), it.settings.links, first.Links)
	if len(faults) > 0 && w.web.Err() != nil {
		return first, errOver
	}
	x = first
	if len(found) > 0 {
		p.Resolved = found
		if x, err = j.Workers.extractPage(p, it.settings.rules, w); err != nil {
			return x, err
		}
	}
	if len(faults) > 0 {
		x.Fail(errormask.BatchItem, faults...)
	}
	return x, nil
}

func remotePage(it *item, p *scraper.Page) *remote.Page {
	return &remote.Page{
		Site: it.SiteID, URL: p.URL, Root: it.row.Root(), Text: p.Text,
		Access: remote.Access{
			Delay: time.Duration(it.row.RequestDelay) * time.Millisecond, InsecureTLS: it.settings.insecureTLS, Robots: it.settings.robots,
		},
	}
}
