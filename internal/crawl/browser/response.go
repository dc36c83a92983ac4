package browser

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"

	"hce/dc/internal/crawl/httprepair"
)

// What the proxy of a page sees of the responses in plain HTTP, and Chromium does not tell.

// repairing lets the transport read response headers as Chromium reads those of a tunnel.
func repairing(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return httprepair.New(conn, maxHeader), nil
}

// expecting returns r with a context that prepares its connection for the response, and a function
// that records whether the header of the response was repaired.
func (p *pageProxy) expecting(r *http.Request) (*http.Request, func()) {
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
	target, _, _ = strings.Cut(target, "#")
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
	target, _, _ = strings.Cut(target, "#")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[target]
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
