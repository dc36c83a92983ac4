package fetch

import (
	"encoding/binary"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// proxyServer is a forward proxy. It records requests, and requires a login if it has one.
type proxyServer struct {
	login string // "Basic ..." or ""

	mu       sync.Mutex
	requests []string
}

func (p *proxyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests = append(p.requests, r.Method+" "+r.Host)
	p.mu.Unlock()
	if p.login != "" && r.Header.Get("Proxy-Authorization") != p.login {
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		target, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		splice(client, buffered, target)
		return
	}
	r.RequestURI = ""
	r.Header.Del("Proxy-Authorization")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

// splice copies bytes in both directions until one side ends.
func splice(client net.Conn, from io.Reader, target net.Conn) {
	go func() {
		io.Copy(target, from)
		target.Close()
	}()
	io.Copy(client, target)
	client.Close()
}

// serveSOCKS starts a SOCKS5 proxy that requires login ("name:password") unless it is
// empty, and answers requests with reply. It returns host and port.
func serveSOCKS(t testing.TB, login string, reply byte) string {
	t.Helper()
	return listen(t, func(conn net.Conn) { talkSOCKS(conn, login, reply) })
}

// talkSOCKS speaks RFC 1928 and RFC 1929 as a proxy.
func talkSOCKS(conn net.Conn, login string, reply byte) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(conn, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	methods := read(int(read(2)[1]))
	if login != "" {
		if !strings.Contains(string(methods), "\x02") {
			conn.Write([]byte{5, 0xFF})
			return
		}
		conn.Write([]byte{5, 2})
		name := read(int(read(2)[1]))
		password := read(int(read(1)[0]))
		if string(name)+":"+string(password) != login {
			conn.Write([]byte{1, 1})
			return
		}
		conn.Write([]byte{1, 0})
	} else {
		conn.Write([]byte{5, 0})
	}
	var host string
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	}
	port := binary.BigEndian.Uint16(read(2))
	conn.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0})
	if reply != 0 {
		return
	}
	if target, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))); err == nil {
		splice(conn, conn, target)
	}
}

// Requests for http and https go through every kind of proxy, with and without a password.
// No target sees the proxy's password.
func TestProxies(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Proxy-Authorization") + r.Header.Get("Authorization"); got != "" {
			t.Errorf("the target sees %q", got)
		}
		io.WriteString(w, "from "+r.Proto)
	}
	plain := serve(t, h)
	secure, pool := serveTLS(t, h)

	const login = "Basic bWU6c2VjcmV0" // me:secret
	open, closed := &proxyServer{}, &proxyServer{login: login}
	quiet := func(h http.Handler) *httptest.Server {
		srv := httptest.NewUnstartedServer(h)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.EnableHTTP2 = true // CONNECT must not use HTTP/2
		t.Cleanup(srv.Close)
		return srv
	}
	tlsProxy, tlsClosed := quiet(open), quiet(closed)
	for _, srv := range []*httptest.Server{tlsProxy, tlsClosed} {
		srv.StartTLS()
		pool.AddCert(srv.Certificate())
	}
	httpProxy, httpClosed := httptest.NewServer(open), httptest.NewServer(closed)
	t.Cleanup(httpProxy.Close)
	t.Cleanup(httpClosed.Close)
	as := func(user, u string) string { return strings.Replace(u, "://", "://"+user+"@", 1) }

	c := newClient(t, Config{RootCAs: pool})
	tests := []struct {
		name, proxy string
		kind        Kind
		only        string // scheme of the target; "" for both
	}{
		{"http", httpProxy.URL, None, ""},
		{"http without a scheme", strings.TrimPrefix(httpProxy.URL, "http://"), None, ""},
		{"http with a password", as("me:secret", httpClosed.URL), None, ""},
		{"http without its password", httpClosed.URL, Proxy, ""},
		{"http with a wrong password", as("me:wrong", httpClosed.URL), Proxy, ""},
		{"https", tlsProxy.URL, None, ""},
		{"https with a password", as("me:secret", tlsClosed.URL), None, ""},
		{"https without its password", tlsClosed.URL, Proxy, ""},
		{"https that is http", strings.Replace(httpProxy.URL, "http:", "https:", 1), Proxy, ""},
		// A TLS server may answer plain HTTP with an error page, so only CONNECT fails for sure.
		{"http that is https", strings.Replace(tlsProxy.URL, "https:", "http:", 1), Proxy, "https"},
		{"socks5", "socks5://" + serveSOCKS(t, "", 0), None, ""},
		{"socks5h", "socks5h://" + serveSOCKS(t, "", 0), None, ""},
		{"socks5 with a password", "socks5://me:secret@" + serveSOCKS(t, "me:secret", 0), None, ""},
		{"socks5 without its password", "socks5://" + serveSOCKS(t, "me:secret", 0), Proxy, ""},
		{"socks5 with a wrong password", "socks5://me:wrong@" + serveSOCKS(t, "me:secret", 0), Proxy, ""},
		{"socks5, not allowed", "socks5://" + serveSOCKS(t, "", 2), Proxy, ""},
		{"socks5, target unreachable", "socks5://" + serveSOCKS(t, "", 4), Connect, ""},
		{"socks5 that is http", strings.Replace(httpProxy.URL, "http:", "socks5:", 1), Proxy, ""},
		{"closed port", "http://127.0.0.1:1", Proxy, ""},
		{"closed port, https", "https://127.0.0.1:1", Proxy, ""},
		{"closed port, socks5", "socks5://127.0.0.1:1", Proxy, ""},
	}
	for _, tt := range tests {
		for _, target := range []string{plain, secure} {
			scheme, _, _ := strings.Cut(target, ":")
			if tt.only != "" && tt.only != scheme {
				continue
			}
			t.Run(tt.name+", target "+scheme, func(t *testing.T) {
				r := Request{URL: target + "/", Proxy: tt.proxy, ConnectTimeout: 2 * time.Second, Header: http.Header{"Proxy-Authorization": {"mine"}}}
				if tt.kind != None {
					f := fails(t, c, r, tt.kind)
					if strings.Contains(f.Error(), "secret") || strings.Contains(f.Error(), "wrong") {
						t.Errorf("%v contains the password", f)
					}
					return
				}
				for range 2 { // the second one over a kept connection
					resp := must(t, c, r)
					if resp.Code == 200 && !strings.HasPrefix(string(resp.Body), "from HTTP/") {
						t.Errorf("code %d, body %q", resp.Code, resp.Body)
					}
					if resp.RequestHeader.Get("Proxy-Authorization") != "" {
						t.Error("the proxy's password is reported as sent to the target")
					}
				}
			})
		}
	}
	f := fails(t, c, Request{URL: plain, Proxy: httpClosed.URL}, Proxy)
	var answer *ProxyError
	if !errors.As(f, &answer) || answer.Code != 407 || f.Code != 407 {
		t.Errorf("fault %+v", f)
	}
	f = fails(t, c, Request{URL: secure, Proxy: httpClosed.URL}, Proxy)
	if !errors.As(f, &answer) || answer.Code != 407 {
		t.Errorf("fault %+v", f)
	}
	// A target without a listener, or with a bad certificate, is no failure of the proxy.
	fails(t, c, Request{URL: "https://127.0.0.1:1/", Proxy: httpProxy.URL}, Connect)
	stranger := newClient(t, Config{})
	fails(t, stranger, Request{URL: secure, Proxy: httpProxy.URL}, Connect)
	fails(t, stranger, Request{URL: secure, Proxy: "socks5://" + serveSOCKS(t, "", 0)}, Connect)
	fails(t, stranger, Request{URL: plain, Proxy: tlsProxy.URL}, Proxy) // its own certificate
	must(t, stranger, Request{URL: secure, Proxy: tlsProxy.URL, InsecureTLS: true})
	// 407 of a target is a normal response.
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(407) })
	if resp := must(t, c, Request{URL: u}); resp.Code != 407 {
		t.Errorf("code %d", resp.Code)
	}
	for _, text := range []string{"ftp://me:secret@h/", "http://", "http://me:secret@h:x/", "socks4://h"} {
		if f := fails(t, c, Request{URL: plain, Proxy: text}, Other); strings.Contains(f.Error(), "secret") {
			t.Errorf("%v contains the password", f)
		}
	}
	if len(open.requests) == 0 || len(closed.requests) == 0 {
		t.Error("a proxy has received no request")
	}
}

// A proxy that accepts the connection and never answers costs the connect timeout and leaks
// nothing.
func TestSilentProxies(t *testing.T) {
	silent := listen(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }) // until the client disconnects
	before := runtime.NumGoroutine()
	c := newClient(t, Config{})
	for _, scheme := range []string{"http", "https", "socks5"} {
		proxy := scheme + "://" + silent
		f := fails(t, c, Request{URL: "https://127.0.0.1:1/", Proxy: proxy, ConnectTimeout: 100 * time.Millisecond}, Proxy)
		if f.Partial != nil {
			t.Errorf("%s: %+v", scheme, f)
		}
		fails(t, c, Request{URL: "https://127.0.0.1:1/", Proxy: proxy, ConnectTimeout: 300 * time.Millisecond, Timeout: 50 * time.Millisecond}, Timeout)
	}
	// Close ends running dials.
	fails(t, c, Request{URL: "http://127.0.0.1:1/", Proxy: "socks5://" + silent, ConnectTimeout: time.Minute, Timeout: 50 * time.Millisecond}, Timeout)
	c.Close()
	testwait.Until(t, "the goroutines of the client end", func() bool { return runtime.NumGoroutine() <= before })
}

// The limit on the negotiation with a proxy ends when the tunnel is open.
func TestSlowBodyThroughProxy(t *testing.T) {
	const connectTimeout = 3 * time.Second
	u, pool := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		time.Sleep(connectTimeout * 5 / 4)
		io.WriteString(w, "b")
	})
	proxy := httptest.NewServer(&proxyServer{})
	t.Cleanup(proxy.Close)
	c := newClient(t, Config{RootCAs: pool})
	for name, p := range map[string]string{"http": proxy.URL, "socks5": "socks5://" + serveSOCKS(t, "", 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if resp := must(t, c, Request{URL: u, Proxy: p, ConnectTimeout: connectTimeout}); string(resp.Body) != "ab" {
				t.Errorf("body %q", resp.Body)
			}
		})
	}
}
