package crawl

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/linkrules"
	"hce/dc/internal/wire"
)

// probes reports whether links of the item's page need requests of their own.
func (s *settings) probes() bool {
	return s.resolver != nil || s.autoDetect.HeadsLinks() || s.urlLimits.NeedsContentTypes()
}

// probe asks for links by HEAD, or as the redirect resolver wants it, where the
// site wants to know more of them before they become rows: where they lead and of
// what type they are (docs/spec/crawling.md 5.3 #9, #11, 5.8). Each request waits for its
// host's gate like any other. Then URL_LIMITS cuts the list.
func (c *collection) probe(ctx context.Context, list []wire.Link) []wire.Link {
	set := c.page.settings
	types := make([]string, len(list))
	if set.probes() {
		kept, keptTypes := list[:0:0], types[:0:0]
		for _, l := range list {
			if c.over(ctx) {
				break
			}
			resolved, kind, ok := c.ask(ctx, l)
			if ok {
				kept, keptTypes = append(kept, resolved), append(keptTypes, kind)
			}
		}
		list, types = kept, keptTypes
	}
	if set.urlLimits == nil {
		return list
	}
	candidates := make([]linkrules.Candidate, len(list))
	for i, l := range list {
		candidates[i] = linkrules.Candidate{URL: l.URL.URL, ContentType: types[i]}
	}
	keep := set.urlLimits.Keep(candidates)
	i := -1
	return slices.DeleteFunc(slices.Clone(list), func(wire.Link) bool { i++; return !keep[i] })
}

// ask makes the request for one link. A link whose resolver brings no answer is
// left out; without a resolver a link that does not answer stays, of no type.
func (c *collection) ask(ctx context.Context, l wire.Link) (resolved wire.Link, kind string, ok bool) {
	set := c.page.settings
	how := set.resolver.For(l.URL.URL)
	if how == nil && !set.autoDetect.HeadsLinks() && !set.urlLimits.NeedsContentTypes() {
		return l, "", true
	}
	v := c.visit(c.page.item)
	defer v.leaveSlot()
	defer v.leaveGate()
	target := l.URL.URL
	if v.throughProxy(ctx, c.page.answer.proxy) != nil {
		return l, "", how == nil
	}
	if v.allowed(ctx, target) != nil || v.enter(ctx, target) != nil {
		return l, "", how == nil
	}
	r := v.request(target, cookies.Links)
	// The body would have to wait for memory while its page holds some.
	r.Method, r.HeaderOnly = http.MethodHead, true
	if how != nil {
		r.MaxRedirects = how.Max
		if how.Method != linkrules.MethodHead {
			r.Method = http.MethodGet
		}
	}
	answer, err := v.get(ctx, r)
	if err != nil || answer.Code != http.StatusOK {
		return l, "", how == nil
	}
	if kind = set.typeMap.Map(content.Normal(declaredType(answer.Header))); kind != "" {
		if set.autoDetect.HeadsLinks() && !set.contentTypes.Holds(kind) {
			return l, kind, false
		}
		l.URL.ContentType = clipTo(kind, 32)
	}
	if how == nil || !followed(answer, how.Types) {
		return l, kind, true
	}
	final, err := set.schemes.Resolve(target, withoutFragment(answer.FinalURL))
	if err != nil || c.met[final] && final != target {
		return l, kind, false
	}
	c.met[final] = true
	found := l.URL.URLMd5
	l.URL.URL, l.URL.URLMd5 = final, wire.Md5(final)
	if c.led == nil {
		c.led = map[string]string{}
	}
	c.led[l.URL.URLMd5] = found
	return l, kind, true
}

// followed reports whether the link led elsewhere, by codes that count.
func followed(answer *fetch.Response, codes []int) bool {
	for _, hop := range answer.Redirects {
		if !slices.Contains(codes, hop.Code) {
			return false
		}
	}
	return len(answer.Redirects) > 0
}

func withoutFragment(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
