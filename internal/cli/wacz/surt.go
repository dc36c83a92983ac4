package wacz

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var www = regexp.MustCompile(`^(https?://)www\d*\.`)

// surt returns the key by which readers look a URL up: lower case, the parts of the host in reverse
// order, the parts of the query sorted. It has no blanks. A URL that is not of HTTP, or is broken, is
// its own key.
func surt(text string) string {
	u, err := url.Parse(strings.ToLower(www.ReplaceAllString(text, "$1")))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return strings.ReplaceAll(text, " ", "%20")
	}
	host, port, _ := strings.Cut(u.Host, ":")
	if strings.HasPrefix(u.Host, "[") { // IPv6
		host, port = "["+u.Hostname()+"]", u.Port()
	}
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	key := strings.Join(parts, ",")
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		key += ":" + port
	}
	key += ")" + u.EscapedPath()
	if u.Path == "" {
		key += "/"
	}
	if u.RawQuery != "" {
		query := strings.Split(u.RawQuery, "&")
		slices.Sort(query)
		key += "?" + strings.Join(query, "&")
	}
	return strings.ReplaceAll(key, " ", "%20")
}
