package crawl

import (
	"context"

	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// ruleOf returns how an item is asked whether it has changed. The rule does not apply (it is zero) to
// Restore if the page must be read whatever it says: its site has other settings than when it was read
// last, or the site counts on its links to renew further pages (RecrawlPeriod, URL_CHAIN).
func (r *environment) ruleOf(it *item) revalidate.Rule {
	rule, set := it.settings.Modified, it.settings
	if rule.Behavior == revalidate.Restore &&
		(!r.mayWrite() || it.row.SettingsSum&^wire.SumUnprocessed != set.Sum || set.Chain != nil || set.Rules.Resets(it.site.RecrawlPeriod)) {
		return revalidate.Rule{}
	}
	return rule
}

// unchangedOutcome is the outcome of a page that has not changed: no body, no links, and a crawl
// without news in MRate (docs/spec/crawling.md 4.11, 4.12).
func (r *batchRun) unchangedOutcome(ctx context.Context, p page) *outcome {
	if p.settings.Modified.Behavior == revalidate.Restore {
		return r.restoredOutcome(p)
	}
	processed := false
	if p.settings.Modified.Behavior == revalidate.Processed && r.mayWrite() {
		has, err := r.Data.HasContents(ctx, p.SiteID, []string{p.URLID})
		if err != nil && !isSiteGone(err) {
			r.dataFailed(p.item, err)
		}
		processed = has[p.URLID]
	}
	u := &p.item.url
	status, keep := p.settings.Modified.Outcome(processed)
	u.Status, u.State, u.HTTPCode, u.ErrorMask = status, wire.URLEnabled, int64(p.Code), p.item.noted
	return r.fetchedAgain(p, keep)
}

// restoredOutcome is the outcome of an unchanged page whose row becomes what it was. A page that was not
// processed well is processed again.
func (r *batchRun) restoredOutcome(p page) *outcome {
	u := &p.item.url
	u.Status, u.State = unchangedStatus(&p.row)
	u.ErrorMask = p.item.noted | p.row.ErrorMask&revalidate.ContentErrors
	if u.HTTPCode = p.row.HTTPCode; !wire.IsPageCode(u.HTTPCode) { // the last fetch had failed
		u.HTTPCode = 200
	}
	out := r.fetchedAgain(p, false)
	if tag := revalidate.ETag(p.Header); tag != "" && len(tag) <= maxETag {
		u.ETag, out.result.Set["ETag"] = tag, tag
	}
	return out
}

// fetchedAgain is the outcome of a page that was asked for again: the columns that both kinds of unchanged
// pages set. keep keeps UDate.
func (r *batchRun) fetchedAgain(p page, keep bool) *outcome {
	u := &p.item.url
	u.ContentType, u.TotalTime = p.row.ContentType, u.CrawlingTime
	u.MRate, u.MRateCounter = revalidate.Rate(p.row.MRate, p.row.MRateCounter, false)
	u.TcDate, u.Crawled = schema.DateOf(r.Now()), p.row.Crawled+1
	u.UDate = u.TcDate
	if keep {
		u.UDate = p.row.UDate // MarkCrawling set it to now
	}
	set := schema.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "ErrorMask": int64(u.ErrorMask), "CrawlingTime": u.CrawlingTime,
		"TotalTime": u.TotalTime, "MRate": u.MRate, "MRateCounter": u.MRateCounter, "TcDate": string(u.TcDate), "UDate": string(u.UDate),
	}
	out := &outcome{item: p.item, result: wire.Fetched{URLMd5: p.URLID, Crawled: true, Same: true, Set: set, SiteBits: p.settings.Bits}}
	out.setRedirects(p.Response)
	return out
}

// unchangedStatus returns status and state of a row whose content has not changed: those that it had, unless
// the content has to be processed.
func unchangedStatus(row *wire.URL) (status, state int64) {
	switch {
	case row.ErrorMask&errormask.UnsupportedType != 0:
		return wire.StatusCrawled, wire.URLError
	case row.Processed > 0 && (row.TagsCount > 0 || row.Resource()) && row.SettingsSum&wire.SumUnprocessed == 0 &&
		row.ErrorMask&^revalidate.ContentErrors == 0 && wire.IsPageCode(row.HTTPCode):
		return wire.StatusProcessed, wire.URLEnabled
	}
	return wire.StatusCrawled, wire.URLEnabled
}

// setChecksum sets the checksum of the settings in the row of a page that was read. The same content under
// the same settings needs no processing.
func (r *batchRun) setChecksum(out *outcome, p page) {
	u, sum := &p.item.url, p.settings.Sum
	same := p.settings.Modified.Behavior == revalidate.Restore && r.mayWrite() && out.result.Same && u.Status == wire.StatusCrawled
	if status, _ := unchangedStatus(&p.row); same && p.row.SettingsSum == sum && status == wire.StatusProcessed && u.ErrorMask&^revalidate.ContentErrors == 0 {
		u.Status, u.SettingsSum = status, sum
		return
	}
	u.SettingsSum = sum | wire.SumUnprocessed
}
