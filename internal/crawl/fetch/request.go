package fetch

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Request is one URL to fetch. Only URL is required.
type Request struct {
	// URL is an absolute http or https URL. User and password in it are sent as basic
	// authorization, to its own site only. The fragment is not sent. User and password in
	// the URL of a redirect are dropped: a server does not choose the login.
	URL string
	// Method is GET when empty.
	Method string
	// Header is sent with the request. Host, Accept-Encoding, Content-Length and the fields
	// of a connection are left out, since the Client sets them.
	Header http.Header
	// Jar supplies the cookies of each hop and receives those of each response. The field is
	// cut at 8 KiB. Nil keeps no cookies.
	Jar Jar
	// Body is sent unless the method is GET or HEAD.
	Body []byte
	// Timeout limits all hops together, from the first lookup to the last byte. Time inside
	// Allow and Memory is not counted. Zero means DefaultTimeout.
	Timeout time.Duration
	// ConnectTimeout limits lookup, TCP and TLS of one connection. Zero means
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// MaxBytes limits the decoded body. Zero or more than Config.MaxBytes means
	// Config.MaxBytes.
	MaxBytes int64
	// MaxRedirects limits the redirects that are followed. With 0 the first redirect is a
	// TooManyRedirects fault.
	MaxRedirects int
	// InsecureTLS disables the check of certificates.
	InsecureTLS bool
	// LegacyTLS allows what old servers need and is not safe any more: TLS 1.0 and 1.1, RSA key
	// exchange and old ciphers.
	LegacyTLS bool
	// Proxy is the URL of a proxy (http, https, socks5 or socks5h), empty for none. Only
	// the proxy sees the user and password in it. Environment variables are ignored. The
	// guard checks the proxy's address and, if it can be looked up here, the target's.
	Proxy string
	// Allow is called before each request except the first, after the previous one has
	// ended: for every redirect, and again for the same URL each time a kept connection broke
	// without a response, since the server may see that request twice. It may block. Its
	// error ends the fetch with a Refused fault. Nil allows all URLs.
	Allow func(ctx context.Context, next *url.URL) error
	// HeaderOnly skips the body of the response: Body is empty.
	HeaderOnly bool
	// Memory grants the bytes of the body. Nil grants everything.
	Memory Memory
}

// Jar keeps cookies between requests. It alone decides which cookies a request carries.
type Jar interface {
	// Cookies returns the value of the Cookie field of a request to u, "" for none.
	Cookies(u *url.URL) string
	// SetCookies receives the header of a response from u.
	SetCookies(u *url.URL, h http.Header)
}

// Hop is a URL that answered with a redirect.
type Hop struct {
	URL  string `json:"url"`
	Code int    `json:"httpCode"`
	// Exchange is what was sent and received; nil if it is not known.
	Exchange *Exchange `json:"-"`
}

// Exchange is a request and its answer, without the body of the request.
type Exchange struct {
	At            time.Time   // when the answer arrived
	RequestLine   string      // with the protocol
	RequestHeader http.Header // Host is among the fields
	StatusLine    string      // as "HTTP/1.1 301 Moved Permanently"
	Header        http.Header
	Body          []byte // at most drainBytes, in the codings of Content-Encoding
	Cut           bool   // Body is not the whole body
}

// Response is the result of a fetch. The caller owns it, except RequestHeader, which the
// connection may still read.
type Response struct {
	// FinalURL is the URL of the last response. If the Location has no fragment, it has
	// that of the previous URL (RFC 9110 10.2.2).
	FinalURL  string
	Redirects []Hop // in order, without the final URL
	Code      int
	// Header is the header as received. Content-Encoding and Content-Length describe the
	// body before decoding.
	Header http.Header
	// Repaired says that a header, or the coding of the body, violates HTTP in a way that
	// browsers accept: see package httprepair and coding.Repaired.
	Repaired bool
	// RequestLine and RequestHeader are what the last hop sent. Host is among the fields.
	RequestLine string
	// StatusLine is that of the last response, such as "HTTP/1.0 203 Fine"; "" for the usual 200 OK.
	StatusLine    string
	RequestHeader http.Header
	// Body is the decoded body, complete except in a Fault. It is empty, not nil, if the response had none.
	Body []byte
	// RemoteAddr is the last dialled address and port, that of the proxy if there is one.
	RemoteAddr string
	// Started is the start of the first hop. Total is the time of all hops up to the last
	// byte, without time inside Allow and Memory.
	Started time.Time
	Total   time.Duration
}

// RetryAfter returns the pause that the server asks for, in seconds or until a date, and whether
// it asks for one, at most 68 years (RFC 9110 10.2.3). A date counts from that of the response, if it
// has one: the server's clock may be wrong.
func (r *Response) RetryAfter(now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(r.Header.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(n, math.MaxInt32)) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0), true
}
