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
)

// errStale is the end of a kept connection before any answer came on it. Most
// often the server had just closed it; it may also have read the request first.
var errStale = errors.New("kept connection was closed without an answer")

// hop travels in the context of one request: what the dialer must know of it, and
// what the transport tells of it. The transport may still speak, from goroutines
// of its own, when the request has failed.
type hop struct {
	connectTimeout time.Duration
	proxy          *url.URL
	cancel         context.CancelCauseFunc
	tunnel         atomic.Bool // a proxy has opened one

	mu        sync.Mutex
	connected bool
	remote    string
	first     time.Time
}

type hopKey struct{}

// hopOf returns the hop that ctx belongs to. All requests of a Client have one.
func hopOf(ctx context.Context) *hop {
	return ctx.Value(hopKey{}).(*hop)
}

// context returns the context of the hop's request.
func (w *hop) context(ctx context.Context) context.Context {
	ctx, w.cancel = context.WithCancelCause(context.WithValue(ctx, hopKey{}, w))
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: w.gotConn,
		GotFirstResponseByte: func() {
			now := time.Now()
			w.mu.Lock()
			w.first = now
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
		_ = info.Conn.SetDeadline(time.Time{}) // that of limitProxy
	}
	below := info.Conn
	if t, ok := below.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return // has many hops, and resends only what the server says it left
	}
	for t, ok := below.(*tls.Conn); ok; t, ok = below.(*tls.Conn) { // two of them through a proxy of https
		below = t.NetConn()
	}
	if c, ok := below.(*conn); ok && info.Reused {
		c.hop.Store(w)
	}
}

// broken is told that the hop's kept connection can no longer be read. Without an
// answer the transport would send the request anew at once, and a host might see
// two requests without a gap. Cancelling comes before that, for the transport
// learns of the end only afterwards.
func (w *hop) broken() {
	w.mu.Lock()
	answered := !w.first.IsZero()
	w.mu.Unlock()
	if !answered {
		w.cancel(errStale)
	}
}

// report returns whether there was a connection, to where, and how long after
// begin the answer began; 0 if it did not.
func (w *hop) report(begin time.Time) (connected bool, remote string, ttfb time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.first.IsZero() {
		ttfb = w.first.Sub(begin)
	}
	return w.connected, w.remote, ttfb
}

// conn is a connection that tells its hop when it breaks.
type conn struct {
	net.Conn
	hop atomic.Pointer[hop] // the last one that found it kept
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		if w := c.hop.Load(); w != nil {
			w.broken()
		}
	}
	return n, err
}
