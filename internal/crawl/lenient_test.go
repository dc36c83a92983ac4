package crawl_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// TestLenientRobots: files that break RFC 9309 and are read all the same.
func TestLenientRobots(t *testing.T) {
	tests := []struct {
		name, robots string
		want         errormask.Mask // of /private/x
	}{
		{"pattern in place of the agent", "User-agent: *Bot*\nDisallow: /", 0},
		{"misspelled key", "Useragent: *\nDissalow: /private", errormask.Robots},
		{"no colons", "User-agent *\nDisallow /private", errormask.Robots},
		{"UTF-16", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00p\x00", errormask.Robots},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pages(t, map[string]string{"/robots.txt": tt.robots, "/private/x": "x", "/open": "x"})
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1")
			private, open := w.item("s", s.URL+"/private/x"), w.item("s", s.URL+"/open")
			w.run(batchOf(private, open))
			if row := w.row(private); row.ErrorMask != tt.want || row.Status != wire.StatusCrawled {
				t.Errorf("private: %s, status %d", bitNames(row.ErrorMask), row.Status)
			}
			if row := w.row(open); row.ErrorMask != 0 || row.Status != wire.StatusCrawled {
				t.Errorf("open: %s, status %d", bitNames(row.ErrorMask), row.Status)
			}
		})
	}
}

// TestLateCharset: the label of a page after a long script, a wrong label and labels that are no markup.
func TestLateCharset(t *testing.T) {
	const text = "\xE7\xC4\xC5"
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!-- <meta charset=cp1252> --><meta charset=martian><script>'<meta charset=cp1251>'"+strings.Repeat(" ", 9000)+"</script><meta charset=koi8-r><p>"+text)
	})
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/")
	w.run(batchOf(it))
	if row := w.row(it); row.Charset != "koi8-r" || row.ErrorMask != 0 || !strings.HasSuffix(w.file(it, wire.ContentRaw), "<p>Где") {
		t.Errorf("charset %q, %s, text %.20q", row.Charset, bitNames(row.ErrorMask), strings.TrimSpace(w.file(it, wire.ContentRaw)[9000:]))
	}
}

// TestLimitsAreSaid: a limit that leaves out links of a page sets a bit of its row, and is logged.
func TestLimitsAreSaid(t *testing.T) {
	links := ""
	for i := range 12 {
		links += fmt.Sprintf(`<a href="/%d">x</a>`, i)
	}
	entries := make([]string, 1200)
	for i := range entries {
		entries[i] = fmt.Sprint("/", i)
	}
	tests := []struct {
		name, path, body string
		properties       []string
		site, url        int64 // maxURLsFromPage
		most             int   // max_links
		want             int   // links
		cut              bool
	}{
		{name: "no limit is set", path: "/", body: links, want: 12},
		{name: "limit of the site", path: "/", body: links, site: 5, want: 5, cut: true},
		{name: "limit of the URL", path: "/", body: links, site: 100, url: 4, want: 4, cut: true},
		{name: "limit of the site, just met", path: "/", body: links, site: 12, want: 12},
		{name: "COLLECT_URLS_LIMITS", path: "/", body: links, properties: []string{"COLLECT_URLS_LIMITS", `{"": [["", 3]]}`}, want: 3, cut: true},
		{name: "max_links", path: "/", body: links, most: 7, want: 7, cut: true},
		{name: "max_links, just met", path: "/", body: links, most: 12, want: 12},
		{name: "max_links of an expression", path: "/", body: links, most: 7, properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": ["//a/@href"]}}`}, want: 7, cut: true},
		{name: "entries of a feed in a sitemap", path: "/s.xml", body: "<rss version='2.0'><channel>" + strings.Repeat("<item><link>/1</link></item>", 8) + "</channel></rss>", most: 7, want: 1, cut: true},
		{name: "bytes of a sitemap", path: "/s.xml.gz", body: urlset(entries...), most: 5000, want: 600, cut: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pages(t, map[string]string{tt.path: tt.body})
			w := newWorld(t)
			var log strings.Builder
			w.job.Log = slog.New(slog.NewTextHandler(&log, nil))
			w.job.Config.MaxLinks = max(tt.most, 0)
			if tt.most == 0 {
				w.job.Config.MaxLinks = 1000
			}
			w.addSite("s", tt.properties...).MaxURLsFromPage = tt.site
			if strings.HasSuffix(tt.path, ".gz") {
				w.job.Config.MaxResourceSize = 30 << 10
			}
			it := w.item("s", s.URL+tt.path, func(u *wire.URL) {
				u.MaxURLsFromPage = tt.url
				if strings.HasPrefix(tt.path, "/s.xml") {
					u.ContentType, u.ParentMd5 = sitemapType, wire.Md5("x")
				}
			})
			w.run(batchOf(it))
			row, got := w.row(it), len(w.links(it))
			if cut := row.ErrorMask == errormask.MaxURLsFromPage; cut != tt.cut || !cut && row.ErrorMask != 0 || row.Status != wire.StatusCrawled || row.State != wire.URLEnabled ||
				got != tt.want && !(tt.want == 600 && got > 300 && got < 1000) {
				t.Errorf("%d links, %s, status %d", got, bitNames(row.ErrorMask), row.Status)
			}
			if said := strings.Contains(log.String(), "left out the rest") && strings.Contains(log.String(), s.URL+tt.path); said != tt.cut {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

// TestLinkSources: rows of links from places that are no URL attributes.
func TestLinkSources(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", "9; url=refreshed")
		w.Header().Set("Content-Location", "located")
		w.Header().Set("Link", "<linked>; rel=next")
		page(w, `<base href="/base/"><iframe srcdoc="<a href=framed>x</a>"></iframe><img data-src=lazy.jpg data-srcset="set.jpg 2x"><object><param name=movie value=film.swf></object><div data-url="12">`)
	})
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/dir/page")
	w.run(batchOf(it))
	want := []string{"/base/framed", "/base/lazy.jpg", "/base/set.jpg", "/base/film.swf", "/dir/linked", "/dir/refreshed", "/dir/located"}
	if got := w.linkPaths(it); !slices.Equal(got, want) || w.row(it).LinksI != int64(len(want)) || w.row(it).ErrorMask != 0 {
		t.Errorf("links %v, want %v; %d internal, %s", got, want, w.row(it).LinksI, bitNames(w.row(it).ErrorMask))
	}
	if row, ok := w.URLs["s "+wire.Md5(s.URL+"/base/framed")]; !ok || row.Status != wire.StatusNew || row.ParentMd5 != it.URLID || row.Depth != 1 {
		t.Errorf("row %+v", row)
	}
}
