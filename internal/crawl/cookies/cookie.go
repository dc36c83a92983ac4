package cookies

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// cookie is one cookie as stored in a file. A removed one stays for a while without its
// value, so that a process which has it in memory does not restore it.
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

	owner string // set by Jar.putCookie
}

// key identifies a cookie.
type key struct {
	name, domain, path string
	hostOnly           bool
}

func (c *cookie) key() key { return key{c.Name, c.Domain, c.Path, c.HostOnly} }

// size returns the bytes that count for the limits.
func (c *cookie) size() int { return len(c.Name) + len(c.Value) + len(c.Domain) + len(c.Path) }

// isValid refuses cookies that only a hand-edited file can contain, and limits times in the
// future.
func (c *cookie) isValid(now time.Time) bool {
	if c.Set.After(now) {
		c.Set = now
	}
	if latest := now.Add(maxAge); c.Expires.After(latest) {
		c.Expires = latest
	}
	return c.Expires.After(now) && isSendable(c.Name, c.Value) && (c.Gone || c.Name+c.Value != "") &&
		c.Domain != "" && c.Domain == cleanHost(c.Domain) && len(c.Domain) <= maxAttribute &&
		strings.HasPrefix(c.Path, "/") && len(c.Path) <= maxAttribute
}

// newCookie returns the cookie of a line from u (RFC 6265bis 5.7). ok is false if u may not
// set it.
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

// prefixHolds checks the name prefixes (RFC 6265bis 4.1.3). A cookie without a name must
// not imitate one by its value.
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

// matchesRequest reports whether a request to u carries c.
func (c *cookie) matchesRequest(host, path string, secure bool, now time.Time) bool {
	return !c.Gone && c.Expires.After(now) && (secure || !c.Secure) &&
		(c.Domain == host || !c.HostOnly && domainMatch(host, c.Domain)) && pathMatch(path, c.Path)
}

// domainMatch reports whether host is domain or below it.
func domainMatch(host, domain string) bool {
	return host == domain ||
		strings.HasSuffix(host, domain) && host[len(host)-len(domain)-1] == '.' && !isIP(host)
}

// pathMatch reports whether path is prefix or below it.
func pathMatch(path, prefix string) bool {
	return strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || strings.HasSuffix(prefix, "/") || path[len(prefix)] == '/')
}

// requestPath returns the path of u as sent.
func requestPath(u *url.URL) string {
	if path := u.EscapedPath(); strings.HasPrefix(path, "/") {
		return path
	}
	return "/"
}

// defaultPath returns the folder of u.
func defaultPath(u *url.URL) string {
	path := requestPath(u)
	if end := strings.LastIndexByte(path, '/'); end > 0 {
		return path[:end]
	}
	return "/"
}

// isSuffix reports whether domain is a public suffix.
func isSuffix(domain string) bool {
	if isIP(domain) {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

// ownerDomain returns the domain whose cookies share a limit: the registrable one, so that new
// host names do not give more room.
func ownerDomain(host string) string {
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
