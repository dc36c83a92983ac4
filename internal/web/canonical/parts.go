package canonical

import "strings"

// Host returns the authority by which politeness counts: the host in lower
// case, with ":port" unless the port is the scheme's own. http and https of
// one name are so one host, as they mostly are one machine; user and password
// do not count. url is canonical or nearly so; "" when it has no authority.
func Host(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host := netloc(rest)
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	switch strings.ToLower(scheme) {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}

// SiteURL returns scheme://netloc/ of url: the root URL of the site that is
// made for it. url is canonical or nearly so; "" when it has no authority.
// The seed builds the id of such a site as the md5 of this text.
func SiteURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme == "" {
		return ""
	}
	n := netloc(rest)
	if n == "" {
		return ""
	}
	return scheme + "://" + n + "/"
}

// netloc returns what stands before the path, query or fragment.
func netloc(rest string) string {
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		return rest[:i]
	}
	return rest
}
