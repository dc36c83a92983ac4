package sitemap

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// home is where a sitemap comes from.
type home struct{ scheme, site string }

func homeOf(url string) home {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return home{scheme: "http"}
	}
	rest = rest[strings.LastIndexByte(rest[:pathOf(rest)], '@')+1:]
	return home{scheme, siteOf(rest[:pathOf(rest)])}
}

// absoluteAddress adds the scheme to an address that begins with a host: one of the sitemap's site, one
// that begins with "www.", or one under a public suffix before a path. Others, such as "a.html"
// and "a/b.html", are relative, and remain as they are.
func (h home) absoluteAddress(address string) string {
	if strings.HasPrefix(address, "//") {
		return h.scheme + ":" + address
	}
	end := pathOf(address)
	host := address[:end]
	if !isHost(host) {
		return address
	}
	name := strings.ToLower(hostWithoutPort(host))
	_, known := publicsuffix.PublicSuffix(name)
	if siteOf(host) == h.site || strings.HasPrefix(name, "www.") || known && strings.Contains(name, ".") && strings.HasPrefix(address[end:], "/") {
		return h.scheme + "://" + address
	}
	return address
}

// pathOf returns where the path or query of an address without a scheme begins.
func pathOf(address string) int {
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		return i
	}
	return len(address)
}

// isHost reports whether text is a name or an IPv4 address, with an optional port.
func isHost(text string) bool {
	name := hostWithoutPort(text)
	if port := text[len(name):]; port == ":" || port != "" && strings.Trim(port[1:], "0123456789") != "" {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, func(c rune) bool {
			return !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c >= 0x80)
		}) {
			return false
		}
	}
	return true
}

// hostWithoutPort returns a host without its port.
func hostWithoutPort(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}

// siteOf returns the registrable domain of a host, or its name if it has no such domain.
func siteOf(host string) string {
	name := strings.ToLower(hostWithoutPort(host))
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return domain
	}
	return name
}
