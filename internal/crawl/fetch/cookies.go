package fetch

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"
)

// maxCookieLine bounds a Cookie field. Servers refuse longer ones, and a jar is
// filled by servers.
const maxCookieLine = 8 << 10

// chainJar is the Jar of a chain that was given none.
type chainJar struct{ jar *cookiejar.Jar }

func (j *chainJar) Cookies(u *url.URL) string {
	if j.jar == nil {
		return ""
	}
	var pairs []string
	for _, c := range j.jar.Cookies(u) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

func (j *chainJar) SetCookies(u *url.URL, h http.Header) {
	cookies := (&http.Response{Header: h}).Cookies()
	if len(cookies) == 0 {
		return
	}
	if j.jar == nil {
		j.jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	}
	j.jar.SetCookies(u, cookies)
}

// keepCookies tells the jar of the answer of the hop at hand.
func (ch *chain) keepCookies() {
	if len(ch.resp.Header["Set-Cookie"]) > 0 {
		ch.jar.SetCookies(ch.url, ch.resp.Header)
	}
}

// cookies returns the Cookie line: those given with the request, unless the
// chain has left its site, then those of the jar, which win.
func (ch *chain) cookies(given []string) string {
	line := strings.Join(given, "; ")
	if ch.trust && ch.req.Cookie != "" {
		line = ch.req.Cookie
	}
	return joinCookies(line, ch.jar.Cookies(ch.url))
}

// joinCookies adds the pairs of set to those of line. Of equal names those of set
// win. Pairs that cannot be sent, and those that have no room, are left out.
func joinCookies(line, set string) string {
	replaced := make(map[string]bool)
	for pair := range strings.SplitSeq(set, ";") {
		if name := cookieName(pair); name != "" {
			replaced[name] = true
		}
	}
	var out strings.Builder
	add := func(pair string) {
		pair = strings.TrimSpace(pair)
		if pair == "" || !httpguts.ValidHeaderFieldValue(pair) || out.Len()+len("; ")+len(pair) > maxCookieLine {
			return
		}
		if out.Len() > 0 {
			out.WriteString("; ")
		}
		out.WriteString(pair)
	}
	for pair := range strings.SplitSeq(line, ";") {
		if !replaced[cookieName(pair)] {
			add(pair)
		}
	}
	for pair := range strings.SplitSeq(set, ";") {
		add(pair)
	}
	return out.String()
}

func cookieName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return strings.TrimSpace(name)
}
