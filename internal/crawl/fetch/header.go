package fetch

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"hce/dc/internal/web/coding"
)

// notSent are the fields of Request.Header that the Client sets or that belong to a
// connection. Old header files contain "Connection: close". Fields for a proxy come from
// its URL, and no target may see them.
var notSent = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Host": true,
	"Keep-Alive": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// credentials are the fields that only the first site receives.
var credentials = map[string]bool{
	"Authorization": true, "Cookie": true, "Cookie2": true,
	"Www-Authenticate": true,
}

// sentHeader returns the header of the current hop as sent. net/http takes Host and
// Content-Length from elsewhere and ignores them here; they are in the header for the
// record.
func (ch *chain) sentHeader() http.Header {
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
	h["Accept-Encoding"] = []string{coding.Accept}
	set("User-Agent", DefaultUserAgent)
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
	if ch.req.Jar != nil {
		if line := joinCookies(strings.Join(h["Cookie"], "; "), ch.req.Jar.Cookies(ch.url)); line != "" {
			h["Cookie"] = []string{line}
		}
	}
	return h
}
