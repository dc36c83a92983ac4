package browser

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Values that a zero field of Request stands for.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultMaxBytes     = 32 << 20
	DefaultMaxRedirects = 20
)

// Header is one field that is sent along. Fields of one name may repeat.
type Header struct{ Name, Value string }

// Request is one URL to render. Only URL is needed.
type Request struct {
	// URL is absolute, http or https. What stands behind "###" is not part of it:
	// see SplitURL.
	URL string
	// Header is sent with requests for the page itself, and to the host of URL
	// alone if it is Authorization. Fields that the browser sets (Host, Cookie,
	// User-Agent, Accept-Encoding, those of a connection) are left out, and names
	// that begin with "-", which are switches in old header files.
	Header []Header
	// UserAgent is that of all requests and of navigator.userAgent. Empty means
	// Config.UserAgent.
	UserAgent string
	// Cookie is the text of a Cookie field; its pairs are cookies of the host of
	// URL when the page begins.
	Cookie string
	// Method is GET when empty, or POST.
	Method string
	// Proxy is the URL of the proxy that everything the page loads goes through:
	// http, https, socks5 or socks5h, perhaps with user and password. Empty is none.
	// Dial opens the connections to it. A proxy that fails is a ProxyConnect fault.
	Proxy string
	// PostData is sent when Method is POST.
	PostData []byte
	// Timeout bounds the page once a browser runs and a place in it is free; time
	// inside Allow is not counted. The last fifth of it, two seconds at most, is kept
	// for reading what there is. Zero means DefaultTimeout.
	Timeout time.Duration
	// Damping is how long the page may go on after it has loaded, each time it has.
	// It must be shorter than Timeout.
	Damping time.Duration
	// MaxBytes is the most that the document, as served or as rendered, may have.
	// Zero means DefaultMaxBytes.
	MaxBytes int64
	// MaxRedirects is how often the page may lead to another URL, by a redirect or by
	// script. Zero means DefaultMaxRedirects, less than zero never.
	MaxRedirects int
	// Macro is run when the page has loaded and the damping is over. Nil is none.
	Macro *Macro
	// Allow is asked before each request for the page itself: the first, each
	// redirect and each URL that a script or a refresh leads to. It may wait. Its
	// error ends the page with a Refused fault. What the page loads besides (styles,
	// scripts, frames) is not asked for. Nil allows all.
	Allow func(ctx context.Context, next *url.URL) error

	upstream *url.URL // of Proxy
}

// Hop is a URL that led to another: Code is its redirect's status, or that of a
// page that a script or a refresh left.
type Hop struct {
	URL  string
	Code int
}

// Page is what a browser made of a URL. The caller owns it.
type Page struct {
	// FinalURL is the URL that answered in the end.
	FinalURL  string
	Redirects []Hop // in order, without the final URL
	Code      int   // status of FinalURL
	Header    http.Header
	// RequestHeader is what was sent for FinalURL, cookies left out.
	RequestHeader http.Header
	// Body is the document as rendered, in UTF-8 whatever Charset or its text say,
	// when Rendered is set; the result of a macro, when it had one; else, for what is
	// not HTML, the bytes as served.
	Body     []byte
	Rendered bool
	// ContentType is that of Body, lower case, without parameters.
	ContentType string
	// Charset is the one that the server or the document declared, lower case; ""
	// if unknown. It is "utf-8" for the result of a macro.
	Charset string
	// MacroURLs are the URLs that a macro collected.
	MacroURLs []string
	// Cookies are those of the page's context at the end, as Set-Cookie lines with
	// Domain and Path, at most maxCookies.
	Cookies []string
	// Cut tells that a limit kept something back that the page wanted to load.
	Cut bool
	// Started is when the page began; Total is how long it took, without the time in
	// Allow.
	Started time.Time
	Total   time.Duration
}
