package site

import (
	"net/http"
	"slices"
	"strings"
)

// Trouble is one URL of the example site that is not an ordinary page, and the expected
// result of its crawl.
type Trouble struct {
	Path string
	What string
	// Code is the HTTP code before redirects; 0 without an HTTP answer.
	Code int
	// Bits are the possible error bits, by docs/spec/crawling.md 2.4 and 2.8 and
	// docs/spec/DECISIONS.md 2: the row must have one of them. Empty: no error.
	Bits []int

	serve http.HandlerFunc // nil: a file, or a missing file
}

// Fits reports whether the error mask of a row is expected.
func (t Trouble) Fits(mask int64) bool {
	if len(t.Bits) == 0 {
		return mask == 0
	}
	return slices.ContainsFunc(t.Bits, func(bit int) bool { return mask>>bit&1 == 1 })
}

// Error bits of the troubles.
const (
	bitBadURL      = 0
	bitTimeout     = 1
	bitHTTP        = 2
	bitEmpty       = 3
	bitConnection  = 5
	bitConvert     = 6
	bitBadRedirect = 7
	bitSize        = 8
	bitRobots      = 11
	bitEncoding    = 13
	bitRedirects   = 17
	bitAmbiguous   = 22
	bitFetchHTTP   = 24
	bitTooMany     = 26
	bitDecoding    = 35
	bitForbidden   = 48
	bitFilters     = 55
	bitGuard       = 58
)

// Troubles lists all troubles. A page with an error outside the list was crawled wrongly.
// Not every trouble has a row: some are only redirect targets, and URLs that robots.txt
// denies may have none. Pages above 10 MB have their error bit only with a size limit of at
// most 10 MB, and the page of single bytes only after a timeout.
func Troubles() []Trouble { return listTroubles(Options{}) }

// Forbidden reports whether a crawler must never request path: robots.txt denies it, or
// only text that looks like a link mentions it.
func Forbidden(path string) bool {
	switch {
	case path == "/private/open.html":
		return false
	case strings.HasPrefix(path, "/private/"), strings.HasPrefix(path, "/wrong/"):
		return true
	}
	return path == "/links/commented-out.html" || path == "/links/written-by-script.html"
}

func listTroubles(o Options) []Trouble {
	return []Trouble{
		{"/fault/403.html", "forbidden", 403, []int{bitForbidden}, serveStatus(http.StatusForbidden)},
		{"/fault/404.html", "not there", 404, []int{bitHTTP}, nil},
		{"/fault/410.html", "gone for good", 410, []int{bitHTTP}, serveStatus(http.StatusGone)},
		{"/fault/500.html", "an error of the server", 500, []int{bitHTTP}, serveStatus(http.StatusInternalServerError)},
		{"/fault/503.html", "too busy", 503, []int{bitHTTP}, serveBusy},
		{"/fault/post-only", "the target of a form that deletes", 405, []int{bitHTTP}, postOnly},
		{"/links/nothing-here.html", "a broken link", 404, []int{bitHTTP}, nil},
		{"/media/missing.png", "a picture that is not there", 404, []int{bitHTTP}, nil},

		{"/fault/empty.html", "an empty page", 200, []int{bitEmpty}, serveEmpty},
		{"/fault/slow.html", "a slow page", 200, nil, serveSlow(o.Slow)},
		{"/fault/trickle.html", "a page that comes in drops", 200, []int{bitTimeout}, serveTrickle(o.Drop)},
		{"/fault/big.html", "three megabytes", 200, nil, serveLong(3_000_000)},
		{"/fault/huge.html", "eleven megabytes", 200, []int{bitSize}, serveLong(11_000_000)},
		{"/fault/endless.html", "a body without an end", 200, []int{bitSize}, serveEndless},
		{"/fault/gzip.html", "compressed, and well", 200, nil, serveZipped},
		{"/fault/cut-gzip.html", "compressed, cut off", 200, []int{bitConvert}, cutZip},
		{"/fault/not-gzip.html", "said to be compressed, and is not", 200, []int{bitConvert}, notZip},
		{"/fault/bomb.html", "32 KB that unpack to 32 MB", 200, []int{bitSize}, serveBomb},
		{"/fault/short.html", "fewer bytes than Content-Length", 200, []int{bitConnection, bitConvert, bitAmbiguous, bitFetchHTTP}, serveRaw(shortAnswer)},
		{"/fault/long.html", "more bytes than Content-Length", 200, nil, serveRaw(longAnswer)},
		{"/fault/cut-chunk.html", "chunks that break off", 200, []int{bitConvert, bitConnection}, serveRaw(cutChunkAnswer)},
		{"/fault/reset.html", "closed without an answer", 0, []int{bitConnection, bitAmbiguous, bitFetchHTTP}, resetConnection},
		{"/fault/garbage.html", "no HTTP at all", 0, []int{bitConnection, bitAmbiguous, bitFetchHTTP}, serveRaw(garbageAnswer)},

		{"/go/301", "moved for good", 301, nil, serveRedirect(301, "/town/mill.html")},
		{"/go/302", "found elsewhere", 302, nil, serveRedirect(302, "/town/lighthouse.html")},
		{"/go/303", "see other", 303, nil, serveRedirect(303, "/town/market.html")},
		{"/go/307", "moved for now", 307, nil, serveRedirect(307, "/town/museum.html")},
		{"/go/308", "moved for good, strictly", 308, nil, serveRedirect(308, "/town/ferry.html")},
		{"/go/relative", "a relative target", 302, nil, serveRedirect(302, "../crawler/batch.html")},
		{"/go/chain/1", "three in a row", 302, nil, serveRedirect(302, "/go/chain/2")},
		{"/go/chain/2", "the second of three", 301, nil, serveRedirect(301, "3")},
		{"/go/chain/3", "the last of three", 307, nil, serveRedirect(307, "/town/lighthouse.html")},
		{"/go/loop/a", "a loop of two", 302, []int{bitRedirects, bitTooMany}, serveRedirect(302, "/go/loop/b")},
		{"/go/loop/b", "the other half of it", 302, []int{bitRedirects, bitTooMany}, serveRedirect(302, "/go/loop/a")},
		{"/go/self", "a loop of one", 302, []int{bitRedirects, bitTooMany}, serveRedirect(302, "/go/self")},
		{"/go/missing", "to a page that is not there", 302, []int{bitHTTP}, serveRedirect(302, "/town/nobody.html")},
		{"/go/nowhere", "without a target", 302, []int{bitBadRedirect, bitAmbiguous, bitTooMany}, serveRedirect(302, "")},
		{"/go/away", "to a name that does not resolve", 302, []int{bitFilters, bitConnection, bitBadRedirect}, serveRedirect(302, "http://nosuch.invalid/")},
		{"/go/inside", "into the inner network", 302, []int{bitGuard, bitFilters, bitBadRedirect}, serveRedirect(302, "http://169.254.169.254/latest/")},
		{"/go/file", "to a file of the machine", 302, []int{bitBadRedirect, bitFilters, bitGuard, bitBadURL}, serveRedirect(302, "file:///etc/passwd")},

		{"/charsets/broken.html", "a charset that nobody knows, and bytes that are no letters", 200, []int{bitEncoding, bitDecoding}, nil},
		{"/town/%zz.html", "a path with a percent sign that escapes nothing", 404, []int{bitHTTP, bitBadURL}, nil},
		{"/private/ledger.html", "closed by robots.txt", 200, []int{bitRobots}, nil},
	}
}
