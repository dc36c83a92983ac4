package crawl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// scene is a server that answers from a table and records its requests.
type scene struct {
	*server
	other string // the same server by another name

	mu   sync.Mutex
	seen []string
}

// reply is the answer of a path: a page, with a type, a code, headers.
type reply struct {
	body, kind string
	code       int
	header     map[string]string
}

// newScene answers paths from replies, and others with an empty page. show makes a line of each
// request. In bodies and headers, {own} and {other} are the server's names.
func newScene(t *testing.T, replies map[string]reply, show func(*http.Request) string) *scene {
	t.Helper()
	sc := &scene{}
	sc.server = newServer(t, func(w http.ResponseWriter, r *http.Request) {
		sc.mu.Lock()
		if line := show(r); line != "" {
			sc.seen = append(sc.seen, line)
		}
		sc.mu.Unlock()
		a, ok := replies[r.URL.Path]
		if !ok {
			a = replies[""]
		}
		for name, value := range a.header {
			w.Header().Set(name, sc.fill(value))
		}
		if a.kind == "" {
			a.kind = "text/html; charset=utf-8"
		}
		w.Header().Set("Content-Type", a.kind)
		if a.code != 0 {
			w.WriteHeader(a.code)
		}
		if a.body == "" {
			a.body = "<p>a page"
		}
		fmt.Fprint(w, sc.fill(a.body))
	})
	sc.other = strings.Replace(sc.URL, "127.0.0.1", "other.test", 1)
	return sc
}

func (sc *scene) fill(text string) string {
	return strings.NewReplacer("{own}", sc.URL, "{other}", sc.other).Replace(text)
}

func (sc *scene) requests() []string {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return slices.Clone(sc.seen)
}

func withHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string {
		host, _, _ := strings.Cut(r.Host, ":")
		return strings.TrimSpace(fmt.Sprintf("%s %s%s %s", r.Method, strings.TrimPrefix(host, "127.0.0.1"), r.URL.RequestURI(), r.Header.Get(name)))
	}
}

func redirectTo(target string) reply {
	return reply{code: http.StatusFound, header: map[string]string{"Location": target}}
}

// skipRow are bits that no row has: the first item is replaced by another.
const skipRow = ^errormask.Mask(0)

// TestRequestProperties: the effect of properties on the requests of a site.
func TestRequestProperties(t *testing.T) {
	lines := func(r *http.Request) string { return withHeader("")(r) }
	feed := reply{kind: "application/rss+xml", body: `<rss version="2.0"><channel><item><link>{own}/entry</link></item></channel></rss>`}
	tests := []struct {
		name       string
		properties []string
		replies    map[string]reply
		paths      []string // of the items, "/" by default
		change     func(*wire.Site, *wire.URL)
		show       func(*http.Request) string
		realTime   bool
		want       []string
		bits       errormask.Mask // of the first row
	}{
		{name: "headers as text", properties: []string{"HTTP_HEADERS", "X-A: one\n# X-A: two"}, show: withHeader("X-A"), want: []string{"GET / one"}},
		{name: "headers as JSON", properties: []string{"HTTP_HEADERS", `{"x-a": 7}`}, show: withHeader("X-A"), want: []string{"GET / 7"}},
		{name: "headers rotate", properties: []string{"HTTP_HEADERS", `{"X-A": ["1", "2"]}`}, paths: []string{"/a", "/b", "/c"}, show: withHeader("X-A"),
			want: []string{"GET /a 1", "GET /b 2", "GET /c 1"}},
		{name: "headers of a file", properties: []string{"HTTP_HEADERS", "file://agents.txt"}, paths: []string{"/a", "/b"}, show: withHeader("User-Agent"),
			want: []string{"GET /a one/1", "GET /b two/2"}},
		{name: "cookie for pages", properties: []string{"HTTP_COOKIE", `{".*": {"stage": 2, "cookie": "c=1"}}`, "ROBOTS_MODE", "1", "MIME_TYPE_AUTO_DETECT", "2"},
			replies: map[string]reply{"/": {body: `<a href=/a>a</a>`}, "/robots.txt": {code: 404}}, show: withHeader("Cookie"),
			want: []string{"GET /robots.txt", "GET / c=1", "HEAD /a"}},
		{name: "cookie for robots.txt", properties: []string{"HTTP_COOKIE", `{".*": {"stage": 4, "cookie": "c=1"}}`, "ROBOTS_MODE", "1"},
			replies: map[string]reply{"/robots.txt": {code: 404}}, show: withHeader("Cookie"), want: []string{"GET /robots.txt c=1", "GET /"}},
		{name: "cookie for links", properties: []string{"HTTP_COOKIE", `{".*": {"stage": 1, "cookie": "c=1"}}`, "MIME_TYPE_AUTO_DETECT", "2"},
			replies: map[string]reply{"/": {body: `<a href=/a>a</a>`}}, show: withHeader("Cookie"), want: []string{"GET /", "HEAD /a c=1"}},
		{name: "cookie for feeds", properties: []string{"HTTP_COOKIE", `{".*": {"stage": 8, "cookie": "c=1"}}`, "PROCESSOR_NAME", "RSS"},
			replies: map[string]reply{"/": feed}, show: withHeader("Cookie"), want: []string{"GET / c=1"}},
		{name: "no cookie for feeds", properties: []string{"HTTP_COOKIE", `{".*": {"stage": 2, "cookie": "c=1"}}`, "PROCESSOR_NAME", "RSS"},
			replies: map[string]reply{"/": feed}, show: withHeader("Cookie"), want: []string{"GET /"}},
		{name: "cookie of a domain", properties: []string{"HTTP_COOKIE", `{"other.test": {"cookie": "c=o"}, "127.0.0.1": {"cookie": "c=a"}}`},
			paths: []string{"/", "{other}/x"}, show: withHeader("Cookie"), want: []string{"GET / c=a", "GET other.test/x c=o"}},
		{name: "no referer", properties: []string{"REFERER_SELF_URL", "0"}, show: withHeader("Referer"), want: []string{"GET /"}},
		{name: "own referer", properties: []string{"REFERER_SELF_URL", "1"}, paths: []string{"/a?b"}, show: withHeader("Referer"), want: []string{"GET /a?b {own}/a?b"}},
		{name: "referer of the host", properties: []string{"REFERER_SELF_URL", "2"}, paths: []string{"/a"}, show: withHeader("Referer"), want: []string{"GET /a {own}/"}},
		{name: "referer of the parent", properties: []string{"REFERER_SELF_URL", "3"}, paths: []string{"/a", "/b"}, show: withHeader("Referer"),
			change: func(_ *wire.Site, u *wire.URL) {
				if strings.HasSuffix(u.URL, "/b") {
					u.ParentMd5 = wire.Md5(strings.TrimSuffix(u.URL, "b") + "a")
				}
			}, want: []string{"GET /a {own}/a", "GET /b {own}/a"}},
		{name: "referer of the headers", properties: []string{"REFERER_SELF_URL", "1", "HTTP_HEADERS", "Referer: http://mine.test/"}, show: withHeader("Referer"),
			want: []string{"GET / http://mine.test/"}},
		{name: "password goes to no other host", properties: []string{"HTTP_AUTH_NAME", "u", "HTTP_AUTH_PWD", "p", "MIME_TYPE_AUTO_DETECT", "2"}, show: withHeader("Authorization"),
			paths: []string{"/here", "/there", "/refresh", "/links"},
			replies: map[string]reply{
				"/here": redirectTo("/x"), "/there": redirectTo("{other}/x"), "/refresh": {body: `<meta http-equiv=refresh content="0;url={other}/y">`},
				"/links": {body: `<a href="/own">1</a><a href="{other}/z">2</a>`},
			}, want: []string{"GET /here Basic dTpw", "GET /x Basic dTpw", "GET /there Basic dTpw", "GET other.test/x", "GET /refresh Basic dTpw", "GET other.test/y",
				"GET /links Basic dTpw", "HEAD /own Basic dTpw", "HEAD other.test/z"}},
		{name: "password goes to no source of a schema", show: withHeader("Authorization"), paths: []string{"/%n%"}, change: func(_ *wire.Site, u *wire.URL) { u.URL = strings.ReplaceAll(u.URL, "%25", "%") },
			properties: []string{"HTTP_AUTH_NAME", "u", "HTTP_AUTH_PWD", "p", "URLS_SCHEMA", `{"type": 1, "urls": ["{other}/values"], "parameters": {}}`},
			replies:    map[string]reply{"/values": {body: `{"n": ["1"]}`}}, want: []string{"GET other.test/values", "GET /1 Basic dTpw"}, bits: skipRow},
		{name: "a name is no password", properties: []string{"HTTP_AUTH_NAME", "u"}, show: withHeader("Authorization"), want: []string{"GET /"}},
		{name: "form", properties: []string{"HTTP_POST_FORM_q", "a b", "HTTP_POST_FORM_n", "1"}, paths: []string{"/f"},
			change: func(_ *wire.Site, u *wire.URL) { u.HTTPMethod = "POST" },
			show: func(r *http.Request) string {
				body, _ := io.ReadAll(r.Body)
				return r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
			}, want: []string{"POST application/x-www-form-urlencoded n=1&q=a+b"}},
		{name: "form, but a method get", properties: []string{"HTTP_POST_FORM_q", "a"}, show: lines, want: []string{"GET /"}},
		{name: "no redirects", properties: []string{"HTTP_REDIRECTS_MAX", "0"}, replies: map[string]reply{"/": redirectTo("/a")}, show: lines, want: []string{"GET /"}, bits: errormask.MaxHTTPRedirects},
		{name: "one redirect", properties: []string{"HTTP_REDIRECTS_MAX", "1"}, replies: map[string]reply{"/": redirectTo("/a")}, show: lines, want: []string{"GET /", "GET /a"}},
		{name: "one redirect too many", properties: []string{"HTTP_REDIRECTS_MAX", "1"}, replies: map[string]reply{"/": redirectTo("/a"), "/a": redirectTo("/b")}, show: lines,
			want: []string{"GET /", "GET /a"}, bits: errormask.MaxHTTPRedirects},
		{name: "template", properties: []string{"URL_TEMPLATE_REGULAR", "{other}/t?u=%URL%", "URL_TEMPLATE_REALTIME", "{other}/no?%URL%"}, paths: []string{"/a?b=1"}, show: lines,
			want: []string{"GET other.test/t?u={own}/a?b=1"}},
		{name: "template, encoded", properties: []string{"URL_TEMPLATE_REGULAR", "{other}/t?u=%URL%", "URL_TEMPLATE_REGULAR_URLENCODE", "1"}, paths: []string{"/a?b=1"}, show: lines,
			want: []string{"GET other.test/t?u={own%}%2Fa%3Fb%3D1"}},
		{name: "template of real time", properties: []string{"URL_TEMPLATE_REGULAR", "{other}/no?%URL%", "URL_TEMPLATE_REALTIME", "{other}/r?u=%URL%", "URL_TEMPLATE_REALTIME_URLENCODE", "1"},
			paths: []string{"/a"}, show: lines, realTime: true, want: []string{"GET other.test/r?u={own%}%2Fa"}},
		{name: "external service", properties: []string{"EXTERNAL_URL", "{other}/e?u=%URL%"}, paths: []string{"/a"}, show: lines, want: []string{"GET other.test/e?u={own%}%2Fa"}},
		{name: "fetch type 3", properties: []string{"EXTERNAL_URL", "{other}/e?u=%URL%"}, change: func(s *wire.Site, _ *wire.URL) { s.FetchType = 3 }, paths: []string{"/a"}, show: lines,
			want: []string{"GET other.test/e?u={own%}%2Fa"}},
		{name: "fetch type 3 without a service", change: func(s *wire.Site, _ *wire.URL) { s.FetchType = 3 }, show: lines, bits: errormask.Initialization},
		{name: "alive", properties: []string{"HOST_ALIVE_CHECK", `{"domain_name_resolve": 1, "connect_resolve": 1}`}, show: lines, want: []string{"GET /"}},
		{name: "not alive: no name", properties: []string{"HOST_ALIVE_CHECK", `{"domain_name_resolve": "1"}`}, paths: []string{"http://none.invalid/"}, show: lines, bits: errormask.Connection},
		{name: "not alive: no connection", properties: []string{"HOST_ALIVE_CHECK", `{"connect_resolve": 1}`, "ROBOTS_MODE", "1"}, paths: []string{"http://127.0.0.1:1/"}, show: lines, bits: errormask.Connection},
		{name: "robots.txt is asked for", properties: []string{"ROBOTS_MODE", "1"}, replies: map[string]reply{"/robots.txt": {code: 404}}, show: lines, want: []string{"GET /robots.txt", "GET /"}},
		{name: "robots.txt is not asked for", properties: []string{"ROBOTS_MODE", "0"}, show: lines, want: []string{"GET /"}},
		{name: "kept robots.txt", properties: []string{"ROBOTS_MODE", "1", "ROBOTS_CACHE", "1"}, paths: []string{"/kept", "/b"}, show: lines, want: []string{"GET /b"}, bits: errormask.Robots},
		{name: "kept robots.txt is not wanted", properties: []string{"ROBOTS_MODE", "1"}, replies: map[string]reply{"/robots.txt": {code: 404}}, paths: []string{"/kept"}, show: lines,
			want: []string{"GET /robots.txt", "GET /kept"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := newScene(t, tt.replies, tt.show)
			w := newWorld(t)
			w.job.Config.Cookie, w.job.Config.HeaderSourceDir = emptyCookie(t), t.TempDir()
			write(t, filepath.Join(w.job.Config.HeaderSourceDir, "agents.txt"), "one/1\n# no\n\ntwo/2\n")
			w.keepRobots(t, sc, "User-agent: *\nDisallow: /kept")
			properties := slices.Clone(tt.properties)
			for i := range properties {
				properties[i] = sc.fill(properties[i])
			}
			site := w.addSite("s", properties...)
			b := batchOf()
			if tt.paths == nil {
				tt.paths = []string{"/"}
			}
			for _, path := range tt.paths {
				target := sc.fill(path)
				if target[0] == '/' {
					target = sc.URL + target
				}
				b.Items = append(b.Items, w.item("s", target, func(u *wire.URL) {
					if tt.change != nil {
						tt.change(site, u)
					}
				}))
			}
			if tt.realTime {
				b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
			}
			answer := w.run(b)
			var want []string
			for _, line := range tt.want {
				line = strings.ReplaceAll(line, "{own%}", strings.NewReplacer(":", "%3A", "/", "%2F").Replace(sc.URL))
				want = append(want, sc.fill(line))
			}
			got := sc.requests()
			if len(tt.paths) > 1 { // hosts run concurrently
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if row := w.row(b.Items[0]); !tt.realTime && tt.bits != skipRow && row.ErrorMask != tt.bits || w.SiteBits&errormask.Initialization != 0 {
				t.Errorf("row: %s, site: %s", bitNames(row.ErrorMask), bitNames(w.SiteBits))
			}
			if tt.realTime && answer.ErrorMask != 0 {
				t.Errorf("answer: %s", bitNames(answer.ErrorMask))
			}
		})
	}
}

// keepRobots writes a robots.txt for ROBOTS_CACHE of site s, and one with fewer uses.
func (w *world) keepRobots(t *testing.T, sc *scene, text string) {
	t.Helper()
	w.job.Config.RobotsDir = t.TempDir()
	kept, err := json.Marshal(map[string]any{"robots.txt": map[string]int{text: 2, "User-agent: *\nDisallow: /": 1}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.job.Config.RobotsDir, statefile.Name(sc.host), "s.json"), string(kept))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPropertiesAsJSON: in items and in siteObj, values may be JSON objects and lists.
func TestPropertiesAsJSON(t *testing.T) {
	const properties = `{"HTTP_HEADERS": {"X-A": "json"}, "PROTOCOLS": ["https"], "REFERER_SELF_URL": 0, "REPLACE": [{"WHAT": "one", "WITH": "two"}],
		"URL_LIMITS": [{"max_items": 2}, {"max_items": 1}, {"offset": 0}], "HTTP_AUTH_NAME": ["s", "text", ""]}`
	for _, where := range []string{`"properties":{}`, `"siteObj":null`} {
		t.Run(where, func(t *testing.T) {
			sc := newScene(t, map[string]reply{"": {body: `one<a href="/a">1</a><a href="https://x.test/1">2</a><a href="https://x.test/2">3</a>`}}, func(r *http.Request) string {
				return r.Header.Get("X-A") + "|" + r.Header.Get("Referer")
			})
			w := newWorld(t)
			w.addSite("s")
			it := w.item("s", sc.URL+"/")
			raw, err := json.Marshal(batchOf(it))
			if err != nil {
				t.Fatal(err)
			}
			given := `"properties":` + properties
			if strings.Contains(where, "siteObj") {
				given = `"siteObj":{` + given + `}`
			}
			if _, err := w.job.Run(context.Background(), json.RawMessage(strings.Replace(string(raw), where, given, 1))); err != nil {
				t.Fatal(err)
			}
			if got := sc.requests(); !slices.Equal(got, []string{"json|"}) {
				t.Errorf("requests %v", got)
			}
			if got := w.links(it); !slices.Equal(got, []string{"https://x.test/1"}) || !strings.HasPrefix(w.file(it, wire.ContentRaw), "two<a") {
				t.Errorf("links %v, raw %q", got, w.file(it, wire.ContentRaw))
			}
			if w.SiteBits != 0 {
				t.Errorf("site: %s", bitNames(w.SiteBits))
			}
		})
	}
}

// TestMalformedMarksTheSite: the site gets bit 50, a warning names site and property, and the page is
// crawled, unless it is one of the Guards.
func TestMalformedMarksTheSite(t *testing.T) {
	for name, value := range map[string]string{
		"HTML_RECOVER": "9", "FETCHER_MACRO": "{", "CONNECTION_TIMEOUT": "x",
	} {
		sc := newScene(t, nil, withHeader(""))
		w := newWorld(t)
		var log strings.Builder
		w.job.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.addSite("s", name, value)
		it := w.item("s", sc.URL+"/")
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask != 0 || row.HTTPCode != 200 || w.SiteBits&errormask.Initialization == 0 {
			t.Errorf("%s: row %s, code %d, site %s", name, bitNames(row.ErrorMask), row.HTTPCode, bitNames(w.SiteBits))
		}
		if text := log.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "site=s") || !strings.Contains(text, "property "+name+" ") {
			t.Errorf("%s: log %s", name, text)
		}
	}
}

// asking is a fetcher that records requests.
type asking struct {
	visit.Fetcher
	asked []fetch.Request
}

func (a *asking) Get(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	a.asked = append(a.asked, r)
	return a.Fetcher.Get(ctx, r)
}

func TestConnectionTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 10 * time.Second, "2.5": 2500 * time.Millisecond, "1e9": 10 * time.Second} {
		sc := newScene(t, nil, withHeader(""))
		w := newWorld(t)
		a := &asking{Fetcher: w.job.Fetch}
		w.job.Fetch = a
		w.addSite("s", "CONNECTION_TIMEOUT", value)
		w.run(batchOf(w.item("s", sc.URL+"/")))
		if len(a.asked) != 1 || a.asked[0].ConnectTimeout != want {
			t.Errorf("%q: %+v", value, a.asked)
		}
	}
}

func TestTLSVerify(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { page(w, "x") }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	defer s.Close()
	for value, want := range map[string]errormask.Mask{"": errormask.Connection, "1": errormask.Connection, "0": 0} {
		w := newWorld(t)
		w.addSite("s", "TLSVerify", value)
		it := w.item("s", s.URL+"/")
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask != want {
			t.Errorf("%q: %s", value, bitNames(row.ErrorMask))
		}
	}
}

// TestFrequency: a URL above the frequency is New again, with bit 49 in the answer only; the delay is
// waited for.
func TestFrequency(t *testing.T) {
	sc := newScene(t, nil, withHeader(""))
	w := newWorld(t)
	w.job.Config.FreqDir = t.TempDir()
	w.addSite("s", "HTTP_FREQ_LIMITS", `{"none": {"max_freq": 9}, "127": {"max_freq": 0.001}, "PATH_CONFIG": "below"}`)
	one, two := w.item("s", sc.URL+"/1"), w.item("s", sc.URL+"/2")
	answer := w.run(batchOf(one, two))
	if row := w.row(one); row.ErrorMask != 0 || row.Status != wire.StatusCrawled {
		t.Errorf("first: %s, status %d", bitNames(row.ErrorMask), row.Status)
	}
	if row := w.row(two); row.ErrorMask != 0 || row.Status != wire.StatusNew || row.Crawled != 0 {
		t.Errorf("second: %s, status %d, crawled %d", bitNames(row.ErrorMask), row.Status, row.Crawled)
	}
	if len(answer.Items) != 2 || answer.Items[1].URL.ErrorMask != errormask.NoTimeWindow || answer.Items[1].URL.HTTPCode != 400 || answer.Items[1].URL.Status != wire.StatusNew {
		t.Errorf("answer %+v", answer.Items)
	}
	if _, err := os.Stat(filepath.Join(w.job.Config.FreqDir, "below", "127.0.0.1", "http_freq_limits_s.json")); err != nil || len(sc.requests()) != 1 {
		t.Errorf("requests %v, %v", sc.requests(), err)
	}
}

func TestFrequencyWaits(t *testing.T) {
	sc := newScene(t, nil, withHeader(""))
	w := newWorld(t)
	w.job.Config.FreqDir = t.TempDir()
	w.addSite("s", "HTTP_FREQ_LIMITS", `{".*": {"max_freq": 100, "max_delay": 1.2}}`)
	w.run(batchOf(w.item("s", sc.URL+"/1"), w.item("s", sc.URL+"/2")))
	if len(sc.requests()) != 2 {
		t.Fatal(sc.requests())
	}
	sc.checkGaps(t, 900*time.Millisecond)
}

// TestProjectLog: a site with LOGGER has its own log.
func TestProjectLog(t *testing.T) {
	sc := newScene(t, map[string]reply{"/gone": redirectTo("/gone")}, withHeader(""))
	w := newWorld(t)
	logs := map[string]*strings.Builder{}
	var mu sync.Mutex
	w.job.ProjectLog = func(suffix string) *slog.Logger {
		mu.Lock()
		defer mu.Unlock()
		if logs[suffix] == nil {
			logs[suffix] = &strings.Builder{}
		}
		return slog.New(slog.NewTextHandler(locked{&mu, logs[suffix]}, nil))
	}
	w.addSite("a", "LOGGER", `{"suffix": ".p-%PROJECT_ID%"}`)
	w.addSite("b")
	w.run(batchOf(w.item("a", sc.URL+"/1"), w.item("a", sc.URL+"/gone"), w.item("b", sc.URL+"/3")))
	if len(logs) != 1 {
		t.Fatalf("logs %v", logs)
	}
	text := logs[".p-a"].String()
	if !strings.Contains(text, "/1 code=200") || !strings.Contains(text, `msg="fetch failed"`) || strings.Contains(text, "/3") {
		t.Errorf("log %s", text)
	}
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func emptyCookie(t *testing.T) cookies.Property {
	t.Helper()
	p, err := cookies.ParseProperty("")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
