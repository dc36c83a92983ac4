package crawl_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// hangUp ends the connection: before an answer, or within its body.
func hangUp(w http.ResponseWriter, begin string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprint(conn, begin)
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func answerWith(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// again makes a row that waits due at once, as time does.
func (w *world) again(it wire.BatchItem) wire.BatchItem {
	w.Helper()
	u := w.row(it)
	if u.Status != wire.StatusNew || u.RetryDate == "" || u.ErrorMask != 0 || u.Crawled != 0 {
		w.Fatalf("the row does not wait: status %d, retry date %q, errors %s, crawled %d", u.Status, u.RetryDate, u.ErrorMask.Names(), u.Crawled)
	}
	u.Status = wire.StatusSelectedCrawling
	w.URLs[it.SiteID+" "+u.URLMd5] = u
	return wire.BatchItem{SiteID: it.SiteID, URLID: it.URLID, URL: u}
}

// TestAskedAgain: an answer that means "later" leaves the row New, with its cause and its next date; the
// next batch stores the page. A batch of a client, and a site with RETRY 0, fails at once.
func TestAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		name, cause string
		answer      http.HandlerFunc
		least       time.Duration // of the pause
		bits        errormask.Mask
	}{
		{"busy", "503", answerWith(503), 0, errormask.HTTP},
		{"too many requests, in seconds", "429", answerWith(429, "Retry-After", "100"), 100 * time.Second, errormask.HTTP},
		{"busy until a date", "503", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(101*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, 100 * time.Second, errormask.HTTP},
		{"beyond all bounds", "503", answerWith(503, "Retry-After", "99999999999999999999"), 24 * time.Hour, errormask.HTTP},
		{"an unreadable time", "503", answerWith(503, "Retry-After", "soon"), 0, errormask.HTTP},
		{"server error", "500", answerWith(500), 0, errormask.HTTP},
		{"bad gateway", "502", answerWith(502), 0, errormask.HTTP},
		{"gateway timeout", "504", answerWith(504), 0, errormask.HTTP},
		{"request timeout", "408", answerWith(408), 0, errormask.HTTP},
		{"proxy in front", "52x", answerWith(522), 0, errormask.HTTP},
		{"closed without an answer", "reset", func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "") }, 0, errormask.Connection},
		{"cut", "cut", func(w http.ResponseWriter, _ *http.Request) {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<p>begin")
		}, 0, errormask.PageConvert},
		{"cut, chunked", "cut", func(w http.ResponseWriter, _ *http.Request) {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>be\r\n")
		}, 0, errormask.PageConvert},
		{"slow", "timeout", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0, errormask.Timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					tt.answer(w, r)
					return
				}
				page(w, "<p>The page.")
			})
			w := newWorld(t)
			w.addSite("s")
			short := func(u *wire.URL) {
				if tt.cause == "timeout" {
					u.HTTPTimeout = 300
				}
			}
			it := w.item("s", s.URL+"/x", short)
			b := batchOf(it)
			b.Retry = true
			before := time.Now()
			w.run(b)
			row := w.row(it)
			if at, _ := row.RetryDate.Time(); row.Retries != 1 || row.RetryCause != tt.cause || at.Before(before.Add(tt.least)) || at.After(time.Now().Add(25*time.Hour)) {
				t.Fatalf("%d retries, cause %q, at %s", row.Retries, row.RetryCause, row.RetryDate)
			}
			if tt.least > 0 {
				return // the host is paused for long
			}
			b.Items = []wire.BatchItem{w.again(it)}
			w.run(b)
			if row := w.row(it); row.Status != wire.StatusCrawled || row.ErrorMask != 0 || row.Retries != 0 || row.RetryDate != "" || row.RetryCause != "" {
				t.Errorf("status %d, errors %s, %d retries, date %q, cause %q", row.Status, row.ErrorMask.Names(), row.Retries, row.RetryDate, row.RetryCause)
			}
			// Once: a batch of a client, and RETRY 0.
			w = newWorld(t) // without a kept connection
			w.addSite("s")
			w.addSite("s0", "RETRY", "0")
			for _, once := range []bool{false, true} {
				asked.Store(0)
				site := map[bool]string{false: "s", true: "s0"}[once]
				it := w.item(site, s.URL+"/y", short)
				b := batchOf(it)
				b.Retry = once
				w.run(b)
				if row := w.row(it); row.Status != wire.StatusCrawled || row.State != wire.URLError || row.ErrorMask != tt.bits || row.RetryCause != "" || asked.Load() != 1 {
					t.Errorf("site %s: status %d, state %d, errors %s, cause %q, %d requests", site, row.Status, row.State, row.ErrorMask.Names(), row.RetryCause, asked.Load())
				}
			}
		})
	}
}

// TestGivenUp: after the attempts of its cause a URL fails with its last error, and says how often it was
// asked and why.
func TestGivenUp(t *testing.T) {
	s := newServer(t, answerWith(502))
	w := newWorld(t)
	w.addSite("s", "RETRY", `{"502": {"attempts": 3}}`)
	it := w.item("s", s.URL+"/x")
	b := batchOf(it)
	b.Retry = true
	w.run(b)
	for range 2 {
		b.Items = []wire.BatchItem{w.again(it)}
		w.run(b)
	}
	row := w.row(it)
	if row.Status != wire.StatusCrawled || row.State != wire.URLError || row.HTTPCode != 502 || row.Retries != 3 || row.RetryCause != "502" || row.RetryDate != "" || len(s.paths()) != 3 {
		t.Errorf("%+v, requests %q", row, s.paths())
	}
	// Renewed, it begins from the first attempt.
	b.Items = []wire.BatchItem{w.item("s", s.URL+"/x", func(u *wire.URL) { u.Retries, u.RetryCause = row.Retries, row.RetryCause })}
	w.run(b)
	if row := w.row(it); row.Status != wire.StatusNew || row.Retries != 1 {
		t.Errorf("renewed: status %d, %d retries", row.Status, row.Retries)
	}
}

// TestNamesAndForms: a name that does not exist is final, a name server that fails is not; a form is not
// sent twice.
func TestNamesAndForms(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "") })
	for _, tt := range []struct {
		name, url, method string
		waits             bool
	}{
		{"no such name", "http://nowhere.invalid/", "", false},
		{"name server fails", "http://servfail.invalid/", "", true},
		{"connection refused", "http://127.0.0.1:1/", "", true},
		{"form", s.URL + "/form", "post", false},
	} {
		w := newWorld(t)
		w.addSite("s")
		it := w.item("s", tt.url, func(u *wire.URL) { u.HTTPMethod = tt.method })
		b := batchOf(it)
		b.Retry = true
		w.run(b)
		if row := w.row(it); (row.Status == wire.StatusNew && row.RetryDate != "") != tt.waits {
			t.Errorf("%s: status %d, retry date %q, cause %q", tt.name, row.Status, row.RetryDate, row.RetryCause)
		}
	}
}

// TestRobotsLater: a robots.txt that is not available, or that does not come, puts the page off with a
// count, and it fails at the end; a default sitemap that may come later is waited for.
func TestRobotsLater(t *testing.T) {
	for _, tt := range []struct {
		name, path, cause string
		answer            http.HandlerFunc
	}{
		{"robots.txt busy", "/robots.txt", "robots", answerWith(503)},
		{"robots.txt broken", "/robots.txt", "robots", answerWith(500)},
		{"robots.txt cut", "/robots.txt", "cut", func(w http.ResponseWriter, _ *http.Request) {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\n")
		}},
		{"sitemap busy", "/sitemap.xml", "503", answerWith(503)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var fine atomic.Bool
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == tt.path && !fine.Load():
					tt.answer(w, r)
				case r.URL.Path == "/sitemap.xml":
					fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://`+r.Host+`/deep</loc></url></urlset>`)
				case r.URL.Path == "/robots.txt":
				default:
					page(w, "<p>The page.")
				}
			})
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1", "RETRY", `{"*": {"attempts": 3}}`)
			it := w.item("s", s.URL+"/", func(u *wire.URL) { u.ParentMd5 = "" })
			b := batchOf(it)
			b.Retry = true
			w.run(b)
			if row := w.row(it); row.RetryCause != tt.cause || slices.Contains(s.paths(), "/") {
				t.Fatalf("cause %q, requests %q", row.RetryCause, s.paths())
			}
			fine.Store(true)
			b.Items = []wire.BatchItem{w.again(it)}
			time.Sleep(10 * time.Millisecond) // the pause of robots.txt in this world is a few milliseconds
			w.run(b)
			if row := w.row(it); row.Status != wire.StatusCrawled || row.ErrorMask != 0 || !slices.ContainsFunc(w.links(it), func(u string) bool { return strings.HasSuffix(u, "/sitemap.xml") }) {
				t.Errorf("status %d, errors %s, links %q", row.Status, row.ErrorMask.Names(), w.links(it))
			}
			// For ever: the page fails.
			fine.Store(false)
			w = newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1", "RETRY", `{"*": {"attempts": 2}}`)
			b.Items = []wire.BatchItem{w.item("s", s.URL+"/", func(u *wire.URL) { u.ParentMd5 = "" })}
			w.run(b)
			b.Items = []wire.BatchItem{w.again(it)}
			time.Sleep(10 * time.Millisecond)
			w.run(b)
			if row := w.row(it); row.Status != wire.StatusCrawled || (row.State == wire.URLError) != (tt.path == "/robots.txt") || row.State == wire.URLError && row.RetryCause != tt.cause {
				t.Errorf("at the end: status %d, state %d, cause %q", row.Status, row.State, row.RetryCause)
			}
		})
	}
}
