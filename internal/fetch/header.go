package fetch

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// notSent are the fields of Request.Header that are set here or belong to a
// connection. Some header files of old ask for "Connection: close".
var notSent = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Host": true,
	"Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// credentials are the fields that stay with the site they were meant for.
var credentials = map[string]bool{
	"Authorization": true, "Cookie": true, "Cookie2": true, "Proxy-Authorization": true,
	"Www-Authenticate": true,
}

// header returns the header of the hop at hand, just as it goes out. net/http
// takes Host and Content-Length from elsewhere, and leaves them out of what it is
// given, so they may stand here for the record.
func (ch *chain) header() http.Header {
	h := make(http.Header, len(ch.req.Header)+6)
	for name, values := range ch.req.Header {
		name = http.CanonicalHeaderKey(name)
		if notSent[name] || !ch.trust && credentials[name] {
			continue
		}
		if len(ch.body) == 0 && strings.HasPrefix(name, "Content-") {
			continue
		}
		h[name] = append(h[name], values...)
	}
	set := func(name, value string) {
		if len(h[name]) == 0 && value != "" {
			h[name] = []string{value}
		}
	}
	h["Host"] = []string{ch.url.Host}
	h["Accept-Encoding"] = []string{acceptEncoding}
	set("User-Agent", ch.client.cfg.UserAgent)
	set("Accept", "*/*")
	if len(ch.body) > 0 {
		set("Content-Type", "application/x-www-form-urlencoded")
	}
	if len(ch.body) > 0 || ch.method == http.MethodPost || ch.method == http.MethodPut || ch.method == http.MethodPatch {
		h["Content-Length"] = []string{strconv.Itoa(len(ch.body))}
	}
	if user := ch.url.User; user != nil {
		password, _ := user.Password()
		set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if line := ch.cookies(h["Cookie"]); line != "" {
		h["Cookie"] = []string{line}
	}
	return h
}

// cookies returns the Cookie line: those given with the request, unless the
// chain has left its site, then those that the chain has set, which win.
func (ch *chain) cookies(given []string) string {
	line := strings.Join(given, "; ")
	if ch.trust && ch.req.Cookie != "" {
		line = ch.req.Cookie
	}
	if ch.jar == nil {
		return line
	}
	set := ch.jar.Cookies(ch.url)
	var pairs []string
	for pair := range strings.SplitSeq(line, ";") {
		pair = strings.TrimSpace(pair)
		name, _, _ := strings.Cut(pair, "=")
		replaced := pair == ""
		for _, c := range set {
			replaced = replaced || c.Name == strings.TrimSpace(name)
		}
		if !replaced {
			pairs = append(pairs, pair)
		}
	}
	for _, c := range set {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}
