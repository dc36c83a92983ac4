package fetch

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Request is one URL to fetch. Only URL is needed.
type Request struct {
	// URL is absolute, http or https. User and password in it are sent as basic
	// authorization, to its own site alone; a fragment is not sent. Those in the
	// URL of a redirect are left out: a server does not choose what to log in with.
	URL string
	// Method is GET when empty.
	Method string
	// Header is sent along. Host, Accept-Encoding, Content-Length and the fields
	// that belong to a connection are left out: they are set here.
	Header http.Header
	// Cookie is the text of a Cookie field, sent to the host of URL. Cookies that
	// a redirect sets join it. What goes beyond 8 KiB is left out.
	Cookie string
	// Jar, when given, is asked for the cookies of each hop, and told of each
	// answer. Without it a chain keeps those that its redirects set for itself.
	Jar Jar
	// Body is sent when the method is neither GET nor HEAD.
	Body []byte
	// Timeout bounds all hops together, from the name look-up to the last byte;
	// time inside Allow and Memory is not counted. Zero means DefaultTimeout.
	Timeout time.Duration
	// ConnectTimeout bounds look-up, TCP and TLS of one connection. Zero means
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// MaxBytes is the most that the decoded body may have. Zero, or more than
	// Config.MaxBytes, means that.
	MaxBytes int64
	// MaxRedirects is how many redirects are followed; with 0 the first one is a
	// TooManyRedirects fault.
	MaxRedirects int
	// InsecureTLS leaves certificates unchecked.
	InsecureTLS bool
	// Proxy is the URL of a proxy (http, https, socks5 or socks5h), empty for none;
	// user and password in it are shown to the proxy alone. The environment is
	// never asked. The guard checks the proxy's address and,
	// as well as it can be known here, the target's.
	Proxy string
	// Allow is asked before each request but the first, once the one before has
	// ended: for every redirect, of the same host or another, and with the same
	// URL again when a kept connection broke before an answer, which may mean a
	// second visit. It may wait. Its error ends the fetch with a Refused fault.
	// Nil allows all.
	Allow func(ctx context.Context, next *url.URL) error
	// HeaderOnly leaves the body of the answer unread: Body is empty.
	HeaderOnly bool
	// Memory is asked for the bytes that the body takes. Nil grants all.
	Memory Memory
}

// Jar keeps cookies between requests. Where it is given, it alone decides which
// cookie goes where.
type Jar interface {
	// Cookies returns the text of a Cookie field for a request to u, "" for none.
	Cookies(u *url.URL) string
	// SetCookies is told of the header of an answer from u.
	SetCookies(u *url.URL, h http.Header)
}

// Hop is a URL that answered with a redirect.
type Hop struct {
	URL  string
	Code int
}

// Response is what a fetch brought. The caller owns it, but for RequestHeader,
// which the connection may still be reading.
type Response struct {
	// FinalURL is the URL that answered in the end. As RFC 9110 10.2.2 asks, it
	// has the fragment of the URL before unless the Location had its own.
	FinalURL  string
	Redirects []Hop // in order, without the final URL
	Code      int
	Proto     string // such as "HTTP/1.1"
	// Header is the header as received; Content-Encoding and Content-Length tell
	// of the body before decoding.
	Header http.Header
	// RequestLine and RequestHeader are what was sent in the last hop. Host is
	// among the fields.
	RequestLine   string
	RequestHeader http.Header
	// Body is decoded. It is empty, not nil, when the answer had none.
	Body []byte
	// Truncated tells that Body is only the beginning; so in a Fault alone.
	Truncated bool
	// WireBytes is the size of the body as received, before decoding.
	WireBytes int64
	// RemoteAddr is the address and port dialled last, a proxy's if there is one.
	RemoteAddr string
	// Started is when the first hop began. TTFB is the time from the beginning of
	// the last hop to its first byte. Total is the time of all hops to the last
	// byte, without that spent in Allow and Memory.
	Started time.Time
	TTFB    time.Duration
	Total   time.Duration
}
