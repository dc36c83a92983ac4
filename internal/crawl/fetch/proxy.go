package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ProxyError is the response of a proxy that refuses a tunnel or wants other credentials.
type ProxyError struct {
	Code int // HTTP status, such as 407
}

// Error returns the status and its text.
func (e *ProxyError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("proxy status %d %s", e.Code, http.StatusText(e.Code)))
}

// parseProxy parses the URL of a proxy. Its errors do not contain the text, which may hold
// a password.
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
		return nil, fmt.Errorf("unsupported scheme %q; want http, https, socks5 or socks5h", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("no host")
	}
	return u, nil
}

// limitProxy limits the negotiation on a new connection to a proxy by another connect
// timeout. net/http waits longer for the response to CONNECT, and without limit for SOCKS.
// gotConn removes the limit.
func (c *Client) limitProxy(conn net.Conn, w *hop) {
	if w.proxy == nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(w.connectTimeout))
	stop := context.AfterFunc(c.life, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	time.AfterFunc(w.connectTimeout, func() { stop() })
}

// checkProxyResponse is the OnProxyConnectResponse of a transport.
func checkProxyResponse(ctx context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return &ProxyError{Code: resp.StatusCode}
	}
	hopOf(ctx).tunnel.Store(true)
	return nil
}

// socksTarget lists the ends of errors with which a SOCKS proxy reports that the target is
// unreachable (RFC 1928 6).
var socksTarget = []string{"network unreachable", "host unreachable", "connection refused", "TTL expired"}

// overHTTP reports whether there is a proxy and it speaks HTTP.
func (w *hop) overHTTP() bool {
	return w.proxy != nil && strings.HasPrefix(w.proxy.Scheme, "http")
}

// kindOf is kindOfTrip for a hop that may use a proxy. A failure of the proxy is a Proxy
// fault. A proxy that reports an unreachable target has worked.
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
		if slices.ContainsFunc(socksTarget, func(reason string) bool { return strings.HasSuffix(op.Err.Error(), reason) }) {
			return Connect
		}
		return Proxy
	case !w.overHTTP():
		return kind
	case target.Scheme == "http" && kind == Connect, // the only connection is that to the proxy
		target.Scheme != "http" && !connected && !w.tunnel.Load():
		return Proxy
	}
	return kind
}
