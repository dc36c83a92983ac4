package crawl_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// join makes the world a node of a cluster that owns 127.0.0.1; another one owns other.test.
func (w *world) join() {
	p := placement.Placement{Epoch: 1, Members: []string{"a", "b"}}
	for i := 0; p.Owner("127.0.0.1") == p.Owner("other.test"); i++ {
		p.Members[1] = strings.Repeat("b", i+1)
	}
	p.Self = p.Owner("127.0.0.1")
	w.job.Placement = func() (placement.Placement, error) { return p, nil }
}

// Each kind of request that could lead to a host of another node.
func TestOtherNode(t *testing.T) {
	robots := reply{body: "User-agent: *\nDisallow: /closed\n", kind: "text/plain"}
	tests := []struct {
		name       string
		properties []string
		replies    map[string]reply
		realTime   bool
		want       []string // requests
		links      []string
		code       int64
		status     int64
	}{
		{name: "redirect", replies: map[string]reply{"/": redirectTo("{other}/x#top")},
			want: []string{"GET /"}, links: []string{"{other}/x"}, code: 302, status: wire.StatusProcessed},
		{name: "second redirect", replies: map[string]reply{"/": redirectTo("/second"), "/second": {code: 307, header: map[string]string{"Location": "{other}/x"}}},
			want: []string{"GET /", "GET /second"}, links: []string{"{other}/x"}, code: 307, status: wire.StatusProcessed},
		{name: "refresh", properties: []string{"HTML_REDIRECTS_MAX", "2"}, replies: map[string]reply{"/": {body: `<meta http-equiv=refresh content="0;url={other}/x">`}},
			want: []string{"GET /"}, links: []string{"{other}/x"}, code: 200, status: wire.StatusProcessed},
		{name: "redirect in real time", replies: map[string]reply{"/": redirectTo("{other}/x")}, realTime: true, want: []string{"GET /", "GET other.test/x"}},
		{name: "types of links", properties: []string{"MIME_TYPE_AUTO_DETECT", "2"}, replies: map[string]reply{"/": {body: `<a href="{other}/a">a</a><a href="/b">b</a>`}},
			want: []string{"GET /", "HEAD /b"}, links: []string{"{other}/a", "{own}/b"}, code: 200, status: wire.StatusCrawled},
		{name: "resolver", properties: []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "SGET", "URL": ["^http"]}`},
			replies: map[string]reply{"/": {body: `<a href="{other}/a">a</a><a href="/b">b</a><a href="/c">c</a>`}, "/b": redirectTo("{other}/target")},
			want:    []string{"GET /", "GET /b", "GET /c"}, links: []string{"{other}/a", "{other}/target", "{own}/c"}, code: 200, status: wire.StatusCrawled},
		{name: "robots.txt of another host", properties: []string{"ROBOTS_MODE", "1"}, replies: map[string]reply{"/robots.txt": redirectTo("{other}/r"), "/r": robots, "/": {body: `<a href=/closed>1</a><a href=/b>2</a>`}},
			want: []string{"GET /", "GET /robots.txt", "GET other.test/r"}, links: []string{"{own}/b", "{own}/closed"}, code: 200, status: wire.StatusCrawled},
		{name: "robots.txt of a redirect's host", properties: []string{"ROBOTS_MODE", "1"}, replies: map[string]reply{"/robots.txt": robots, "/": redirectTo("{other}/x")},
			want: []string{"GET /", "GET /robots.txt"}, links: []string{"{other}/x"}, code: 302, status: wire.StatusProcessed},
		{name: "default sitemap", properties: []string{"ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1"}, replies: map[string]reply{"/robots.txt": robots, "/sitemap.xml": redirectTo("{other}/map.xml")},
			want: []string{"GET /", "GET /robots.txt", "GET /sitemap.xml"}, code: 200, status: wire.StatusCrawled},
		{name: "chain", properties: []string{"URL_CHAIN", chainRule}, replies: map[string]reply{"/": {body: `<a href="{other}/?part=2">1</a>`}},
			want: []string{"GET /"}, links: []string{"{other}/?part=2"}, code: 200, status: wire.StatusCrawled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := newScene(t, tt.replies, withHeader(""))
			w := newWorld(t)
			w.join()
			w.addSite("s", tt.properties...)
			it := w.item("s", sc.URL+"/", func(u *wire.URL) { u.Priority = 5 })
			b := batchOf(it)
			if tt.realTime {
				b.CrawlerType = wire.CrawlRealTime
			}
			w.run(b)
			got := sc.requests()
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("requests %q, want %q", got, tt.want)
			}
			if tt.realTime {
				return
			}
			var links []string
			for _, l := range tt.links {
				links = append(links, sc.fill(l))
			}
			if got := w.links(it); !slices.Equal(got, links) {
				t.Errorf("links %q, want %q", got, links)
			}
			if row := w.row(it); row.HTTPCode != tt.code || row.Status != tt.status || row.State != wire.URLEnabled || row.ErrorMask != 0 {
				t.Errorf("row: code %d, status %d, state %d, errors %s", row.HTTPCode, row.Status, row.State, bitNames(row.ErrorMask))
			}
			for _, l := range w.Results["s "+it.URLID].Links {
				if tt.status == wire.StatusProcessed && (l.URL.ParentMd5 != it.URL.ParentMd5 || l.URL.Priority != 5 || l.URL.Depth != it.URL.Depth) || l.Chain {
					t.Errorf("link %+v", l)
				}
			}
		})
	}
}

// Without a valid placement nothing is crawled.
func TestInvalidPlacement(t *testing.T) {
	sc := newScene(t, nil, withHeader(""))
	w := newWorld(t)
	w.job.Placement = func() (placement.Placement, error) { return placement.Placement{}, placement.ErrInvalid }
	w.addSite("s")
	_, err := w.try(t.Context(), batchOf(w.item("s", sc.URL+"/")))
	if !errors.Is(err, placement.ErrInvalid) || !task.IsCritical(err) || len(sc.requests()) != 0 {
		t.Errorf("error %v, requests %q", err, sc.requests())
	}
}

// A browser does not load a document of another node either. What a page loads is not asked for
// anywhere.
func TestMovedByBrowser(t *testing.T) {
	sc := newScene(t, map[string]reply{"/": redirectTo("{other}/x"), "/script": {body: `<script>location = "{other}/y"</script>`}}, func(r *http.Request) string {
		return withHeader("")(r)
	})
	w := newWorld(t)
	w.join()
	w.job.Browser = newBrowser(t, shortDir(t), nil)
	w.addSite("s").FetchType = 2
	for path, target := range map[string]string{"/": "/x", "/script": "/y"} {
		it := w.item("s", sc.URL+path)
		w.run(batchOf(it))
		if row := w.row(it); row.HTTPCode != 302 || row.Status != wire.StatusProcessed || !slices.Equal(w.links(it), []string{sc.other + target}) {
			t.Errorf("%s: code %d, status %d, errors %s, links %q", path, row.HTTPCode, row.Status, bitNames(row.ErrorMask), w.links(it))
		}
	}
	if slices.ContainsFunc(sc.requests(), func(line string) bool { return strings.Contains(line, "other.test") }) {
		t.Errorf("requests %q", sc.requests())
	}
}
