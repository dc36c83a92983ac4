package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// Kind says why a fetch failed. A status of 400 and above is no fault.
type Kind uint8

// The kinds of faults. The numbers are not stored anywhere.
const (
	None             Kind = iota // no fault
	Other                        // the request could not be made as asked
	BadURL                       // the URL is not one that can be fetched
	Timeout                      // the total or the connect time-out is over
	Connect                      // no name, no connection, no TLS, or no answer on it
	Guard                        // the egress guard refused every address of the host
	BadResponse                  // what answered breaks the rules of HTTP
	TooManyRedirects             // more redirects than the request allows
	RedirectLoop                 // a redirect leads back to where it came from
	BadRedirect                  // a redirect without a Location that can be followed
	Refused                      // Allow said no to a redirect, or Memory to a body
	TooLarge                     // header or decoded body exceed their limit
	Truncated                    // the connection ended before the body did
	BadEncoding                  // broken compression or chunking
	Cancelled                    // the caller's context ended, or the Client was closed
	Proxy                        // the proxy cannot be reached, or refuses: another may do
)

var kinds = [...]struct{ name, text string }{
	None:             {"none", "no fault"},
	Other:            {"other", "request cannot be made"},
	BadURL:           {"bad_url", "bad URL"},
	Timeout:          {"timeout", "timed out"},
	Connect:          {"connect", "cannot connect"},
	Guard:            {"guard", "address refused"},
	BadResponse:      {"bad_response", "not an HTTP response"},
	TooManyRedirects: {"too_many_redirects", "too many redirects"},
	RedirectLoop:     {"redirect_loop", "redirect loop"},
	BadRedirect:      {"bad_redirect", "bad redirect"},
	Refused:          {"refused", "refused by the caller"},
	TooLarge:         {"too_large", "response too large"},
	Truncated:        {"truncated", "response cut off"},
	BadEncoding:      {"bad_encoding", "bad encoding of the body"},
	Cancelled:        {"cancelled", "cancelled"},
	Proxy:            {"proxy", "proxy failed"},
}

// String returns a word for logs, such as "too_large".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind_%d", uint8(k))
}

// Fault is the error of Client.Get.
type Fault struct {
	Kind Kind
	URL  string // the hop that failed; for a redirect not followed the one that sent it
	Err  error  // the cause; nil when the kind says it all
	Code int    // status of the last answer, 0 if there was none
	// Partial is what had been received, nil if nothing. Code, Header and
	// Redirects are as in a Response; Body is what was read before the fault.
	Partial *Response
}

// Error returns URL, without a password, kind and cause.
func (f *Fault) Error() string {
	text := kinds[Other].text
	if int(f.Kind) < len(kinds) {
		text = kinds[f.Kind].text
	}
	where := f.URL
	if u, err := url.Parse(where); err == nil {
		where = u.Redacted()
	}
	if f.Err == nil {
		return fmt.Sprintf("fetch %q: %s", where, text)
	}
	return fmt.Sprintf("fetch %q: %s: %v", where, text, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf returns the kind of the Fault in err's chain, None for a nil err, and
// Other for any other error.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return Other
}

// headerFlood is how net/http begins its errors about MaxResponseHeaderBytes, for
// HTTP/1 and HTTP/2. It has no value to compare with.
var headerFlood = []string{
	"net/http: server response headers exceeded",
	"http2: response header list larger",
}

// kindOfTrip returns the kind of an error that came instead of a response
// header. connected tells whether there was a connection to send on.
func kindOfTrip(err error, connected bool) Kind {
	var (
		guard *AddressError
		op    *net.OpError
		name  *net.DNSError
	)
	switch {
	case errors.As(err, &guard):
		return Guard
	case isTimeout(err):
		return Timeout
	case !connected, errors.As(err, &op), errors.As(err, &name), isHangUp(err):
		return Connect
	}
	for _, begin := range headerFlood {
		if strings.Contains(err.Error(), begin) {
			return TooLarge
		}
	}
	return BadResponse
}

// kindOfRead returns the kind of an error in the middle of a body as it came over
// the wire.
func kindOfRead(err error, resp *http.Response) Kind {
	var op *net.OpError
	switch {
	case isTimeout(err):
		return Timeout
	case errors.As(err, &op), isHangUp(err):
		return Truncated
	case len(resp.TransferEncoding) > 0: // what else chunks can have wrong
		return BadEncoding
	}
	return Truncated
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
