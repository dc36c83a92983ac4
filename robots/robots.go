// Package robots parses robots.txt into the rules, delay and sitemaps for an agent, and
// robots meta elements and headers of pages into Directives.
//
//	rules := robots.FromStatus(200, body)
//	if ok, line := rules.Allowed("HCEbot/1.0", "/private/?a=b"); !ok {
//		log.Info("denied", "rule", line) // "line 2: Disallow: /private"
//	}
//
// It follows RFC 9309. The caller fetches and caches the file. Rules are read-only, so
// goroutines may share them.
//
// # Why not a library
//
// The common library (temoto/robotstxt) rejects the whole file for one invalid line,
// matches agents by prefix, prefers the first of two equally long rules, measures a rule
// with "*" by the length of a regular expression, compares escapes by their spelling, and
// reads without a limit. RFC 9309 requires the opposite in each point.
//
// # Choices that RFC 9309 leaves open
//
//   - A line "User-Agent: Name/1.0 (x)" is read as Name. Names may contain digits.
//   - A User-Agent such as "Mozilla/5.0 (compatible; Name/1.0)" is matched by each of its
//     products. The longest name with a group wins, and Mozilla only without another match.
//   - Crawl-delay applies to the agents above it and does not end their list. For one agent, the
//     first delay below a list counts, and the longest of several lists.
//   - An escape equals its character in rules and URLs, except "%2F" in a path, which is not a
//     "/", and "%3F" before the query, which does not begin one.
//   - Keys match by their beginning, with the misspellings that Google's parser accepts
//     ("Dissallow", "Useragent", "Site-map"). A line of two words without a colon is a key and
//     its value. "User-agent: *bot*" names no agent.
//   - A file in UTF-16 with a byte order mark is read.
//   - A rule that begins with neither "/" nor "*" matches nothing.
package robots

import (
	"strconv"
	"time"
)

// MaxBody bounds the bytes that are parsed; RFC 9309 2.5 asks for 500 KiB. A truncated line
// is not read.
const MaxBody = 512 << 10

// maxDelay bounds a Crawl-delay, because a longer one would stop a site for good.
const maxDelay = 24 * time.Hour

// maxSitemaps bounds the sitemaps of one file, maxSitemap the bytes of each.
const (
	maxSitemaps = 1000
	maxSitemap  = 8 << 10
)

// Rules is a parsed robots.txt. The zero value allows everything.
type Rules struct {
	groups   map[string]*group // by product token in lower case, "*" for all others
	sitemaps []string
	denied   string // why everything is denied, else ""
}

// FromStatus returns the rules for a response to /robots.txt. 2xx: those of body. 3xx
// (unresolved redirects) and 4xx (no file): everything is allowed. All else, 429, and 0 for no
// response: everything is denied, and Allowed returns the reason as the deciding line.
// Source: RFC 9309 2.3.1, docs/spec/DECISIONS.md 6; 429: Google's interpretation of robots.txt.
func FromStatus(code int, body []byte) *Rules {
	switch {
	case code >= 200 && code < 300:
		return Parse(body)
	case code >= 300 && code < 500 && code != tooManyRequests:
		return &Rules{}
	case code <= 0:
		return &Rules{denied: "robots.txt unreachable"}
	}
	return &Rules{denied: "robots.txt answered with status " + strconv.Itoa(code)}
}

// tooManyRequests says that the server is overloaded, not that it has no file.
const tooManyRequests = 429

// Unavailable reports whether everything is denied because the server did not return its file.
func (r *Rules) Unavailable() bool { return r.denied != "" }

// Allowed reports whether agent, a product token or a whole User-Agent, may fetch
// pathWithQuery, which begins with "/" ("" means "/") and has no fragment. line is the
// deciding rule with its line number, for messages; "" without one. /robots.txt is always
// allowed. Source: RFC 9309 2.2.2.
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
	g := r.groupFor(agent)
	if g == nil {
		return true, ""
	}
	rule := g.decisiveRule(pathOctets(pathWithQuery))
	if rule == nil {
		return true, ""
	}
	return rule.allow, rule.line
}

// Delay returns the Crawl-delay for agent, 0 to 24 hours, and whether there is one.
func (r *Rules) Delay(agent string) (time.Duration, bool) {
	g := r.groupFor(agent)
	if g == nil || !g.hasDelay {
		return 0, false
	}
	return g.delay, true
}

// Sitemaps returns the distinct values of the Sitemap lines in file order: at most 1000, of
// at most 8 KiB, not validated. The caller must not change the slice.
func (r *Rules) Sitemaps() []string { return r.sitemaps }

// groupFor returns the group for agent: that of its most specific product, else "*", else nil.
func (r *Rules) groupFor(agent string) *group {
	if len(r.groups) == 0 {
		return nil
	}
	best, bestRank := r.groups["*"], 0
	for name := range productTokens(agent) {
		rank := 1 + len(name)
		if name == "mozilla" {
			rank = 1 // browsers and many crawlers contain it
		}
		if g := r.groups[name]; g != nil && rank > bestRank {
			best, bestRank = g, rank
		}
	}
	return best
}
