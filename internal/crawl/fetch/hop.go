package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/crawl/httprepair"
)

// errStale is the end of a kept connection before any response. Usually the server had just
// closed it, but it may have read the request.
var errStale = errors.New("kept connection was closed without a response")

// errOld is the end of a hop that got a connection from before hop.newer. Nothing was sent.
var errOld = errors.New("kept connection is as old as one that was closed without a response")

// hop is in the context of one request: settings for the dialer, and events of the
// transport. The transport may report events, from its own goroutines, after the request
// has failed.
type hop struct {
	connectTimeout time.Duration
	proxy          *url.URL
	newer          time.Time // of an HTTP/1 connection's begin; zero: any may be used
	cancel         context.CancelCauseFunc
	tunnel         atomic.Bool // the proxy has opened a tunnel

	mu        sync.Mutex
	connected bool
	remote    string
	answered  bool             // the first byte of a response has arrived
	response  *httprepair.Conn // which reads it; nil for HTTP/2 and for TLS through a proxy
}

type hopKey struct{}

// hopOf returns the hop of ctx. All requests of a Client have one.
func hopOf(ctx context.Context) *hop {
	return ctx.Value(hopKey{}).(*hop)
}

// requestContext returns the context of the hop's request.
func (w *hop) requestContext(ctx context.Context) context.Context {
	ctx, w.cancel = context.WithCancelCause(context.WithValue(ctx, hopKey{}, w))
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: w.gotConn,
		GotFirstResponseByte: func() {
			w.mu.Lock()
			w.answered = true
			w.mu.Unlock()
		},
	})
}

func (w *hop) gotConn(info httptrace.GotConnInfo) {
	remote := info.Conn.RemoteAddr().String()
	w.mu.Lock()
	w.connected, w.remote = true, remote
	w.mu.Unlock()
	if w.proxy != nil && !info.Reused {
		_ = info.Conn.SetDeadline(time.Time{}) // set by limitProxy
	}
	below := info.Conn
	if r, ok := below.(*httprepair.Conn); ok {
		r.Expect()
		w.mu.Lock()
		w.response = r
		w.mu.Unlock()
		below = r.Conn
	}
	if t, ok := below.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return // shared by many hops; it resends only requests that the server has not processed
	}
	c, ok := bottomConn(below)
	switch {
	case !ok || !info.Reused:
	case c.begun.Before(w.newer):
		w.cancel(errOld) // first, as in handleReadError
		_ = info.Conn.Close()
	default:
		c.hop.Store(w)
	}
}

// bottomConn returns the connection below layers of TLS, two through an https proxy.
func bottomConn(below net.Conn) (*conn, bool) {
	for {
		switch layer := below.(type) {
		case *tls.Conn:
			below = layer.NetConn()
		case *httprepair.Conn:
			below = layer.Conn
		default:
			c, ok := layer.(*conn)
			return c, ok
		}
	}
}

// wasRepaired reports whether the header of the response violates HTTP.
func (w *hop) wasRepaired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.response != nil && w.response.Repaired()
}

// handleReadError handles a read error on the hop's kept connection. Without a response the
// transport would resend the request at once, and the host might see two requests without a
// gap. The cancel comes first, since the transport sees the error only afterwards.
func (w *hop) handleReadError() {
	w.mu.Lock()
	answered := w.answered || w.response != nil && w.response.Begun()
	w.mu.Unlock()
	if !answered {
		w.cancel(errStale)
	}
}

// connectionReport returns whether there was a connection, and its remote address.
func (w *hop) connectionReport() (connected bool, remote string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connected, w.remote
}

// conn is a connection that reports read errors to its hop.
type conn struct {
	net.Conn
	begun time.Time
	hop   atomic.Pointer[hop] // the last hop that reused it
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		if w := c.hop.Load(); w != nil {
			w.handleReadError()
		}
	}
	return n, err
}
