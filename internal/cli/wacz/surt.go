package wacz

import (
	"regexp"
	"slices"
	"strings"

	"hce/dc/canonical"
)

var www = regexp.MustCompile(`^(https?://)www\d*\.`)

// lookupKey returns the key by which readers look a URL up: lower case, the parts of the host in reverse
// order, the parts of the query sorted. It has no blanks. A URL that is not of HTTP, or is broken, is
// its own key.
func lookupKey(text string) string {
	u := canonical.Split(strings.ToLower(www.ReplaceAllString(text, "$1")))
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Contains(u.Host, "%") {
		return strings.ReplaceAll(text, " ", "%20")
	}
	host, port := u.Hostname(), u.Port()
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	key := strings.Join(parts, ",")
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		key += ":" + port
	}
	key += ")" + u.Path
	if u.Query != "" {
		query := strings.Split(u.Query, "&")
		slices.Sort(query)
		key += "?" + strings.Join(query, "&")
	}
	return strings.ReplaceAll(key, " ", "%20")
}
