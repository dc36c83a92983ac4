package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/places/placestest"
	"hce/dc/internal/wire/urlkey"
)

// engine has documents and answers each question with all of the kind.
type engine struct {
	list   []search.Document
	reply  search.Reply // if it has an error
	opened atomic.Int64
}

func (e *engine) Ask(_ context.Context, a search.Ask) (search.Reply, error) {
	r := search.Reply{Words: a.Text, Error: e.reply.Error, Refused: e.reply.Refused}
	for _, d := range e.list {
		if a.Op == search.OpGet && d.UUID == a.UUID {
			return search.Reply{Count: 1, Hits: []search.Hit{{Document: d}}, Copy: d.Copy}, nil
		}
		if a.Op == search.OpSearch && d.Kind == a.Kind {
			if r.Count++; r.Count > a.Offset && len(r.Hits) < a.Limit {
				r.Hits = append(r.Hits, search.Hit{Document: d, Excerpt: []search.Segment{{Text: "a "}, {Text: "<b>", Match: true}}})
			}
		}
	}
	return r, nil
}

func (e *engine) Status(context.Context) (manager.Status, error) {
	return manager.Status{Asked: 7, Words: []manager.Ranked{{Name: "kernel", Count: 3}}, Processors: []manager.Processor{{Join: manager.Join{Name: "qp-1", Kinds: search.Kinds}, Found: 5, Empty: 2}}}, nil
}

func (e *engine) Opened(context.Context, manager.Opened) error {
	e.opened.Add(1)
	return nil
}

func page1(kind search.Kind, url string) search.Document {
	return search.Document{Kind: kind, URL: url, UUID: search.UUIDOf(url)}
}

func get(t *testing.T, s http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8080"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// wants checks that a body has all texts.
func wants(t *testing.T, w *httptest.ResponseRecorder, code int, texts ...string) {
	t.Helper()
	if w.Code != code {
		t.Errorf("status %d, want %d", w.Code, code)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("no %q in\n%s", text, w.Body)
		}
	}
}

// The results show what the specification shows, for each kind, in both languages, and as JSON.
func TestResults(t *testing.T) {
	p := page1(search.Pages, "http://192.168.2.80/index.html")
	p.Title, p.Description, p.Cached = "Sistemas Operativos <script>", "Futura página oficial de la cátedra", true
	i := page1(search.Images, "http://192.168.2.80/logo_utn.bmp")
	i.Name, i.Format, i.Size = "logo_utn", "BMP", 23600
	d := page1(search.Documents, "http://192.168.2.80:7345/silberschatz_CV.doc")
	d.Name, d.Format, d.Size, d.Date = "silberschatz_CV", "DOC", 230_000, time.Date(2009, 1, 23, 9, 30, 0, 0, time.UTC)
	s := New(Config{Engine: &engine{list: []search.Document{p, i, d}}})

	wants(t, get(t, s, "/"), 200, `<label for="txt">`, `name="txt"`, `name="opt"`, `method="get"`, `lang="en"`)
	w := get(t, s, "/?txt=sistemas+operativos&opt=pages", "Accept-Language", "es-AR,es;q=0.9")
	wants(t, w, 200, "Resultados obtenidos", "<dt>Tipo de resultados</dt><dd>páginas html</dd>", "<dt>Cantidad</dt><dd>1</dd>", "Tiempo de respuesta", "segundos", "<dd>sistemas operativos</dd>",
		"Sistemas Operativos &lt;script&gt;", "Futura página oficial de la cátedra", ">http://192.168.2.80/index.html</a>", `href="/cache=`+p.UUID, `href="/versions=`+p.UUID, "<mark>&lt;b&gt;</mark>")
	if strings.Contains(w.Body.String(), "<script") {
		t.Error("a title is not escaped")
	}
	wants(t, get(t, s, "/?txt=logo&opt=images"), 200, "<dd>images</dd>", "<dd>logo_utn</dd>", "<dd>BMP</dd>", "<dd>23.6 KB</dd>", i.URL)
	wants(t, get(t, s, "/?txt=cv&opt=documents"), 200, "<dd>documents</dd>", "<dd>silberschatz_CV</dd>", "<dd>DOC</dd>", "<dd>230.0 KB</dd>", "<dd>2009-01-23 09:30</dd>", d.URL)

	for _, w := range []*httptest.ResponseRecorder{get(t, s, "/?txt=cv&opt=documents&format=json"), get(t, s, "/?txt=cv&opt=documents", "Accept", "application/json")} {
		var got results
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Count != 1 || got.Results[0].Name != "silberschatz_CV" || got.Results[0].Size != 230_000 || got.Words != "cv" {
			t.Errorf("%v, %s", err, w.Body)
		}
	}
	wants(t, get(t, s, "/status"), 200, "qp-1", "<td>5</td><td>2</td>", "kernel")
	wants(t, get(t, s, "/status?format=json"), 200, `"asked": 7`)
}

func TestPaging(t *testing.T) {
	e := &engine{}
	for n := range 25 {
		e.list = append(e.list, page1(search.Pages, fmt.Sprintf("http://x/%d", n)))
	}
	s := New(Config{Engine: e})
	w := get(t, s, "/?txt=a+%2B+b&start=10")
	wants(t, w, 200, `<ol start="11">`, `rel="prev" href="/?opt=&amp;start=0&amp;txt=a&#43;%2B&#43;b"`, `rel="next" href="/?opt=&amp;start=20&amp;txt=a&#43;%2B&#43;b"`, "http://x/10<")
	if strings.Contains(get(t, s, "/?txt=a&start=20").Body.String(), "rel=\"next\"") {
		t.Error("a page behind the last one")
	}
}

// Strange requests have an answer with the right status, and nothing of them is markup.
func TestHostileRequests(t *testing.T) {
	known := page1(search.Pages, "http://x/")
	e := &engine{list: []search.Document{known}}
	s := New(Config{Engine: e, Names: []string{"search.example"}})
	for path, code := range map[string]int{
		"/?txt=a&opt=x": 400, "/?txt=a&start=-1": 400, "/?txt=a&start=99999": 400, "/?txt=a&start=x": 400, "/x": 404, "/cache=": 404, "/cache=..%2f..%2fetc%2fpasswd": 404,
		"/cache=" + known.UUID + "/x": 404, "/cache=00000000-0000-0000-0000-000000000000": 404, "/raw=" + known.UUID: 404, "/raw=" + known.UUID + "/cluster/1": 404,
		"/raw=" + known.UUID + "/x/..%2f": 404, "/unknown=" + known.UUID: 404, "/?txt=%3Cscript%3Ealert(1)%3C/script%3E": 200, "/?txt=%ff%fe": 200, "/?%zz": 200,
	} {
		w := get(t, s, path)
		if w.Code != code {
			t.Errorf("%s: status %d, want %d", path, w.Code, code)
		}
		if strings.Contains(w.Body.String(), "<script") || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	post := httptest.NewRequest(http.MethodPost, "/?txt=a", strings.NewReader("x"))
	post.Host = "localhost"
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, post); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	for host, code := range map[string]int{"localhost:1": 200, "[::1]:80": 200, "search.example": 200, "evil.example": 421, "127.0.0.1.evil.example": 421, "": 421} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != code {
			t.Errorf("host %q: %d, want %d", host, w.Code, code)
		}
	}
	for text, code := range map[string]int{manager.Busy + ": x": 503, manager.Late + " (5s)": 504, "broken": 502} {
		e.reply.Error = text
		if w := get(t, s, "/?txt=a"); w.Code != code {
			t.Errorf("%s: %d", text, w.Code)
		}
	}
	e.reply = search.Reply{Error: "a mistake", Refused: true}
	wants(t, get(t, s, "/?txt=a&format=json"), 400, `"error": "a mistake"`)
}

// More requests than the limit are refused at once.
func TestRequestsAreBounded(t *testing.T) {
	s := New(Config{Engine: &engine{}, Requests: 1})
	s.slots <- struct{}{}
	if w := get(t, s, "/?txt=a"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d", w.Code)
	}
}

// Idle connections keep no other client from an answer.
func TestIdleConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := New(Config{Engine: &engine{list: []search.Document{page1(search.Pages, root)}}, Requests: 4})
	go func() { ended <- s.Serve(ctx, l) }()
	placestest.Fill(t, l.Addr().String(), 10*connectionsFor*s.Requests)
	for _, path := range []string{"/?txt=a", "/status", "/?txt=a&format=json"} {
		answer, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

const root = "https://example.org/"

// stored has pages in a real store, and their documents.
func stored(t *testing.T) (*storestest.Stores, *engine) {
	t.Helper()
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	stores.AddPage(site, root+"a", "A", "first text")
	stores.AddVersion(site, root+"a", "<title>A</title><p>second text")
	d := page1(search.Pages, root+"a")
	d.Site, d.Key, d.MIMEType, d.Cached, d.Title = site, urlkey.Of(root+"a"), "text/html", true, "A"
	return stores, &engine{list: []search.Document{d}}
}

// The cached copy is the newest version; all versions of the cluster and of the archive are listed and
// can be opened.
func TestVersions(t *testing.T) {
	stores, e := stored(t)
	d := e.list[0]
	s := New(Config{Engine: e, Cluster: &Cluster{stores}, Sources: []Source{&Archive{fakeArchive{}}}})
	wants(t, get(t, s, "/cache="+d.UUID), 200, "stored copy", root+"a", `sandbox referrerpolicy`, `src="/raw=`+d.UUID+`"`)
	w := get(t, s, "/raw="+d.UUID)
	wants(t, w, 200, "second text")
	if h := w.Header(); h.Get("Content-Security-Policy") != copyPolicy || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
	w = get(t, s, "/versions="+d.UUID)
	wants(t, w, 200, "/version="+d.UUID+"/cluster/1", "/version="+d.UUID+"/cluster/2", "/version="+d.UUID+"/archive/1000000000", "2001-09-09 01:46")
	wants(t, get(t, s, "/version="+d.UUID+"/cluster/1"), 200, `src="/raw=`+d.UUID+`/cluster/1"`)
	wants(t, get(t, s, "/version="+d.UUID+"/archive/1000000000"), 200, "2001-09-09 01:46")
	wants(t, get(t, s, "/raw="+d.UUID+"/cluster/1"), 200, "first text")
	wants(t, get(t, s, "/raw="+d.UUID+"/archive/1000000000"), 200, "archived text of data.html")
	wants(t, get(t, s, "/raw="+d.UUID+"/cluster/3"), 404)
	wants(t, get(t, s, "/raw="+d.UUID+"/archive/2"), 404)
	if w := get(t, s, "/go="+d.UUID); w.Code != 302 || w.Header().Get("Location") != d.URL || e.opened.Load() != 2 {
		t.Errorf("%d %s, %d opened", w.Code, w.Header().Get("Location"), e.opened.Load())
	}
	var list struct{ Versions []versionLink }
	if err := json.Unmarshal(get(t, s, "/versions="+d.UUID+"?format=json").Body.Bytes(), &list); err != nil || len(list.Versions) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Only harmless types are shown; all else is a file. So is SVG, which is a page with scripts.
func TestTypes(t *testing.T) {
	for mimeType, want := range map[string]string{
		"text/html": "text/html; charset=utf-8", "application/xhtml+xml": "text/html; charset=utf-8", "text/plain; charset=x": "text/plain; charset=utf-8", "image/PNG": "image/png",
		"image/svg+xml": "application/octet-stream", "text/javascript": "application/octet-stream", "application/pdf": "application/octet-stream", "": "application/octet-stream",
	} {
		d := page1(search.Documents, "http://x/"+mimeType)
		d.Name, d.Format, d.Cached = "../na\"me\r\n", "PDF", true
		s := New(Config{Engine: &engine{list: []search.Document{d}}, Sources: []Source{typed{mimeType}}})
		w := get(t, s, "/raw="+d.UUID+"/typed/1")
		disposition := w.Header().Get("Content-Disposition")
		if got := w.Header().Get("Content-Type"); got != want || (want == "application/octet-stream") != (disposition != "") {
			t.Errorf("%s: %s, %s", mimeType, got, disposition)
		}
		if strings.ContainsAny(disposition, "\r\n/\\") {
			t.Errorf("%q", disposition)
		}
	}
}

type typed struct{ mimeType string }

func (typed) Name() string                                                 { return "typed" }
func (typed) Versions(context.Context, search.Document) ([]Version, error) { return nil, nil }
func (s typed) Open(context.Context, search.Document, string) (Content, error) {
	return Content{Body: []byte("x"), MIMEType: s.mimeType}, nil
}

// fakeArchive has one version of one page.
type fakeArchive struct{ archive.Store }

func (fakeArchive) Query(_ context.Context, q archive.Query) ([]archive.Meta, error) {
	if q.Where != "url = '"+root+"a'" {
		return nil, errors.New(q.Where)
	}
	return []archive.Meta{{URL: root + "a", MIMEType: "text/html", CommitTime: time.Unix(1_000_000_000, 0)}}, nil
}

func (fakeArchive) Open(_ context.Context, _ archive.Meta, name string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("archived text of " + name)), nil
}

// A page full of scripts, shown in a real browser in the frame and alone, runs nothing and asks no
// server for anything.
func TestHostilePageInBrowser(t *testing.T) {
	chromium := node.Browser()
	if chromium == "" {
		t.Fatal("Chromium is missing; scripts/setup.sh test installs it")
	}
	var asked atomic.Int64
	witness := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		t.Errorf("the page asked for %s", r.URL)
	}))
	defer witness.Close()
	d := page1(search.Pages, "http://x/")
	d.Cached = true
	d.Copy = strings.ReplaceAll(`<html><head><title>quiet</title>
<script>document.title='ran';document.documentElement.className='ran';top.location='@/top';fetch('@/fetch')</script>
<script src="@/script.js"></script><link rel=stylesheet href="@/style.css"><link rel=preload as=image href="@/preload"><link rel=prefetch href="@/prefetch">
<meta http-equiv=refresh content="0;url=@/refresh"><base href="@/"></head>
<body onload="document.body.className='ran'"><p id=text>harmless</p><img src="@/image" onerror="document.body.className='ran'">
<iframe src="@/frame"></iframe><iframe srcdoc="<script>parent.document.title='ran'</script>"></iframe><object data="@/object"></object><embed src="@/embed"><video src="@/video" autoplay></video>
<svg onload="document.body.className='ran'"></svg><form id=f action="@/form"><input name=a autofocus onfocus="document.body.className='ran'"></form>
<script>document.getElementById('f').submit()</script><style>@import "@/import";body{background:url(@/background)}</style><a href="javascript:document.body.className='ran'" ping="@/ping">x</a></body></html>`, "@", witness.URL)
	server := httptest.NewServer(New(Config{Engine: &engine{list: []search.Document{d}}}))
	defer server.Close()
	for _, path := range []string{"/raw=" + d.UUID, "/cache=" + d.UUID} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=2000", "--dump-dom", server.URL+path).Output()
		stop()
		if err != nil {
			t.Fatal(err)
		}
		dom := string(out)
		if path[:5] == "/raw=" && (!strings.Contains(dom, "harmless") || strings.Contains(dom, `class="ran"`) || strings.Contains(dom, "<title>ran")) {
			t.Errorf("%s: %s", path, dom)
		}
		if path[:5] != "/raw=" && !strings.Contains(dom, `sandbox=""`) {
			t.Errorf("%s: %s", path, dom)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// No request makes the front end panic or send markup of the request.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{"/?txt=a", "/cache=x", "/raw=fcde3c85-2270-590f-9e7c-ee003d65e0e2/cluster/1", "/%2e%2e/", "/?txt=%3Cscript%3E&opt=images&start=10"} {
		f.Add(seed)
	}
	s := New(Config{Engine: &engine{}})
	f.Fuzz(func(t *testing.T, path string) {
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), "<script") || w.Code < 200 || w.Code > 504 {
			t.Errorf("%q: %d %s", path, w.Code, w.Body)
		}
	})
}
