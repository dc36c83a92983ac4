package cycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/internal/files"
)

// site is a server that counts its requests.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	counts map[string]int
	times  []time.Time
}

func serve(t *testing.T, pages map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{counts: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.RequestURI()]++
		s.times = append(s.times, time.Now())
		s.mu.Unlock()
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
		} else {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func html(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, text)
	}
}

func moved(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

// newCycle returns a cycle that may connect to 127.0.0.1.
func newCycle(t *testing.T) (*Cycle, *bytes.Buffer) {
	t.Helper()
	gates, err := hostgate.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	t.Cleanup(func() { client.Close(); gates.Close() })
	var talk bytes.Buffer
	return &Cycle{
		Now: time.Now, Log: slog.New(slog.NewTextHandler(&talk, nil)),
		Web: &politeclient.Client{Fetch: client, Gates: gates, Now: time.Now, Config: politeclient.Config{
			RobotsAgent: "HCE-DC", RobotsTTL: time.Hour, AddressNames: -1, Timeout: 300 * time.Millisecond, MaxWait: time.Minute,
		}},
	}, &talk
}

func newFolder(t *testing.T, urls ...string) *folder.Folder {
	t.Helper()
	f, err := folder.Create(filepath.Join(t.TempDir(), "target"), urls)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// records returns the records of .urls by URL.
func records(t *testing.T, f *folder.Folder) map[string]folder.Record {
	t.Helper()
	urls, err := f.URLs()
	if err != nil {
		t.Fatal(err)
	}
	defer urls.Close()
	all := map[string]folder.Record{}
	for r, err := range urls.All() {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[r.URL]; twice {
			t.Errorf("%s is in .urls twice", r.URL)
		}
		all[r.URL] = r
	}
	return all
}

// whole runs cycles until no URL is left, and checks the folder.
func whole(t *testing.T, c *Cycle, f *folder.Folder) (reports []Report) {
	t.Helper()
	for range 20 {
		list, err := c.Run(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 && list[0].Skipped != "" {
			f.Check(func(err error) { t.Error(err) })
			return reports
		}
		reports = append(reports, list...)
	}
	t.Fatal("the cycles have no end")
	return nil
}

// Whatever a server answers, each URL is requested once, gets its id and its files, and the cycles end.
func TestServersThatMisbehave(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			html(`<base href="/docs/"><a href=a.html#part>a</a><a class=x href='a.html'>again</a><area href="../b?x=1&amp;y=2">
<a href="mailto:a@b.example">m</a><a href="javascript:void(0)">j</a><a href="http://[bad/">b</a><a href="https://other.example/x">o</a>
<a href="/moved">m</a><a href="/loop">l</a><a href="/gone">g</a><a href="/slow">s</a><a href="/huge">h</a><a href="/image">i</a>
<a href="/garbage">c</a><a href="/private">p</a><a href="/cut">t</a><a href="/refresh">r</a><a href="/nofollow">n</a><a href="/nowhere">n</a><a href="/stop">s</a><a href="/100%">z</a><a href="/%zz?%">z</a><img src="/never.png"><link href="/never.css">`)(w, r)
		},
		"/docs/a.html": html(`<a href="/">home</a><!-- <a href="/never">no</a> --><script>"<a href='/never'>"</script>`),
		"/b":           html(`text without a link`),
		"/moved":       moved("/target"),
		"/target":      html(`<title>target</title>`),
		"/loop":        moved("/loop"),
		"/nowhere":     moved("ftp://127.0.0.1/x"),
		"/slow":        func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/huge": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for part := bytes.Repeat([]byte("<a href='/never'>"), 1<<14); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		},
		"/image": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte("\x89PNG\r\n\x1a\n<a href='/never'>\x00"))
		},
		"/garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=no-such-\xff")
			w.Write([]byte("<p>\xff\xfe\x80<a href='/caf\xe9'>x</a><a href='/from-garbage'>y</a>\xc3"))
		},
		"/private": html("secret"),
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<a href='/never'>half")
		},
		"/refresh":      html(`<meta http-equiv=refresh content="0; url=/b?x=1&y=2">`),
		"/nofollow":     html(`<meta name=robots content=nofollow><a href="/never">x</a>`),
		"/stop":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/robots.txt":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "User-agent: *\nDisallow: /private\n") },
		"/never":        html("not asked"),
		"/from-garbage": html("text"),
	})
	s.Config.ErrorLog = nil
	c, _ := newCycle(t)
	f := newFolder(t, s.URL+"/")
	reports := whole(t, c, f)
	want := map[string]int{
		"/": 200, "/docs/a.html": 200, "/b?x=1&y=2": 200, "/moved": 301, "/target": 200, "/loop": 301, "/nowhere": 301, "/slow": 0, "/huge": 200, "/image": 200,
		"/garbage": 200, "/private": 0, "/cut": 200, "/refresh": 200, "/nofollow": 200, "/stop": 0, "/gone": 404, "/100%": 404, "/%zz?%": 404, "/from-garbage": 200,
	}
	got := records(t, f)
	for url, r := range got {
		path := strings.TrimPrefix(url, s.URL)
		if strings.HasPrefix(path, "/caf%") { // by the charset that was guessed
			continue
		}
		code, known := want[path]
		if !known || code != r.Code || r.ID == 0 || r.Parsed < r.Streamed {
			t.Errorf("%s: %+v, want code %d", path, r, code)
		}
		delete(want, path)
		asked := s.counts[strings.NewReplacer("/100%", "/100%25", "/%zz", "/%25zz").Replace(path)]
		if path == "/stop" { // the client repeats a request whose connection broke without an answer
			asked = min(asked, 1)
		}
		if (path == "/private") != (asked == 0) || asked > 1 {
			t.Errorf("%s: %d requests", path, asked)
		}
		m, err := f.Meta(r.ID)
		if wholeBody := err == nil && m.Error == ""; wholeBody == slices.Contains([]string{"/slow", "/huge", "/private", "/cut", "/stop"}, path) {
			t.Errorf("%s: %+v, %v", path, m, err)
		}
	}
	if len(want) > 0 || s.counts["/never"] > 0 {
		t.Errorf("missing %v, requests %v", want, s.counts)
	}
	if len(reports) != 9 || reports[0].Step != Fetch || reports[0].Done != 1 || reports[1].Step != Parse || reports[1].Done != 1 || reports[2].Step != Merge {
		t.Errorf("%+v", reports)
	}
	data, _ := f.Body(1)
	if head, _, _ := strings.Cut(string(data), "Date: "); head != "HTTP/1.1 200 \r\nContent-Length: "+fmt.Sprint(len(bytes.SplitN(data, []byte("\r\n\r\n"), 2)[1]))+"\r\nContent-Type: text/html\r\n" {
		t.Errorf("%q", data)
	}
	var malformed []string
	if err := f.Malformed(1, func(text string) error { malformed = append(malformed, text); return nil }); err != nil || !slices.Equal(malformed, []string{"mailto:a@b.example", "javascript:void(0)", "http://[bad/"}) {
		t.Errorf("%q, %v", malformed, err)
	}
	log, err := os.ReadFile(f.Path(folder.LogName))
	for _, part := range []string{"step=OSEM001", "step=OSEM002", "step=OSEM003", " ms="} {
		if err != nil || strings.Count(string(log), part) < 3 {
			t.Errorf("%v, %q in the log\n%s", err, part, log)
		}
	}
}

// Only links of the target's host are merged, unless other hosts are named or all are allowed.
func TestHosts(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": html(`<a href=a><a href=http://b.example/><a href=https://C.example:443/x><a href=http://d.example:8080/>`)})
	for want, change := range map[string]func(*Cycle){
		"1": func(*Cycle) {}, "2": func(c *Cycle) { c.Hosts = []string{"c.EXAMPLE"} }, "4": func(c *Cycle) { c.AnyHost = true },
		"3": func(c *Cycle) { c.AnyHost = true; c.MaxURLs = 4 },
	} {
		c, talk := newCycle(t)
		change(c)
		f := newFolder(t, s.URL+"/")
		reports, err := c.Run(t.Context(), f)
		if err != nil || len(reports) != 3 || fmt.Sprint(reports[2].Done) != want || (reports[2].Stopped != "") != (c.MaxURLs > 0) || strings.Contains(talk.String(), "--max-urls") != (c.MaxURLs > 0) {
			t.Errorf("%s: %+v, %v", want, reports, err)
		}
	}
}

// The pause between requests is random within its limits, and longer if robots.txt asks for it.
func TestWait(t *testing.T) {
	c, _ := newCycle(t)
	for _, slow := range []string{"", "User-agent: *\nCrawl-delay: 0.3\n"} {
		s := serve(t, map[string]http.HandlerFunc{"/robots.txt": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, slow) }})
		c.Wait = Wait{40 * time.Millisecond, 120 * time.Millisecond}
		f := newFolder(t, s.URL+"/", s.URL+"/1", s.URL+"/2", s.URL+"/3")
		if _, err := c.Do(t.Context(), f, Fetch); err != nil {
			t.Fatal(err)
		}
		least := c.Wait.Least
		if slow != "" {
			least = 300 * time.Millisecond
		}
		for i, at := range s.times[2:] { // the first ones are robots.txt and a page
			if gap := at.Sub(s.times[i+1]); gap < least {
				t.Errorf("pause %v, least %v", gap, least)
			}
		}
		if len(s.times) != 5 {
			t.Errorf("%d requests", len(s.times))
		}
	}
	seen := map[time.Duration]bool{}
	for range 50 {
		d := Wait{10 * time.Second, 30 * time.Second}.randomPause()
		seen[d] = true
		if d < 10*time.Second || d > 30*time.Second {
			t.Errorf("pause %v", d)
		}
	}
	if len(seen) < 40 || (Wait{time.Second, time.Second}).randomPause() != time.Second {
		t.Errorf("%d different pauses", len(seen))
	}
}

// A host whose robots.txt is not available, or that stopped to answer, costs no URL: the rest is left for
// the next run.
func TestHostIsAway(t *testing.T) {
	var away, silent atomic.Bool
	away.Store(true)
	silent.Store(true)
	s := serve(t, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, _ *http.Request) {
			if away.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
		"/page": func(w http.ResponseWriter, _ *http.Request) {
			if silent.Load() {
				panic(http.ErrAbortHandler)
			}
		},
	})
	var urls []string
	for i := range 9 {
		urls = append(urls, fmt.Sprint(s.URL, "/page?", i))
	}
	f := newFolder(t, urls...)
	c, _ := newCycle(t)
	reports, err := c.Run(t.Context(), f)
	if status, _ := f.Status(); err != nil || reports[0].Done != 0 || !strings.Contains(reports[0].Stopped, "robots.txt") || status.State != folder.Idle || len(s.counts) != 1 {
		t.Errorf("%+v, %v, %s", reports, err, status)
	}
	away.Store(false)
	c, talk := newCycle(t)
	reports, err = c.Run(t.Context(), f)
	if err != nil || reports[0].Done != mostSilent || reports[0].Failed != mostSilent || !strings.Contains(talk.String(), "--retry") {
		t.Errorf("%+v, %v", reports, err)
	}
	silent.Store(false)
	c.Retry = true
	reports, err = c.Run(t.Context(), f)
	if err != nil || reports[0].Done != 9 || reports[0].Failed != 0 {
		t.Errorf("%+v, %v", reports, err)
	}
	ids := map[folder.ID]bool{}
	for _, r := range records(t, f) {
		ids[r.ID] = true
	}
	if len(ids) != 9 || ids[1] || !ids[14] {
		t.Errorf("ids %v", slices.Sorted(maps.Keys(ids)))
	}
}

// A step runs only in its state, and in one process at a time.
func TestSteps(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": html("<a href=/x>")})
	c, _ := newCycle(t)
	f := newFolder(t, s.URL+"/")
	for _, want := range []struct {
		step    Step
		skipped bool
		state   folder.State
	}{{Parse, true, '0'}, {Merge, true, '0'}, {Fetch, false, '2'}, {Fetch, true, '2'}, {Merge, true, '2'}, {Parse, false, '4'}, {Fetch, true, '4'}, {Merge, false, '0'}, {Merge, true, '0'}} {
		r, err := c.Do(t.Context(), f, want.step)
		if status, _ := f.Status(); err != nil || (r.Skipped != "") != want.skipped || status.State != want.state {
			t.Errorf("%+v: %+v, %v, %s", want, r, err, status)
		}
	}
	unlock, err := f.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := c.Run(t.Context(), f); !errors.Is(err, files.ErrLocked) {
		t.Errorf("%v", err)
	}
	if _, err := c.Do(t.Context(), f, Fetch); !errors.Is(err, files.ErrLocked) {
		t.Errorf("%v", err)
	}
}

// The end of a run within a request keeps what was done, and the next one continues.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := serve(t, map[string]http.HandlerFunc{"/3": func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}})
	var urls []string
	for i := range 6 {
		urls = append(urls, fmt.Sprint(s.URL, "/", i))
	}
	c, _ := newCycle(t)
	f := newFolder(t, urls...)
	_, err := c.Run(ctx, f)
	if status, _ := f.Status(); !errors.Is(err, context.Canceled) || status.String() != "1 0000000003" {
		t.Errorf("%v, %s", err, status)
	}
	whole(t, c, f)
	for path, n := range s.counts {
		if path != "/3" && n != 1 || n > 2 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
}
