package canonical

import "strings"

// Host returns the host by which politeness counts: lower case, without user and password,
// with ":port" unless it is the scheme's default port. So http and https of one name are
// one host. It returns "" if the URL, canonical or nearly so, has no authority.
func Host(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		host = rest[:i]
	}
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	switch strings.ToLower(scheme) {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}
