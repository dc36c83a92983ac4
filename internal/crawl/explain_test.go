package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/secret"
)

func TestExplain(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nCrawl-delay: 2\nSitemap: /map.xml")
			return
		}
		page(w, `<a href="/a">a</a><a href="http://other.test/">b</a>`)
	})
	row := func(status, state int64) func(*wire.URL) {
		return func(u *wire.URL) { u.Status, u.State, u.BatchID = status, state, 0 }
	}
	tests := []struct {
		name, path string
		change     func(*wire.URL) // nil: there is no row
		site       func(*wire.Site)
		due        bool
		reason     string
	}{
		{"new", "/x", row(1, 0), nil, true, "the row is New"},
		{"crawled", "/x", row(4, 0), nil, false, "status 4"},
		{"in error", "/x", row(1, 2), nil, false, "state 2"},
		{"no row", "/x", nil, nil, false, "no row of the site"},
		{"robots.txt", "/closed/x", row(1, 0), nil, false, "line 2: Disallow: /closed"},
		{"filters", "/out", func(u *wire.URL) { row(1, 0)(u); u.ParentMd5 = wire.Md5("p") }, nil, false, "filters"},
		{"suspended", "/x", row(1, 0), func(s *wire.Site) { s.State = wire.SiteSuspended }, false, "not active"},
		{"errors", "/x", row(1, 0), func(s *wire.Site) { s.MaxErrors, s.Errors = 1, 2 }, false, "maxErrors"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			site := w.addSite("s", "ROBOTS_MODE", "1", "HTTP_AUTH_NAME", "u", "HTTP_AUTH_PWD", "secret", "HTTP_REDIRECTS_MAX", "many")
			site.Filters = append(site.Filters, wire.SiteFilter{Pattern: "/out", Stage: 5, Action: -1, State: 1})
			if tt.site != nil {
				tt.site(site)
			}
			if tt.change != nil {
				w.item("s", s.URL+tt.path, tt.change)
			}
			e, err := w.job.Explain(t.Context(), strings.ToUpper(s.URL[:4])+s.URL[4:]+tt.path+"#top", "", false)
			if err != nil {
				t.Fatal(err)
			}
			if e.Due != tt.due || !strings.Contains(strings.Join(e.Reasons, "; "), tt.reason) {
				t.Errorf("due %t: %q", e.Due, e.Reasons)
			}
			if e.Canonical != s.URL+tt.path || e.Site.ID != "s" || len(e.Site.Warnings) != 1 || len(e.Filters.Rules) != 2 {
				t.Errorf("%+v %+v %+v", e, e.Site, e.Filters)
			}
			if e.Politeness.DelayMs != 2000 || e.Robots.CrawlDelay != 2 || !slices.Equal(e.Robots.Sitemaps, []string{"/map.xml"}) {
				t.Errorf("%+v %+v", e.Politeness, e.Robots)
			}
			if got := e.Request.Header.Get("Authorization"); got != secret.Hidden {
				t.Errorf("the password is shown: %q", got)
			}
			if paths := s.paths(); slices.Contains(paths, tt.path) {
				t.Errorf("the page was asked for: %v", paths)
			}
			checkUntouched(t, w)
		})
	}
	t.Run("fetch", func(t *testing.T) {
		w := newWorld(t)
		w.addSite("s")
		w.item("s", s.URL+"/x")
		e, err := w.job.Explain(t.Context(), s.URL+"/x", "s", true)
		if err != nil {
			t.Fatal(err)
		}
		if f := e.Fetch; f == nil || f.HTTPCode != 200 || f.ContentType != "text/html" || f.LinksI != 1 || f.LinksE != 1 || len(f.NewURLs) != 2 || f.Error != "" {
			t.Errorf("%+v", e.Fetch)
		}
		checkUntouched(t, w)
	})
	t.Run("cannot be fetched", func(t *testing.T) {
		w := newWorld(t)
		w.addSite("s")
		e, err := w.job.Explain(t.Context(), "http://127.0.0.1:1/", "s", true)
		if err != nil {
			t.Fatal(err)
		}
		if f := e.Fetch; f == nil || f.Error == "" || !slices.Equal(f.ErrorNames, errormask.Connection.Names()) {
			t.Errorf("%+v", e.Fetch)
		}
	})
	t.Run("unknown site", func(t *testing.T) {
		e, err := newWorld(t).job.Explain(t.Context(), s.URL, "none", false)
		if err != nil || e.Due || len(e.Reasons) != 1 {
			t.Errorf("%+v %v", e, err)
		}
	})
	t.Run("no URL", func(t *testing.T) {
		e, err := newWorld(t).job.Explain(t.Context(), "mailto:x", "", false)
		if err != nil || e.Due || len(e.Reasons) != 1 {
			t.Errorf("%+v %v", e, err)
		}
	})
}

// checkUntouched fails if anything was stored.
func checkUntouched(t *testing.T, w *world) {
	t.Helper()
	for _, call := range w.Calls {
		if !slices.Contains([]string{"Site", "Rows", "SiteOf", "KnownURLs"}, call) {
			t.Errorf("the repository got a call of %s", call)
		}
	}
}
