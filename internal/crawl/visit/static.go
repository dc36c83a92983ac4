package visit

import (
	"context"
	"maps"
	"net/http"
	"strconv"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
)

// fetchStatic sends a plain HTTP request. A page that was crawled before is requested conditionally, as
// DETECT_MODIFIED says (docs/spec/crawling.md 4.11).
func (v *Visit) fetchStatic(ctx context.Context, target string) (*Answer, error) {
	rule, row := v.Env.RuleOf(v.Item), &v.Item.Before
	r := v.PageRequest(target)
	if !rule.Applies(row) || r.Method != http.MethodGet {
		response, err := v.followRefreshes(ctx, r)
		return &Answer{Response: response}, err
	}
	r.Method = rule.Method(row)
	maps.Copy(r.Header, rule.Headers(row))
	response, err := v.followRefreshes(ctx, r)
	if err != nil {
		return nil, err
	}
	changed := changedSince(rule, row, response, r)
	if changed && (rule.Second(row) || r.Method == http.MethodHead) {
		if err := v.reenterGate(ctx, target); err != nil {
			return nil, err
		}
		r = v.PageRequest(target)
		if response, err = v.followRefreshes(ctx, r); err != nil {
			return nil, err
		}
		changed = changedSince(rule, row, response, r)
	}
	return &Answer{Response: response, Unchanged: !changed}, nil
}

// changedSince is the rule's verdict about the response to r. A 304 to a request without a condition is
// no verdict.
func changedSince(rule revalidate.Rule, row *wire.URL, response *fetch.Response, r fetch.Request) bool {
	if response.Code == http.StatusNotModified && !isConditional(r.Header) {
		return true
	}
	return rule.Verdict(row, SummarizeResponse(response, r.Method))
}

// SummarizeResponse returns the parts of a response that the rule needs.
func SummarizeResponse(response *fetch.Response, method string) revalidate.Answer {
	a := revalidate.Answer{Code: response.Code, Length: -1}
	if date, ok := content.ParseDate(response.Header.Get("Last-Modified")); ok {
		a.Date = date
	}
	if method == http.MethodHead {
		if n, err := strconv.ParseInt(response.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			a.Length = n
		}
		return a
	}
	if response.Code != http.StatusNotModified {
		a.Length, a.MD5 = int64(len(response.Body)), wire.Md5(response.Body)
	}
	return a
}

// SuppliedAnswer returns the content that the client supplied with the item, or nil
// (docs/spec/crawling.md 1.3, 4.9 "URL put"). No request is sent.
func SuppliedAnswer(it *item.Item) (*Answer, error) {
	body, err := wire.SuppliedContent(it.SuppliedContent, it.SiteID, it.URLID)
	if body == nil {
		return nil, err
	}
	return &Answer{Supplied: true, Response: &fetch.Response{
		FinalURL: it.Row.URL, Code: http.StatusOK, Header: http.Header{}, RequestHeader: http.Header{},
		Body: body,
	}}, nil
}

// RuleOf returns how an item is asked whether it has changed. The rule does not apply (it is zero) to
// Restore if the page must be read whatever it says: its site has other settings than when it was read
// last, or the site counts on its links to renew further pages (RecrawlPeriod, URL_CHAIN).
func (r *Environment) RuleOf(it *item.Item) revalidate.Rule {
	rule, set := it.Settings.Modified, it.Settings
	if rule.Behavior == revalidate.Restore &&
		(!r.MayWrite() || it.Before.SettingsSum&^wire.SumUnprocessed != set.Sum || set.Chain != nil || set.Rules.Resets(it.View.RecrawlPeriod)) {
		return revalidate.Rule{}
	}
	return rule
}
