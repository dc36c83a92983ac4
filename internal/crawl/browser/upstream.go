package browser

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"hce/dc/internal/wire/prop"
)

// maxConnectAnswer limits a proxy's response to CONNECT, in bytes.
const maxConnectAnswer = 64 << 10

// upstreamError is a failure of the request's proxy, not of the host behind it.
type upstreamError struct{ err error }

func (e *upstreamError) Error() string { return "proxy of the request: " + e.err.Error() }
func (e *upstreamError) Unwrap() error { return e.err }

var errNoResolve = errors.New("cannot check a host behind a proxy: Config.Resolve is not set")

// parseUpstream parses Request.Proxy. It returns nil for "". Its errors do not contain the
// text, which may hold a password.
func parseUpstream(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("invalid proxy address; want a URL with a host")
	}
	port, known := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	if !known {
		return nil, fmt.Errorf("unsupported proxy type %q; want http, https or socks5", prop.Clip(u.Scheme))
	}
	u.Host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	return u, nil
}

// forwardsUnchanged reports whether plain HTTP requests go to the upstream proxy unchanged.
// Otherwise they go through a tunnel.
func (p *pageProxy) forwardsUnchanged() bool {
	return p.upstream != nil && (p.upstream.Scheme == "http" || p.upstream.Scheme == "https")
}

// dialUpstream connects to the upstream proxy.
func (p *pageProxy) dialUpstream(ctx context.Context) (net.Conn, error) {
	if p.full.Load() {
		return nil, errTraffic
	}
	ctx, cancel := context.WithTimeout(ctx, proxyDialTime)
	defer cancel()
	conn, err := p.cfg.Dial(ctx, "tcp", p.upstream.Host)
	if err != nil {
		return nil, &upstreamError{err}
	}
	return &counted{Conn: conn, proxy: p}, nil
}

// connectUpstream connects to addr through the upstream proxy.
func (p *pageProxy) connectUpstream(ctx context.Context, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := p.cfg.Resolve(ctx, host); err != nil {
		return nil, err
	}
	conn, err := p.dialUpstream(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := p.openTunnel(ctx, conn, addr)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// openTunnel opens a tunnel to addr through the upstream proxy behind conn.
func (p *pageProxy) openTunnel(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	if !p.forwardsUnchanged() {
		return p.openSOCKS(ctx, conn, addr)
	}
	if p.upstream.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: p.upstream.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, &upstreamError{err}
		}
		conn = secure
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if user := p.upstream.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, &upstreamError{err}
	}
	limited := &io.LimitedReader{R: conn, N: maxConnectAnswer}
	ahead := bufio.NewReader(limited)
	resp, err := http.ReadResponse(ahead, req)
	if err != nil {
		return nil, &upstreamError{err}
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusBadGateway, http.StatusGatewayTimeout: // the proxy works, the host does not
		return nil, fmt.Errorf("proxy status %s", prop.Clip(resp.Status))
	default:
		return nil, &upstreamError{fmt.Errorf("status %s", prop.Clip(resp.Status))}
	}
	if ahead.Buffered() > 0 {
		return &bufferedConn{conn, withBuffered(ahead, conn)}, nil
	}
	return conn, nil
}

// openSOCKS is openTunnel for SOCKS5. The proxy resolves the name of the host.
func (p *pageProxy) openSOCKS(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if user := p.upstream.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", p.upstream.Host, auth, fixedDialer{conn})
	if err != nil {
		return nil, &upstreamError{err}
	}
	tunnel, err := d.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		return tunnel, nil
	}
	for _, reason := range []string{"host unreachable", "network unreachable", "connection refused", "TTL expired"} {
		if strings.HasSuffix(err.Error(), reason) { // the proxy works, the host does not (RFC 1928 6)
			return nil, err
		}
	}
	return nil, &upstreamError{err}
}

// fixedDialer returns an open connection.
type fixedDialer struct{ net.Conn }

func (d fixedDialer) Dial(string, string) (net.Conn, error) { return d.Conn, nil }

func (d fixedDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return d.Conn, nil
}

// bufferedConn is a connection with bytes that were read ahead.
type bufferedConn struct {
	net.Conn
	rest io.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.rest.Read(b) }
