package cookies

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of a jar. Above them the oldest cookies are removed.
const (
	maxPerResponse = 100
	maxPerOwner    = 50   // registrable domain
	maxPerJar      = 3000 // cookies
	maxBytes       = 2 << 20
	maxLine        = 32 << 10 // bytes of one Cookie field
)

// Jar holds the cookies of one site. Goroutines may share it.
type Jar struct {
	mu      sync.Mutex
	cookies map[key]*cookie
	bytes   int
	changed map[key]bool // since the last Save
}

func newJar() *Jar {
	return &Jar{cookies: make(map[key]*cookie), changed: make(map[key]bool)}
}

// Header returns the Cookie field of a request to u at a stage: the text of p, then the
// jar's cookies that p does not name, longer paths and older cookies first. It returns ""
// if no cookie matches, or if p forbids cookies at that stage. Cookies beyond 32 KiB are left
// out.
func (j *Jar) Header(p Property, u *url.URL, stage Stage, now time.Time) string {
	host := cleanHost(u.Hostname())
	text, ok := p.Text(stage, host)
	if !ok {
		return ""
	}
	named := map[string]bool{}
	for pair := range strings.SplitSeq(text, ";") {
		if name, _, ok := strings.Cut(pair, "="); ok {
			named[trimBlanks(name)] = true
		}
	}
	line := []byte(strings.TrimRight(text, "; \t"))
	for _, c := range j.matchingCookies(host, requestPath(u), u.Scheme == "https", now) {
		if named[c.Name] || len(line)+len(c.Name)+len(c.Value)+3 > maxLine {
			continue
		}
		if len(line) > 0 {
			line = append(line, "; "...)
		}
		if c.Name != "" {
			line = append(append(line, c.Name...), '=')
		}
		line = append(line, c.Value...)
	}
	return string(line)
}

// matchingCookies returns the cookies for a request in the order of the field.
func (j *Jar) matchingCookies(host, path string, secure bool, now time.Time) []cookie {
	j.mu.Lock()
	var list []cookie
	for _, c := range j.cookies {
		if c.matchesRequest(host, path, secure, now) {
			list = append(list, *c)
		}
	}
	j.mu.Unlock()
	slices.SortFunc(list, func(a, b cookie) int {
		return cmp.Or(len(b.Path)-len(a.Path), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Domain, b.Domain))
	})
	return list
}

// SetCookies stores the cookies of a response from u, from its first 100 Set-Cookie lines.
// It ignores malformed lines and cookies that u may not set.
func (j *Jar) SetCookies(u *url.URL, header http.Header, now time.Time) {
	lines := header["Set-Cookie"]
	if len(lines) == 0 {
		return
	}
	now = now.Round(0).UTC() // the precision of a file
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, line := range lines[:min(len(lines), maxPerResponse)] {
		parsed, ok := parseSetCookie(line, now)
		if !ok {
			continue
		}
		c, ok := newCookie(parsed, u, now)
		if !ok || u.Scheme != "https" && j.hidesSecure(c, now) {
			continue
		}
		c.Created = now.Add(time.Duration(i)) // keeps the order of the lines
		j.putCookie(c)
		j.changed[c.key()] = true
	}
	j.enforceLimits(now)
}

// hidesSecure reports whether c, which came over plain HTTP, would hide a secure cookie
// (RFC 6265bis 5.7, step 16).
func (j *Jar) hidesSecure(c *cookie, now time.Time) bool {
	for _, old := range j.cookies {
		if old.Secure && !old.Gone && old.Expires.After(now) && old.Name == c.Name && pathMatch(c.Path, old.Path) &&
			(domainMatch(c.Domain, old.Domain) || domainMatch(old.Domain, c.Domain)) {
			return true
		}
	}
	return false
}

// putCookie stores c. If it replaces a cookie with the same key, it keeps its creation time.
func (j *Jar) putCookie(c *cookie) {
	if old := j.cookies[c.key()]; old != nil {
		if !old.Gone {
			c.Created = old.Created
		}
		j.removeCookie(old)
	}
	c.owner = ownerDomain(c.Domain)
	j.cookies[c.key()] = c
	j.bytes += c.size()
}

func (j *Jar) removeCookie(c *cookie) {
	delete(j.changed, c.key())
	delete(j.cookies, c.key())
	j.bytes -= c.size()
}

// mergeCookie stores c unless the cookie with the same key was set later. ours reports whether
// the old one wins if both were set at the same time.
func (j *Jar) mergeCookie(c cookie, ours bool) {
	old := j.cookies[c.key()]
	if old == nil || c.Set.After(old.Set) || !ours && c.Set.Equal(old.Set) {
		j.putCookie(&c)
	}
}

// enforceLimits enforces the limits of each owner, then of the jar.
func (j *Jar) enforceLimits(now time.Time) {
	byOwner := map[string][]*cookie{}
	for _, c := range j.cookies {
		byOwner[c.owner] = append(byOwner[c.owner], c)
	}
	for _, own := range byOwner {
		if len(own) > maxPerOwner {
			sortWorstFirst(own, now)
			for _, c := range own[:len(own)-maxPerOwner] {
				j.removeCookie(c)
			}
		}
	}
	if len(j.cookies) <= maxPerJar && j.bytes <= maxBytes {
		return
	}
	list := slices.Collect(maps.Values(j.cookies))
	sortWorstFirst(list, now)
	// Remove a tenth more, so that a full jar is not sorted for each response.
	for _, c := range list {
		if len(j.cookies) <= maxPerJar*9/10 && j.bytes <= maxBytes*9/10 {
			break
		}
		j.removeCookie(c)
	}
}

// sortWorstFirst sorts expired cookies first, then removed ones, then the oldest.
func sortWorstFirst(list []*cookie, now time.Time) {
	rank := func(c *cookie) int {
		switch {
		case !c.Expires.After(now):
			return 0
		case c.Gone:
			return 1
		}
		return 2
	}
	slices.SortFunc(list, func(a, b *cookie) int {
		return cmp.Or(rank(a)-rank(b), a.Set.Compare(b.Set), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Path, b.Path))
	})
}
