package browser

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/httprepair"
)

// What the proxy of a page sees of the responses in plain HTTP, and Chromium does not tell.

// repairHeaders lets the transport read response headers as Chromium reads those of a tunnel.
func repairHeaders(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return httprepair.New(conn, maxHeader), nil
}

// withExpectation returns r with a context that prepares its connection for the response, and a function
// that records whether the header of the response was repaired.
func (p *pageProxy) withExpectation(r *http.Request) (*http.Request, func()) {
	var used atomic.Pointer[httprepair.Conn]
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if c, ok := info.Conn.(*httprepair.Conn); ok {
			c.Expect()
			used.Store(c)
		}
	}}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace)), func() {
		if c := used.Load(); c != nil && c.Repaired() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.repaired) < maxFailures {
				p.repaired[r.URL.String()] = true
			}
		}
	}
}

// wasRepaired reports whether the response header of a URL in plain HTTP violates HTTP.
func (p *pageProxy) wasRepaired(target string) bool {
	target = canonical.WithoutFragment(target)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.repaired[target]
}

// cutBody records that the body of a URL broke off.
func (p *pageProxy) cutBody(target string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cut) < maxFailures {
		p.cut[target] = err
	}
}

// cutBodyOf returns why the body of a URL in plain HTTP broke off, or nil.
func (p *pageProxy) cutBodyOf(target string) error {
	target = canonical.WithoutFragment(target)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[target]
}

// keptBody is the body of a redirect. Its beginning is kept.
type keptBody struct {
	io.ReadCloser
	proxy *pageProxy
	kept  *redirected
}

// redirected is what the server sent for a redirect.
type redirected struct {
	status      string // code and reason
	body        []byte
	long, whole bool
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	room := min(n, maxRedirectBody-len(b.kept.body))
	b.kept.body = append(b.kept.body, p[:room]...)
	b.kept.long = b.kept.long || room < n
	b.kept.whole = err == io.EOF && !b.kept.long
	return n, err
}

// keepRedirect returns the body of resp. That of a redirect is kept while it is read.
func (p *pageProxy) keepRedirect(target string, resp *http.Response) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	if resp.StatusCode/100 != 3 || len(p.redirects) >= maxFailures {
		return resp.Body
	}
	kept := &redirected{status: resp.Status}
	p.redirects[target] = kept
	return &keptBody{resp.Body, p, kept}
}

// completeHop sets the status and the body of a redirect in plain HTTP as the server sent them. Chromium does not
// tell the body of any other one.
func (p *pageProxy) completeHop(hop *Hop) {
	target, _, _ := strings.Cut(hop.URL, "#")
	p.mu.Lock()
	defer p.mu.Unlock()
	hop.Cut = hop.Header.Get("Content-Length") != "0"
	if kept := p.redirects[target]; kept != nil {
		hop.Status, hop.Body, hop.Cut = kept.status, slices.Clone(kept.body), !kept.whole
	}
}

// watchedBody is a body that reports the error that ends it.
type watchedBody struct {
	io.ReadCloser
	failed func(error)
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, context.Canceled) {
		b.failed(err)
	}
	return n, err
}

// responseError is an answer that is no HTTP.
type responseError struct {
	kind Kind
	err  error
}

func (e *responseError) Error() string { return e.err.Error() }
func (e *responseError) Unwrap() error { return e.err }

// kindOfResponse returns the kind of an error of net/http about a response, None for any other error.
func kindOfResponse(err error) Kind {
	var op *net.OpError
	var late interface{ Timeout() bool }
	switch {
	case errors.As(err, &op), errors.As(err, &late), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, context.Canceled), errors.Is(err, errTraffic):
		return None
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return TooLarge
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "transfer encoding"), strings.Contains(err.Error(), "Content-Length"):
		return BadResponse
	}
	return None
}
