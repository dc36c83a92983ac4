package reader

import (
	"context"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// unchangedOutcome is the outcome of a page that has not changed: no body, no links, and a crawl
// without news in MRate (docs/spec/crawling.md 4.11, 4.12).
func (r *Reader) unchangedOutcome(ctx context.Context, p Page) *item.Outcome {
	if p.Settings.Modified.Behavior == revalidate.Restore {
		return r.restoredOutcome(p)
	}
	processed := false
	if p.Settings.Modified.Behavior == revalidate.Processed && r.Env.MayWrite() {
		has, err := r.Data.HasContents(ctx, p.SiteID, []string{p.URLID})
		if err != nil && !item.IsSiteGone(err) {
			r.dataFailed(p.Item, err)
		}
		processed = has[p.URLID]
	}
	u := &p.Item.Row
	status, keep := p.Settings.Modified.Outcome(processed)
	u.Status, u.State, u.HTTPCode, u.ErrorMask = status, wire.URLEnabled, int64(p.Code), p.Item.Noted
	return r.fetchedAgain(p, keep)
}

// restoredOutcome is the outcome of an unchanged page whose row becomes what it was. A page that was not
// processed well is processed again.
func (r *Reader) restoredOutcome(p Page) *item.Outcome {
	u := &p.Item.Row
	u.Status, u.State = unchangedStatus(&p.Before)
	u.ErrorMask = p.Item.Noted | p.Before.ErrorMask&revalidate.ContentErrors
	if u.HTTPCode = p.Before.HTTPCode; !wire.IsPageCode(u.HTTPCode) { // the last fetch had failed
		u.HTTPCode = 200
	}
	out := r.fetchedAgain(p, false)
	if tag := revalidate.ETag(p.Header); tag != "" && len(tag) <= maxETag {
		u.ETag, out.Result.Set["ETag"] = tag, tag
	}
	return out
}

// fetchedAgain is the outcome of a page that was asked for again: the columns that both kinds of unchanged
// pages set. keep keeps UDate.
func (r *Reader) fetchedAgain(p Page, keep bool) *item.Outcome {
	u := &p.Item.Row
	u.ContentType, u.TotalTime = p.Before.ContentType, u.CrawlingTime
	u.MRate, u.MRateCounter = revalidate.Rate(p.Before.MRate, p.Before.MRateCounter, false)
	u.TcDate, u.Crawled = schema.DateOf(r.Env.Now()), p.Before.Crawled+1
	u.UDate = u.TcDate
	if keep {
		u.UDate = p.Before.UDate // MarkCrawling set it to now
	}
	set := schema.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "ErrorMask": int64(u.ErrorMask), "CrawlingTime": u.CrawlingTime,
		"TotalTime": u.TotalTime, "MRate": u.MRate, "MRateCounter": u.MRateCounter, "TcDate": string(u.TcDate), "UDate": string(u.UDate),
	}
	out := &item.Outcome{Item: p.Item, Result: wire.Fetched{URLMd5: p.URLID, Crawled: true, Same: true, Set: set, SiteBits: p.Settings.Bits}}
	out.SetRedirects(p.Response)
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
func (r *Reader) setChecksum(out *item.Outcome, p Page) {
	u, sum := &p.Item.Row, p.Settings.Sum
	same := p.Settings.Modified.Behavior == revalidate.Restore && r.Env.MayWrite() && out.Result.Same && u.Status == wire.StatusCrawled
	if status, _ := unchangedStatus(&p.Before); same && p.Before.SettingsSum == sum && status == wire.StatusProcessed && u.ErrorMask&^revalidate.ContentErrors == 0 {
		u.Status, u.SettingsSum = status, sum
		return
	}
	u.SettingsSum = sum | wire.SumUnprocessed
}
