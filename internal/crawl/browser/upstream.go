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
)

// maxConnectAnswer bounds what a proxy says to CONNECT, in bytes.
const maxConnectAnswer = 64 << 10

// upstreamError is a failure of the proxy that a request names, not of the host
// behind it.
type upstreamError struct{ err error }

func (e *upstreamError) Error() string { return "the proxy of the request: " + e.err.Error() }
func (e *upstreamError) Unwrap() error { return e.err }

var errNoResolve = errors.New("the browser cannot judge hosts behind a proxy: Config.Resolve is not set")

// parseUpstream reads Request.Proxy; nil for none. Its errors do not repeat the
// text, which may have a password in it.
func parseUpstream(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the address of the proxy is no URL with a host")
	}
	port, known := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	if !known {
		return nil, fmt.Errorf("the proxy is of the type %q, where http, https or socks5 is wanted", clip(u.Scheme))
	}
	u.Host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	return u, nil
}

// forwards reports whether plain HTTP goes to the upstream proxy as it is, and not
// through a tunnel.
func (p *pageProxy) forwards() bool {
	return p.upstream != nil && (p.upstream.Scheme == "http" || p.upstream.Scheme == "https")
}

// judge asks the guard for a host that the upstream proxy is to be sent to, as
// nobody dials it here.
func (p *pageProxy) judge(ctx context.Context, host string) error {
	if p.resolve == nil {
		return errNoResolve
	}
	return p.resolve(ctx, host)
}

// dialUpstream opens a connection to the upstream proxy.
func (p *pageProxy) dialUpstream(ctx context.Context) (net.Conn, error) {
	if p.full.Load() {
		return nil, errTraffic
	}
	ctx, cancel := context.WithTimeout(ctx, proxyDialTime)
	defer cancel()
	conn, err := p.dial(ctx, "tcp", p.upstream.Host)
	if err != nil {
		return nil, &upstreamError{err}
	}
	return &counted{Conn: conn, proxy: p}, nil
}

// through opens a connection to addr by way of the upstream proxy.
func (p *pageProxy) through(ctx context.Context, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := p.judge(ctx, host); err != nil {
		return nil, err
	}
	conn, err := p.dialUpstream(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	opened, err := p.agree(ctx, conn, addr)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return opened, nil
}

// agree has the upstream proxy at the other end of conn open a tunnel to addr.
func (p *pageProxy) agree(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	if !p.forwards() {
		return p.agreeSOCKS(ctx, conn, addr)
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
	case http.StatusBadGateway, http.StatusGatewayTimeout: // it has done its part
		return nil, fmt.Errorf("the proxy answers %s", clip(resp.Status))
	default:
		return nil, &upstreamError{fmt.Errorf("it answers %s", clip(resp.Status))}
	}
	if n := ahead.Buffered(); n > 0 {
		return &begunConn{conn, io.MultiReader(io.LimitReader(ahead, int64(n)), conn)}, nil
	}
	return conn, nil
}

// agreeSOCKS speaks SOCKS5, with the name of the host left to the proxy.
func (p *pageProxy) agreeSOCKS(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	var auth *proxy.Auth
	if user := p.upstream.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", p.upstream.Host, auth, given{conn})
	if err != nil {
		return nil, &upstreamError{err}
	}
	opened, err := d.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		return opened, nil
	}
	for _, reason := range []string{"host unreachable", "network unreachable", "connection refused", "TTL expired"} {
		if strings.HasSuffix(err.Error(), reason) { // it has done its part (RFC 1928 6)
			return nil, err
		}
	}
	return nil, &upstreamError{err}
}

// given is a dialer that hands out the connection that there is.
type given struct{ net.Conn }

func (g given) Dial(string, string) (net.Conn, error) { return g.Conn, nil }

func (g given) DialContext(context.Context, string, string) (net.Conn, error) { return g.Conn, nil }

// begunConn is a connection of which some bytes were read already.
type begunConn struct {
	net.Conn
	rest io.Reader
}

func (c *begunConn) Read(b []byte) (int, error) { return c.rest.Read(b) }
