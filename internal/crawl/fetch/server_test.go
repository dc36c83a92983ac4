package fetch

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/publicsuffix"
)

// local allows the address of test servers, and no other.
var local = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.AllowedNetworks == nil {
		cfg.AllowedNetworks = local
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// mapJar is a Jar of cookies that all hosts of a registrable domain may share.
type mapJar struct{ *cookiejar.Jar }

func newJar() mapJar {
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		panic(err) // never happens
	}
	return mapJar{jar}
}

func (j mapJar) Cookies(u *url.URL) string {
	var pairs []string
	for _, c := range j.Jar.Cookies(u) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

func (j mapJar) SetCookies(u *url.URL, h http.Header) {
	j.Jar.SetCookies(u, (&http.Response{Header: h}).Cookies())
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// serveTLS starts an HTTP/2 server and returns its certificate authorities.
func serveTLS(t testing.TB, h http.HandlerFunc) (string, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return srv.URL, pool
}

// listen calls talk for each connection and closes it then. It returns host and port.
func listen(t testing.TB, talk func(conn net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute))
				talk(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// serveRaw calls talk for each connection after its request header. It closes the
// connection when talk returns.
func serveRaw(t testing.TB, talk func(conn net.Conn)) string {
	t.Helper()
	return "http://" + listen(t, func(conn net.Conn) {
		var head []byte
		buf := make([]byte, 4096)
		for !bytes.Contains(head, []byte("\r\n\r\n")) {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			head = append(head, buf[:n]...)
		}
		talk(conn)
	})
}

// say is serveRaw with a fixed response.
func say(t testing.TB, text string) string {
	return serveRaw(t, func(conn net.Conn) { conn.Write([]byte(text)) })
}

// must expects success.
func must(t testing.TB, c *Client, r Request) *Response {
	t.Helper()
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	resp, err := c.Get(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// fails expects a fault of kind want.
func fails(t testing.TB, c *Client, r Request, want Kind) *Fault {
	t.Helper()
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	resp, err := c.Get(context.Background(), r)
	if err == nil {
		t.Fatalf("no fault but code %d and %d bytes, want %v", resp.Code, len(resp.Body), want)
	}
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("error %T", err)
	}
	if resp != nil {
		t.Error("Get returns a Response and a fault")
	}
	if f.Kind != want {
		t.Fatalf("fault %v (%v), want %v", f.Kind, f, want)
	}
	return f
}

// names is a Resolver with fixed names.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var addrs []netip.Addr
	for _, s := range texts {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

// named replaces the host of a local server's URL.
func named(u, name string) string {
	return strings.Replace(u, "127.0.0.1", name, 1)
}
