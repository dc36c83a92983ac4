package reader

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// probeLinks requests links by HEAD, or as the redirect resolver says, if the site needs to
// know where they lead or their type before they become rows
// (docs/spec/crawling.md 5.3 #9, #11, 5.8). Each request waits for its host's gate. Then
// URL_LIMITS cuts the list.
//
// If the batch ends first, the item is handed back. But a page whose links alone take more
// than half of the batch's time would never be stored: it keeps the other links unresolved.
func (c *collection) probeLinks(ctx context.Context, list []wire.Link) []wire.Link {
	set := c.page.Settings
	types := make([]string, len(list))
	if set.NeedsProbes() {
		kept, keptTypes := list[:0:0], types[:0:0]
		began := c.Env.Now()
		for i, l := range list {
			resolved, kind, ok, err := c.askLink(ctx, l)
			if err != nil && (ctx.Err() != nil || c.Env.Now().Sub(began) < c.Env.Deadline.Sub(c.Env.Start)/2) {
				c.page.CutOff = true
				return nil
			}
			if err != nil {
				c.Env.Log.Warn("no time left to request the links of the page; the rest is kept unresolved",
					"site", c.page.SiteID, "url", c.page.Row.URL, "requested", i, "links", len(list))
				kept, keptTypes = append(kept, list[i:]...), append(keptTypes, types[i:]...)
				break
			}
			if ok {
				kept, keptTypes = append(kept, resolved), append(keptTypes, kind)
			}
		}
		list, types = kept, keptTypes
	}
	if set.URLLimits == nil {
		return list
	}
	candidates := make([]linkrules.Candidate, len(list))
	for i, l := range list {
		candidates[i] = linkrules.Candidate{URL: l.URL.URL, ContentType: types[i]}
	}
	keep := set.URLLimits.Keep(candidates)
	i := -1
	return slices.DeleteFunc(slices.Clone(list), func(wire.Link) bool { i++; return !keep[i] })
}

// askLink sends the request for one link. ok is false for a link that the resolver cannot
// resolve; it is left out. Without a resolver, a link without an answer stays and its kind
// is empty. An error means that the batch ended first.
func (c *collection) askLink(ctx context.Context, l wire.Link) (resolved wire.Link, kind string, ok bool, err error) {
	set := c.page.Settings
	if c.Env.IsOver(ctx) {
		return l, "", false, budget.ErrNoTime
	}
	how := set.Resolver.For(l.URL.URL)
	if how == nil && !set.AutoDetect.HeadsLinks() && !set.URLLimits.NeedsContentTypes() {
		return l, "", true, nil
	}
	if !c.Env.OwnsURL(l.URL.URL) {
		return l, "", true, nil // its node requests it
	}
	v := c.Env.NewVisit(c.page.Item)
	v.Admitted = true // the page is half read: wait for the host, however long
	defer v.LeaveAll()
	target := l.URL.URL
	err = v.PrepareRequest(ctx, target, c.page.Answer.Proxy)
	if visit.CutOff(ctx, err) {
		return l, "", false, err
	}
	if refused, ok := errors.AsType[visit.Refusal](err); ok && refused.Back {
		return l, "", true, nil // a later crawl of the page may resolve it
	}
	if err != nil {
		return l, "", how == nil, nil
	}
	r := v.NewRequest(target, cookies.Links)
	// A body would wait for memory while its page holds some.
	r.Method, r.HeaderOnly = http.MethodHead, true
	if how != nil {
		r.MaxRedirects = how.Max
		if how.Method != linkrules.MethodHead {
			r.Method = http.MethodGet
		}
	}
	answer, err := v.SendRequest(v.Env.Running, r)
	if visit.CutOff(ctx, err) {
		return l, "", false, err
	}
	if away, ok := errors.AsType[visit.OtherNode](err); ok && how != nil {
		return c.resolvedTo(l, away.Target)
	}
	if err != nil || !wire.IsPageCode(int64(answer.Code)) {
		return l, "", how == nil || v.MeansLater(), nil // a later crawl of the page may resolve it
	}
	if kind = set.TypeMap.Map(content.Normal(visit.DeclaredType(answer.Header))); kind != "" {
		if set.AutoDetect.HeadsLinks() && !set.ContentTypes.Holds(kind) {
			return l, kind, false, nil
		}
		l.URL.ContentType = clipTo(kind, maxType)
	}
	if how == nil || !wasRedirected(answer, how.Types) {
		return l, kind, true, nil
	}
	final, err := set.Schemes.Resolve(target, canonical.WithoutFragment(answer.FinalURL))
	if err != nil {
		return l, kind, false, nil
	}
	l, _, ok, err = c.resolvedTo(l, final)
	return l, kind, ok, err
}

// resolvedTo is ask for a link that redirects to final. A URL that the page has already is left out.
func (c *collection) resolvedTo(l wire.Link, final string) (resolved wire.Link, kind string, ok bool, err error) {
	if c.met[urlkey.NormalEscapes(final)] && final != l.URL.URL {
		return l, "", false, nil
	}
	c.met[urlkey.NormalEscapes(final)] = true
	found := l.URL.URLMd5
	l.URL.URL, l.URL.URLMd5 = final, urlkey.Of(final)
	if c.resolved == nil {
		c.resolved = map[string]string{}
	}
	c.resolved[l.URL.URLMd5] = found
	return l, "", true, nil
}

// wasRedirected reports whether the link was redirected, with accepted codes only.
func wasRedirected(answer *fetch.Response, codes []int) bool {
	for _, hop := range answer.Redirects {
		if !slices.Contains(codes, hop.Code) {
			return false
		}
	}
	return len(answer.Redirects) > 0
}
