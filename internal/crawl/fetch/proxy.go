package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ProxyError is the answer of a proxy that did not open a tunnel, or that wants
// another name or password.
type ProxyError struct {
	Code int // of HTTP, such as 407
}

// Error returns the code and what it means.
func (e *ProxyError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("proxy answers %d %s", e.Code, http.StatusText(e.Code)))
}

// parseProxy reads the URL of a proxy. Its errors do not repeat the text, which
// may have a password in it.
func parseProxy(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return nil, fmt.Errorf("scheme %q", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("no host")
	}
	return u, nil
}

// dialPlain is the DialContext of a transport.
func (c *Client) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial.plain(ctx, network, addr)
	if err == nil {
		c.limitProxy(conn, hopOf(ctx))
	}
	return conn, err
}

// limitProxy gives a new connection to a proxy the connect time-out once more, to
// come to terms; net/http waits longer for an answer to CONNECT, and for one of
// SOCKS without end. gotConn takes the limit off.
func (c *Client) limitProxy(conn net.Conn, w *hop) {
	if w.proxy == nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(w.connectTimeout))
	stop := context.AfterFunc(c.life, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	time.AfterFunc(w.connectTimeout, func() { stop() })
}

// proxyAnswered is the OnProxyConnectResponse of a transport.
func proxyAnswered(ctx context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return &ProxyError{Code: resp.StatusCode}
	}
	hopOf(ctx).tunnel.Store(true)
	return nil
}

// socksTarget are the ends of errors by which a SOCKS proxy says that it is the
// target that cannot be reached (RFC 1928 6).
var socksTarget = []string{"network unreachable", "host unreachable", "connection refused", "TTL expired"}

// overHTTP reports whether there is a proxy that speaks HTTP.
func (w *hop) overHTTP() bool {
	return w.proxy != nil && strings.HasPrefix(w.proxy.Scheme, "http")
}

// kindOf is kindOfTrip for a hop that may go through a proxy: what went wrong
// before the proxy had done its part is a Proxy fault. A proxy that says that the
// target cannot be reached has done it.
func (w *hop) kindOf(err error, connected bool, target *url.URL) Kind {
	kind := kindOfTrip(err, connected)
	if w.proxy == nil || kind == Guard {
		return kind
	}
	var answer *ProxyError
	var op *net.OpError
	isOp := errors.As(err, &op)
	switch {
	case errors.As(err, &answer):
		if answer.Code == http.StatusBadGateway || answer.Code == http.StatusGatewayTimeout {
			return Connect
		}
		return Proxy
	case isOp && op.Op == "proxyconnect":
		return Proxy
	case isOp && strings.HasPrefix(op.Op, "socks"):
		for _, reason := range socksTarget {
			if strings.HasSuffix(op.Err.Error(), reason) {
				return Connect
			}
		}
		return Proxy
	case !w.overHTTP():
		return kind
	case target.Scheme == "http": // there is no other connection than the one to the proxy
		if kind == Connect {
			return Proxy
		}
		return kind
	case !connected && !w.tunnel.Load():
		return Proxy
	}
	return kind
}
