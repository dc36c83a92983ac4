package cookies

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of a jar. What goes beyond them goes oldest first.
const (
	maxPerResponse = 100
	maxPerOwner    = 50   // registrable domain
	maxPerJar      = 3000 // cookies
	maxBytes       = 2 << 20
	maxLine        = 32 << 10 // bytes of the line sent
)

// Jar holds the cookies of one site. Any number of goroutines may share it.
type Jar struct {
	mu      sync.Mutex
	owners  map[string]map[key]*cookie // by registrable domain
	count   int
	bytes   int
	changed map[key]bool // since the last Save
}

func newJar() *Jar {
	return &Jar{owners: make(map[string]map[key]*cookie), changed: make(map[key]bool)}
}

// Header returns the Cookie line for a request to u at a stage: the text of p,
// then the jar's cookies that p does not name, those of longer paths and older
// ones first. It is "" when there is none, or when p forbids cookies at that
// stage. A line has at most 32 KiB; what does not fit stays out.
func (j *Jar) Header(p Property, u *url.URL, stage Stage, now time.Time) string {
	host := cleanHost(u.Hostname())
	text, ok := p.Text(stage, host)
	if !ok {
		return ""
	}
	named := map[string]bool{}
	for pair := range strings.SplitSeq(text, ";") {
		if name, _, ok := strings.Cut(pair, "="); ok {
			named[trim(name)] = true
		}
	}
	line := []byte(strings.TrimRight(text, "; \t"))
	for _, c := range j.matching(host, requestPath(u), u.Scheme == "https", now) {
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

// matching returns the cookies for a request in the order of sending.
func (j *Jar) matching(host, path string, secure bool, now time.Time) []cookie {
	j.mu.Lock()
	var list []cookie
	for _, c := range j.owners[owner(host)] {
		if c.matches(host, path, secure, now) {
			list = append(list, *c)
		}
	}
	j.mu.Unlock()
	slices.SortFunc(list, func(a, b cookie) int {
		return cmp.Or(len(b.Path)-len(a.Path), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Domain, b.Domain))
	})
	return list
}

// SetCookies takes the Set-Cookie lines of a response from u, the first 100 of
// them. Lines that are malformed, or that u may not send, are passed over.
func (j *Jar) SetCookies(u *url.URL, header http.Header, now time.Time) {
	lines := header["Set-Cookie"]
	if len(lines) == 0 {
		return
	}
	now = now.Round(0).UTC() // as a file keeps it
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, line := range lines[:min(len(lines), maxPerResponse)] {
		parsed, ok := parse(line, now)
		if !ok {
			continue
		}
		c, ok := newCookie(parsed, u, now)
		if !ok || u.Scheme != "https" && j.hidesSecure(c, now) {
			continue
		}
		c.Created = now.Add(time.Duration(i)) // keeps the order of the lines
		j.put(c)
		j.changed[c.key()] = true
	}
	j.trimTo(owner(cleanHost(u.Hostname())), now)
}

// hidesSecure reports whether c, which came over an open connection, would stand
// before a secure cookie (RFC 6265bis 5.7, step 16).
func (j *Jar) hidesSecure(c *cookie, now time.Time) bool {
	for _, old := range j.owners[owner(c.Domain)] {
		if old.Secure && !old.Gone && old.Expires.After(now) && old.Name == c.Name && pathMatch(c.Path, old.Path) &&
			(domainMatch(c.Domain, old.Domain) || domainMatch(old.Domain, c.Domain)) {
			return true
		}
	}
	return false
}

// put adds c in the place of the one with its key, whose age it takes.
func (j *Jar) put(c *cookie) {
	domain, k := owner(c.Domain), c.key()
	if old := j.owners[domain][k]; old != nil {
		if !old.Gone {
			c.Created = old.Created
		}
		j.remove(domain, old)
	}
	if j.owners[domain] == nil {
		j.owners[domain] = make(map[key]*cookie)
	}
	j.owners[domain][k] = c
	j.count++
	j.bytes += c.size()
}

func (j *Jar) remove(domain string, c *cookie) {
	delete(j.changed, c.key())
	delete(j.owners[domain], c.key())
	if len(j.owners[domain]) == 0 {
		delete(j.owners, domain)
	}
	j.count--
	j.bytes -= c.size()
}

// merge takes c unless the one with its key was set later; ours says who wins
// when both were set at the same time.
func (j *Jar) merge(c cookie, ours bool) {
	old := j.owners[owner(c.Domain)][c.key()]
	if old == nil || c.Set.After(old.Set) || !ours && c.Set.Equal(old.Set) {
		j.put(&c)
	}
}

// trimTo brings one owner, then the jar, within the limits.
func (j *Jar) trimTo(domain string, now time.Time) {
	if cookies := j.owners[domain]; len(cookies) > maxPerOwner {
		list := make([]*cookie, 0, len(cookies))
		for _, c := range cookies {
			list = append(list, c)
		}
		sortWorstFirst(list, now)
		for _, c := range list[:len(list)-maxPerOwner] {
			j.remove(domain, c)
		}
	}
	if j.count <= maxPerJar && j.bytes <= maxBytes {
		return
	}
	list := j.all()
	sortWorstFirst(list, now)
	// A tenth more than must go, so that a full jar is not sorted for each response.
	for _, c := range list {
		if j.count <= maxPerJar*9/10 && j.bytes <= maxBytes*9/10 {
			break
		}
		j.remove(owner(c.Domain), c)
	}
}

func (j *Jar) all() []*cookie {
	list := make([]*cookie, 0, j.count)
	for _, cookies := range j.owners {
		for _, c := range cookies {
			list = append(list, c)
		}
	}
	return list
}

// sortWorstFirst puts what is over first, then what is gone, then the oldest.
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
