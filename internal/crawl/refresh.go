package crawl

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/links"
	"hce/dc/internal/wire/errormask"
)

// followRefreshes sends a request and follows the meta refreshes of its pages, at most HTML_REDIRECTS_MAX
// of them; one more is an error with bit 18. A page that reloads itself is not followed. A
// maximum below 1 turns refreshes off (docs/spec/crawling.md 4.4, F14, F15).
func (v *visit) followRefreshes(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	target := r.URL
	met := map[string]bool{}
	var before []fetch.Hop
	for count := 0; ; count++ {
		response, err := v.sendRequest(ctx, r)
		if err != nil {
			return nil, err
		}
		response.Redirects = append(before, response.Redirects...)
		next := ""
		if v.settings.HTMLRedirects > 0 {
			next = v.refreshTarget(response)
		}
		met[target] = true
		if next == "" || met[next] {
			return response, nil
		}
		if count >= v.settings.HTMLRedirects {
			return nil, refusal{bits: errormask.MaxHTMLRedirects, reason: "more meta refreshes than HTML_REDIRECTS_MAX; the next leads to " + next}
		}
		u, err := canonical.Net(next)
		if err != nil {
			return nil, refusal{bits: errormask.BadRedirection, reason: err.Error()}
		}
		refreshing := exchangeOf(response)
		response.Body = nil // returns its memory
		err = v.checkRedirect(ctx, u)
		if away, ok := errors.AsType[otherNode](err); ok {
			away.code = response.Code
			return nil, away
		}
		if err != nil {
			return nil, err
		}
		before = append(response.Redirects, fetch.Hop{URL: response.FinalURL, Code: response.Code, Exchange: refreshing})
		target, r = next, v.newRequest(next, v.cookieStage())
		v.setReferer(r.Header, response.FinalURL)
	}
}

// longestRefresh is the longest delay of a meta refresh that is a redirect, in seconds. After a longer one
// the page was read: it is a page with a link.
const longestRefresh = 5

// refreshTarget returns the absolute target of a page's meta refresh, or "" if the page has none,
// reloads itself, or has a content of its own: the refresh comes after more than longestRefresh
// seconds, or only without scripts.
func (v *visit) refreshTarget(response *fetch.Response) string {
	if !content.IsHTML(content.Sniff(declaredType(response.Header), response.Body)) || response.Code >= http.StatusBadRequest || !mentionsRefresh(response.Body) {
		return ""
	}
	text, name, _ := charset.Decode(response.Body, declaredType(response.Header)) // an error is a warning: the text is usable
	page := links.HTML(text, 1)
	if page.Refresh == "" || page.RefreshDelay > longestRefresh || page.RefreshInert && links.HasText(response.Body) {
		return ""
	}
	base := response.FinalURL
	if page.Base != "" {
		if b, err := v.settings.Schemes.Resolve(base, page.Base); err == nil {
			base = b
		}
	}
	next, err := v.settings.Schemes.Resolve(base, charset.EncodeQuery(page.Refresh, name))
	if err != nil {
		return ""
	}
	if own, err := canonical.Canonical(response.FinalURL); err == nil && own == next {
		return ""
	}
	return next
}

// headBytes is the maximum length of a page's head.
const headBytes = 64 << 10

// mentionsRefresh is a cheap test that saves most pages a second parse.
func mentionsRefresh(body []byte) bool { return headContains(body, "refresh", 'f') }

// headContains reports whether a page's head contains word in any case. rare is a letter of
// word that is rare in text: the search looks only at its places.
func headContains(body []byte, word string, rare byte) bool {
	head := body[:min(len(body), headBytes)]
	at := strings.IndexByte(word, rare)
	for _, letter := range []byte{rare, rare - 'a' + 'A'} {
		for from := 0; ; from++ {
			i := bytes.IndexByte(head[from:], letter)
			if i < 0 {
				break
			}
			from += i
			start := from - at
			if start >= 0 && start+len(word) <= len(head) && strings.EqualFold(string(head[start:start+len(word)]), word) {
				return true
			}
		}
	}
	return false
}
