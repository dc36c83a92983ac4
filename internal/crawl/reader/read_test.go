package reader

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/robotscache"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// newReader returns a batch without servers, for the page stage only.
func newReader(t testing.TB) (*Reader, *item.Item) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Reader{Env: &visit.Environment{
		Config: settings.Config{MaxLinks: 500, RobotsAgent: "HCE-DC"}, Now: func() time.Time { return now },
		Log: slog.New(slog.DiscardHandler), Robots: &robotscache.Cache{},
	}}
	_, _ = r.Env.Robots.Get("http://page.test", func(*robotscache.Answer) bool { return true }, func() (*robotscache.Answer, error) {
		return robotscache.NewAnswer(&fetch.Response{Code: 200, Body: []byte("User-agent: *\nDisallow: /closed")}, nil, now, time.Hour), nil
	})
	site := &item.SiteView{Site: wire.Site{ID: "s", MaxURLsFromPage: 200}}
	var problems []error
	site.FilterSet, problems = filter.Compile([]filter.Rule{
		{Pattern: "(.*)", Stage: filter.StageAll, Action: 1, State: 1}, {Pattern: `\.exe$`, Stage: filter.StageLinks, Action: -1, State: 1},
	})
	set, errs := settings.Read(&site.Site, nil, r.Env.Config)
	if len(problems)+len(errs) > 0 {
		t.Fatal(problems, errs)
	}
	u := wire.NewURL("s", "http://page.test/dir/page")
	u.MaxURLsFromPage = 0
	return r, &item.Item{BatchItem: wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u}, View: site, Settings: set, Row: u, Before: u, Begun: true}
}

// TestPanicIsTheItemsOwn: a page that breaks a parser gets bit 12 and does not affect others.
func TestPanicIsTheItemsOwn(t *testing.T) {
	r, it := newReader(t)
	out := r.ReadOutcome(t.Context(), Page{Item: it}) // without a response
	if it.Row.ErrorMask != errormask.HTMLParse || it.Row.State != wire.URLError || !it.Empty || out.Result.URLMd5 != it.URLID || out.Result.Set["Status"] != int64(wire.StatusCrawled) {
		t.Errorf("%v %+v", it.Row.ErrorMask.Names(), out.Result)
	}
}

// FuzzPage checks the promises of the page stage for any page.
func FuzzPage(f *testing.F) {
	for _, seed := range []struct{ kind, body string }{
		{"text/html", `<base href="//x.test/"><a href="a">1</a><a href="/closed/b">2</a><a href="c.exe">3</a>`},
		{"text/html; charset=utf-16", "\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00"},
		{"text/html", `<base href="http://[::1"><a href="http://user:pw@h:0/">x</a><a href="http://%41/">y</a>`},
		{"application/rss+xml", `<?xml version="1.0" encoding="koi8-r"?><rss><link>a</link><guid isPermaLink="false">b</guid></rss>`},
		{"application/xhtml+xml", `<a href="&#x110000;&amp;&#0;"/>`},
		{"text/html", `<img srcset="a 1x, b 2x, ,"><meta http-equiv=refresh content="0; url='x">`},
		{"image/png", "\x89PNG\r\n\x1a\n"},
		{"", "<!doctype html><a href=\xff\xfe>"},
		{"text/plain;;", "\x00"},
	} {
		f.Add(seed.kind, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		r, it := newReader(t)
		resp := &fetch.Response{
			FinalURL: "http://page.test/dir/final#part", Code: 200, Body: body, Started: r.Env.Now(), Total: time.Millisecond,
			Header: http.Header{"Content-Type": {kind}, "Etag": {kind}, "Set-Cookie": {kind}}, RequestLine: "GET / HTTP/1.1",
		}
		out := r.ReadOutcome(t.Context(), Page{Item: it, Answer: &visit.Answer{Response: resp}})
		u := it.Row
		if u.ErrorMask&errormask.HTMLParse != 0 {
			t.Fatal("the page panicked")
		}
		if len(body) == 0 {
			if u.ErrorMask != errormask.Empty || !it.Empty {
				t.Fatalf("no body: %v", u.ErrorMask.Names())
			}
			return
		}
		if len(out.Result.Links) > 200 {
			t.Fatalf("%d links", len(out.Result.Links))
		}
		met := map[string]bool{u.URL: true}
		for _, l := range out.Result.Links {
			link := l.URL
			again, err := canonical.Canonical(link.URL)
			switch {
			case err != nil || again != link.URL && again+"#" != link.URL:
				t.Fatalf("link %q is not canonical: %q, %v", link.URL, again, err)
			case !strings.HasPrefix(link.URL, "http://") && !strings.HasPrefix(link.URL, "https://"):
				t.Fatalf("link %q", link.URL)
			case link.URLMd5 != wire.Md5(link.URL) || link.SiteID != "s" || link.ParentMd5 != it.URLID || link.Depth != 1:
				t.Fatalf("row %+v", link)
			case met[link.URL]:
				t.Fatalf("link %q twice", link.URL)
			case strings.HasPrefix(link.URL, "http://page.test/closed"), strings.HasSuffix(link.URL, ".exe"):
				t.Fatalf("link %q is let in", link.URL)
			case canonical.Host(link.URL) == "":
				t.Fatalf("link %q has no host", link.URL)
			}
			met[link.URL] = true
		}
		if int64(len(out.Result.Links)) > u.LinksI+u.LinksE {
			t.Fatalf("%d links, %d counted", len(out.Result.Links), u.LinksI+u.LinksE)
		}
		for _, text := range []string{u.ContentType, u.Charset, u.ETag, it.Base} {
			if !utf8.ValidString(text) {
				t.Fatalf("text %q", text)
			}
		}
		if len(u.ContentType) > 32 || len(u.Charset) > 32 || len(u.ETag) > 128 {
			t.Fatalf("columns %q, %q, %q", u.ContentType, u.Charset, u.ETag)
		}
		size := 0
		for _, f := range out.Result.Files {
			size += len(f.Data)
			if (f.Type != wire.ContentRaw || content.IsText(u.ContentType)) && !utf8.Valid(f.Data) {
				t.Fatalf("file %d is no text: %q", f.Type, f.Data)
			}
		}
		if size += item.LinkBytes * len(out.Result.Links); size != out.Bytes {
			t.Fatalf("%d bytes of %d", out.Bytes, size)
		}
	})
}
