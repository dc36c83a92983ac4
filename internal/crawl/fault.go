package crawl

import (
	"cmp"
	"errors"
	"net/http"
	"syscall"
	"time"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire/errormask"
)

// faults maps failures of requests to error bits (docs/spec/crawling.md 2.4,
// docs/spec/DECISIONS.md 2).
var faults = map[fetch.Kind]errormask.Mask{
	fetch.BadURL:           errormask.BadURL,
	fetch.Timeout:          errormask.Timeout,
	fetch.Connect:          errormask.Connection,
	fetch.Proxy:            errormask.Connection,
	fetch.TooManyRedirects: errormask.MaxHTTPRedirects,
	fetch.RedirectLoop:     errormask.MaxHTTPRedirects,
	fetch.BadRedirect:      errormask.BadRedirection,
	fetch.TooLarge:         errormask.Size,
	fetch.BadEncoding:      errormask.PageConvert,
	fetch.Truncated:        errormask.PageConvert,
	fetch.BadResponse:      errormask.FetchHTTP,
	fetch.Guard:            errormask.Guard | errormask.Connection,
	fetch.Other:            errormask.FetchAmbiguous,
}

// faultBits returns the error bits and the HTTP code of a failed item. Code 0 means 400; a body
// that is too large keeps its code (docs/spec/crawling.md 2.3 step 30, 2.4).
func faultBits(err error) (bits errormask.Mask, code int) {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.bits, r.code
	}
	seen, plain := faultsOf(err)
	switch {
	case seen != nil:
		return seen.Kind.Bits(), seen.Code
	case plain == nil:
		return errormask.GeneralCrawler, 0
	case plain.Kind == fetch.TooLarge:
		code = plain.Code
	}
	return cmp.Or(faults[plain.Kind], errormask.GeneralCrawler), code
}

// faultsOf returns the fault of the browser or of the client that caused err. If a check of the
// crawler refused a request, that is the fault of the check, such as that of a robots.txt.
func faultsOf(err error) (seen *browser.Fault, plain *fetch.Fault) {
	for err != nil {
		seen, _ = errors.AsType[*browser.Fault](err)
		plain, _ = errors.AsType[*fetch.Fault](err)
		switch {
		case seen != nil && seen.Kind == browser.Refused:
			err = seen.Err
		case seen != nil:
			return seen, nil
		case plain != nil && plain.Kind == fetch.Refused:
			err = plain.Err
		default:
			return nil, plain
		}
	}
	return nil, nil
}

// codeBits returns the error bits of an answer with an HTTP code of 400 or more, 0 for others: the same
// for a page in a browser (docs/spec/crawling.md 2.8).
func (a *answer) codeBits() errormask.Mask {
	switch code := a.Code; {
	case code < 400:
		return 0
	case code == http.StatusUnauthorized || code == http.StatusProxyAuthRequired:
		return errormask.HTTP | errormask.Authorization
	case code == http.StatusForbidden:
		return errormask.HTTP | errormask.Forbidden
	}
	return errormask.HTTP
}

// isUnrequested reports whether an answer is a part of a page, or says that the page has not changed,
// although the request did not ask for that. Such an answer is no page (RFC 9110 14.2, 15.4.5).
func (a *answer) isUnrequested() bool {
	switch a.Code {
	case http.StatusNotModified:
		return true // an answer to a condition is not read
	case http.StatusPartialContent:
		return a.RequestHeader.Get("Range") == ""
	}
	return false
}

// isConditional reports whether a request may be answered by 304.
func isConditional(h http.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

// isExhausted reports whether this machine has no descriptors or memory for a request. That is no
// fault of the page, and every other page would meet it.
func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOBUFS)
}

// refusal is a decision of the crawler not to send a request.
type refusal struct {
	bits   errormask.Mask
	code   int       // 0: 400
	status int64     // of the row; 0: Crawled
	back   bool      // the row becomes New again, without a mark
	until  time.Time // with back: when the host may be asked again; zero: unknown
	reason string

	forbids string // URL that robots.txt forbids
}

func (r refusal) Error() string { return r.reason }
