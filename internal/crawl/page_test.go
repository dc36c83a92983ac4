package crawl_test

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

func TestLinks(t *testing.T) {
	const robots = "User-agent: *\nDisallow: /closed\n"
	tests := []struct {
		name, kind, body string
		properties       []string
		change           func(*wire.Site, *wire.URL)
		want             []string // paths on the server, or whole URLs
		in, ex           int64
	}{
		{name: "each once, in order", body: `<a href="/b">1</a><a href="a">2</a><a href="/b#x">3</a><a href="/dir/../b">4</a>`, want: []string{"/b", "/dir/a"}, in: 2},
		{name: "not the page itself", body: `<a href="">1</a><a href="page">2</a><a href="#top">3</a>`},
		{name: "base element", body: `<base href="/other/"><a href="a">1</a>`, want: []string{"/other/a"}, in: 1},
		{name: "base on another host", body: `<base href="http://else.test/x/"><a href="a">1</a>`, want: []string{"http://else.test/x/a"}, ex: 1},
		{name: "base without a host", body: `<base href="data:,x"><a href="a">1</a>`, want: []string{"/dir/a"}, in: 1},
		{name: "all elements", body: `<img src=i srcset="s1 1x, s2 2x"><iframe src=f></iframe><link href=l><script src=j></script><form action=o></form><meta http-equiv=refresh content="0;url=r">`,
			want: []string{"/dir/i", "/dir/s1", "/dir/s2", "/dir/f", "/dir/l", "/dir/j", "/dir/o", "/dir/r"}, in: 8},
		{name: "schemes", body: `<a href="mailto:a@b">1</a><a href="javascript:x()">2</a><a href="ftp://x.test/">3</a><a href="https://x.test/">4</a>`, want: []string{"https://x.test/"}, ex: 1},
		{name: "PROTOCOLS", body: `<a href="https://x.test/">1</a><a href="/a">2</a>`, properties: []string{"PROTOCOLS", `["HTTP"]`}, want: []string{"/a"}, in: 1},
		{name: "filters", body: `<a href="/a">1</a><a href="/no/b">2</a><a href="http://x.test/">3</a>`, want: []string{"/a"}, in: 2, ex: 1,
			change: func(s *wire.Site, u *wire.URL) {
				s.Filters = []wire.SiteFilter{
					{Pattern: "^http://127", Stage: 0, Action: 1, State: 1}, {Pattern: "/no/", Stage: 5, Action: -1, State: 1},
					{Pattern: "/a", Stage: 5, Action: -1, State: 0}, {Pattern: "broken(", Stage: 5, Action: 1, State: 0},
				}
			}},
		{name: "no include rule", body: `<a href="/a">1</a><a href="/no/b">2</a>`, want: []string{"/a"}, in: 2,
			change: func(s *wire.Site, u *wire.URL) {
				s.Filters = []wire.SiteFilter{{Pattern: "/no/", Type: 0, State: 1, Stage: 5}}
			}},
		{name: "limit of the URL", body: `<a href=1>1</a><a href=2>2</a><a href=3>3</a>`, want: []string{"/dir/1", "/dir/2"}, in: 3,
			change: func(s *wire.Site, u *wire.URL) { u.MaxURLsFromPage, s.MaxURLsFromPage = 2, 1 }},
		{name: "limit of the site", body: `<a href=1>1</a><a href=2>2</a>`, want: []string{"/dir/1"}, in: 2,
			change: func(s *wire.Site, u *wire.URL) { s.MaxURLsFromPage = 1 }},
		{name: "robots.txt", body: `<a href="/closed/a">1</a><a href="/b">2</a><a href="http://x.test/closed/a">3</a>`, properties: []string{"ROBOTS_MODE", "1"},
			want: []string{"/b", "http://x.test/closed/a", "/closed/a"}, in: 2, ex: 1},
		{name: "robots.txt not for links", body: `<a href="/closed/a">1</a>`, properties: []string{"ROBOTS_MODE", "1", "ROBOTS_COLLECT", "0"}, want: []string{"/closed/a"}, in: 1},
		{name: "mask", body: `<a href="http://www.x.test/a">1</a><a href="http://x.test/a">2</a>`, properties: []string{"URL_NORMALIZE_MASK", "5"}, want: []string{"http://x.test/a"}, ex: 1},
		{name: "single page", body: `<a href="/a">1</a>`, change: func(s *wire.Site, u *wire.URL) { u.Type = wire.TypeSingle }},
		{name: "feed", kind: "application/rss+xml", body: `<rss><channel><item><link>http://x.test/1</link></item></channel></rss>`, want: []string{"http://x.test/1"}, ex: 1},
		{name: "XHTML", kind: "application/xhtml+xml", body: `<html><a href="/a"/></html>`, want: []string{"/a"}, in: 1},
		{name: "style sheet", kind: "text/css", body: `@import "a.css"; p { background: url(/b.png) }`, want: []string{"/dir/a.css", "/b.png"}, in: 2},
		{name: "no text", kind: "application/octet-stream", body: `<a href="/a">1</a>`},
		{name: "Latin 1", kind: "text/html; charset=iso-8859-1", body: "<a href='/caf\xe9'>1</a>", want: []string{"/caf%C3%A9"}, in: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					fmt.Fprint(w, robots)
					return
				}
				kind := tt.kind
				if kind == "" {
					kind = "text/html"
				}
				w.Header().Set("Content-Type", kind)
				fmt.Fprint(w, tt.body)
			})
			w := newWorld(t)
			site := w.addSite("s", tt.properties...)
			it := w.item("s", s.URL+"/dir/page", func(u *wire.URL) {
				u.LinksI, u.LinksE = 70, 70 // of the previous crawl
				if tt.change != nil {
					tt.change(site, u)
				}
			})
			w.run(batchOf(it))
			want := slices.Clone(tt.want)
			for i := range want {
				if want[i][0] == '/' {
					want[i] = s.URL + want[i]
				}
			}
			if got := w.links(it); !slices.Equal(got, want) {
				t.Errorf("links %v, want %v", got, want)
			}
			row := w.row(it)
			if row.LinksI != tt.in || row.LinksE != tt.ex {
				t.Errorf("%d internal, %d external, want %d, %d", row.LinksI, row.LinksE, tt.in, tt.ex)
			}
			if cut := strings.HasPrefix(tt.name, "limit"); row.ErrorMask != 0 && !cut || cut && row.ErrorMask != errormask.MaxURLsFromPage {
				t.Errorf("row: %s", bitNames(row.ErrorMask))
			}
			if w.SiteBits&errormask.Initialization != 0 {
				t.Errorf("site: %s", bitNames(w.SiteBits))
			}
		})
	}
}

// TestLinkIsOfferedByEachPage: the repository counts the pages that contain a link.
func TestLinkIsOfferedByEachPage(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		page(w, `<a href="/common">1</a><a href="`+r.URL.Path+`/own">2</a>`)
	})
	w := newWorld(t)
	w.addSite("a")
	w.addSite("b")
	one, two, other := w.item("a", s.URL+"/1"), w.item("a", s.URL+"/2"), w.item("b", s.URL+"/3")
	w.run(batchOf(one, two, other))
	all := append(w.links(one), w.links(two)...)
	slices.Sort(all)
	if want := []string{s.URL + "/1/own", s.URL + "/2/own", s.URL + "/common", s.URL + "/common"}; !slices.Equal(all, want) {
		t.Errorf("links %v", all)
	}
	if got := w.links(other); len(got) != 2 {
		t.Errorf("links of another site %v", got)
	}
}

func TestNewRow(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { page(w, `<a href="/a">1</a>`) })
	w := newWorld(t)
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	w.job.Now = func() time.Time { return now }
	site := w.addSite("s")
	site.URLType, site.RequestDelay, site.HTTPTimeout, site.ProcessingDelay, site.MaxURLsFromPage = wire.TypeNewSite, 1234, 2345, 345, 56
	parent := w.item("s", s.URL+"/p", func(u *wire.URL) { u.Depth, u.Priority, u.Type, u.HTTPTimeout = 4, 9, wire.TypeRegular, 9999 })
	w.run(batchOf(parent))
	row := w.URLs["s "+wire.Md5(s.URL+"/a")]
	want := wire.NewURL("s", s.URL+"/a")
	want.Type, want.RequestDelay, want.HTTPTimeout, want.ProcessingDelay, want.MaxURLsFromPage = wire.TypeNewSite, 1234, 2345, 345, 56
	want.ParentMd5, want.Depth, want.Priority = parent.URLID, 5, 9
	want.CDate, want.UDate, want.TcDate = schema.DateOf(now), schema.DateOf(now), schema.DateOf(now)
	if fmt.Sprintf("%+v", row) != fmt.Sprintf("%+v", want) {
		t.Errorf("row\n%+v\nwant\n%+v", row, want)
	}
}

// TestPageRowAndFiles checks everything that a page leaves, in its first crawl and in a second one
// with the same bytes.
func TestPageRowAndFiles(t *testing.T) {
	var again atomic.Bool // then the other value of the header is used
	const body = "<html><head><title>\xcf\xf0\xe8\xe2\xe5\xf2</title></head><a href=/a>x</a></html>"
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.SetCookie(w, &http.Cookie{Name: "hop", Value: "1"})
			http.Redirect(w, r, "/to?q=1", http.StatusFound)
			return
		}
		if got := r.Header.Get("Cookie"); got != "user=me; hop=1" {
			t.Errorf("cookies %q", got)
		}
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			t.Errorf("authorization %q %q", user, password)
		}
		if agent := r.Header.Get("User-Agent"); agent != "mine/2" && !again.Load() || r.Header.Get("X-More") != "1" {
			t.Errorf("headers %v", r.Header)
		}
		h := w.Header()
		h.Set("Content-Type", "Text/HTML; charset=Windows-1251")
		h.Set("ETag", `W/"abc"`)
		h.Set("Last-Modified", "Tue, 03 Feb 2026 01:02:03 GMT")
		h.Add("Set-Cookie", "a=1; Path=/")
		h.Add("Set-Cookie", "b=2")
		fmt.Fprint(w, body)
	})
	w := newWorld(t)
	w.job.Config.Headers, _ = headerrotation.Parse("User-Agent: test/1\nX-More: 1")
	w.addSite("s", "HTTP_HEADERS", `{"user-agent": ["mine/2", "mine/3"]}`, "HTTP_COOKIE", "user=me", "HTTP_AUTH_NAME", "u", "HTTP_AUTH_PWD", "p")
	it := w.item("s", s.URL+"/from")
	answer := w.run(batchOf(it))
	sum := md5.Sum([]byte(body))
	bodyMd5 := hex.EncodeToString(sum[:])
	row := w.row(it)
	if row.Status != wire.StatusCrawled || row.State != wire.URLEnabled || row.HTTPCode != 200 || row.HTTPMethod != "get" ||
		row.ContentType != "text/html" || row.Charset != "windows-1251" || row.Size != int64(len(body)) || row.RawContentMd5 != bodyMd5 ||
		row.ETag != "W/abc" || row.LastModified != "2026-02-03 01:02:03" || row.MRate != 1 || row.MRateCounter != 1 || row.Crawled != 1 ||
		row.LinksI != 1 || row.BatchID != batchID || row.UDate == "" {
		t.Errorf("row %+v", row)
	}
	out := answer.Items[0].URL
	if out.Status != row.Status || out.RawContentMd5 != row.RawContentMd5 || out.ContentMask != 1 || out.Crawled != 1 || answer.ErrorMask != 0 {
		t.Errorf("answered %+v", out)
	}
	if got := w.file(it, wire.ContentRaw); !strings.Contains(got, "<title>Привет</title>") {
		t.Errorf("raw %q", got)
	}
	base := s.URL + "/to?q=1"
	if head := w.file(it, wire.ContentHeaders); !strings.Contains(head, "\r\nEtag: W/\"abc\"\r\n") || !strings.HasSuffix(head, "X-base_url: "+base+"\r\nLocation: "+base+"\r\n") || answer.Items[0].BaseURL != base {
		t.Errorf("headers %q", head)
	}
	if request := w.file(it, wire.ContentRequests); !strings.HasPrefix(request, "GET /to?q=1 HTTP/1.1\r\n") || !strings.Contains(request, "User-Agent: mine/2\r\n") {
		t.Errorf("request %q", request)
	}
	if got := w.file(it, wire.ContentCookies); got != "a=1; Path=/\r\nb=2\r\n" {
		t.Errorf("cookies %q", got)
	}
	if first := w.Results["s "+it.URLID]; first.Same || first.At.IsZero() {
		t.Errorf("first crawl: same %v, at %v", first.Same, first.At)
	}

	again.Store(true)
	b := batchOf(it)
	b.ID++
	second := w.URLs["s "+it.URLID]
	second.Status, second.BatchID = wire.StatusSelectedCrawling, b.ID
	w.URLs["s "+it.URLID] = second
	w.run(b)
	if row := w.row(it); !w.Results["s "+it.URLID].Same || row.Crawled != 2 || row.MRateCounter != 2 {
		t.Errorf("second crawl: same %v, %+v", w.Results["s "+it.URLID].Same, row)
	}
}

func TestFilesNotWanted(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "a=1")
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "\x89PNG\xff\xfe")
	})
	w := newWorld(t)
	w.addSite("s", "STORE_HTTP_HEADERS", "0", "STORE_HTTP_REQUEST", "0", "STORE_COOKIES", "0")
	it := w.item("s", s.URL+"/")
	w.run(batchOf(it))
	if files := w.Files["s "+it.URLID]; len(files) != 1 || string(files[0].Data) != "\x89PNG\xff\xfe" || w.row(it).Charset != "" {
		t.Errorf("files %v, charset %q", files, w.row(it).Charset)
	}
}

// The headers of a page begin with its status line, unless that is HTTP/1.1 200 OK. An archive writes it.
func TestStatusLineOfAPage(t *testing.T) {
	for path, line := range map[string]string{"/usual": "HTTP/1.1 200 OK", "/own": "HTTP/1.1 200 Quite Fine", "/old": "HTTP/1.0 200 OK", "/203": "HTTP/1.1 203 Non-Authoritative Information"} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s\r\nA: b\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>text.", line)
		})
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "0")
		it := w.item("s", s.URL+path)
		w.run(batchOf(it))
		want := "A: b\r\n"
		if path != "/usual" {
			want = line + "\r\n" + want
		}
		if head := w.file(it, wire.ContentHeaders); !strings.HasPrefix(head, want) {
			t.Errorf("%s: %q", path, head)
		}
	}
}

// TestFailureKeepsTheExchange: headers and request of a 404 are stored.
func TestFailureKeepsTheExchange(t *testing.T) {
	s := newServer(t, http.NotFound)
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/x")
	w.run(batchOf(it))
	if !strings.Contains(w.file(it, wire.ContentHeaders), "X-Content-Type-Options: nosniff\r\n") || !strings.HasPrefix(w.file(it, wire.ContentRequests), "GET /x HTTP/1.1\r\n") {
		t.Errorf("files %v", w.Files["s "+it.URLID])
	}
	if row := w.row(it); row.ContentType != "text/plain" {
		t.Errorf("content type %q", row.ContentType)
	}
}

func TestProperties(t *testing.T) {
	tests := []struct {
		name   string
		site   []string
		item   map[string]string
		header string // cookie and X-A as sent
		broken bool
	}{
		{name: "defaults", header: "default=1|"},
		{name: "text", site: []string{"HTTP_COOKIE", "c=1", "HTTP_HEADERS", "X-A: one\n# X-A: two\n\n"}, header: "c=1|one"},
		{name: "JSON", site: []string{"HTTP_COOKIE", `{".*": {"stage": 2, "cookie": "c=2"}}`, "HTTP_HEADERS", `{"X-A": "two"}`}, header: "c=2|two"},
		{name: "number", site: []string{"HTTP_HEADERS", `{"X-A": 7}`}, header: "default=1|7"},
		{name: "cookie of another stage", site: []string{"HTTP_COOKIE", `{".*": {"stage": 1, "cookie": "c=2"}}`}, header: "|"},
		{name: "last value wins", site: []string{"HTTP_COOKIE", "c=1", "HTTP_COOKIE", "c=3"}, header: "c=3|"},
		{name: "the item's win", site: []string{"HTTP_COOKIE", "c=1"}, item: map[string]string{"HTTP_COOKIE": "c=4"}, header: "c=4|"},
		{name: "empty as if absent", site: []string{"HTTP_COOKIE", " ", "HTTP_HEADERS", ""}, header: "default=1|"},
		{name: "one broken, the rest holds", site: []string{"CONNECTION_TIMEOUT", "soon", "HTTP_HEADERS", "X-A: one"}, header: "default=1|one", broken: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("Cookie") + "|" + r.Header.Get("X-A")
				page(w, "x")
			})
			w := newWorld(t)
			w.addSite("s", tt.site...)
			it := w.item("s", s.URL+"/")
			it.Properties = tt.item
			w.run(batchOf(it))
			if got != tt.header {
				t.Errorf("sent %q, want %q", got, tt.header)
			}
			if row := w.row(it); row.ErrorMask != 0 || (w.SiteBits == errormask.Initialization) != tt.broken {
				t.Errorf("row: %s, site: %s", bitNames(row.ErrorMask), bitNames(w.SiteBits))
			}
		})
	}
}

// TestHostileHeaders: texts of a server are cut to the size of their columns.
func TestHostileHeaders(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		kind, err := url.QueryUnescape(r.URL.RawQuery)
		if err != nil {
			t.Error(err)
		}
		w.Header()["Content-Type"] = []string{kind}
		w.Header().Set("ETag", strings.Repeat("é", 100))
		w.Header().Set("Last-Modified", "never")
		w.Header().Set("Date", "nor that")
		fmt.Fprint(w, "<html><p>x</html>")
	})
	for kind, want := range map[string]string{
		"":                             "text/html",
		"text/html, text/html":         "text/html",
		"TEXT/HTML;charset":            "text/html",
		"text/html; charset=\"":        "text/html",
		"x/" + strings.Repeat("y", 99): "x/" + strings.Repeat("y", 99),
		";":                            "text/html",
		"\xff\xfe":                     "text/html",
	} {
		w := newWorld(t)
		w.addSite("s")
		it := w.item("s", s.URL+"/?"+url.QueryEscape(kind))
		w.run(batchOf(it))
		row := w.row(it)
		if row.ContentType != want || row.ErrorMask != 0 || len(row.ETag) > 128 || row.LastModified == "" {
			t.Errorf("%q: type %q, %s, ETag %q, modified %q", kind, row.ContentType, bitNames(row.ErrorMask), row.ETag, row.LastModified)
		}
	}
}
