package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/web/canonical"
	"hce/dc/internal/wire"
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
	Blocked                      // the connection was reset, or a proxy refused a tunnel
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
	bits wire.ErrorMask
}{
	None:             {"no fault", 0},
	Driver:           {"the browser failed", wire.ErrFetcherInternal},
	NotInstalled:     {"no browser is installed", wire.ErrFetcherInternal},
	BadURL:           {"bad URL", wire.ErrBadURL},
	NameNotResolved:  {"host name not found", wire.ErrFetchInvalidURL},
	Connect:          {"cannot connect", wire.ErrConnection},
	ConnectTimeout:   {"connection timed out", wire.ErrFetchConnectTimeout},
	ProxyConnect:     {"cannot connect to the proxy", wire.ErrFetchConnection},
	Blocked:          {"connection refused by the other side", wire.ErrForbidden},
	TooManyRedirects: {"too many redirects", wire.ErrFetchTooManyRedirects},
	Empty:            {"empty response", wire.ErrEmpty},
	TooLarge:         {"page too large", wire.ErrSize},
	Memory:           {"page takes too much memory", wire.ErrFetcherInternal},
	TimeOver:         {"execution time is over", wire.ErrFetchTimeout},
	MacroFailed:      {"macro failed", wire.ErrMacro},
	Guard:            {"address refused", wire.ErrGuard},
	Refused:          {"request refused", 0},
	Cancelled:        {"cancelled", 0},
}

// String returns the kind in words, such as "execution time is over".
func (k Kind) String() string { return kinds[k].text }

// Bits returns the error bits of a URL with this fault. Refused and Cancelled have none:
// the caller knows its own reason. Source: docs/spec/crawling.md 4.9, "intended mapping of
// browser errors".
func (k Kind) Bits() wire.ErrorMask { return kinds[k].bits }

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

// netKinds maps prefixes of Chromium's network errors, without "net::ERR_", to kinds. The
// first match wins. Any other error is a Connect fault.
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

// kindOfNet returns the kind of a network error of Chromium, such as "net::ERR_TIMED_OUT".
func kindOfNet(text string) Kind {
	text = strings.TrimPrefix(text, "net::ERR_")
	for _, n := range netKinds {
		if strings.HasPrefix(text, n.begin) {
			return n.kind
		}
	}
	return Connect
}

// reasonKinds maps values of the protocol's network.ErrorReason to kinds. Any other reason
// is a Connect fault.
var reasonKinds = map[string]Kind{
	"TimedOut": ConnectTimeout, "NameNotResolved": NameNotResolved, "ConnectionReset": Blocked,
	"BlockedByClient": Blocked, "BlockedByResponse": Blocked,
}

// kindOfReason returns the kind of a network.ErrorReason.
func kindOfReason(reason string) Kind {
	return cmp.Or(reasonKinds[reason], Connect)
}
