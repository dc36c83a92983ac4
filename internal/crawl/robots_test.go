package crawl_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

func TestRobots(t *testing.T) {
	const (
		denied  = errormask.Robots
		allowed = errormask.Mask(0)
	)
	long := "User-agent: *\nDisallow: /private\n" + strings.Repeat("# a comment as long as the file needs\n", 20_000)
	tests := []struct {
		name    string
		robots  func(w http.ResponseWriter, r *http.Request)
		want    errormask.Mask // of /private/x
		public  errormask.Mask // of /public
		rounds  int            // requests for robots.txt
		visited bool           // of /private/x
	}{
		{"denied", text("User-agent: *\nDisallow: /private"), denied, allowed, 1, false},
		{"meant for others", text("User-agent: other\nDisallow: /"), allowed, allowed, 1, true},
		{"meant for us", text("User-agent: *\nDisallow:\n\nUser-agent: hce-dc\nDisallow: /private"), denied, allowed, 1, false},
		{"not found", status(404), allowed, allowed, 1, true},
		{"forbidden", status(403), allowed, allowed, 1, true},
		{"closed without an answer", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, errormask.Connection, errormask.Connection, 1, false},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "User-agent: *\n")
		}, errormask.PageConvert, errormask.PageConvert, 1, false},
		{"larger than needed", text(long + strings.Repeat("x", 2<<20)), denied, allowed, 1, false},
		{"larger than needed, length given", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(long)))
			fmt.Fprint(w, long)
		}, denied, allowed, 1, false},
		{"not gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		}, allowed, allowed, 1, true},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", http.StatusFound) }, allowed, allowed, 1, true},
		{"redirect to an address inside", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.1.2.3/robots.txt", http.StatusFound)
		}, allowed, allowed, 1, true},
		{"redirect to a dead host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/robots.txt", http.StatusFound)
		}, errormask.Connection, errormask.Connection, 1, false},
		{"moved", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "/robots.txt2", http.StatusMovedPermanently)
				return
			}
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		}, denied, allowed, 2, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/robots.txt") {
					tt.robots(w, r)
					return
				}
				page(w, "<p>a page")
			})
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1")
			private, public := w.item("s", s.URL+"/private/x"), w.item("s", s.URL+"/public")
			w.run(batchOf(private, public, w.item("s", s.URL+"/public/2")))
			if row := w.row(private); row.ErrorMask != tt.want || row.Crawled != 1 || (row.State == wire.URLError) != (tt.want != 0) {
				t.Errorf("private: %s, state %d, crawled %d", bitNames(row.ErrorMask), row.State, row.Crawled)
			}
			if row := w.row(public); row.ErrorMask != tt.public {
				t.Errorf("public: %s", bitNames(row.ErrorMask))
			}
			if onSite := w.SiteBits&denied != 0; onSite != (tt.want == denied) {
				t.Errorf("site: %s", bitNames(w.SiteBits))
			}
			rounds := 0
			for _, path := range s.paths() {
				if strings.HasPrefix(path, "/robots.txt") {
					rounds++
				}
			}
			if rounds != tt.rounds {
				t.Errorf("robots.txt was asked for %d times: %v", rounds, s.paths())
			}
			if slices.Contains(s.paths(), "/private/x") != tt.visited {
				t.Errorf("visited: %v", s.paths())
			}
		})
	}
}

// TestForbiddenLinks: links that robots.txt forbids become rows that were never requested. The group of the site's own
// User-Agent decides.
func TestForbiddenLinks(t *testing.T) {
	const file = "User-agent: hce-dc\nDisallow: /a\n\nUser-agent: MyBot\nDisallow: /b\n\nUser-agent: *\nDisallow: /c\n"
	for _, tt := range []struct {
		name, agent, collect, forbidden string
		links                           int
	}{
		{"robots_agent", "", "1", "/a", 3},
		{"own User-Agent", "MyBot/1.0", "1", "/b", 3},
		{"another one", "Mozilla/5.0 (compatible; Other/2)", "1", "/c", 3},
		{"not noted", "MyBot/1.0", "2", "", 2},
		{"not checked", "MyBot/1.0", "0", "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					text(file)(w, r)
					return
				}
				page(w, `<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>`)
			})
			w := newWorld(t)
			properties := []string{"ROBOTS_MODE", "1", "ROBOTS_COLLECT", tt.collect, "SITEMAPS", "0"}
			if tt.agent != "" {
				properties = append(properties, "HTTP_HEADERS", "User-Agent: "+tt.agent)
			}
			w.addSite("s", properties...)
			it := w.item("s", s.URL+"/")
			w.run(batchOf(it))
			links := w.Results["s "+it.URLID].Links
			forbidden := ""
			for _, l := range links {
				if l.URL.Unasked() && l.URL.ErrorMask == errormask.Robots {
					forbidden += strings.TrimPrefix(l.URL.URL, s.URL)
				}
			}
			if forbidden != tt.forbidden || len(links) != tt.links {
				t.Errorf("forbidden %q of %d links", forbidden, len(links))
			}
		})
	}
}

// TestForbiddenURLs: a URL that robots.txt forbids counts as fetched only if it was ever requested.
func TestForbiddenURLs(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			text("User-agent: *\nDisallow: /closed\n")(w, r)
		case "/to":
			http.Redirect(w, r, "/closed", http.StatusFound)
		default:
			t.Errorf("requested %s", r.URL)
		}
	})
	child := func(u *wire.URL) { u.ParentMd5 = wire.Md5("parent") }
	for _, tt := range []struct {
		name, path, collect string
		change              func(*wire.URL)
		crawled             bool
	}{
		{"a link", "/closed/a", "1", child, false},
		{"a link again", "/closed/a", "1", func(u *wire.URL) { child(u); u.ErrorMask, u.HTTPCode = errormask.Robots, 400 }, false},
		{"a link that was allowed before", "/closed/a", "1", func(u *wire.URL) { child(u); u.Crawled = 3 }, true},
		{"a link that redirects to one", "/to", "1", child, true},
		{"a root URL", "/closed/a", "1", func(*wire.URL) {}, true},
		{"not noted", "/closed/a", "2", child, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1", "ROBOTS_COLLECT", tt.collect, "SITEMAPS", "0")
			it := w.item("s", s.URL+tt.path, tt.change)
			w.run(batchOf(it))
			got := w.Results["s "+it.URLID]
			if got.Crawled != tt.crawled || w.row(it).ErrorMask != errormask.Robots || w.row(it).Status != wire.StatusCrawled {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestDeclared: what a page says about itself is in its row.
func TestDeclared(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			page(w, `<base href="/dir/"><link rel="canonical" href="x#y"><meta name=robots content="noindex, noarchive, unavailable_after: 25 Jun 2025 15:00:00 GMT">`)
		case "/header":
			w.Header().Set("Link", `</next>; rel=next, <x>; rel="canonical"`)
			w.Header().Set("X-Robots-Tag", "none")
			page(w, `<base href="/dir/">x`)
		case "/double":
			page(w, `<link rel=canonical href="/html">x<a href=/next>n</a>`)
		default:
			page(w, `<link rel=canonical href="mailto:a@b.example">x`)
		}
	})
	w := newWorld(t)
	w.addSite("s", "CANONICAL_ONLY", "1")
	for _, tt := range []struct {
		path, canonical string
		mask            int64
		end             schema.Date
		bits            errormask.Mask
	}{
		{"/html", "/dir/x", wire.RobotsNoIndex | wire.RobotsNoArchive, "2025-06-25 15:00:00", errormask.FiltersBreak},
		{"/header", "/x", wire.RobotsNoIndex | wire.RobotsNoFollow, "", errormask.FiltersBreak},
		{"/double", "/html", 0, "", errormask.FiltersBreak},
		{"/plain", "", 0, "", 0},
	} {
		it := w.item("s", s.URL+tt.path)
		w.run(batchOf(it))
		row := w.row(it)
		if strings.TrimPrefix(row.Canonical, s.URL) != tt.canonical || row.RobotsMask != tt.mask || row.UnavailableAfter != tt.end || row.ErrorMask != tt.bits {
			t.Errorf("%s: canonical %q, mask %d, until %q, bits %v", tt.path, row.Canonical, row.RobotsMask, row.UnavailableAfter, row.ErrorMask.Names())
		}
	}
}

func text(body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// TestDeadHostIsAskedOnce: an origin that does not answer gets no further request in the batch. The next
// batch tries again.
func TestDeadHostIsAskedOnce(t *testing.T) {
	s := newServer(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	b := batchOf()
	for i := range 5 {
		b.Items = append(b.Items, w.item("s", fmt.Sprint(s.URL, "/", i)))
	}
	w.run(b)
	if got := len(s.paths()); got != 1 {
		t.Errorf("%d requests in the first batch", got)
	}
	b.ID++
	w.run(b)
	if got := len(s.paths()); got != 2 {
		t.Errorf("%d requests in both", got)
	}
}

// TestRobotsAreKept: rules are kept as long as the ini says, those of a failing server for minutes, and
// always until the batch ends.
func TestRobotsAreKept(t *testing.T) {
	tests := []struct {
		name  string
		ttl   time.Duration
		code  int
		after time.Duration
		want  int // requests for robots.txt in two batches
	}{
		{"young", time.Hour, 200, 59 * time.Minute, 1},
		{"old", time.Hour, 200, 61 * time.Minute, 2},
		{"not kept", 0, 200, 0, 2},
		{"server error, at once", time.Hour, 500, time.Minute, 1},
		{"server error, later", time.Hour, 500, 6 * time.Minute, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					w.WriteHeader(tt.code)
				}
				page(w, "<p>x")
			})
			w := newWorld(t)
			clock := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			w.job.Now = func() time.Time { return clock }
			w.job.Config.RobotsTTL = tt.ttl
			w.addSite("s", "ROBOTS_MODE", "1")
			b := batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"))
			w.run(b)
			clock = clock.Add(tt.after + time.Second)
			b.ID++
			w.run(b)
			got := 0
			for _, path := range s.paths() {
				if path == "/robots.txt" {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("asked %d times, want %d", got, tt.want)
			}
		})
	}
}

// A robots.txt that the server cannot return puts all items of its origin off: they are not requested,
// not failed and not counted. The batch after the pause gets them.
func TestUnavailableRobots(t *testing.T) {
	clock := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		code  int
		after string // Retry-After
		pause time.Duration
		gate  bool // the whole host pauses too
	}{
		{"500", 500, "", robotscache.Retry, false},
		{"599", 599, "", robotscache.Retry, false},
		{"500 with Retry-After", 500, "40", 40 * time.Second, true},
		{"503 with a date", 503, clock.Add(time.Hour).Format(http.TimeFormat), time.Hour, true},
		{"503 with a time beyond all limits", 503, "99999999", 24 * time.Hour, true},
		{"429", 429, "", robotscache.Retry, false},
		{"429 with Retry-After", 429, "7200", 2 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var fine atomic.Bool
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" && !fine.Load() {
					w.Header().Set("Retry-After", tt.after)
					w.Header().Set("Date", clock.Format(http.TimeFormat))
					w.WriteHeader(tt.code)
					return
				}
				page(w, "<p>x")
			})
			links := newServer(t, func(w http.ResponseWriter, r *http.Request) { page(w, `<a href="`+s.URL+`/linked">x</a>`) })
			w := newWorld(t)
			now := clock
			w.job.Now = func() time.Time { return now }
			w.addSite("s", "ROBOTS_MODE", "1")
			items := []wire.BatchItem{w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"), w.item("s", links.URL+"/")}
			b := batchOf(items...)
			answer := w.run(b)
			if got := s.paths(); !slices.Equal(got, []string{"/robots.txt"}) {
				t.Errorf("asked for %q", got)
			}
			if answer.Items[0].URL.ErrorMask != errormask.Robots || w.SiteBits != 0 {
				t.Errorf("answer %s, site %s", bitNames(answer.Items[0].URL.ErrorMask), bitNames(w.SiteBits))
			}
			for _, it := range items[:2] {
				row, until := w.row(it), w.Results["s "+it.URLID].HeldUntil
				if row.Status != wire.StatusNew || row.State != wire.URLEnabled || row.ErrorMask != 0 || row.Crawled != 0 {
					t.Errorf("%s: status %d, state %d, %s, crawled %d", row.URL, row.Status, row.State, bitNames(row.ErrorMask), row.Crawled)
				}
				if until != schema.DateOf(clock.Add(tt.pause)) {
					t.Errorf("held until %s, want a pause of %v", until, tt.pause)
				}
			}
			if list := w.links(items[2]); len(list) != 1 {
				t.Errorf("a link to the origin is not kept: %q", list)
			}
			next, _, err := w.job.Gates.Next(s.host, 0, 1, time.Now())
			if paused := time.Until(next) > 30*time.Second; paused != tt.gate || err != nil {
				t.Errorf("the host may be asked in %v, %v", time.Until(next), err)
			}
			if tt.gate {
				return // the gate does not know the clock of the test
			}
			fine.Store(true)
			now = clock.Add(tt.pause + time.Second)
			b.ID++
			w.run(b)
			if row := w.row(items[0]); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
				t.Errorf("after the pause: status %d, %s", row.Status, bitNames(row.ErrorMask))
			}
		})
	}
}

// A redirect to an origin without a robots.txt puts the item off, too.
func TestRedirectToUnavailableRobots(t *testing.T) {
	down := newServer(t, status(500))
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			http.Redirect(w, r, down.URL+"/there", http.StatusFound)
		}
	})
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	it := w.item("s", s.URL+"/moved")
	w.run(batchOf(it))
	if row := w.row(it); row.Status != wire.StatusNew || row.ErrorMask != 0 || w.Results["s "+it.URLID].HeldUntil == "" {
		t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
	if got := down.paths(); !slices.Equal(got, []string{"/robots.txt"}) {
		t.Errorf("asked for %q", got)
	}
}

// The gate knows the first Crawl-delay of a host as soon as robots.txt is read. A process that dies
// before it requests the page leaves it to the next one.
func TestFirstCrawlDelayOutlivesItsProcess(t *testing.T) {
	ctx, kill := context.WithCancel(context.Background())
	s := newServer(t, text("User-agent: *\nCrawl-delay: 100\n"))
	w := newWorld(t)
	client := w.job.Fetch
	w.job.Fetch = fetcher(func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		defer kill()
		return client.Get(ctx, r)
	})
	w.addSite("s", "ROBOTS_MODE", "1")
	if _, err := w.try(ctx, batchOf(w.item("s", s.URL+"/1"))); err != nil {
		t.Fatal(err)
	}
	next, inFlight, err := w.job.Gates.Next(s.host, 0, 1, time.Now())
	if wait := time.Until(next); err != nil || inFlight || wait < 90*time.Second || wait > 100*time.Second {
		t.Errorf("the next process waits %v (in flight: %t), %v", wait, inFlight, err)
	}
	if got := s.paths(); !slices.Equal(got, []string{"/robots.txt"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestCrawlDelay(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 0.15\n")
			return
		}
		page(w, "<p>x")
	})
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	w.run(batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2")))
	if got := len(s.paths()); got != 3 {
		t.Fatalf("%d requests", got)
	}
	s.checkGaps(t, 150*time.Millisecond)
}

// TestCrawlDelayOfOneHostIsNotThatOfAnother: the Crawl-delay of a redirect's first host does not apply to
// the second.
func TestCrawlDelayOfOneHostIsNotThatOfAnother(t *testing.T) {
	target := newServer(t, func(w http.ResponseWriter, _ *http.Request) { page(w, "<p>x") })
	from := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 0.05\n")
			return
		}
		http.Redirect(w, r, target.URL+r.URL.Path, http.StatusFound)
	})
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	w.run(batchOf(w.item("s", from.URL+"/1")))
	if got := target.paths(); !slices.Equal(got, []string{"/robots.txt", "/1"}) {
		t.Fatalf("the second host saw %v", got)
	}
	if gap := w.lastDelay(target.host); gap != 0 {
		t.Errorf("the second host is left alone for %v", gap)
	}
	if gap := w.lastDelay(from.host); gap != 50*time.Millisecond {
		t.Errorf("the first host is left alone for %v", gap)
	}
}
