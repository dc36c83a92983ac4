package crawl_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

const sitemapType = "application/sitemap+xml"

// pages is a host with fixed texts by path; paths without another suffix are HTML. HOST in a text is
// replaced by its name.
func pages(t *testing.T, texts map[string]string) *server {
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			return
		case strings.HasSuffix(r.URL.Path, ".gz"):
			w.Header().Set("Content-Type", "application/gzip")
		case strings.HasSuffix(r.URL.Path, ".xml"):
			w.Header().Set("Content-Type", "application/xml")
		case strings.HasSuffix(r.URL.Path, ".txt"):
			w.Header().Set("Content-Type", "text/plain")
		default:
			w.Header().Set("Content-Type", "text/html")
		}
		text = strings.ReplaceAll(text, "HOST", r.Host)
		if strings.HasSuffix(r.URL.Path, ".gz") {
			text = gzipped(text)
		}
		fmt.Fprint(w, text)
	})
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// urlset returns a sitemap of pages, each given as its path and more elements.
func urlset(entries ...string) string {
	text := `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	for _, e := range entries {
		path, more, _ := strings.Cut(e, " ")
		text += "<url><loc>http://HOST" + path + "</loc>" + more + "</url>"
	}
	return text + "</urlset>"
}

// TestNamedSitemaps: the sitemaps of SITEMAPS that become rows with a root page.
func TestNamedSitemaps(t *testing.T) {
	const robots = "User-agent: *\nDisallow:\nSitemap: http://HOST/a.xml\nSitemap: /b.xml\nSitemap: http://other.test/c.xml\n"
	tests := []struct {
		name     string
		sitemaps string // "" for none
		root     bool
		want     []string
	}{
		{"without the property", "", true, []string{"/a.xml", "/b.xml"}},
		{"off", "0", true, nil},
		{"those of robots.txt, of the own site", "1", true, []string{"/a.xml", "/b.xml"}},
		{"a list", `["http://HOST/x.xml"]`, true, []string{"/x.xml"}},
		{"a text of two", "http://HOST/x.xml http://HOST/y.txt", true, []string{"/x.xml", "/y.txt"}},
		{"no root page", "1", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pages(t, map[string]string{"/robots.txt": robots, "/": `<base href="http://elsewhere.test/">x`})
			w := newWorld(t)
			site := w.addSite("s", "ROBOTS_MODE", "1")
			if tt.sitemaps != "" {
				site.Properties = append(site.Properties, wire.SiteProperty{Name: "SITEMAPS", Value: strings.ReplaceAll(tt.sitemaps, "HOST", s.host)})
			}
			// Filters apply to pages only.
			site.Filters = append(site.Filters, wire.SiteFilter{Pattern: `\.(xml|txt)`, Stage: 5, Action: -1, State: 1})
			root := w.item("s", s.URL+"/", func(u *wire.URL) {
				u.Priority = 7
				if !tt.root {
					u.ParentMd5 = wire.Md5("x")
				}
			})
			w.run(batchOf(root))
			if got := w.linkPaths(root); !slices.Equal(got, tt.want) {
				t.Errorf("sitemaps %v, want %v", got, tt.want)
			}
			for _, l := range w.Results["s "+root.URLID].Links {
				if u := l.URL; u.ContentType != sitemapType || u.Status != wire.StatusNew || u.ParentMd5 != root.URLID || u.Priority != 7 || u.Depth != 0 {
					t.Errorf("row %+v", u)
				}
			}
		})
	}
}

// TestDefaultSitemap: when /sitemap.xml is requested before a root page, and what becomes a row.
func TestDefaultSitemap(t *testing.T) {
	here := urlset("/1")
	tests := []struct {
		name       string
		robots     string // "" for none
		sitemap    string // "" for none
		properties []string
		child      bool // the page is no root
		asked      bool
		want       bool
	}{
		{name: "no robots.txt", sitemap: here, asked: true, want: true},
		{name: "robots.txt names none", robots: "User-agent: *\nDisallow: /x", sitemap: here, asked: true, want: true},
		{name: "an index", sitemap: "<sitemapindex/>", asked: true, want: true},
		{name: "a feed", sitemap: "<rss/>", asked: true, want: true},
		{name: "larger than what is requested", sitemap: here + strings.Repeat(" ", 3<<20), asked: true, want: true},
		{name: "missing", asked: true},
		{name: "a page in its place", sitemap: "<html>not here", asked: true},
		{name: "a text in its place", sitemap: "not here", asked: true},
		{name: "robots.txt names one", robots: "Sitemap: http://other.test/s.xml", sitemap: here},
		{name: "robots.txt forbids it", robots: "User-agent: *\nDisallow: /sitemap", sitemap: here},
		{name: "turned off", properties: []string{"SITEMAP_DEFAULT", "0"}, sitemap: here},
		{name: "no sitemaps at all", properties: []string{"SITEMAPS", "0"}, sitemap: here},
		{name: "the site names one", properties: []string{"SITEMAPS", "http://other.test/s.xml"}, sitemap: here},
		{name: "robots.txt is not read", properties: []string{"ROBOTS_MODE", "0"}, sitemap: here},
		{name: "no root", child: true, sitemap: here},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := map[string]string{"/start/": "x", "/start/2": "x"}
			if tt.robots != "" {
				texts["/robots.txt"] = tt.robots
			}
			if tt.sitemap != "" {
				texts["/sitemap.xml"] = tt.sitemap
			}
			s := pages(t, texts)
			w := newWorld(t)
			w.addSite("s", append([]string{"ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1"}, tt.properties...)...)
			child := func(u *wire.URL) {
				if tt.child {
					u.ParentMd5 = wire.Md5("x")
				}
			}
			root, second := w.item("s", s.URL+"/start/", child), w.item("s", s.URL+"/start/2", child)
			w.run(batchOf(root, second))
			got := slices.Contains(w.linkPaths(root), "/sitemap.xml")
			asked := func() int {
				return len(slices.DeleteFunc(s.paths(), func(p string) bool { return p != "/sitemap.xml" }))
			}
			if tt.asked { // the server notes a request at its end, which may follow the end of the batch
				testwait.Until(t, "/sitemap.xml was requested", func() bool { return asked() > 0 })
			}
			if n := asked(); got != tt.want || n > 1 || (n == 1) != tt.asked {
				t.Errorf("rows %v, %d requests; want /sitemap.xml: %t", w.linkPaths(root), n, tt.want)
			}
			if row := w.row(root); row.ErrorMask != 0 || row.Status != wire.StatusCrawled {
				t.Errorf("root: %s, status %d", bitNames(row.ErrorMask), row.Status)
			}
			if !got {
				return
			}
			it := w.next("s", s.URL+"/sitemap.xml")
			w.run(batchOf(it))
			if row := w.row(it); tt.sitemap == here && (!slices.Equal(w.linkPaths(it), []string{"/1"}) || row.ErrorMask != 0 || row.ContentType != sitemapType) {
				t.Errorf("lists %v, %s, %s", w.linkPaths(it), bitNames(row.ErrorMask), row.ContentType)
			}
		})
	}
	t.Run("a client waits", func(t *testing.T) {
		s := pages(t, map[string]string{"/": "x", "/sitemap.xml": here})
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1")
		b := batchOf(w.item("s", s.URL+"/"))
		b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
		if w.run(b); slices.Contains(s.paths(), "/sitemap.xml") {
			t.Errorf("requests %v", s.paths())
		}
	})
	t.Run("the gap to the page is kept", func(t *testing.T) {
		s := pages(t, map[string]string{"/": "x", "/sitemap.xml": here})
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1")
		w.run(batchOf(w.item("s", s.URL+"/", func(u *wire.URL) { u.RequestDelay = 60 })))
		if got := s.paths(); !slices.Equal(got, []string{"/robots.txt", "/sitemap.xml", "/"}) {
			t.Errorf("requests %v", got)
		}
		s.checkGaps(t, 60*time.Millisecond)
	})
}

// TestSitemapAddresses: sitemaps with several addresses in an entry, and addresses without a scheme.
func TestSitemapAddresses(t *testing.T) {
	s := pages(t, map[string]string{
		"/index.xml": `<sitemapindex><sitemap><loc>HOST/1.xml</loc><loc>//HOST/2.txt</loc><loc>http://HOST/3.xml</loc></sitemap></sitemapindex>`,
		"/1.xml":     `<urlset><url><loc>HOST/a</loc></url><url><loc>//HOST/b</loc></url><url><loc>c/d.html</loc></url></urlset>`,
		"/2.txt":     "HOST/e\nhttp://HOST/f\nnot an address\n",
		"/3.xml":     `<rss version="2.0"><channel><item><title>x</title><guid isPermaLink="false">http://HOST/g</guid></item><item><guid>http://HOST/h</guid></item></channel></rss>`,
	})
	w := newWorld(t)
	w.addSite("s")
	w.item("s", s.URL+"/index.xml", func(u *wire.URL) { u.ContentType, u.ParentMd5 = sitemapType, wire.Md5("x") })
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"/index.xml", []string{"/1.xml", "/2.txt", "/3.xml"}},
		{"/1.xml", []string{"/a", "/b", "/c/d.html"}},
		{"/2.txt", []string{"/e", "/f"}},
		{"/3.xml", []string{"/g", "/h"}},
	} {
		it := w.next("s", s.URL+tt.path)
		w.run(batchOf(it))
		if got := w.linkPaths(it); !slices.Equal(got, tt.want) || w.row(it).ErrorMask != 0 || w.row(it).ContentType != sitemapType {
			t.Errorf("%s lists %v, want %v; %s", tt.path, got, tt.want, bitNames(w.row(it).ErrorMask))
		}
	}
}

// next makes an item of a row that an earlier batch added.
func (w *world) next(site, target string) wire.BatchItem {
	w.Helper()
	row, ok := w.URLs[site+" "+wire.Md5(target)]
	if !ok {
		w.Fatalf("%s is no row", target)
	}
	row.Status, row.BatchID, row.RequestDelay = wire.StatusSelectedCrawling, batchID, 0
	w.URLs[site+" "+row.URLMd5] = row
	return wire.BatchItem{SiteID: site, URLID: row.URLMd5, URL: row}
}

// TestSitemapsBecomePages: from robots.txt through an index to the rows of pages.
func TestSitemapsBecomePages(t *testing.T) {
	s := pages(t, map[string]string{
		"/robots.txt": "Sitemap: http://HOST/index.xml",
		"/":           "x",
		"/index.xml":  `<sitemapindex><sitemap><loc>http://HOST/1.xml</loc></sitemap><sitemap><loc>http://HOST/2.xml.gz</loc></sitemap><sitemap><loc>http://HOST/3.txt</loc></sitemap><sitemap><loc>http://other.test/4.xml</loc></sitemap><sitemap><loc>http://HOST/5.xml</loc></sitemap></sitemapindex>`,
		"/1.xml":      urlset("/dated <lastmod>2026-01-05T10:00:00+01:00</lastmod><priority>0.8</priority>", "/refused", "/zero <priority>0.0</priority>", "/twice", "/twice"),
		"/2.xml.gz":   urlset("/packed"),
		"/3.txt":      "http://HOST/text\nhttp://HOST/text2\n",
		"/5.xml":      `<rss version="2.0"><channel><item><link>http://HOST/news</link><pubDate>` + monday + `</pubDate></item></channel></rss>`,
	})
	w := newWorld(t)
	// Types and filters of content do not apply to sitemaps.
	site := w.addSite("s", "ROBOTS_MODE", "1", "SITEMAPS", "1", "ALLOWED_CTYPES", "text/html")
	site.FetchType = 1
	site.Filters = append(site.Filters,
		wire.SiteFilter{Pattern: "/refused|xml|gz|txt", Stage: 0, Action: -1, State: 1},
		wire.SiteFilter{Pattern: "recipe", Subject: "RAW_CONTENT", Stage: 1, Action: 1, State: 1})
	root := w.item("s", s.URL+"/", func(u *wire.URL) { u.Priority = 10 })
	site.Filters = site.Filters[:2] // the root page has no recipe
	w.run(batchOf(root))
	site.Filters = site.Filters[:3]
	index := w.next("s", s.URL+"/index.xml")
	w.run(batchOf(index))
	if got, want := w.linkPaths(index), []string{"/1.xml", "/2.xml.gz", "/3.txt", "/5.xml"}; !slices.Equal(got, want) {
		t.Fatalf("the index lists %v, want %v", got, want)
	}
	tests := []struct {
		path  string
		pages []string
	}{
		{"/1.xml", []string{"/dated", "/zero", "/twice"}},
		{"/2.xml.gz", []string{"/packed"}},
		{"/3.txt", []string{"/text", "/text2"}},
		{"/5.xml", []string{"/news"}},
	}
	for _, tt := range tests {
		it := w.next("s", s.URL+tt.path)
		w.run(batchOf(it))
		row := w.row(it)
		if got := w.linkPaths(it); !slices.Equal(got, tt.pages) || row.Status != wire.StatusCrawled || row.ErrorMask != 0 || row.ContentType != sitemapType {
			t.Errorf("%s lists %v, want %v; row %+v", tt.path, got, tt.pages, row)
		}
	}
	for path, want := range map[string]struct {
		modified string
		priority int64
	}{"/dated": {"2026-01-05 09:00:00", 90}, "/zero": {"", 10}, "/twice": {"", 10}, "/packed": {"", 10}, "/news": {"2026-01-05 10:00:00", 10}} {
		u := w.URLs["s "+wire.Md5(s.URL+path)]
		if string(u.LastModified) != want.modified || u.Priority != want.priority || u.ContentType != "" || u.Depth != 1 || u.Status != wire.StatusNew {
			t.Errorf("%s: %+v", path, u)
		}
	}
}

// TestSitemapStaysOne: a sitemap remains a sitemap over many crawls and errors.
func TestSitemapStaysOne(t *testing.T) {
	round := 0
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch round {
		case 0, 2:
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprint(w, strings.ReplaceAll(urlset(fmt.Sprint("/page", round)), "HOST", r.Host))
		case 1:
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "<p>later")
		}
	})
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/sitemap.xml", func(u *wire.URL) { u.ContentType, u.ParentMd5 = sitemapType, wire.Md5("x") })
	for round = range 3 {
		it = w.next("s", s.URL+"/sitemap.xml")
		w.run(batchOf(it))
		if row := w.row(it); row.ContentType != sitemapType {
			t.Errorf("round %d: content type %q", round, row.ContentType)
		}
	}
	if got := w.linkPaths(it); !slices.Equal(got, []string{"/page2"}) {
		t.Errorf("pages %v", got)
	}
}

// TestBrokenSitemaps: an invalid sitemap marks its own row.
func TestBrokenSitemaps(t *testing.T) {
	tests := []struct {
		name, body string
		want       errormask.Mask
		pages      []string
	}{
		{"a page", "<html><body>not found</body></html>", errormask.UnsupportedType, nil},
		{"breaks off", `<urlset><url><loc>http://HOST/1</loc></url><url><loc>http://HO`, 0, []string{"/1"}},
		{"noise", "\x00\xff\x01\x02", errormask.UnsupportedType, nil},
		{"invalid links", urlset("/1") + "<url><loc>javascript:x</loc></url>", 0, []string{"/1"}},
		{"an empty one", urlset(), 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pages(t, map[string]string{"/s.xml": tt.body, "/other": "x"})
			w := newWorld(t)
			w.addSite("s")
			it := w.item("s", s.URL+"/s.xml", func(u *wire.URL) { u.ContentType, u.ParentMd5 = sitemapType, wire.Md5("x") })
			other := w.item("s", s.URL+"/other")
			w.run(batchOf(it, other))
			if row := w.row(it); row.ErrorMask != tt.want || row.Status != wire.StatusCrawled || row.ContentType != sitemapType {
				t.Errorf("%s, row %+v", bitNames(row.ErrorMask), row)
			}
			if got := w.linkPaths(it); !slices.Equal(got, tt.pages) {
				t.Errorf("pages %v, want %v", got, tt.pages)
			}
			if row := w.row(other); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
				t.Errorf("the other page %+v", row)
			}
		})
	}
}

// TestSitemapThatIsALink: a sitemap that pages link to remains a sitemap.
func TestSitemapThatIsALink(t *testing.T) {
	s := pages(t, map[string]string{"/": `<link rel="sitemap" href="/s.xml"><a href="/page">x</a>`, "/other": `<a href="/t.xml">x</a>`})
	w := newWorld(t)
	w.addSite("s", "SITEMAPS", s.URL+"/s.xml "+s.URL+"/t.xml")
	other := w.item("s", s.URL+"/other", func(u *wire.URL) { u.ParentMd5 = wire.Md5("x") })
	root := w.item("s", s.URL+"/")
	w.run(batchOf(other, root))
	if got := w.linkPaths(root); !slices.Equal(got, []string{"/s.xml", "/page", "/t.xml"}) {
		t.Fatalf("links %v", got)
	}
	for _, l := range w.Results["s "+root.URLID].Links {
		sitemap := strings.HasSuffix(l.URL.URL, ".xml")
		if (l.URL.ContentType == sitemapType) != sitemap || (l.Update["ContentType"] == sitemapType) != sitemap {
			t.Errorf("%s: %q, known rows get %v", l.URL.URL, l.URL.ContentType, l.Update)
		}
	}
}

// TestSitemapsNeedNoBrowser: a site of dynamic pages requests them by plain HTTP.
func TestSitemapsNeedNoBrowser(t *testing.T) {
	s := pages(t, map[string]string{"/s.xml": urlset("/1")})
	w := newWorld(t)
	w.addSite("s", "FETCHER_TYPE", `{".*": 2}`).FetchType = 2
	it := w.item("s", s.URL+"/s.xml", func(u *wire.URL) { u.ContentType, u.ParentMd5 = sitemapType, wire.Md5("x") })
	w.run(batchOf(it))
	if got := w.linkPaths(it); !slices.Equal(got, []string{"/1"}) {
		t.Errorf("pages %v, %s", got, bitNames(w.row(it).ErrorMask))
	}
}

// TestSitemapsOfKeptRobots: ROBOTS_CACHE replaces the host's own file.
func TestSitemapsOfKeptRobots(t *testing.T) {
	s := pages(t, map[string]string{"/": "x"})
	w := newWorld(t)
	w.job.Config.RobotsDir = t.TempDir()
	w.addSite("s", "ROBOTS_MODE", "1", "ROBOTS_CACHE", "1", "SITEMAPS", "1")
	folder := filepath.Join(w.job.Config.RobotsDir, statefile.Name(s.host))
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "s.json"), []byte(`{"robots.txt": {"Sitemap: /kept.xml": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	root := w.item("s", s.URL+"/")
	w.run(batchOf(root))
	if got := w.linkPaths(root); !slices.Equal(got, []string{"/kept.xml"}) {
		t.Errorf("sitemaps %v", got)
	}
}
