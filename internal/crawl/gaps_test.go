package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// TestEveryRequestIsPolite: requests of all kinds to one host arrive one after the other, a delay
// apart, by the clock of the host.
func TestEveryRequestIsPolite(t *testing.T) {
	const delay = 30 * time.Millisecond
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/rules.txt", http.StatusFound)
		case "/rules.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nSitemap: /index.xml")
		case "/index.xml":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://%s/map.xml</loc></sitemap></sitemapindex>`, r.Host)
		case "/map.xml":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/listed</loc></url></urlset>`, r.Host)
		case "/values":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"v": ["made"]}`)
		case "/moved":
			http.Redirect(w, r, "/hop", http.StatusFound)
		case "/hop":
			http.Redirect(w, r, "/hop2", http.StatusFound)
		case "/refresh":
			page(w, `<meta http-equiv=refresh content="0;url=/refreshed">`)
		case "/":
			page(w, `<a href="/moved">m</a><a href="/plain">p</a>`)
		default:
			page(w, `<p>x`)
		}
	})
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1", "MIME_TYPE_AUTO_DETECT", "2",
		"HTTP_REDIRECT_RESOLVER", `{"METHOD": "SGET", "URL": ["moved"]}`, "DETECT_MODIFIED", `{"algorithm": 3, "mode": 2}`,
		"URLS_SCHEMA", `{"type": 1, "parameters": {"v": ["own"]}, "urls": ["`+s.URL+`/values"]}`).RequestDelay = delay.Milliseconds()
	polite := func(u *wire.URL) { u.RequestDelay = delay.Milliseconds() }
	child := func(u *wire.URL) { u.ParentMd5 = wire.Md5("parent") }
	known := func(u *wire.URL) { u.Crawled, u.Size = 1, 3 }
	b := batchOf(w.item("s", s.URL+"/", polite), w.item("s", s.URL+"/%v%", polite, child), w.item("s", s.URL+"/known", polite, child, known),
		w.item("s", s.URL+"/refresh", polite, child), w.item("s", s.URL+"/moved?2", polite, child))
	b.MaxIterations, b.Items[0].Depth = 4, 3
	w.run(b)
	// A second site has its own rows and the same host.
	w.addSite("s2").RequestDelay = delay.Milliseconds()
	other := batchOf(w.item("s2", s.URL+"/other", polite))
	w.run(other)

	paths := s.paths()
	for _, want := range []string{"/robots.txt", "/rules.txt", "/index.xml", "/values", "/made", "/", "/known", "/hop", "/hop2", "/moved", "/plain", "/refresh", "/refreshed", "/other"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s was not asked for: %q", want, paths)
		}
	}
	if s.most != 1 {
		t.Errorf("%d requests at once", s.most)
	}
	s.checkGaps(t, delay)
}

// TestBusyHostIsLeftAlone: a Retry-After in the answer to any kind of request pauses its host, and
// no other host.
func TestBusyHostIsLeftAlone(t *testing.T) {
	const hold = 100 * time.Second
	busyAt := func(path, wait string) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == path:
				if wait != "" {
					w.Header().Set("Retry-After", wait)
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/robots.txt":
			default:
				ok(w, r)
			}
		}
	}
	at := time.Now().Add(hold + time.Minute).UTC().Format(http.TimeFormat)
	for _, tt := range []struct {
		name, busy string // path that is busy
		wait       string // Retry-After
		quick      string // path of the other host's item
		backoff    time.Duration
		properties []string
	}{
		{"page", "/page", "100", "/x", 0, nil},
		{"page, as a date", "/page", at, "/x", 0, nil},
		{"page, without a time", "/page", "", "/x", 2 * hold, nil},
		{"robots.txt", "/robots.txt", "100", "/x", 0, []string{"ROBOTS_MODE", "1"}},
		{"head of a link", "/linked", "100", "/links", 0, []string{"MIME_TYPE_AUTO_DETECT", "2"}},
		{"resolver of a link", "/linked", "100", "/links", 0, []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "SGET"}`}},
		{"redirect from another host", "/target", "100", "/moved", 0, nil},
		{"meta refresh from another host", "/target", "100", "/refresh", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			busy := newServer(t, busyAt(tt.busy, tt.wait))
			quick := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/links":
					page(w, `<a href="`+busy.URL+`/linked">x</a>`)
				case "/moved":
					http.Redirect(w, r, busy.URL+"/target", http.StatusFound)
				case "/refresh":
					page(w, `<meta http-equiv=refresh content="0;url=`+busy.URL+`/target">`)
				default:
					busyAt("", "")(w, r)
				}
			})
			w := newWorld(t)
			w.job.Config.Backoff = max(tt.backoff, time.Millisecond)
			w.addSite("s", tt.properties...)
			w.addSite("s2")
			items := []wire.BatchItem{w.item("s", quick.URL+tt.quick)}
			if tt.quick == "/x" {
				items = append(items, w.item("s", busy.URL+"/page"))
			}
			before := time.Now()
			w.run(batchOf(items...))
			next, _, err := w.job.Gates.Next(busy.host, 0, 1, time.Now())
			if err != nil || next.Before(before.Add(hold)) {
				t.Errorf("the busy host may be asked after %v, %v", next.Sub(before), err)
			}
			next, _, err = w.job.Gates.Next(quick.host, 0, 1, time.Now())
			if err != nil || next.After(before.Add(hold/2)) {
				t.Errorf("the other host waits for %v, %v", next.Sub(before), err)
			}
			// Another site and batch has to wait for the same host.
			later := w.item("s2", busy.URL+"/later")
			b := batchOf(later, w.item("s2", quick.URL+"/now"))
			b.MaxExecutionTime = 1
			w.run(b)
			if slices.Contains(busy.paths(), "/later") || !slices.Contains(quick.paths(), "/now") || w.row(later).Status != wire.StatusNew {
				t.Errorf("busy %q, quick %q, status %d", busy.paths(), quick.paths(), w.row(later).Status)
			}
		})
	}
}

// A batch with MaxHostWait hands items of a busy host back at once, with the time of the next
// request. It waits for its own gaps.
func TestBatchDoesNotWaitForBusyHosts(t *testing.T) {
	busy := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "100")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	slow := newServer(t, func(w http.ResponseWriter, r *http.Request) { page(w, "x") })
	w := newWorld(t)
	w.job.Config.Backoff = time.Millisecond
	w.addSite("s")
	w.addSite("s2", "ROBOTS_MODE", "1")
	first := batchOf(w.item("s", busy.URL+"/page"))
	first.MaxHostWait = 5000
	w.run(first)
	later := w.item("s2", busy.URL+"/later")
	robotsAndPage := w.item("s2", slow.URL+"/x", func(u *wire.URL) { u.RequestDelay = 300 })
	b := batchOf(later, robotsAndPage)
	b.MaxHostWait = 100
	b.MaxExecutionTime = 60 // otherwise it would wait that long
	w.run(b)
	if row := w.row(later); row.Status != wire.StatusNew || slices.Contains(busy.paths(), "/later") {
		t.Errorf("status %d, asked for %q", row.Status, busy.paths())
	}
	if w.row(robotsAndPage).Status != wire.StatusCrawled {
		t.Errorf("the page behind robots.txt of a slow host was not waited for: %d", w.row(robotsAndPage).Status)
	}
	until, ok := w.Results["s2 "+later.URLID].HeldUntil.Time()
	if !ok || until.Before(time.Now().Add(50*time.Second)) || until.After(time.Now().Add(111*time.Second)) {
		t.Errorf("held until %v", until)
	}
}
