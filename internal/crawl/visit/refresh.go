package visit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
func (v *Visit) followRefreshes(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	target := r.URL
	met := map[string]bool{}
	var before []fetch.Hop
	for count := 0; ; count++ {
		response, err := v.SendRequest(ctx, r)
		if err != nil {
			return nil, err
		}
		response.Redirects = append(before, response.Redirects...)
		next := ""
		if v.Settings.HTMLRedirects > 0 {
			next = v.refreshTarget(response)
		}
		met[target] = true
		if next == "" || met[next] {
			return response, nil
		}
		if count >= v.Settings.HTMLRedirects {
			return nil, Refusal{Bits: errormask.MaxHTMLRedirects, reason: "more meta refreshes than HTML_REDIRECTS_MAX; the next leads to " + next}
		}
		u, err := canonical.Net(next)
		if err != nil {
			return nil, Refusal{Bits: errormask.BadRedirection, reason: err.Error()}
		}
		refreshing := exchangeOf(response)
		response.Body = nil // returns its memory
		err = v.checkRedirect(ctx, u)
		if away, ok := errors.AsType[OtherNode](err); ok {
			away.code = response.Code
			return nil, away
		}
		if err != nil {
			return nil, err
		}
		before = append(response.Redirects, fetch.Hop{URL: response.FinalURL, Code: response.Code, Exchange: refreshing})
		target, r = next, v.NewRequest(next, v.cookieStage())
		v.setReferer(r.Header, response.FinalURL)
	}
}

// longestRefresh is the longest delay of a meta refresh that is a redirect, in seconds. After a longer one
// the page was read: it is a page with a link.
const longestRefresh = 5

// refreshTarget returns the absolute target of a page's meta refresh, or "" if the page has none,
// reloads itself, or has a content of its own: the refresh comes after more than longestRefresh
// seconds, or only without scripts.
func (v *Visit) refreshTarget(response *fetch.Response) string {
	if !content.IsHTML(content.Sniff(DeclaredType(response.Header), response.Body)) || response.Code >= http.StatusBadRequest || !mentionsRefresh(response.Body) {
		return ""
	}
	text, name, _ := charset.Decode(response.Body, DeclaredType(response.Header)) // an error is a warning: the text is usable
	page := links.HTML(text, 1)
	if page.Refresh == "" || page.RefreshDelay > longestRefresh || page.RefreshInert && links.HasText(response.Body) {
		return ""
	}
	base := response.FinalURL
	if page.Base != "" {
		if b, err := v.Settings.Schemes.Resolve(base, page.Base); err == nil {
			base = b
		}
	}
	next, err := v.Settings.Schemes.Resolve(base, charset.EncodeQuery(page.Refresh, name))
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

// maxRefreshing bounds the body of a page with a refresh that is kept with the page that it leads to.
const maxRefreshing = 16 << 10

// exchangeOf returns the exchange of a page that leads to another one by its refresh. The fields of
// codings are left out, because the body is decoded.
func exchangeOf(response *fetch.Response) *fetch.Exchange {
	header := response.Header.Clone()
	for _, name := range []string{"Content-Encoding", "Content-Length"} {
		header.Del(name)
	}
	_, proto, _ := strings.Cut(response.RequestLine, " HTTP/")
	body := response.Body[:min(len(response.Body), maxRefreshing)]
	return &fetch.Exchange{
		At: response.Started.Add(response.Total), RequestLine: response.RequestLine, RequestHeader: response.RequestHeader, Header: header,
		StatusLine: statusLine(cmp.Or(proto, "1.1"), response.Code),
		Body:       slices.Clone(body), Cut: len(body) < len(response.Body),
	}
}

// statusLine returns the first line of an answer whose own one is not known.
func statusLine(version string, code int) string {
	return fmt.Sprintf("HTTP/%s %d %s", version, code, http.StatusText(code))
}
