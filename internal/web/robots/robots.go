// Package robots turns the body of a robots.txt into what an agent may fetch,
// the delay it is asked to keep, and the sitemaps that are named; and what pages
// say to robots, in meta elements and headers, to Directives.
//
// It follows RFC 9309. Who fetched the body, how often and by which road is
// the caller's affair (crawl, hostgate): bytes in, rules out, no clock and no
// network. The rules are read only: goroutines may share them.
//
//	rules := robots.FromStatus(200, body)
//	if ok, line := rules.Allowed("HCEbot/1.0", "/private/?a=b"); !ok {
//		log.Info("denied", "rule", line) // "line 2: Disallow: /private"
//	}
//
// # Why a parser of our own
//
// The library in common use (temoto/robotstxt) gives up the whole file at one
// bad line, matches agents by prefix, lets the first of two equally long rules
// win, measures a rule with "*" by the length of a regular expression, compares
// escapes by their spelling, and reads without a limit. RFC 9309 wants the
// opposite in each point.
//
// # Where RFC 9309 leaves room
//
//   - A line "User-agent: Name/1.0 (x)" is read as Name. Digits count as part
//     of a name, as many crawlers have some.
//   - A User-Agent such as "Mozilla/5.0 (compatible; Name/1.0)" is asked for
//     each product it names; the longest name with a group wins, and Mozilla
//     only where nothing else does.
//   - Crawl-delay belongs to the agents named above it and does not end their
//     list. Of several in one list the first counts for an agent, of several
//     lists the longest.
//   - Escapes and the characters they stand for are equal, in both the rule
//     and the URL, except "%2F" in a path, which is no "/", and "%3F" before
//     the query, which does not begin one.
//   - A rule that begins with neither "/" nor "*" matches nothing.
package robots

import (
	"strconv"
	"time"
)

// MaxBody is how much of a body is parsed, in bytes: more than the 500 KiB
// that RFC 9309 2.5 asks for. A line that the limit cuts is not read.
const MaxBody = 512 << 10

// maxDelay bounds a Crawl-delay. Longer ones would stop a site for good.
const maxDelay = 24 * time.Hour

// maxSitemaps bounds the sitemaps that are kept of one file, maxSitemap the bytes
// of one.
const (
	maxSitemaps = 1000
	maxSitemap  = 8 << 10
)

// Rules is what one robots.txt says. The zero value allows everything.
type Rules struct {
	groups   map[string]*group // by product token in lower case, "*" for the rest
	sitemaps []string
	denied   string // why everything is denied, "" when it is not
}

// DisallowAll returns the rules of a host whose robots.txt could not be had:
// nothing may be fetched. reason is what Allowed gives as the deciding line.
// Source: RFC 9309 2.3.1.4.
func DisallowAll(reason string) *Rules {
	if reason == "" {
		reason = "robots.txt unreachable"
	}
	return &Rules{denied: reason}
}

// FromStatus returns the rules that an answer to a request for /robots.txt
// means. 2xx: those of body. 3xx: the redirects led nowhere, and 4xx: there is
// no file; both allow everything. Anything else, 0 for no answer included,
// forbids everything. Source: RFC 9309 2.3.1, docs/spec/DECISIONS.md 6.
func FromStatus(code int, body []byte) *Rules {
	switch {
	case code >= 200 && code < 300:
		return Parse(body)
	case code >= 300 && code < 500:
		return &Rules{}
	case code <= 0:
		return DisallowAll("")
	}
	return DisallowAll("robots.txt answered with status " + strconv.Itoa(code))
}

// Allowed tells whether agent, a product token or a whole User-Agent, may
// fetch pathWithQuery, which begins with "/" ("" is "/"); a fragment must not
// be in it. line is the rule that decided, with its number, for people to
// read; "" when none matched. /robots.txt is always allowed.
// Source: RFC 9309 2.2.2.
func (r *Rules) Allowed(agent, pathWithQuery string) (ok bool, line string) {
	if pathWithQuery == "" {
		pathWithQuery = "/"
	}
	if pathWithQuery == "/robots.txt" {
		return true, ""
	}
	if r.denied != "" {
		return false, r.denied
	}
	g := r.group(agent)
	if g == nil {
		return true, ""
	}
	rule := g.decide(octets(pathWithQuery))
	if rule == nil {
		return true, ""
	}
	return rule.allow, rule.line
}

// Delay returns the Crawl-delay asked of agent, at most 24 hours, and whether
// there is one. A delay of 0 counts as one.
func (r *Rules) Delay(agent string) (time.Duration, bool) {
	g := r.group(agent)
	if g == nil || !g.hasDelay {
		return 0, false
	}
	return g.delay, true
}

// Sitemaps returns the values of the Sitemap lines in their order, each once,
// at most 1000 of at most 8 KiB, not checked to be URLs. The caller must not change the slice.
func (r *Rules) Sitemaps() []string { return r.sitemaps }

// group returns the group that agent obeys: the most specific of its names,
// else that of "*", else nil.
func (r *Rules) group(agent string) *group {
	if len(r.groups) == 0 {
		return nil
	}
	best, bestRank := r.groups["*"], 0
	for name := range products(agent) {
		rank := 1 + len(name)
		if name == "mozilla" {
			rank = 1 // every browser and many a crawler says so
		}
		if g := r.groups[name]; g != nil && rank > bestRank {
			best, bestRank = g, rank
		}
	}
	return best
}
