package politeclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
)

// newClient returns a client that may connect to 127.0.0.1 only.
func newClient(t *testing.T, change ...func(*politeclient.Config)) *politeclient.Client {
	t.Helper()
	gates, err := hostgate.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	t.Cleanup(func() { client.Close(); gates.Close() })
	c := &politeclient.Client{Fetch: client, Gates: gates, Now: time.Now, Config: politeclient.Config{
		RobotsAgent: "HCE-DC", RobotsTTL: time.Hour, AddressNames: 4, Timeout: time.Minute, MaxWait: time.Minute,
	}}
	for _, f := range change {
		f(&c.Config)
	}
	return c
}

// site is a server that counts its requests by path.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	counts map[string]int
	times  []time.Time // begin and end of each request
}

func (s *site) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

func (s *site) handler(pages map[string]http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.Path]++
		s.times = append(s.times, time.Now())
		s.mu.Unlock()
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
		} else {
			http.NotFound(w, r)
		}
		s.mu.Lock()
		s.times = append(s.times, time.Now())
		s.mu.Unlock()
	})
}

func serve(t *testing.T, pages map[string]http.HandlerFunc) *site {
	s := &site{counts: map[string]int{}}
	s.Server = httptest.NewServer(s.handler(pages))
	t.Cleanup(s.Close)
	return s
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// Answers, and what servers do that misbehave.
func TestGet(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{
		"/page":  text("a page"),
		"/moved": redirect("/page"),
		"/loop":  redirect("/loop"),
		"/local": redirect("http://127.0.0.2/"),
		"/file":  redirect("file:///etc/passwd"),
		"/huge": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		},
		"/slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/echo": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Key"), body)
		},
		"/private":    text("secret"),
		"/to-private": redirect("/private"),
		"/robots.txt": text("User-agent: *\nDisallow: /private\n"),
	})
	secure := httptest.NewUnstartedServer(text("a secret page"))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	quick := func(c *politeclient.Config) { c.Timeout = 300 * time.Millisecond }
	tests := []struct {
		name    string
		request politeclient.Request
		change  func(*politeclient.Config)
		want    string // code, path and body, or a part of the error
	}{
		{name: "page", request: politeclient.Request{URL: s.URL + "/page"}, want: "200 /page a page"},
		{name: "error of the server", request: politeclient.Request{URL: s.URL + "/none"}, want: "404 /none 404 page not found\n"},
		{name: "redirect", request: politeclient.Request{URL: s.URL + "/moved"}, want: "200 /page a page"},
		{name: "without a body", request: politeclient.Request{URL: s.URL + "/moved", Method: "HEAD", HeaderOnly: true}, want: "200 /page "},
		{name: "body and header", request: politeclient.Request{URL: s.URL + "/echo", Method: "POST", Body: []byte("u=1"), Header: http.Header{"X-Key": {"7"}}}, want: "200 /echo POST 7 u=1"},
		{name: "redirect loop", request: politeclient.Request{URL: s.URL + "/loop"}, want: "redirect loop"},
		{name: "redirect to a refused address", request: politeclient.Request{URL: s.URL + "/local"}, want: "address 127.0.0.2 refused: loopback"},
		{name: "redirect to a file", request: politeclient.Request{URL: s.URL + "/file"}, want: "bad redirect"},
		{name: "refused address", request: politeclient.Request{URL: "http://127.0.0.2/"}, want: "address 127.0.0.2 refused: loopback"},
		{name: "endless body", request: politeclient.Request{URL: s.URL + "/huge", MaxBytes: 1 << 20}, want: "response too large"},
		{name: "no answer", request: politeclient.Request{URL: s.URL + "/slow"}, change: quick, want: "timed out"},
		{name: "unknown certificate", request: politeclient.Request{URL: secure.URL + "/page"}, want: "certificate"},
		{name: "TLSVerify 0", request: politeclient.Request{URL: secure.URL + "/page", InsecureTLS: true}, want: "200 /page a secret page"},
		{name: "bare percent sign", request: politeclient.Request{URL: s.URL + "/100%", Robots: true}, want: "404 /100% 404 page not found\n"},
		{name: "not a URL", request: politeclient.Request{URL: "mailto:a@b"}, want: "is not a URL with a host"},
		{name: "robots.txt allows", request: politeclient.Request{URL: s.URL + "/page", Robots: true}, want: "200 /page a page"},
		{name: "robots.txt forbids", request: politeclient.Request{URL: s.URL + "/private", Robots: true}, want: "robots.txt forbids " + s.URL + "/private"},
		{name: "robots.txt forbids the target", request: politeclient.Request{URL: s.URL + "/to-private", Robots: true}, want: "robots.txt forbids " + s.URL + "/private"},
		{name: "redirect as the answer", request: politeclient.Request{URL: s.URL + "/moved", NoRedirects: true, Robots: true}, want: "302 /moved "},
		{name: "redirect to nowhere as the answer", request: politeclient.Request{URL: s.URL + "/file", NoRedirects: true}, want: "302 /file "},
		{name: "robots.txt does not count", request: politeclient.Request{URL: s.URL + "/to-private"}, want: "200 /private secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			if tt.change != nil {
				tt.change(&c.Config)
			}
			answer, err := c.Get(t.Context(), tt.request)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || errors.Is(err, politeclient.ErrForbidden) != strings.HasPrefix(tt.want, "robots.txt") {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			u, _ := url.Parse(answer.FinalURL)
			if got := fmt.Sprintf("%d %s %s", answer.Code, u.Path, answer.Body); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// robots.txt is requested once for an origin, and not again soon if it is not available: then
// nothing may be requested.
func TestRobotsAreKept(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/page": text("a page"), "/robots.txt": text("User-agent: *\nAllow: /\n")})
	broken := serve(t, map[string]http.HandlerFunc{"/page": text("a page"), "/robots.txt": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }})
	c := newClient(t)
	for range 3 {
		if _, err := c.Get(t.Context(), politeclient.Request{URL: s.URL + "/page", Robots: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), politeclient.Request{URL: broken.URL + "/page", Robots: true}); !errors.Is(err, politeclient.ErrLater) || !strings.Contains(err.Error(), "robots.txt forbids") {
			t.Fatalf("error %v", err)
		}
	}
	if s.count("/robots.txt") != 1 || s.count("/page") != 3 || broken.count("/robots.txt") != 1 || broken.count("/page") != 0 {
		t.Errorf("requests %v and %v", s.counts, broken.counts)
	}
}

// Two requests to a host never overlap, and keep the delay, redirects and robots.txt included.
func TestGap(t *testing.T) {
	const gap = 50 * time.Millisecond
	s := serve(t, map[string]http.HandlerFunc{"/page": text("a page"), "/moved": redirect("/page")})
	c := newClient(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := c.Get(t.Context(), politeclient.Request{URL: s.URL + "/moved", Delay: gap, Robots: true}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.times) != 2*7 { // robots.txt, and two for each
		t.Fatalf("%d requests", len(s.times)/2)
	}
	for i := 2; i < len(s.times); i += 2 {
		if d := s.times[i].Sub(s.times[i-1]); d < gap-time.Millisecond {
			t.Errorf("request %d starts %v after the one before; the delay is %v", i/2, d, gap)
		}
	}
}

// A host that others request, or that asked for a pause, is given up after MaxWait; another host
// is not.
func TestMaxWait(t *testing.T) {
	busy := serve(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}})
	other := serve(t, map[string]http.HandlerFunc{"/page": text("a page")})
	c := newClient(t, func(c *politeclient.Config) { c.MaxWait = 200 * time.Millisecond })
	if a, err := c.Get(t.Context(), politeclient.Request{URL: busy.URL + "/page"}); err != nil || a.Code != http.StatusServiceUnavailable {
		t.Fatalf("%v, %v", a, err)
	}
	if _, err := c.Get(t.Context(), politeclient.Request{URL: busy.URL + "/page"}); !errors.Is(err, politeclient.ErrLater) || !strings.Contains(err.Error(), "may not be requested within 200ms") {
		t.Errorf("error %v", err)
	}
	if busy.count("/page") != 1 {
		t.Errorf("%d requests in the pause", busy.count("/page"))
	}
	c.Config.MaxWait = time.Minute
	if _, err := c.Get(t.Context(), politeclient.Request{URL: other.URL + "/page"}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, politeclient.Request{URL: other.URL + "/page"}); err == nil {
		t.Error("a request after the end")
	}
}
