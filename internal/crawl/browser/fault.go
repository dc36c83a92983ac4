package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"hce/dc/internal/wire"
)

// Kind says why a page could not be had. A status of 400 and above is no fault.
type Kind uint8

// The kinds of faults. The numbers are not stored anywhere.
const (
	None             Kind = iota // no fault
	Driver                       // Chromium did not start, died or did not answer
	NotInstalled                 // there is no Chromium
	BadURL                       // not an http or https URL
	NameNotResolved              // the host has no address
	Connect                      // no connection, no TLS, or another error of the network
	ConnectTimeout               // a connection timed out
	ProxyConnect                 // the proxy of the page does not answer
	Blocked                      // the connection was reset, or a tunnel refused
	TooManyRedirects             // more redirects, by servers and scripts, than allowed
	Empty                        // an answer without content
	TooLarge                     // the document, or all a page loads, exceeds its limit
	Memory                       // the page was ended for its use of memory
	TimeOver                     // the time-out is over
	MacroFailed                  // a macro failed, or is not allowed
	Guard                        // the egress guard refused the address
	Refused                      // Allow said no
	Cancelled                    // the caller's context ended, or the Browser was closed
)

// codeOther is the status that stands for errors of the network that have no bit
// of their own (docs/spec/crawling.md 4.9).
const codeOther = 520

var kinds = [...]struct {
	name, text string
	bits       wire.ErrorMask
}{
	None:             {"none", "no fault", 0},
	Driver:           {"driver", "the browser failed", wire.ErrFetcherInternal},
	NotInstalled:     {"not_installed", "no browser is installed", wire.ErrFetcherInternal},
	BadURL:           {"bad_url", "bad URL", wire.ErrBadURL},
	NameNotResolved:  {"name_not_resolved", "host name not found", wire.ErrFetchInvalidURL},
	Connect:          {"connect", "cannot connect", wire.ErrConnection},
	ConnectTimeout:   {"connect_timeout", "connection timed out", wire.ErrFetchConnectTimeout},
	ProxyConnect:     {"proxy_connect", "cannot connect to the proxy", wire.ErrFetchConnection},
	Blocked:          {"blocked", "connection refused by the other side", wire.ErrForbidden},
	TooManyRedirects: {"too_many_redirects", "too many redirects", wire.ErrFetchTooManyRedirects},
	Empty:            {"empty", "empty response", wire.ErrEmpty},
	TooLarge:         {"too_large", "page too large", wire.ErrSize},
	Memory:           {"memory", "page takes too much memory", wire.ErrFetcherInternal},
	TimeOver:         {"time_over", "execution time is over", wire.ErrFetchTimeout},
	MacroFailed:      {"macro", "macro failed", wire.ErrMacro},
	Guard:            {"guard", "address refused", wire.ErrGuard},
	Refused:          {"refused", "request refused", 0},
	Cancelled:        {"cancelled", "cancelled", 0},
}

// String returns a word for logs, such as "time_over".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind_%d", uint8(k))
}

// Bits returns the error bits of the URL that ended so. Refused and Cancelled have
// none: the caller knows why it said no.
// Source: docs/spec/crawling.md 4.9, "intended mapping of browser errors".
func (k Kind) Bits() wire.ErrorMask {
	if int(k) < len(kinds) {
		return kinds[k].bits
	}
	return wire.ErrFetcherInternal
}

// CodeBits returns the error bits of an HTTP status that a browser brought: 403
// and 503 are forbidden, 409 is an error of fetching, other codes of 400 and
// above an HTTP error. Source: docs/spec/crawling.md 2.3 (step 28) and 4.9.
func CodeBits(code int) wire.ErrorMask {
	switch {
	case code == http.StatusForbidden, code == http.StatusServiceUnavailable:
		return wire.ErrForbidden
	case code == http.StatusConflict:
		return wire.ErrFetchHTTP
	case code >= 400:
		return wire.ErrHTTP
	}
	return 0
}

// Fault is the error of Browser.Get.
type Fault struct {
	Kind Kind
	URL  string // that of the request that failed
	Code int    // status of the last answer; 520 for Connect; 0 if there was none
	Err  error  // the cause; nil when the kind says it all
	// Partial is the page as far as it had come when time was over, nil if nothing
	// could be read from it.
	Partial *Page
}

// Error returns URL, without a password, kind and cause.
func (f *Fault) Error() string {
	text := kinds[Driver].text
	if int(f.Kind) < len(kinds) {
		text = kinds[f.Kind].text
	}
	where := f.URL
	if u, err := url.Parse(where); err == nil {
		where = u.Redacted()
	}
	if f.Err == nil {
		return fmt.Sprintf("browser %q: %s", where, text)
	}
	return fmt.Sprintf("browser %q: %s: %v", where, text, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf returns the kind of the Fault in err's chain, None for a nil err, and
// Driver for any other error.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return Driver
}

// errClosed ends the pages under way when the Browser is closed.
var errClosed = fmt.Errorf("the browser was closed: %w", context.Canceled)

// netKinds are the kinds of Chromium's network errors, by how they begin behind
// "net::ERR_". The first that fits decides. What is not here is a Connect fault.
var netKinds = []struct {
	begin string
	kind  Kind
}{
	{"NAME_NOT_RESOLVED", NameNotResolved},
	{"NAME_RESOLUTION_FAILED", NameNotResolved},
	{"TOO_MANY_REDIRECTS", TooManyRedirects},
	{"PROXY_", ProxyConnect},
	{"MANDATORY_PROXY_", ProxyConnect},
	{"CONNECTION_TIMED_OUT", ConnectTimeout},
	{"TIMED_OUT", ConnectTimeout},
	{"TUNNEL_CONNECTION_FAILED", Blocked},
	{"CONNECTION_RESET", Blocked},
	{"INVALID_URL", Blocked},
	{"UNSAFE_REDIRECT", Blocked},
	{"UNSAFE_PORT", Blocked},
	{"BLOCKED_BY_", Blocked},
	{"EMPTY_RESPONSE", Empty},
}

// kindOfNet returns the kind of an error text of Chromium, "net::ERR_..." or a
// reason of its protocol's Network domain.
func kindOfNet(text string) Kind {
	text = strings.TrimPrefix(text, "net::ERR_")
	for _, n := range netKinds {
		if strings.HasPrefix(text, n.begin) {
			return n.kind
		}
	}
	return Connect
}

// reasonKinds are the kinds of the protocol's network.ErrorReason.
var reasonKinds = map[string]Kind{
	"TimedOut": ConnectTimeout, "NameNotResolved": NameNotResolved, "ConnectionReset": Blocked,
	"BlockedByClient": Blocked, "BlockedByResponse": Blocked,
}

// kindOfReason returns the kind of a network.ErrorReason.
func kindOfReason(reason string) Kind {
	if k, ok := reasonKinds[reason]; ok {
		return k
	}
	return Connect
}
