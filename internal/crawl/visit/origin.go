package visit

import (
	"net/http"
	"strings"

	"golang.org/x/net/publicsuffix"

	"hce/dc/canonical"
)

// DeclaredType joins all Content-Type headers.
func DeclaredType(h http.Header) string { return strings.Join(h.Values("Content-Type"), ", ") }

// SiteOf returns the registrable domain of a URL, or its host if there is no such domain
// (docs/spec/crawling.md F48).
func SiteOf(target string) string {
	host := canonical.Host(target)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// SplitOrigin cuts a URL into its origin (scheme, host and port) and the path with query that
// robots.txt rules match.
func SplitOrigin(target string) (origin, path string) {
	_, rest, _ := strings.Cut(target, "://")
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		return target, "/"
	}
	end += len(target) - len(rest)
	path, _, _ = strings.Cut(target[end:], "#")
	if path == "" {
		path = "/"
	}
	return target[:end], path
}
