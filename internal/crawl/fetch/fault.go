package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"hce/dc/canonical"
)

// Kind classifies why a fetch failed. A status of 400 or above is not a fault.
type Kind uint8

// The kinds of faults. The numbers are not stored anywhere.
const (
	None             Kind = iota // no fault
	Other                        // the request is invalid
	BadURL                       // the URL cannot be fetched
	Timeout                      // the total or the connect timeout is over
	Connect                      // no address, no connection, failed TLS handshake, or no response
	Guard                        // the egress guard refuses every address of the host
	BadResponse                  // the response violates HTTP
	TooManyRedirects             // more redirects than the request allows
	RedirectLoop                 // a redirect leads back to an earlier URL
	BadRedirect                  // a redirect without a usable Location
	Refused                      // Allow refused a redirect, or Memory a body
	TooLarge                     // the header or the decoded body exceeds its limit
	Truncated                    // the connection ended within the body
	BadEncoding                  // broken compression or chunking
	Cancelled                    // the caller's context ended, or the Client was closed
	Proxy                        // the proxy is unreachable or refuses; another may work
)

var kinds = [...]string{
	None:             "no fault",
	Other:            "request cannot be made",
	BadURL:           "bad URL",
	Timeout:          "timed out",
	Connect:          "cannot connect",
	Guard:            "address refused",
	BadResponse:      "not an HTTP response",
	TooManyRedirects: "too many redirects",
	RedirectLoop:     "redirect loop",
	BadRedirect:      "bad redirect",
	Refused:          "refused by the caller",
	TooLarge:         "response too large",
	Truncated:        "response cut off",
	BadEncoding:      "bad encoding of the body",
	Cancelled:        "cancelled",
	Proxy:            "proxy failed",
}

// String returns the kind in words, such as "response too large".
func (k Kind) String() string { return kinds[k] }

// Fault is the error of Client.Get.
type Fault struct {
	Kind Kind
	URL  string // URL that failed; that of the redirect if it is not followed
	Err  error  // the cause; may be nil
	Code int    // status of the last response, 0 if there was none
	// Partial is what was received, nil if nothing. Code, Header and Redirects are as in a
	// Response; Body is what was read before the fault.
	Partial *Response
}

// Error returns the URL without its password, the kind and the cause.
func (f *Fault) Error() string {
	page := f.URL
	if u, err := canonical.Net(page); err == nil {
		page = u.Redacted()
	}
	text := fmt.Sprintf("fetch %q: %v", page, f.Kind)
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// HungUp reports whether the other side closed the connection, or ended this request of several that
// share it, before an answer.
func (f *Fault) HungUp() bool {
	return f.Err != nil && (f.Err == errStale || isHangUp(f.Err) || slices.ContainsFunc(hungUp, func(part string) bool { return strings.Contains(f.Err.Error(), part) }))
}

// hungUp are parts of such errors that net/http has no values for.
var hungUp = []string{"server closed idle connection", "server sent GOAWAY", "stream error: ", "client connection lost"}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf returns the kind of the Fault that err wraps, None for a nil err, and Other for
// any other error.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Kind
	}
	if err != nil {
		return Other
	}
	return None
}

// headerFlood lists how errors of net/http about MaxResponseHeaderBytes begin, for HTTP/1
// and HTTP/2. net/http exports no value for them.
var headerFlood = []string{
	"net/http: server response headers exceeded",
	"http2: response header list larger",
}

// kindOfTrip returns the kind of an error before the response header. connected reports
// whether there was a connection.
func kindOfTrip(err error, connected bool) Kind {
	switch {
	case isError[*AddressError](err):
		return Guard
	case isTimeout(err):
		return Timeout
	case !connected, isError[*net.OpError](err), isError[*net.DNSError](err), isHangUp(err):
		return Connect
	case slices.ContainsFunc(headerFlood, func(begin string) bool { return strings.Contains(err.Error(), begin) }):
		return TooLarge
	}
	return BadResponse
}

// kindOfRead returns the kind of an error while a body was read from the connection.
func kindOfRead(err error, resp *http.Response) Kind {
	switch {
	case isTimeout(err):
		return Timeout
	case len(resp.TransferEncoding) > 0 && !isError[*net.OpError](err) && !isHangUp(err): // an error of the chunked coding
		return BadEncoding
	}
	return Truncated
}

// isError reports whether err is an E, or wraps one.
func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// isHangUp reports whether the other side closed the connection.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
