package crawl_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// A site with a guard that cannot be read gets no request. The log names site and property, and the site is
// suspended with bit 50; its URLs stay new.
func TestGuardsFailClosed(t *testing.T) {
	values := map[string][]string{
		"USER_PROXY":      {`{"proxies": {"127.0.0.1:1": {"host": "127.0.0.1:1"}}`, "proxy", `{"proxies": {"p": {"host": "no port"}}}`},
		"HTTP_PROXY_HOST": {"ftp://a:1", "a b"},
		"PROTOCOLS":       {"http", `["ftp"]`},
		"SITEMAPS":        {"ftp://x.test/", `["a"`},
		"HTTP_HEADERS":    {"X-A: one\nno header\n", "{", `{"X-A": "1\r\nX-B: 2"}`},
		"ROBOTS_REL":      {`["nofollow"]`},
		"HTTP_COOKIE":     {"{", `{".*": {"stage": "two"}}`},
	}
	for _, name := range settings.Guards {
		if values[name] == nil {
			values[name] = []string{"31x28 y"}
		}
	}
	for name, list := range values {
		for _, value := range list {
			t.Run(name, func(t *testing.T) {
				s := newServer(t, nil)
				w := newWorld(t)
				var log strings.Builder
				w.job.Log = slog.New(slog.NewTextHandler(&log, nil))
				site := w.addSite("s", "ROBOTS_MODE", "1", "SITEMAP_DEFAULT", "1", name, value)
				it := w.item("s", s.URL+"/")
				w.run(batchOf(it))
				w.checkStopped(t, s, site, it)
				if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "site=s") || !strings.Contains(text, "property "+name+" ") {
					t.Errorf("log %s", text)
				}
			})
		}
	}
}

func (w *world) checkStopped(t *testing.T, s *server, site *wire.Site, it wire.BatchItem) {
	t.Helper()
	if paths := s.paths(); len(paths) > 0 {
		t.Errorf("requests %q", paths)
	}
	if site.State != wire.SiteSuspended || w.Suspended != errormask.Initialization {
		t.Errorf("state %d, bits %s", site.State, bitNames(w.Suspended))
	}
	if row := w.row(it); row.Status != wire.StatusNew || row.Crawled != 0 {
		t.Errorf("status %d, crawled %d", row.Status, row.Crawled)
	}
}

// A filter that does not compile may have been the one that keeps the crawler away.
func TestBrokenFilterFailsClosed(t *testing.T) {
	s := newServer(t, nil)
	w := newWorld(t)
	site := w.addSite("s")
	site.Filters = append(site.Filters, wire.SiteFilter{Pattern: "private(", Stage: 5, Action: -1, Type: 1, State: 1})
	it := w.item("s", s.URL+"/")
	w.run(batchOf(it))
	w.checkStopped(t, s, site, it)
}

// An item with a broken guard of its own is handed back; the others of its site are crawled.
func TestBrokenGuardOfAnItem(t *testing.T) {
	sc := newScene(t, nil, withHeader(""))
	w := newWorld(t)
	site := w.addSite("s")
	good, bad := w.item("s", sc.URL+"/"), w.item("s", sc.URL+"/bad")
	bad.Properties = map[string]string{"USER_PROXY": "{"}
	w.run(batchOf(good, bad))
	if row := w.row(bad); row.Status != wire.StatusNew || slices.Contains(sc.paths(), "/bad") {
		t.Errorf("status %d, requests %q", row.Status, sc.paths())
	}
	if row := w.row(good); row.Status != wire.StatusCrawled || site.State != wire.SiteActive {
		t.Errorf("status %d, state %d", row.Status, site.State)
	}
}
