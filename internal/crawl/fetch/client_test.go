package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/web/coding"
)

func TestGet(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Server", "yes")
		w.WriteHeader(http.StatusTeapot) // 400 and above are no fault
		io.WriteString(w, "short and stout")
	})
	before := time.Now()
	resp := must(t, newClient(t, Config{}), Request{URL: u + "/pot?tea=1#lid"})
	if resp.Code != 418 || string(resp.Body) != "short and stout" {
		t.Errorf("code %d, body %q", resp.Code, resp.Body)
	}
	if resp.FinalURL != u+"/pot?tea=1#lid" || len(resp.Redirects) != 0 {
		t.Errorf("final URL %s, redirects %v", resp.FinalURL, resp.Redirects)
	}
	if resp.RequestLine != "GET /pot?tea=1 HTTP/1.1" {
		t.Errorf("request line %q", resp.RequestLine)
	}
	if resp.Header.Get("X-Server") != "yes" || resp.RemoteAddr != strings.TrimPrefix(u, "http://") {
		t.Errorf("header %v, address %s", resp.Header, resp.RemoteAddr)
	}
	if resp.Started.Before(before) || resp.Total <= 0 {
		t.Errorf("started %v, total %v", resp.Started, resp.Total)
	}
}

// The reported header is the one that the server received.
func TestRequestHeader(t *testing.T) {
	var seen http.Header
	h := func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		seen.Set("Host", r.Host)
	}
	plain := serve(t, h)
	secure, pool := serveTLS(t, h)
	c := newClient(t, Config{RootCAs: pool})
	given := http.Header{
		"accept-language": {"en"}, "Connection": {"close"}, "Accept-Encoding": {"compress"},
		"Host": {"evil"}, "Content-Length": {"7"}, "X-Two": {"a", "b"},
	}
	tests := []struct {
		name string
		req  Request
		want map[string]string
	}{
		{"defaults", Request{}, map[string]string{"User-Agent": DefaultUserAgent, "Accept": "*/*", "Accept-Encoding": coding.Accept}},
		{"given", Request{Header: given}, map[string]string{"Accept-Language": "en", "X-Two": "a", "Connection": "", "Accept-Encoding": coding.Accept}},
		{"own agent", Request{Header: http.Header{"User-Agent": {"mine"}}}, map[string]string{"User-Agent": "mine"}},
		{"cookie", Request{Header: http.Header{"Cookie": {"a=1; b=2"}}}, map[string]string{"Cookie": "a=1; b=2"}},
		{"post", Request{Method: "post", Body: []byte("x=1")}, map[string]string{"Content-Length": "3", "Content-Type": "application/x-www-form-urlencoded"}},
		{"post of nothing", Request{Method: "POST", Body: []byte{}}, map[string]string{"Content-Length": "0", "Content-Type": ""}},
		{"put of nothing", Request{Method: "PUT"}, map[string]string{"Content-Length": "0"}},
		{"delete", Request{Method: "DELETE"}, map[string]string{"Content-Length": ""}},
		{"body of a GET", Request{Body: []byte("x=1"), Header: http.Header{"Content-Type": {"a/b"}}}, map[string]string{"Content-Type": ""}},
	}
	for _, tt := range tests {
		for _, base := range []string{plain, secure} {
			t.Run(tt.name+"/"+base[:5], func(t *testing.T) {
				tt.req.URL = base + "/"
				resp := must(t, c, tt.req)
				if !maps.EqualFunc(resp.RequestHeader, seen, slices.Equal) {
					t.Errorf("reported %v\nserver saw %v", resp.RequestHeader, seen)
				}
				for name, want := range tt.want {
					if got := seen.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
			})
		}
	}
	user := strings.Replace(plain, "http://", "http://me:secret@", 1)
	must(t, c, Request{URL: user})
	if got := seen.Get("Authorization"); got != "Basic bWU6c2VjcmV0" {
		t.Errorf("Authorization %q", got)
	}
}

func TestHTTP2AndTLS(t *testing.T) {
	u, pool := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", "1234")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, r.Proto)
	})
	c := newClient(t, Config{RootCAs: pool})
	resp := must(t, c, Request{URL: u})
	if string(resp.Body) != "HTTP/2.0" || resp.RequestLine != "GET / HTTP/2.0" || resp.RemoteAddr == "" {
		t.Errorf("body %q, response %+v", resp.Body, resp)
	}
	if resp := must(t, c, Request{URL: u + "/none"}); resp.Code != 304 || len(resp.Body) != 0 {
		t.Errorf("code %d, body %q", resp.Code, resp.Body)
	}
	var unknown *tls.CertificateVerificationError
	stranger := newClient(t, Config{})
	if f := fails(t, stranger, Request{URL: u}, Connect); !errors.As(f, &unknown) {
		t.Errorf("fault %v, want an unknown authority", f)
	}
	must(t, stranger, Request{URL: u, InsecureTLS: true})
	fails(t, stranger, Request{URL: u}, Connect) // not over the unchecked connection
	wrongName := newClient(t, Config{RootCAs: pool, Resolver: names{"other.test": {"127.0.0.1"}}})
	fails(t, wrongName, Request{URL: named(u, "other.test")}, Connect)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	fails(t, c, Request{URL: strings.Replace(plain, "http:", "https:", 1)}, Connect)
}

func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/chunked", http.StatusFound)
		case "/chunked":
			w.(http.Flusher).Flush()
			io.WriteString(w, "chunk")
		case "/gzip", "/deflate", "/br", "/zstd":
			w.Header().Set("Content-Encoding", r.URL.Path[1:])
			w.(http.Flusher).Flush() // in chunks: the last chunk follows the end of the coding
			w.Write(compress(t, r.URL.Path[1:], []byte("text")))
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond) // no result depends on it
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		default:
			io.WriteString(w, "text")
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := newClient(t, Config{})
	for range 2 {
		for _, path := range []string{"/", "/chunked", "/redirect", "/gzip", "/deflate", "/br", "/zstd", "/none"} {
			must(t, c, Request{URL: srv.URL + path, MaxRedirects: 1})
		}
		must(t, c, Request{URL: srv.URL, Method: "HEAD"})
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestBadRequests(t *testing.T) {
	c := newClient(t, Config{})
	for _, u := range []string{"", "example.com", "/path", "ftp://example.com/", "http://", "http://a:b/", "javascript:x"} {
		f := fails(t, c, Request{URL: u}, BadURL)
		if f.URL != u || f.Partial != nil {
			t.Errorf("fault %+v", f)
		}
	}
	const u = "http://127.0.0.1:1/"
	fails(t, c, Request{URL: u, Header: http.Header{"X": {"a\r\nInjected: 1"}}}, Other)
	fails(t, c, Request{URL: u, Header: http.Header{"X Y": {"a"}}}, Other)
	fails(t, c, Request{URL: u, Header: http.Header{"Cookie": {"a\nb"}}}, Other)
	fails(t, c, Request{URL: u, Method: "GET /"}, Other)
	fails(t, c, Request{URL: u, Method: "CONNECT"}, Other)
	fails(t, c, Request{URL: u, Proxy: "ftp://127.0.0.1/"}, Other)
	fails(t, c, Request{URL: u, Proxy: "http://"}, Other)
}

func TestGuardBeforeEveryDial(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	})
	port := u[strings.LastIndexByte(u, ':'):]
	c := newClient(t, Config{Resolver: names{
		"inside.test":    {"10.0.0.1", "::1"},
		"mapped.test":    {"::ffff:127.0.0.2"},
		"half.test":      {"127.0.0.2", "::ffff:127.0.0.1", "192.168.0.1"},
		"metadata.test":  {"169.254.169.254"},
		"transport.test": {"2002:7f00:1::", "64:ff9b::7f00:1"},
		"empty.test":     {},
	}})
	for _, host := range []string{
		"127.0.0.2", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:2]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
		"[2002:7f00:1::]", "[fe80::1%25lo]", "169.254.169.254", "10.0.0.1",
		"inside.test", "mapped.test", "metadata.test", "transport.test",
	} {
		t.Run(host, func(t *testing.T) {
			var refused *AddressError
			if f := fails(t, c, Request{URL: "http://" + host + port}, Guard); !errors.As(f, &refused) {
				t.Errorf("fault %v has no address", f)
			}
			f := fails(t, c, Request{URL: u + "/?to=http://" + strings.ReplaceAll(host, "%", "%25") + port + "/", MaxRedirects: 3}, Guard)
			if f.Code != 302 || f.Partial == nil || len(f.Partial.Redirects) != 1 {
				t.Errorf("fault %+v", f)
			}
		})
	}
	fails(t, c, Request{URL: "http://empty.test" + port}, Connect)
	// Only the permitted address of a name is dialled.
	f := fails(t, c, Request{URL: "http://half.test" + port + "/?to=/"}, TooManyRedirects)
	if f.Partial.RemoteAddr != strings.TrimPrefix(u, "http://") {
		t.Errorf("dialled %s", f.Partial.RemoteAddr)
	}
}

// A name that changes its address after the check is looked up once per connection, so the
// change has no effect.
func TestRebinding(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") })
	r := &fickle{}
	c := newClient(t, Config{Resolver: r})
	must(t, c, Request{URL: named(u, "fickle.test")})
	fails(t, c, Request{URL: named(u, "fickle.test")}, Guard)
	if n := r.lookups.Load(); n != 2 {
		t.Errorf("looked up %d times for 2 connections", n)
	}
}

// fickle returns the address of the test server once, then a neighbour of it.
type fickle struct{ lookups atomic.Int32 }

func (f *fickle) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if f.lookups.Add(1) == 1 {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newClient(t, Config{Resolver: names{"two.test": {"127.0.0.3", "127.0.0.1"}},
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	fails(t, c, Request{URL: "http://127.0.0.1:1/"}, Connect)
	fails(t, c, Request{URL: "http://unknown.test"}, Connect)
	// A server that accepts connections and never answers.
	fails(t, c, Request{URL: "http://" + l.Addr().String(), Timeout: 50 * time.Millisecond}, Timeout)
	fails(t, c, Request{URL: "https://" + l.Addr().String(), ConnectTimeout: 50 * time.Millisecond}, Timeout)
	// A closed port at the first address costs one attempt, not the fetch.
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	must(t, c, Request{URL: named(u, "two.test")})
	// A resolver that does not answer ends with the connect timeout.
	slow := newClient(t, Config{Resolver: silent{}})
	fails(t, slow, Request{URL: "http://slow.test", ConnectTimeout: 50 * time.Millisecond}, Timeout)
}

type silent struct{}

func (silent) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
}

func TestInvalidResponses(t *testing.T) {
	c := newClient(t, Config{MaxHeaderBytes: 16 << 10})
	tests := []struct {
		name, text string
		want       Kind
	}{
		{"nothing", "", Connect},
		{"half a header", "HTTP/1.1 200 OK\r\nServer: x\r\n", Connect},
		{"not HTTP", "220 mail.example.com ESMTP\r\n", BadResponse},
		{"HTTP/0.9", "<html>hello</html>", BadResponse},
		{"bad status", "HTTP/1.1 abc OK\r\n\r\n", BadResponse},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", BadResponse},
		{"header flood", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Flood: "+strings.Repeat("x", 100)+"\r\n", 1000) + "\r\n", TooLarge},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", BadResponse},
		{"one endless field", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100_000), TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fails(t, c, Request{URL: say(t, tt.text)}, tt.want)
			if f.Code != 0 && f.Code != http.StatusSwitchingProtocols || (f.Partial != nil) != (f.Code != 0) {
				t.Errorf("fault %+v", f)
			}
		})
	}
	// HTTP/2 counts fields before its compression. A header that continues in further
	// frames above the limit counts as an attack.
	u, pool := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		for i := range n {
			w.Header().Set(fmt.Sprint("X-Flood-", i), strings.Repeat("x", 100))
		}
	})
	h2 := newClient(t, Config{MaxHeaderBytes: 16 << 10, RootCAs: pool})
	must(t, h2, Request{URL: u + "/?n=50"})
	fails(t, h2, Request{URL: u + "/?n=140"}, TooLarge)
	fails(t, h2, Request{URL: u + "/?n=2000"}, BadResponse)
	must(t, h2, Request{URL: u + "/?n=50"})
}

func TestCancel(t *testing.T) {
	started := make(chan struct{}, 10)
	u := serveRaw(t, func(conn net.Conn) {
		started <- struct{}{}
		conn.Read(make([]byte, 1)) // until the client disconnects
	})
	c := newClient(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-started; cancel() }()
	if _, err := c.Get(ctx, Request{URL: u}); KindOf(err) != Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Cancelled", err)
	}
	// The deadline of the caller is not a fault of the server.
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx, Request{URL: u}); KindOf(err) != Cancelled {
		t.Errorf("error %v, want Cancelled", err)
	}
	go func() { <-started; c.Close() }()
	fails(t, c, Request{URL: u}, Cancelled)
	fails(t, c, Request{URL: u}, Cancelled)
}

// After Close no goroutine is left, whatever the servers do.
func TestEverythingEnds(t *testing.T) {
	hang := serveRaw(t, func(conn net.Conn) { conn.Read(make([]byte, 1)) })
	ok := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	before := runtime.NumGoroutine()
	c := New(Config{AllowedNetworks: local, Resolver: silent{}})
	for range 5 {
		c.Get(context.Background(), Request{URL: ok})
		c.Get(context.Background(), Request{URL: hang, Timeout: 5 * time.Millisecond})
		c.Get(context.Background(), Request{URL: "http://slow.test", Timeout: 5 * time.Millisecond})
	}
	c.Close()
	// The server keeps goroutines for connections that it has yet to close.
	testwait.Until(t, "the goroutines of the client end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	u := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, Config{Resolver: names{"site.test": {"127.0.0.1"}}})
	must(t, c, Request{URL: named(u, "site.test")})
}

func TestProxy(t *testing.T) {
	var requests []string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	c := newClient(t, Config{Resolver: names{"site.test": {"8.8.8.8"}, "inside.test": {"10.0.0.1"}}})
	resp := must(t, c, Request{URL: "http://site.test/x", Proxy: named(proxy, "u:p@127.0.0.1")})
	if resp.RemoteAddr != strings.TrimPrefix(proxy, "http://") {
		t.Errorf("dialled %s", resp.RemoteAddr)
	}
	must(t, c, Request{URL: "http://site.test/y", Proxy: strings.TrimPrefix(proxy, "http://")})
	fails(t, c, Request{URL: "https://site.test/z", Proxy: proxy}, Proxy)
	want := []string{"GET http://site.test/x Basic dTpw", "GET http://site.test/y ", "CONNECT site.test:443 "}
	if !slices.Equal(requests, want) {
		t.Errorf("requests to the proxy: %q, want %q", requests, want)
	}
	fails(t, c, Request{URL: "http://inside.test/", Proxy: proxy}, Guard)
	fails(t, c, Request{URL: "http://169.254.169.254/", Proxy: proxy}, Guard)
	fails(t, c, Request{URL: "http://site.test/", Proxy: "http://10.0.0.1:3128"}, Guard)
	fails(t, c, Request{URL: "http://site.test/", Proxy: "socks5://127.0.0.2:1080"}, Guard)
}

func TestKinds(t *testing.T) {
	if KindOf(nil) != None || KindOf(io.EOF) != Other || KindOf(fmt.Errorf("x: %w", &Fault{Kind: Guard})) != Guard {
		t.Error("KindOf is wrong")
	}
	texts := map[string]bool{}
	for k := range kinds {
		text := Kind(k).String()
		if text == "" || texts[text] {
			t.Errorf("kind %d: text %q", k, text)
		}
		texts[text] = true
	}
	if got := (&Fault{Kind: Timeout, URL: "u"}).Error(); got != `fetch "u": timed out` {
		t.Error(got)
	}
	if got := (&Fault{Kind: BadURL, URL: "ftp://me:secret@h/", Err: io.EOF}).Error(); got != `fetch "ftp://me:xxxxx@h/": bad URL: EOF` {
		t.Error(got)
	}
}
