package browser

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Everything a page loads goes through the proxy of its request. A failure of the proxy
// differs from one of the host behind it. Package crawl tests real proxies with real pages.
func TestRequestProxy(t *testing.T) {
	where := site(t, map[string]any{
		"/":     `<body><script>fetch("/data").then(r => r.text()).then(t => document.body.append(t));</script>`,
		"/data": "data",
	})
	var mu sync.Mutex
	var requests []string
	carries := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Method+" "+r.Host+r.URL.Path)
		mu.Unlock()
		r.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(carries.Close)
	answers := func(code int) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	guard := func(_ context.Context, host string) error {
		switch {
		case host == "127.0.0.1", host == "somewhere.test":
			return nil
		case strings.HasSuffix(host, ".test"):
			return refusal{host}
		}
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	behind := New(func() Config { c := config(shortDir(t)); c.Resolve = guard; return c }())
	t.Cleanup(behind.Close)

	p, err := behind.Get(t.Context(), Request{URL: where, Proxy: carries.URL, Damping: 1e9, Timeout: 20e9})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, p, "data")
	home := strings.TrimPrefix(where, "http://")
	mu.Lock()
	if !slices.Contains(requests, "GET "+home+"/") || !slices.Contains(requests, "GET "+home+"/data") {
		t.Errorf("requests to the proxy: %q", requests)
	}
	requests = nil
	mu.Unlock()

	for _, tt := range []struct {
		name, url, proxy string
		kind             Kind
	}{
		{"dead", where, "http://127.0.0.1:1", ProxyConnect},
		{"dead SOCKS proxy", where, "socks5://127.0.0.1:1", ProxyConnect},
		{"dead, for https", "https://somewhere.test/", "http://127.0.0.1:1", ProxyConnect},
		{"wants a password", where, answers(407), ProxyConnect},
		{"wants a password, for https", "https://somewhere.test/", answers(407), ProxyConnect},
		{"does not reach the host, for https", "https://somewhere.test/", answers(502), Connect},
		{"private address", where, "http://10.0.0.1:3128", Guard},
		{"to a host that the guard refuses", "http://private.test/", carries.URL, Guard},
		{"to a host that the guard refuses, for https", "https://private.test/", carries.URL, Guard},
		{"unknown host", "http://nowhere.invalid/", carries.URL, NameNotResolved},
		{"unknown type", where, "gopher://127.0.0.1:1", ProxyConnect},
		{"empty address", where, "http://", ProxyConnect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantFault(t, behind, Request{URL: tt.url, Proxy: tt.proxy}, tt.kind)
		})
	}
	if len(requests) > 0 {
		t.Errorf("requests to the proxy: %q", requests)
	}
	t.Run("without a guard for hosts", func(t *testing.T) {
		wantFault(t, shared, Request{URL: where, Proxy: carries.URL}, Connect)
	})
}
