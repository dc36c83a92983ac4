package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"hce/dc/canonical"
	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/wire/errormask"
)

// Kind classifies why a page could not be rendered. A status of 400 or above is not a
// fault.
type Kind uint8

// The kinds of faults. The numbers are not stored anywhere.
const (
	None             Kind = iota // no fault
	Driver                       // Chromium did not start, died or did not answer in time
	NotInstalled                 // no Chromium was found
	BadURL                       // not an http or https URL
	NameNotResolved              // the host has no address
	Connect                      // no connection, failed TLS handshake, or another network error
	ConnectTimeout               // a connection timed out
	ProxyConnect                 // the proxy of the request failed
	Blocked                      // the browser does not load such a URL
	BadRedirect                  // a redirect to a URL that cannot be loaded
	BadResponse                  // the response violates HTTP
	BadBody                      // the body is cut off, or its coding is broken
	TooManyRedirects             // more redirects, by servers or scripts, than allowed
	Empty                        // response without content
	TooLarge                     // the document, or the traffic of the page, exceeds its limit
	Memory                       // the page exceeded the memory limit
	TimeOver                     // the timeout of the request is over
	MacroFailed                  // a macro failed or is not allowed
	Guard                        // the egress guard refused the address
	Refused                      // Request.Allow refused a URL
	Cancelled                    // the caller's context ended, or the Browser was closed
)

// codeOther is the status for network errors that have no error bit of their own
// (docs/spec/crawling.md 4.9).
const codeOther = 520

var kinds = [...]struct {
	text string
	bits errormask.Mask
}{
	None:             {"no fault", 0},
	Driver:           {"the browser failed", errormask.FetcherInternal},
	NotInstalled:     {"no browser is installed", errormask.FetcherInternal},
	BadURL:           {"bad URL", errormask.BadURL},
	NameNotResolved:  {"host name not found", errormask.Connection},
	Connect:          {"cannot connect", errormask.Connection},
	ConnectTimeout:   {"connection timed out", errormask.Timeout},
	ProxyConnect:     {"cannot connect to the proxy", errormask.Connection},
	Blocked:          {"the browser does not load the URL", errormask.Forbidden},
	BadRedirect:      {"bad redirect", errormask.BadRedirection},
	BadResponse:      {"not an HTTP response", errormask.FetchHTTP},
	BadBody:          {"the body is cut off or its coding is broken", errormask.PageConvert},
	TooManyRedirects: {"too many redirects", errormask.MaxHTTPRedirects},
	Empty:            {"empty response", errormask.Empty},
	TooLarge:         {"page too large", errormask.Size},
	Memory:           {"page takes too much memory", errormask.FetcherInternal},
	TimeOver:         {"execution time is over", errormask.Timeout},
	MacroFailed:      {"macro failed", errormask.Macro},
	Guard:            {"address refused", errormask.Guard | errormask.Connection},
	Refused:          {"request refused", 0},
	Cancelled:        {"cancelled", 0},
}

// String returns the kind in words, such as "execution time is over".
func (k Kind) String() string { return kinds[k].text }

// Bits returns the error bits of a URL with this fault. Refused and Cancelled have none:
// the caller knows its own reason. A fault of the server has the bits of a plain fetch, not those of
// docs/spec/crawling.md 4.9: see docs/spec/DECISIONS.md 2.
func (k Kind) Bits() errormask.Mask { return kinds[k].bits }

// Fault is the error of Browser.Get.
type Fault struct {
	Kind Kind
	URL  string // URL of the request that failed
	Code int    // status of the last response; 520 for Connect; 0 if there was none
	Err  error  // the cause; may be nil
}

// Error returns the URL without its password, the kind and the cause.
func (f *Fault) Error() string {
	page := f.URL
	if u, err := canonical.Net(page); err == nil {
		page = u.Redacted()
	}
	text := fmt.Sprintf("browser %q: %v", page, f.Kind)
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf returns the kind of the Fault that err wraps, None for a nil err, and Driver for
// any other error.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Kind
	}
	if err != nil {
		return Driver
	}
	return None
}

// errClosed is the cause of pages that Browser.Close ends.
var errClosed = fmt.Errorf("the browser was closed: %w", context.Canceled)

// netErrors maps prefixes of Chromium's network errors, without "net::ERR_", to kinds, and to the cause
// of those that mean "later". The first match wins. Any other error is a Connect fault without a cause.
var netErrors = []struct {
	begin string
	kind  Kind
	cause retry.Cause
}{
	{"NAME_NOT_RESOLVED", NameNotResolved, ""},
	{"NAME_RESOLUTION_FAILED", NameNotResolved, ""},
	{"TOO_MANY_REDIRECTS", TooManyRedirects, ""},
	{"PROXY_", ProxyConnect, ""},
	{"MANDATORY_PROXY_", ProxyConnect, ""},
	{"CONNECTION_TIMED_OUT", ConnectTimeout, retry.Timeout},
	{"TIMED_OUT", ConnectTimeout, retry.Timeout},
	{"CONNECTION_REFUSED", Connect, retry.Connect},
	{"ADDRESS_UNREACHABLE", Connect, retry.Connect},
	{"CONNECTION_RESET", Connect, retry.Reset},
	{"CONNECTION_CLOSED", Connect, retry.Reset},
	{"CONNECTION_ABORTED", Connect, retry.Reset},
	{"EMPTY_RESPONSE", Connect, retry.Reset},
	{"SOCKET_NOT_CONNECTED", Connect, retry.Reset},
	{"HTTP2_", Connect, retry.Reset},
	{"INVALID_URL", BadRedirect, ""},
	{"UNSAFE_REDIRECT", BadRedirect, ""},
	{"UNSAFE_PORT", Blocked, ""},
	{"BLOCKED_BY_", Blocked, ""},
	{"INVALID_HTTP_RESPONSE", BadResponse, ""},
	{"INVALID_REDIRECT", BadRedirect, ""},
	{"RESPONSE_HEADERS_TOO_BIG", TooLarge, ""},
	{"RESPONSE_HEADERS_TRUNCATED", Connect, ""},
	{"RESPONSE_HEADERS_", BadResponse, ""},
	{"CONTENT_LENGTH_MISMATCH", BadBody, retry.Cut},
	{"INCOMPLETE_CHUNKED_ENCODING", BadBody, retry.Cut},
	{"INVALID_CHUNKED_ENCODING", BadBody, ""},
	{"CONTENT_DECODING_", BadBody, ""},
}

// errPrefix begins the network errors of Chromium.
const errPrefix = "net::ERR_"

// netKind returns the kind and the cause of a network error of Chromium, such as "net::ERR_TIMED_OUT".
func netKind(text string) (Kind, retry.Cause) {
	text = strings.TrimPrefix(text, errPrefix)
	for _, n := range netErrors {
		if strings.HasPrefix(text, n.begin) {
			return n.kind, n.cause
		}
	}
	return Connect, ""
}

// reasonText returns the network error of a value of the protocol's network.ErrorReason: that of TimedOut
// is net::ERR_TIMED_OUT.
func reasonText(reason string) string {
	var b strings.Builder
	for i, c := range reason {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return errPrefix + b.String()
}

// Cause returns why a page that could not be loaded may load later, as far as Chromium knows it; "" else.
func (f *Fault) Cause() retry.Cause {
	if f.Kind == TimeOver || f.Kind == ConnectTimeout {
		return retry.Timeout
	}
	if text, ok := errors.AsType[netError](f.Err); ok {
		_, cause := netKind(string(text))
		return cause
	}
	return ""
}
