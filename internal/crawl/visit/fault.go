package visit

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

// FaultBits returns the error bits and the HTTP code of a failed item. Code 0 means 400; a body
// that is too large keeps its code (docs/spec/crawling.md 2.3 step 30, 2.4).
func FaultBits(err error) (bits errormask.Mask, code int) {
	if r, ok := errors.AsType[Refusal](err); ok {
		return r.Bits, r.code
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

// isConditional reports whether a request may be answered by 304.
func isConditional(h http.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

// IsExhausted reports whether this machine has no descriptors or memory for a request. That is no
// fault of the page, and every other page would meet it.
func IsExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOBUFS)
}

// Refusal is a decision of the crawler not to send a request.
type Refusal struct {
	Bits   errormask.Mask
	code   int       // 0: 400
	Status int64     // of the row; 0: Crawled
	Back   bool      // the row becomes New again, without a mark
	Until  time.Time // with back: when the host may be asked again; zero: unknown
	reason string

	Forbids string // URL that robots.txt forbids
}

func (r Refusal) Error() string { return r.reason }
