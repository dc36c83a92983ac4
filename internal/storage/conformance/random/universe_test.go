package random_test

import (
	"math/rand/v2"
	"strings"

	"hce/dc/internal/wire"
)

// generator makes requests from random numbers. The universe of ids and texts is small, so
// that requests find rows of other requests.
type generator struct{ r *rand.Rand }

type (
	object = map[string]any
	list   = []any
)

func newGenerator(seed uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 0))}
}

// one is true with probability 1/n.
func (g *generator) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) text(values ...string) string { return values[g.r.IntN(len(values))] }

func (g *generator) int(values ...int64) int64 { return values[g.r.IntN(len(values))] }

// hosts are the root URLs of sites and prefixes of the URLs.
var hosts = []string{"http://one.test/", "http://two.test:8080/", "HTTP://Three.Test/", "https://user@four.test/"}

var paths = []string{"", "a", "A", "a?id=7", "page/1", "Page/1", "straße", "имя/☃", "trailing ", "100%_sure?q='\"\\🙂"}

// urls combine all hosts with all paths.
var urls = func() []string {
	var all []string
	for _, host := range hosts {
		for _, path := range paths {
			all = append(all, host+path)
		}
	}
	return all
}()

// siteIDs are the site ids in requests. URL_NEW with siteSelect 1 and 2 makes more from
// hosts.
var siteIDs = []string{wire.GeneralSite, "a1", "B2", "third_site-3", wire.Md5(hosts[0]), wire.Md5(hosts[1])}

// site is usually the id of a site that may exist.
func (g *generator) site() string {
	switch g.r.IntN(40) {
	case 0, 1:
		return "nosuch"
	case 2:
		return g.text("A1", "b2", "THIRD_SITE-3")
	case 3:
		return g.text("", "x/y", "a' OR '1'='1", strings.Repeat("x", 33), "имя")
	case 4:
		return wire.Md5(hosts[2])
	}
	return g.someSite()
}

// someSite is one of siteIDs, usually one of the first two, so that requests share rows.
func (g *generator) someSite() string {
	if g.one(2) {
		return g.text(siteIDs[1], siteIDs[4])
	}
	return g.text(siteIDs...)
}

// someURL is one of urls, usually one of the first.
func (g *generator) someURL() string {
	if g.one(2) {
		return g.text(urls[:len(paths)]...)
	}
	return g.text(urls...)
}

// newSiteID is an id for SITE_NEW.
func (g *generator) newSiteID() string {
	if g.one(25) {
		return g.site()
	}
	return g.text(siteIDs[1:]...)
}

func (g *generator) url() string {
	if g.one(40) {
		return g.text("not a url", "mailto:x@y.test", "", "http://", hosts[0]+strings.Repeat("long/", 80))
	}
	return g.someURL()
}

// md5 is usually the key of a URL.
func (g *generator) md5() string {
	switch g.r.IntN(50) {
	case 0:
		return strings.Repeat("0", 32)
	case 1:
		return g.text("abc", strings.ToUpper(wire.Md5(urls[0])), "")
	}
	return wire.Md5(g.someURL())
}

func (g *generator) mask() int64 {
	return g.int(0, 0, 0, 1, 6, 4, 1<<22, 4198399, 1<<31, 1<<52, 1<<53, 1<<58, 1<<58|1)
}

// date is a date in a request (docs/spec/objects.md 4.3), rarely an invalid one.
func (g *generator) date() any {
	switch g.r.IntN(16) {
	case 0:
		return nil
	case 1:
		return object{"str": g.text("NOW()", "DATE_SUB(NOW(), INTERVAL 2 HOUR)", "NULL")}
	case 2:
		return g.text("'2026-01-04 23:59:59'", "2026-01-03", "2026-01-05T10:00:00Z")
	case 3:
		return g.text("CURDATE()", "DATE_SUB(NOW(), INTERVAL 1 DAY)", "DATE_FORMAT(NOW(), '%Y-%m-%d 00:00:00')", "NULL")
	case 4:
		return g.text("DATE_ADD(CDate, INTERVAL 5 MINUTE)", "DATE_SUB(NOW(), INTERVAL 90 SECOND)", "DATE_ADD('2026-01-31', INTERVAL 1 MONTH)")
	case 5, 6, 7, 8:
		return "NOW()"
	case 9:
		if g.one(4) {
			return g.text("2026-13-45", "NOW(", "SLEEP(5)", "Nonsense", "2026-02-30 10:00:00", "' OR 1=1 -- ")
		}
	}
	return g.plainDate()
}

func (g *generator) plainDate() string {
	return g.text("2026-01-01 00:00:00", "2026-01-05 10:00:00", "2026-01-05 10:00:01", "2025-12-31 23:59:59", "2026-03-01 12:30:45", "2024-02-29 08:00:00")
}

// word is a text that databases may treat differently: case, final spaces, non-ASCII
// letters, quotes.
func (g *generator) word() string {
	return g.text("", "sport", "Sport", "SPORT ", "old", "Новости ☃", "emoji 🙂", `quote ' " \ %`, " two  spaces ", "0", "12", "null")
}

// attributeName is one of a few names, in upper or lower case.
func (g *generator) attributeName() string {
	return g.text("topic", "topic", "Topic", "lang", "Größe", "x y")
}

func (g *generator) proxyHost() string {
	return g.text("proxy.test:3128", "Proxy.test:3128", "10.0.0.1:80", "other.test:8080", "third.test:1")
}
