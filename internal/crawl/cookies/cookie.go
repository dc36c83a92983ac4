package cookies

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// cookie is one cookie as a file keeps it. One that is gone stays for a while
// without its value, so that a process that has it in memory does not bring it
// back.
type cookie struct {
	Name     string    `json:"name"`
	Value    string    `json:"value"`
	Domain   string    `json:"domain"`
	Path     string    `json:"path"`
	HostOnly bool      `json:"hostOnly,omitempty"`
	Secure   bool      `json:"secure,omitempty"`
	Gone     bool      `json:"gone,omitempty"`
	Created  time.Time `json:"created"`
	Set      time.Time `json:"set"`
	Expires  time.Time `json:"expires"`
}

// key is what makes a cookie the same.
type key struct {
	name, domain, path string
	hostOnly           bool
}

func (c *cookie) key() key { return key{c.Name, c.Domain, c.Path, c.HostOnly} }

// size is what a cookie counts in bytes.
func (c *cookie) size() int { return len(c.Name) + len(c.Value) + len(c.Domain) + len(c.Path) }

// valid refuses what only a file that was changed by hand can hold, and brings
// times that lie ahead of the clock back to it.
func (c *cookie) valid(now time.Time) bool {
	if c.Set.After(now) {
		c.Set = now
	}
	if latest := now.Add(maxAge); c.Expires.After(latest) {
		c.Expires = latest
	}
	return c.Expires.After(now) && sendable(c.Name, c.Value) && (c.Gone || c.Name+c.Value != "") &&
		c.Domain != "" && c.Domain == cleanHost(c.Domain) && len(c.Domain) <= maxAttribute &&
		strings.HasPrefix(c.Path, "/") && len(c.Path) <= maxAttribute
}

// newCookie makes the cookie that a line from u sets (RFC 6265bis 5.7). Not ok:
// u may not set it.
func newCookie(line setCookie, u *url.URL, now time.Time) (c *cookie, ok bool) {
	host := cleanHost(u.Hostname())
	secure := u.Scheme == "https"
	c = &cookie{
		Name: line.name, Value: line.value, Domain: host, Path: line.path, HostOnly: true, Secure: line.secure,
		Created: now, Set: now, Expires: line.expires,
	}
	if c.Path == "" {
		c.Path = defaultPath(u)
	}
	if host == "" || len(host) > maxAttribute || len(c.Path) > maxAttribute || line.secure && !secure {
		return nil, false
	}
	if line.domain != "" && !(line.domain == host && isSuffix(host)) {
		if !domainMatch(host, line.domain) || isSuffix(line.domain) {
			return nil, false
		}
		c.Domain, c.HostOnly = line.domain, isIP(host)
	}
	if !prefixHolds(c, line) {
		return nil, false
	}
	if line.expires.IsZero() {
		c.Gone, c.Value, c.Expires = true, "", now.Add(SessionAge)
	}
	return c, true
}

// prefixHolds keeps the promises of the name prefixes (RFC 6265bis 4.1.3). A
// cookie without a name cannot make them with its value.
func prefixHolds(c *cookie, line setCookie) bool {
	text := c.Name
	if text == "" {
		text = line.value
	}
	text = strings.ToLower(text[:min(len(text), len("__secure-"))])
	secure, host := text == "__secure-", strings.HasPrefix(text, "__host-")
	switch {
	case !secure && !host:
		return true
	case c.Name == "" || !c.Secure:
		return false
	}
	return secure || c.HostOnly && line.domain == "" && c.Path == "/"
}

// matches reports whether a request to u carries c.
func (c *cookie) matches(host, path string, secure bool, now time.Time) bool {
	return !c.Gone && c.Expires.After(now) && (secure || !c.Secure) &&
		(c.Domain == host || !c.HostOnly && domainMatch(host, c.Domain)) && pathMatch(path, c.Path)
}

// domainMatch reports whether host is domain or lies below it.
func domainMatch(host, domain string) bool {
	return host == domain ||
		strings.HasSuffix(host, domain) && host[len(host)-len(domain)-1] == '.' && !isIP(host)
}

// pathMatch reports whether path is prefix or lies below it.
func pathMatch(path, prefix string) bool {
	return strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || strings.HasSuffix(prefix, "/") || path[len(prefix)] == '/')
}

// requestPath is the path of u as it is sent.
func requestPath(u *url.URL) string {
	if path := u.EscapedPath(); strings.HasPrefix(path, "/") {
		return path
	}
	return "/"
}

// defaultPath is the folder of u.
func defaultPath(u *url.URL) string {
	path := requestPath(u)
	if end := strings.LastIndexByte(path, '/'); end > 0 {
		return path[:end]
	}
	return "/"
}

// isSuffix reports whether anybody can register names below domain.
func isSuffix(domain string) bool {
	if isIP(domain) {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

// owner is the domain whose cookies share a limit: the registrable one, so that
// nobody gets room by inventing hosts.
func owner(host string) string {
	if isIP(host) {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
