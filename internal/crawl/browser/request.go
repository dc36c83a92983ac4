package browser

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Defaults of Request.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultMaxBytes     = 32 << 20
	DefaultMaxRedirects = 20
)

// Header is one header field. A name may repeat.
type Header struct{ Name, Value string }

// Request is one URL to render. Only URL is required.
type Request struct {
	// URL is an absolute http or https URL. A script behind "###" must be cut off before:
	// see SplitURL.
	URL string
	// Header is sent with requests for the page itself. Authorization goes to the host of
	// URL only. Fields that the browser sets (Host, Cookie, User-Agent, Accept-Encoding,
	// those of a connection) are left out, as are names that begin with "-", which are
	// switches in old header files.
	Header []Header
	// UserAgent is sent with all requests and is the value of navigator.userAgent. Empty
	// means that of Chromium.
	UserAgent string
	// Cookie is the value of a Cookie field. Its pairs become cookies of the host of URL.
	Cookie string
	// Method is GET when empty, or POST.
	Method string
	// Proxy is the URL of the proxy for everything the page loads: http, https, socks5 or
	// socks5h, with or without user and password. Empty means no proxy. Dial opens the
	// connections to it. A failing proxy is a ProxyConnect fault.
	Proxy string
	// PostData is sent when Method is POST.
	PostData []byte
	// Timeout limits the page. It starts when a browser runs and a page slot is free, and
	// does not count time inside Allow. Zero means DefaultTimeout.
	Timeout time.Duration
	// Damping is how long the page may continue after each load. It must be shorter than
	// Timeout.
	Damping time.Duration
	// MaxBytes limits the size of the document, as served or as rendered. Zero means
	// DefaultMaxBytes.
	MaxBytes int64
	// MaxRedirects limits how often the page may go to another URL, by a redirect or a
	// script. Zero means DefaultMaxRedirects, a negative number means never.
	MaxRedirects int
	// Macro runs after the load and the damping. May be nil.
	Macro *Macro
	// Allow is called before each request for the page itself: the first one, each
	// redirect, and each URL that a script or a refresh leads to. It may block; another page
	// may run meanwhile, unless it is the first call. Its error
	// ends the page with a Refused fault, as does ErrCrowded. It is not called for what the page loads (styles,
	// scripts, frames). Nil allows all URLs.
	Allow func(ctx context.Context, next *url.URL) error

	upstream *url.URL // parsed Proxy
}

// Hop is a URL that led to another one. Code is the status of the redirect, or of a page
// that a script or a refresh left.
type Hop struct {
	URL  string
	Code int
	// Header and RequestHeader are those of a redirect by a server, nil for other hops.
	Header, RequestHeader http.Header
	// Status is code and reason of the redirect. Body is the beginning of its body, in its codings, and Cut
	// says that this is not all: Chromium tells none, so it is known in plain HTTP only.
	Status string
	Body   []byte
	Cut    bool
}

// Page is a rendered page or a downloaded file. The caller owns it.
type Page struct {
	// FinalURL is the URL of the last response.
	FinalURL  string
	Redirects []Hop // in order, without the final URL
	Code      int   // status of FinalURL
	Header    http.Header
	// Repaired says that a response header in plain HTTP violates HTTP; see package httprepair. In
	// TLS Chromium repairs headers itself and does not say so.
	Repaired bool
	// RequestHeader is what was sent to FinalURL, without cookies.
	RequestHeader http.Header
	// Body is the rendered document if Rendered is set, in UTF-8 whatever Charset or its
	// text declare. It is the result of a macro if the macro had one. Otherwise the
	// response was not HTML, and Body is its content as served.
	Body     []byte
	Rendered bool
	// ContentType is the media type of Body, in lower case, without parameters.
	ContentType string
	// Charset is what the server or the document declared, in lower case. It is "" if
	// unknown, and "utf-8" for the result of a macro.
	Charset string
	// Parts are shadow trees, documents of frames and removed elements of a rendered page. With
	// Body they have at most Request.MaxBytes. Closed shadow trees cannot be read.
	Parts []Part
	// Loads are the URLs that a rendered page requested for its content, at most 1000, in
	// order, also those that were refused. One URL may occur several times.
	Loads []string
	// Cut says that Parts or Loads are not complete.
	Cut bool
	// MacroURLs are the URLs that the macro collected.
	MacroURLs []string
	// Cookies are the final cookies of the page's browser context, as Set-Cookie lines with
	// Domain and Path, at most maxCookies.
	Cookies []string
	// Started is when the page began. Total is how long it took, without time inside Allow.
	Started time.Time
	Total   time.Duration
}
