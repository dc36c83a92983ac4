package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

func TestRedirects(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || n == 0 {
			fmt.Fprint(w, r.Method, " ", r.ContentLength)
			return
		}
		code, _ := strconv.Atoi(r.FormValue("code"))
		w.Header().Set("Location", fmt.Sprintf("%d?code=%d", n-1, code))
		w.WriteHeader(code)
		io.WriteString(w, "moved")
	})
	c := newClient(t, Config{})
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			q := fmt.Sprintf("?code=%d", code)
			var allowed []string
			resp := must(t, c, Request{URL: u + "/3" + q + "#part", MaxRedirects: 3, Allow: func(_ context.Context, next *url.URL) error {
				allowed = append(allowed, next.RequestURI())
				return nil
			}})
			want := []string{u + "/3" + q + "#part", u + "/2" + q + "#part", u + "/1" + q + "#part"}
			var got []string
			for _, hop := range resp.Redirects {
				got = append(got, hop.URL)
				x := hop.Exchange
				if hop.Code != code || x == nil || string(x.Body) != "moved" || x.Cut || x.Header.Get("Location") == "" ||
					x.StatusLine != fmt.Sprint("HTTP/1.1 ", code, " ", http.StatusText(code)) || !strings.HasPrefix(x.RequestLine, "GET /") {
					t.Errorf("hop %+v, exchange %+v", hop, x)
				}
			}
			if resp.Code != 200 || !slices.Equal(got, want) || resp.FinalURL != u+"/0"+q+"#part" {
				t.Errorf("code %d, final %s, redirects %v", resp.Code, resp.FinalURL, resp.Redirects)
			}
			if !slices.Equal(allowed, []string{"/2" + q, "/1" + q, "/0" + q}) {
				t.Errorf("calls of Allow: %q", allowed)
			}
			f := fails(t, c, Request{URL: u + "/3" + q, MaxRedirects: 2}, TooManyRedirects)
			if f.Code != code || len(f.Partial.Redirects) != 2 || f.URL != u+"/1"+q || f.Partial.Header.Get("Location") == "" {
				t.Errorf("fault %+v", f)
			}
			fails(t, c, Request{URL: u + "/1" + q}, TooManyRedirects)

			post := must(t, c, Request{URL: u + "/1" + q, Method: "POST", Body: []byte("abc"), MaxRedirects: 1})
			method := "GET 0"
			if code >= 307 {
				method = "POST 3"
			}
			if string(post.Body) != method {
				t.Errorf("POST became %s, want %s", post.Body, method)
			}
			head := must(t, c, Request{URL: u + "/1" + q, Method: "HEAD", MaxRedirects: 1})
			if !strings.HasPrefix(head.RequestLine, "HEAD ") {
				t.Errorf("HEAD became %s", head.RequestLine)
			}
		})
	}
	if resp := must(t, c, Request{URL: u + "/1?code=304"}); resp.Code != 304 {
		t.Errorf("304 with a Location: code %d", resp.Code)
	}
	if resp := must(t, c, Request{URL: u + "/1?code=300"}); resp.Code != 300 || string(resp.Body) != "moved" {
		t.Errorf("300: code %d, body %q", resp.Code, resp.Body)
	}
}

func TestRedirectTargets(t *testing.T) {
	c := newClient(t, Config{})
	tests := []struct {
		name, location string
		kind           Kind
		path           string // of the next request
		fragment       string
	}{
		{"relative", "page", None, "/dir/page", "old"},
		{"own fragment", "/page#new", None, "/page", "new"},
		{"spaces", "  /a page ", None, "/a%20page", "old"},
		{"raw bytes", "/\xe4\xf6", None, "/%E4%F6", "old"},
		{"UTF-8", "/\u00e4?\u00f6", None, "/%C3%A4?%C3%B6", "old"},
		{"loose percent", "/50%", None, "/50%25", "old"},
		{"empty Location", "", BadRedirect, "", ""},
		{"other scheme", "ftp://example.com/", BadRedirect, "", ""},
		{"script", "javascript:alert(1)", BadRedirect, "", ""},
		{"file", "file:///etc/passwd", BadRedirect, "", ""},
		{"no host", "http://", BadRedirect, "", ""},
		{"broken", "http://[::1", BadRedirect, "", ""},
		{"itself", "?", RedirectLoop, "", ""},
		{"itself with a fragment", "#x", RedirectLoop, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var last string
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				last = r.RequestURI
				if r.URL.Path == "/dir/start" {
					w.Header()["Location"] = []string{tt.location}
					w.WriteHeader(http.StatusFound)
				}
			})
			r := Request{URL: u + "/dir/start#old", MaxRedirects: 5}
			if tt.name == "itself" {
				r.URL = u + "/dir/start?"
			}
			if tt.kind != None {
				if f := fails(t, c, r, tt.kind); f.Code != 302 {
					t.Errorf("code %d", f.Code)
				}
				return
			}
			resp := must(t, c, r)
			if last != tt.path || resp.FinalURL != u+tt.path+"#"+tt.fragment {
				t.Errorf("last request %s, final URL %s", last, resp.FinalURL)
			}
		})
	}
}

func TestRedirectLoops(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b", http.StatusFound)
		case "/b":
			http.Redirect(w, r, "/a#again", http.StatusFound)
		case "/wall": // redirects to itself with a cookie
			if r.Header.Get("Cookie") == "" {
				http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
				http.Redirect(w, r, "/wall", http.StatusFound)
			}
		}
	})
	c := newClient(t, Config{})
	f := fails(t, c, Request{URL: u + "/a", MaxRedirects: 50}, RedirectLoop)
	if len(f.Partial.Redirects) != 2 || f.Code != 302 {
		t.Errorf("fault %+v", f)
	}
	if resp := must(t, c, Request{URL: u + "/wall", MaxRedirects: 50, Jar: newJar()}); len(resp.Redirects) != 1 {
		t.Errorf("redirects %v", resp.Redirects)
	}
}

// Credentials for one site do not reach another site, nor the first one again through it.
// Cookies of redirects go to their own site.
func TestCredentials(t *testing.T) {
	var seen []string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		seen = append(seen, strings.TrimSpace(host+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Cookie")+" "+r.Header.Get("X-Other")))
		if to := r.FormValue("to"); to != "" {
			if set := r.FormValue("set"); set != "" {
				w.Header().Set("Set-Cookie", set)
			}
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	c := newClient(t, Config{Resolver: names{"a.test": {"127.0.0.1"}, "b.test": {"127.0.0.1"}}})
	a, b := named(u, "a.test"), named(u, "b.test")
	to := func(from, target, set string) string {
		return from + "?set=" + url.QueryEscape(set) + "&to=" + url.QueryEscape(target)
	}
	tests := []struct {
		name, url string
		want      []string
	}{
		{"same site", to(a+"/1", a+"/2", ""), []string{"a.test/1 secret k=v x", "a.test/2 secret k=v x"}},
		{"other site", to(a+"/1", b+"/2", ""), []string{"a.test/1 secret k=v x", "b.test/2   x"}},
		{"there and back", to(a+"/1", to(b+"/2", a+"/3", ""), ""), []string{"a.test/1 secret k=v x", "b.test/2   x", "a.test/3   x"}},
		{"other site and a redirect within it", to(a+"/1", to(b+"/2", b+"/3", ""), ""), []string{"a.test/1 secret k=v x", "b.test/2   x", "b.test/3   x"}},
		{"cookie set", to(a+"/1", a+"/2", "n=1"), []string{"a.test/1 secret k=v x", "a.test/2 secret k=v; n=1 x"}},
		{"cookie replaced", to(a+"/1", a+"/2", "k=new"), []string{"a.test/1 secret k=v x", "a.test/2 secret k=new x"}},
		{"cookie set, other site", to(a+"/1", b+"/2", "n=1"), []string{"a.test/1 secret k=v x", "b.test/2   x"}},
		{"cookie set, back", to(a+"/1", to(b+"/2", a+"/3", "m=2"), "n=1"), []string{"a.test/1 secret k=v x", "b.test/2   x", "a.test/3  n=1 x"}},
		{"cookie for all of test", to(a+"/1", b+"/2", "n=1; Domain=test"), []string{"a.test/1 secret k=v x", "b.test/2   x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			must(t, c, Request{URL: tt.url, MaxRedirects: 5, Jar: newJar(), Header: http.Header{"Authorization": {"secret"}, "Cookie": {"k=v"}, "X-Other": {"x"}}})
			if !slices.Equal(seen, tt.want) {
				t.Errorf("seen %q\nwant %q", seen, tt.want)
			}
		})
	}
}

func TestAllow(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	})
	c := newClient(t, Config{})
	no := errors.New("robots say no")
	f := fails(t, c, Request{URL: u, MaxRedirects: 5, Allow: func(context.Context, *url.URL) error { return no }}, Refused)
	if !errors.Is(f, no) || f.Code != 302 || f.Partial == nil {
		t.Errorf("fault %+v", f)
	}
	// Total does not include time inside Allow.
	const wait = 100 * time.Millisecond
	began := time.Now()
	resp := must(t, c, Request{URL: u, MaxRedirects: 5, Allow: func(context.Context, *url.URL) error {
		time.Sleep(wait)
		return nil
	}})
	if took := time.Since(began); resp.Total > took-wait {
		t.Errorf("total %v of %v", resp.Total, took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := c.Get(ctx, Request{URL: u, MaxRedirects: 5, Allow: func(ctx context.Context, _ *url.URL) error { cancel(); return ctx.Err() }})
	if KindOf(err) != Cancelled {
		t.Errorf("error %v, want Cancelled", err)
	}
}

// The client does not wait for the body of a redirect.
func TestRedirectBodies(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			w.Header().Set("Location", "/end")
			w.WriteHeader(http.StatusFound)
			for _, err := w.Write(noise(1 << 16)); err == nil; _, err = w.Write(noise(1 << 16)) {
			}
		case "/stuck":
			w.Header().Set("Location", "/end")
			w.WriteHeader(http.StatusFound)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	c := newClient(t, Config{})
	for _, path := range []string{"/endless", "/stuck"} {
		if resp := must(t, c, Request{URL: u + path, MaxRedirects: 1}); resp.Code != 200 {
			t.Errorf("%s: code %d", path, resp.Code)
		}
	}
}

// Each hop ends within the timeout, but two of them do not.
func TestTimeoutOverAllHops(t *testing.T) {
	const timeout = 2 * time.Second
	var n atomic.Int32
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(timeout * 3 / 5):
		case <-r.Context().Done():
		}
		http.Redirect(w, r, fmt.Sprint("/", n.Add(1)), http.StatusFound)
	})
	f := fails(t, newClient(t, Config{}), Request{URL: u, MaxRedirects: 1000, Timeout: timeout}, Timeout)
	if f.Partial == nil || len(f.Partial.Redirects) == 0 {
		t.Errorf("fault %+v", f)
	}
}

// A server closes the connection on its second request. The client sends the request once
// more, but only after a call of Allow.
func TestKeptConnectionBreaks(t *testing.T) {
	for _, tt := range []struct {
		method string
		kind   Kind
		allows []int32 // requests before each call of Allow
		total  int32
	}{
		{"GET", None, []int32{2}, 3},
		{"HEAD", None, []int32{2}, 3},
		{"POST", Connect, nil, 2},
	} {
		t.Run(tt.method, func(t *testing.T) {
			u, requests, handlers := serveOneEach(t)
			c := newClient(t, Config{})
			must(t, c, Request{URL: u})
			var allows []int32
			_, err := c.Get(context.Background(), Request{URL: u, Method: tt.method, Allow: func(_ context.Context, next *url.URL) error {
				if next.String() != u {
					t.Errorf("Allow is called for %s", next)
				}
				allows = append(allows, requests.Load())
				return nil
			}})
			c.Close()
			// A request that the transport sends by itself is counted by then.
			testwait.Until(t, "the server has closed all connections", func() bool { return handlers.Load() == 0 })
			if KindOf(err) != tt.kind || !slices.Equal(allows, tt.allows) || requests.Load() != tt.total {
				t.Errorf("error %v, Allow after %d requests of %d in total", err, allows, requests.Load())
			}
		})
	}
	// The same without Allow, and with one that refuses.
	u, _, _ := serveOneEach(t)
	c := newClient(t, Config{})
	must(t, c, Request{URL: u})
	must(t, c, Request{URL: u})
	f := fails(t, c, Request{URL: u, Allow: func(context.Context, *url.URL) error { return errors.New("no") }}, Refused)
	if f.Partial != nil {
		t.Errorf("fault %+v", f)
	}
}

// serveOneEach serves one request on each connection and closes it after the header of a
// second one. It counts requests and open connections.
func serveOneEach(t *testing.T) (u string, requests, handlers *atomic.Int32) {
	requests, handlers = new(atomic.Int32), new(atomic.Int32)
	return serveRaw(t, func(conn net.Conn) {
		handlers.Add(1)
		defer handlers.Add(-1)
		requests.Add(1)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if n, _ := conn.Read(make([]byte, 4096)); n > 0 {
			requests.Add(1)
		}
	}), requests, handlers
}

// A server that never answers on a fresh connection receives one request.
func TestServerNeverAnswers(t *testing.T) {
	var requests atomic.Int32
	u := serveRaw(t, func(conn net.Conn) { requests.Add(1) })
	fails(t, newClient(t, Config{}), Request{URL: u}, Connect)
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// Connections that the server closed between requests are not a fault.
func TestIdleConnectionClosed(t *testing.T) {
	u := say(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") // and closes
	c := newClient(t, Config{})
	for range 50 {
		must(t, c, Request{URL: u})
	}
}
