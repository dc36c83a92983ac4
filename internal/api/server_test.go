package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/crawlprogram"
	"hce/dc/internal/cli/extraction"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/daemon/status"
	"hce/dc/internal/process"
	"hce/dc/internal/testkit/testlog"
)

// TestMain is also the worker that reads pages, and crawler-task for explanations.
func TestMain(m *testing.M) {
	process.RunIfWorker(nil, nil)
	if slices.Contains(os.Args, "--explain") {
		os.Exit(crawlprogram.Main())
	}
	os.Exit(m.Run())
}

// served is an API on a port of loopback with real stores behind it.
type served struct {
	testing.TB
	*storestest.Stores
	server *Server
	url    string
	log    *testlog.Recorder
	key    string // of all requests; "": none
}

func start(t testing.TB, change func(*Config)) *served {
	t.Helper()
	c := Config{Rate: 1000, EventsPeriod: 5 * time.Millisecond, PageTime: 5 * time.Second, PageMemory: 512 << 20, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if change != nil {
		change(&c)
	}
	a := &served{TB: t, Stores: storestest.Open(t), server: New(c), log: &testlog.Recorder{}}
	s := a.server
	gates := filepath.Join(t.TempDir(), "gates")
	if err := os.MkdirAll(gates, 0o700); err != nil {
		t.Fatal(err)
	}
	web, err := extraction.OpenWeb(extraction.WebConfig{Gates: gates, Networks: c.Networks, MaxBytes: maxPage, Timeout: 10 * time.Second, MaxWait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.log, s.keys = slog.New(slog.NewTextHandler(a.log, nil)), &apikeys.Store{Dir: filepath.Join(t.TempDir(), "api")}
	s.state = func(context.Context) (status.Condition, error) { return status.Condition{Status: "ok"}, nil }
	s.names = map[string]bool{"localhost": true, "127.0.0.1": true}
	s.workers = &process.Workers{Budget: process.Budget{Time: c.PageTime, Clock: 10 * c.PageTime, Memory: c.PageMemory}}
	s.actions = &actions.Actions{Service: a.Stores}
	s.scraper = &actions.Scraper{Web: web, Read: s.workers.Answer, Fetches: make(chan struct{}, maxFetching), Reads: make(chan struct{}, 2)}
	s.openEvents(filepath.Join(t.TempDir(), "api"), a.Stores)
	server := httptest.NewServer(s.newHandler())
	t.Cleanup(func() {
		s.events.End()
		server.Close()
		s.awaitRequests()
		s.events.Close()
		web.Close()
		s.workers.Close()
	})
	a.url = server.URL
	return a
}

// send sends a request and returns the status and the body.
func (a *served) send(method, path, body string, header ...string) (int, string) {
	a.Helper()
	status, text, _ := a.exchange(method, path, body, header...)
	return status, text
}

func (a *served) exchange(method, path, body string, header ...string) (int, string, http.Header) {
	a.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(a.Context(), method, a.url+path, content)
	if err != nil {
		a.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

// expect sends a request whose answer has a status and a text.
func (a *served) expect(method, path, body string, status int, part string, header ...string) string {
	a.Helper()
	got, text := a.send(method, path, body, header...)
	if got != status || !strings.Contains(text, part) {
		a.Errorf("%s %s %.200s: %d %s\nwant %d with %s", method, path, body, got, text, status, part)
	}
	return text
}

const root = "https://coast.example/"

// website is a small site: pages, robots.txt, a sitemap index.
func website(t testing.TB) string {
	t.Helper()
	page := func(title string) string {
		return "<html lang=en><title>" + title + "</title><nav><a href=/>Home</a></nav><article><h1>" + title + "</h1><p class=price>12,50 €<p>" +
			strings.Repeat("The moon pulls the sea twice a day, and the sun helps a little. ", 5) + "<p><a href=/tides.html>Tides</a> <a href=https://elsewhere.example/>x</a></article>"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		files := map[string]string{
			"/": page("Coast"), "/tides.html": page("Tides"), "/secret.html": page("Secret"),
			"/robots.txt":  "User-agent: *\nDisallow: /secret\nSitemap: http://" + r.Host + "/index.xml\n",
			"/index.xml":   "<sitemapindex><sitemap><loc>http://" + r.Host + "/map.xml</loc></sitemap></sitemapindex>",
			"/map.xml":     "<urlset><url><loc>http://" + r.Host + "/tides.html</loc></url><url><loc>http://" + r.Host + "/storm.html</loc><lastmod>2024-07-01</lastmod></url><url><loc>http://elsewhere.example/</loc></url></urlset>",
			"/header.html": page(r.Header.Get("X-Tide")),
		}
		text, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/picture.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n"))
		case !ok:
			http.NotFound(w, r)
		default:
			if strings.HasSuffix(r.URL.Path, ".xml") {
				w.Header().Set("Content-Type", "application/xml")
			}
			fmt.Fprint(w, text)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Every operation about sites, URLs and pages, with its errors.
func TestSitesAndPages(t *testing.T) {
	a := start(t, nil)
	a.expect("GET", "/v1/sites", "", 200, `{"items":[]}`)
	a.expect("POST", "/v1/sites", `{"id":"coast","roots":["`+root+`"],"description":"the coast","settings":{"depth":2,"delayMs":0,"maxUrls":100,"exclude":["/private/**"],"properties":{"ROBOTS_META":"0"}}}`,
		201, `"roots":["`+root+`"],"state":"active"`)
	a.expect("POST", "/v1/sites", `{"id":"coast","roots":["`+root+`"]}`, 409, "site coast exists")
	a.expect("POST", "/v1/sites", `{"id":"coast","roots":["`+root+`"]}`, 409, "exists with other settings", "Idempotency-Key", "1")
	a.expect("POST", "/v1/sites", `{"id":"coast","roots":["`+root+`"],"description":"the coast","settings":{"depth":2,"delayMs":0,"maxUrls":100,"exclude":["/private/**"],"properties":{"ROBOTS_META":"0"}}}`,
		201, `"id":"coast"`, "Idempotency-Key", "1")
	text := a.expect("GET", "/v1/sites/coast", "", 200, `"description":"the coast"`)
	for _, part := range []string{`"delayMs":0`, `"maxUrls":100`, `"ROBOTS_META":"0"`, `"browser":false`} {
		if !strings.Contains(text, part) {
			t.Errorf("the site lacks %s: %s", part, text)
		}
	}
	for body, want := range map[string]string{
		`{"roots":["ftp://a.example/"]}`: "body.roots[0]", `{"roots":["a.example"]}`: "begin with https://", `{"roots":[]}`: "body.roots", `{}`: "roots",
		`{"roots":["https://a.example/","https://a.example/"]}`: "given twice", `{"roots":["https://a.example/"],"id":"a b"}`: "body.id",
		`{"roots":["https://a.example/"],"settings":{"scope":"any"}}`:                "settings.maxUrls or settings.depth",
		`{"roots":["https://a.example/"],"settings":{"scope":"all"}}`:                "body.settings.scope",
		`{"roots":["https://a.example/"],"settings":{"include":["re:("]}}`:           "body.settings.include",
		`{"roots":["https://a.example/"],"settings":{"properties":{"NOTHING":"1"}}}`: "body.settings.properties.NOTHING",
		`{"roots":["https://a.example/"],"setings":{}}`:                              "unexpected property",
		`{"roots":["https://a.example/"],"settings":{"depth":-1}}`:                   "body.settings.depth",
		`{"roots":"https://a.example/"}`:                                             "expected array",
	} {
		a.expect("POST", "/v1/sites", body, 422, want)
	}
	a.expect("POST", "/v1/sites", `{"roots":`, 400, "remedy")
	a.expect("PATCH", "/v1/sites/coast", `{"state":"paused","settings":{"delayMs":2000,"properties":{"ROBOTS_META":"","HTTP_COOKIE":"k=v"}}}`, 200, `"state":"paused"`)
	if text := a.expect("GET", "/v1/sites/coast", "", 200, `"delayMs":2000`); strings.Contains(text, "ROBOTS_META") {
		t.Errorf("a property was not removed: %s", text)
	}
	a.expect("PATCH", "/v1/sites/coast", `{}`, 422, "nothing to change")
	a.expect("PATCH", "/v1/sites/coast", `{"state":"deleted"}`, 422, "body.state")
	a.expect("PATCH", "/v1/sites/none", `{"state":"paused"}`, 404, "site none is not known")

	a.AddPages("coast", root, 3)
	a.AddFailed("coast", root+"gone", 404, 2)
	a.expect("GET", "/v1/sites/coast/urls?failed=true&fields=url,httpCode", "", 200, `{"items":[{"url":"`+root+`gone","httpCode":404}]}`)
	a.expect("GET", "/v1/sites/coast/urls?status=processed&fields=url&url="+root+"1", "", 200, `{"items":[{"url":"`+root+`1"}]}`)
	a.expect("GET", "/v1/sites/coast/urls?fields=url&prefix="+root+"go", "", 200, `{"items":[{"url":"`+root+`gone"}]}`)
	a.expect("GET", "/v1/sites/coast/urls?fields=price", "", 422, "query.fields")
	a.expect("GET", "/v1/sites/coast/urls?cursor=x", "", 422, "query.cursor")
	a.expect("GET", "/v1/sites/coast/urls?limit=0", "", 422, "query.limit")
	a.expect("GET", "/v1/sites/coast/urls?lmit=1", "", 422, "query.lmit")
	a.expect("GET", "/v1/sites/none/urls", "", 404, "site none is not known")
	if got := a.walk("/v1/sites/coast/pages?limit=1&fields=url"); len(got) != 3 {
		t.Errorf("pages: %q", got)
	}
	a.testPage()

	a.expect("POST", "/v1/sites/coast/urls", `{"urls":["`+root+`new","`+root+`1"]}`, 200, `{"added":1,"known":1}`)
	a.expect("POST", "/v1/sites/coast/urls", `{"urls":["x"]}`, 422, "body.urls[0]")
	a.expect("POST", "/v1/sites/coast/recrawl", "", 200, `{"urls":4}`)
	a.expect("POST", "/v1/sites/coast/recrawl", `{"failed":true}`, 200, `{"urls":0}`)
	a.expect("GET", "/v1/crawl/coast", "", 200, `"status":"paused"`)
	a.expect("DELETE", "/v1/sites/coast", "", 204, "")
	a.expect("DELETE", "/v1/sites/coast", "", 404, "site coast is not known")
	a.expect("GET", "/v1/nothing", "", 404, "there is no GET /v1/nothing")
	a.expect("POST", "/v1/sites/coast", "", 405, "")
}

// walk reads a list to its end.
func (a *served) walk(path string) (items []string) {
	a.Helper()
	for next := ""; ; {
		var part struct {
			Items []json.RawMessage
			Next  string
		}
		_, text := a.send("GET", path+next, "")
		if err := json.Unmarshal([]byte(text), &part); err != nil {
			a.Fatal(err)
		}
		for _, one := range part.Items {
			items = append(items, string(one))
		}
		if part.Next == "" || len(items) > 1000 {
			return items
		}
		next = "&cursor=" + part.Next
	}
}

// testPage looks at one page of the site coast.
func (a *served) testPage() {
	a.Helper()
	var part struct{ Items []struct{ URLMd5 string } }
	if err := json.Unmarshal([]byte(a.expect("GET", "/v1/sites/coast/pages?fields=urlMd5&url="+root+"2", "", 200, "urlMd5")), &part); err != nil || len(part.Items) != 1 {
		a.Fatal(part, err)
	}
	page := "/v1/sites/coast/pages/" + part.Items[0].URLMd5
	a.expect("GET", page, "", 200, `"title":"Title 2"`)
	a.expect("GET", page+"?fields=url,title", "", 200, `{"url":"`+root+`2","title":"Title 2"}`)
	a.expect("GET", page+"?fields=titel", "", 422, "query.fields")
	a.expect("GET", page+"/versions", "", 200, `"number":1`)
	status, body, header := a.exchange("GET", page+"/content", "")
	if status != 200 || !strings.Contains(body, "Title 2") || header.Get("Etag") == "" || header.Get("Content-Disposition") != "attachment" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") || header.Get("X-Content-Type-Options") != "nosniff" {
		a.Errorf("content: %d %s %v", status, body, header)
	}
	a.expect("GET", page+"/content", "", 304, "", "If-None-Match", `W/"x", `+header.Get("Etag"))
	a.expect("GET", page+"/content?version=1", "", 200, "Title 2")
	a.expect("GET", page+"/content?version=9", "", 404, "version 9 is not known")
	a.expect("GET", "/v1/sites/coast/pages/0123456789abcdef0123456789abcdef", "", 404, "page 0123456789abcdef0123456789abcdef is not known")
	a.expect("GET", "/v1/sites/coast/pages/..%2f..%2fetc", "", 404, "is not known")
	a.expect("GET", "/v1/sites/none/pages/0123456789abcdef0123456789abcdef", "", 404, "is not known")
	a.expect("GET", "/v1/sites/none/pages/0123456789abcdef0123456789abcdef/content", "", 404, "is not known")
	a.expect("GET", "/v1/sites/coast/export?fields=url,title", "", 200, `{"url":"`+root+`2","title":"Title 2"}`+"\n")
	a.expect("GET", "/v1/sites/coast/export?format=csv&fields=url", "", 200, root+"2")
	a.expect("GET", "/v1/sites/coast/export?format=warc", "", 200, "WARC/1.1")
	a.expect("GET", "/v1/sites/coast/export?since=2999-01-01T00:00:00Z", "", 200, "")
	a.expect("GET", "/v1/sites/coast/export?since=yesterday", "", 422, "query.since")
	a.expect("GET", "/v1/sites/coast/export?format=pdf", "", 422, "query.format")
}

// Problems of the library have the trace of their request, too.
func TestEveryProblemHasATrace(t *testing.T) {
	a := start(t, nil)
	for path, body := range map[string]string{"/v1/sites": `{`, "/v1/scrape": `{"url":1}`, "/v1/map": `{}`} {
		_, text, header := a.exchange("POST", path, body)
		if trace := header.Get("X-Request-Id"); trace == "" || !strings.Contains(text, `"trace":"`+trace+`"`) {
			t.Errorf("%s %s: %s", path, body, text)
		}
	}
}

// Sites that do not exist are not explained.
func TestExplainUnknownSite(t *testing.T) {
	a := start(t, nil)
	for _, site := range []string{"none", "../x", "a%00b", "--help", "0"} {
		a.expect("GET", "/v1/explain?url=https://coast.example/&site="+site, "", 404, "is not known")
	}
	a.expect("GET", "/v1/explain?url=x:y", "", 422, "query.url")
}

// A page of the web is read with the parts that were asked for. What cannot be had has its reason.
func TestScrape(t *testing.T) {
	a, web := start(t, nil), website(t)
	for body, want := range map[string]string{
		`{"url":"` + web + `/"}`:                                                                        `"title":"Coast"`,
		`{"url":"` + web + `/","formats":["text"]}`:                                                     `"text":"12,50 €\n`,
		`{"url":"` + web + `/","formats":["links"]}`:                                                    `"links":[`,
		`{"url":"` + web + `/","formats":["rawHtml"]}`:                                                  `"rawHtml":"<html lang=en>`,
		`{"url":"` + web + `/","formats":["html"]}`:                                                     `"html":"`,
		`{"url":"` + web + `/","fields":{"price":{"css":".price","type":"number"},"none":{"css":"i"}}}`: `"fields":{"price":12.5}`,
		`{"url":"` + web + `/","schema":{"type":"object","properties":{"title":{"type":"string"},"p":{"type":"string","css":".price"}}}}`: `"fields":{"p":"12,50 €","title":"Coast"}`,
		`{"url":"` + web + `/header.html","headers":{"X-Tide":"High"}}`:                                                                   `"title":"High"`,
		`{"url":"` + web + `/absent.html"}`: `"status":404`,
	} {
		a.expect("POST", "/v1/scrape", body, 200, want)
	}
	if text := a.expect("POST", "/v1/scrape", `{"url":"`+web+`/","formats":["text"]}`, 200, "moon"); strings.Contains(text, "markdown") || strings.Contains(text, "rawHtml") {
		t.Errorf("parts that were not asked for: %s", text)
	}
	for body, want := range map[string]struct {
		status int
		part   string
	}{
		`{"url":"` + web + `/secret.html"}`:                  {403, "robots.txt"},
		`{"url":"http://10.1.2.3/"}`:                         {403, "AllowedNetworks"},
		`{"url":"` + web + `/picture.png"}`:                  {502, "cannot be read"},
		`{"url":"http://127.0.0.1:1/"}`:                      {503, "robots.txt"},
		`{"url":"file:///etc/passwd"}`:                       {422, "body.url"},
		`{"url":"` + web + `/","formats":["pdf"]}`:           {422, "body.formats[0]"},
		`{"url":"` + web + `/","fields":{"a":{"css":"[["}}}`: {422, "body.fields"},
		`{"url":"` + web + `/","fields":{},"schema":{}}`:     {422, "not both"},
		`{"url":"` + web + `/","headers":{"Host":"x"}}`:      {422, "body.headers"},
		`{"url":"` + web + `/","headers":{"A":"x\r\nB: y"}}`: {422, "control characters"},
		`{"url":"` + web + `/","headers":{"A B":"x"}}`:       {422, "not the name of a header"},
		`{"url":"` + web + `/","mode":"magic"}`:              {422, "body.mode"},
		`{"url":"` + web + `/","cookies":"a"}`:               {422, "unexpected property"},
	} {
		a.expect("POST", "/v1/scrape", body, want.status, want.part)
	}
}

func TestMap(t *testing.T) {
	a, web := start(t, nil), website(t)
	text := a.expect("POST", "/v1/map", `{"url":"`+web+`/"}`, 200, `"sitemaps":["`+web+`/index.xml","`+web+`/map.xml"]`)
	for url, there := range map[string]bool{web + "/": true, web + "/tides.html": true, web + "/storm.html": true, "elsewhere.example": false} {
		if strings.Contains(text, url) != there {
			t.Errorf("%s: %v in %s", url, !there, text)
		}
	}
	a.expect("POST", "/v1/map", `{"url":"`+web+`/","limit":1}`, 200, `"more":true`)
	a.expect("POST", "/v1/map", `{"url":"`+web+`/","search":"STORM"}`, 200, `{"urls":[{"url":"`+web+`/storm.html","source":"sitemap","modified":"2024-07-01T00:00:00Z"}]`)
	a.expect("POST", "/v1/map", `{"url":"`+web+`/","scope":"any"}`, 422, "body.scope")
	a.expect("POST", "/v1/map", `{"url":"http://10.1.2.3/"}`, 403, "AllowedNetworks")
}

// Long answers come whole, and clients that read slowly or stop hold nothing.
func TestManyPages(t *testing.T) {
	a := start(t, nil)
	site := a.NewSite(root)
	a.AddPages(site, root, 700)
	if n := len(a.walk("/v1/sites/" + site + "/urls?limit=99&fields=url")); n != 700 {
		t.Errorf("%d URLs", n)
	}
	_, text := a.send("GET", "/v1/sites/"+site+"/export?fields=url", "")
	if n := strings.Count(text, "\n"); n != 700 {
		t.Errorf("%d lines", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", a.url+"/v1/sites/"+site+"/export?fields=url,text", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(answer.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	answer.Body.Close()
	a.server.awaitRequests() // the export has ended
}

// A pause of the managers is an answer that says so.
func TestServiceAway(t *testing.T) {
	a := start(t, nil)
	a.server.actions.Service = away{}
	a.expect("GET", "/v1/sites", "", 503, "no answer")
	a.expect("POST", "/v1/crawl", `{"roots":["`+root+`"]}`, 503, "try again later")
	a.server.state = func(context.Context) (status.Condition, error) { return status.Condition{}, context.DeadlineExceeded }
	a.expect("GET", "/v1/status", "", 504, "longer than it may")
	a.server.state = func(context.Context) (status.Condition, error) { panic("broken") }
	if text := a.expect("GET", "/v1/status", "", 500, "the log of the daemon says more"); strings.Contains(text, "broken") {
		t.Errorf("the fault is shown: %s", text)
	}
	if !strings.Contains(a.log.String(), "fault=broken") {
		t.Errorf("log: %s", a.log)
	}
	a.expect("GET", "/v1/health", "", 200, "ok")
}
