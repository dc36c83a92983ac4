package crawl

import (
	"errors"
	"net/http"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

// faults maps failures of requests to error bits (docs/spec/crawling.md 2.4,
// docs/spec/DECISIONS.md 2).
var faults = map[fetch.Kind]wire.ErrorMask{
	fetch.BadURL:           wire.ErrBadURL,
	fetch.Timeout:          wire.ErrTimeout,
	fetch.Connect:          wire.ErrConnection,
	fetch.Proxy:            wire.ErrConnection,
	fetch.TooManyRedirects: wire.ErrMaxHTTPRedirects,
	fetch.RedirectLoop:     wire.ErrMaxHTTPRedirects,
	fetch.BadRedirect:      wire.ErrBadRedirection,
	fetch.TooLarge:         wire.ErrSize,
	fetch.BadEncoding:      wire.ErrPageConvert,
	fetch.Truncated:        wire.ErrPageConvert,
	fetch.BadResponse:      wire.ErrFetchHTTP,
	fetch.Guard:            wire.ErrGuard | wire.ErrConnection,
	fetch.Other:            wire.ErrFetchAmbiguous,
}

// faultBits returns the error bits and the HTTP code of a failed item. Code 0 means 400; a body
// that is too large keeps its code (docs/spec/crawling.md 2.3 step 30, 2.4).
func faultBits(err error) (bits wire.ErrorMask, code int) {
	var r refusal
	if errors.As(err, &r) {
		return r.bits, r.code
	}
	var seen *browser.Fault
	if errors.As(err, &seen) && seen.Kind == browser.Refused {
		return faultBits(seen.Err)
	} else if seen != nil {
		return seen.Kind.Bits(), seen.Code
	}
	var fault *fetch.Fault
	for errors.As(err, &fault) && fault.Kind == fetch.Refused {
		err = fault.Err // for example of the robots.txt of a redirect's host
	}
	if !errors.As(err, &fault) {
		return wire.ErrGeneralCrawler, 0
	}
	bits, ok := faults[fault.Kind]
	if !ok {
		bits = wire.ErrGeneralCrawler
	}
	if fault.Kind == fetch.TooLarge {
		code = fault.Code
	}
	return bits, code
}

// codeBits returns the error bits of an answer with an HTTP code of 400 or more, 0 for others. For
// a rendered page, 503 is forbidden too, and 409 is a fetch error (docs/spec/crawling.md 2.8, 4.9).
func (a *answer) codeBits() wire.ErrorMask {
	switch code := a.Code; {
	case code < 400:
		return 0
	case code == http.StatusUnauthorized || code == http.StatusProxyAuthRequired:
		return wire.ErrHTTP | wire.ErrAuthorization
	case code == http.StatusForbidden, code == http.StatusServiceUnavailable && a.rendered:
		return wire.ErrHTTP | wire.ErrForbidden
	case code == http.StatusConflict && a.rendered:
		return wire.ErrHTTP | wire.ErrFetchHTTP
	}
	return wire.ErrHTTP
}

// refusal is a decision of the crawler not to send a request.
type refusal struct {
	bits   wire.ErrorMask
	code   int   // 0: 400
	status int64 // of the row; 0: Crawled
	back   bool  // the row becomes New again, without a mark
	reason string
}

func (r refusal) Error() string { return r.reason }
