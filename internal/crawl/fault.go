package crawl

import (
	"errors"
	"net/http"

	"hce/dc/internal/browser"
	"hce/dc/internal/dc"
	"hce/dc/internal/fetch"
)

// faults maps what went wrong in a request to the bits of the URL (crawling
// 2.4, DECISIONS 2).
var faults = map[fetch.Kind]dc.ErrorMask{
	fetch.BadURL:           dc.ErrBadURL,
	fetch.Timeout:          dc.ErrTimeout,
	fetch.Connect:          dc.ErrConnection,
	fetch.Proxy:            dc.ErrConnection,
	fetch.TooManyRedirects: dc.ErrMaxHTTPRedirects,
	fetch.RedirectLoop:     dc.ErrMaxHTTPRedirects,
	fetch.BadRedirect:      dc.ErrBadRedirection,
	fetch.TooLarge:         dc.ErrSize,
	fetch.BadEncoding:      dc.ErrPageConvert,
	fetch.Truncated:        dc.ErrPageConvert,
	fetch.BadResponse:      dc.ErrFetchHTTP,
	fetch.Guard:            dc.ErrGuard | dc.ErrConnection,
	fetch.Other:            dc.ErrFetchAmbiguous,
}

// faultBits gives the bits and the HTTP code of an item whose fetch failed; the
// code is 0, for 400, unless it is the size of an answer that was wrong
// (crawling 2.3 step 30, 2.4).
func faultBits(err error) (bits dc.ErrorMask, code int) {
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
		err = fault.Err // such as that of the robots.txt of a redirect's host
	}
	if !errors.As(err, &fault) {
		return dc.ErrGeneralCrawler, 0
	}
	bits, ok := faults[fault.Kind]
	if !ok {
		bits = dc.ErrGeneralCrawler
	}
	if fault.Kind == fetch.TooLarge {
		code = fault.Code
	}
	return bits, code
}

// codeBits gives the bits of an HTTP code of 400 or more, 0 of the others.
func codeBits(code int) dc.ErrorMask {
	switch {
	case code < 400:
		return 0
	case code == http.StatusUnauthorized || code == http.StatusProxyAuthRequired:
		return dc.ErrHTTP | dc.ErrAuthorization
	case code == http.StatusForbidden:
		return dc.ErrHTTP | dc.ErrForbidden
	}
	return dc.ErrHTTP
}

// refusal is a decision of the crawler not to make a request.
type refusal struct {
	bits   dc.ErrorMask
	code   int   // 0: 400
	status int64 // of the row; 0: Crawled
	back   bool  // the row goes back to New, without a mark
	reason string
}

func (r refusal) Error() string { return r.reason }
