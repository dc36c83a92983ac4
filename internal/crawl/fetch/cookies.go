package fetch

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"
)

// maxCookieLine limits a Cookie field. Servers fill the jar, and refuse longer fields.
const maxCookieLine = 8 << 10

// chainJar is the Jar of a request without one.
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

// cookies returns the Cookie field. Cookies of the request are sent only while the chain
// stays on its site. Those of the jar win.
func (ch *chain) cookies(requested []string) string {
	line := strings.Join(requested, "; ")
	if ch.trust && ch.req.Cookie != "" {
		line = ch.req.Cookie
	}
	return joinCookies(line, ch.jar.Cookies(ch.url))
}

// joinCookies adds the pairs of set to those of line. If names are equal, the pair of set
// wins. Invalid pairs and those above maxCookieLine are dropped.
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
