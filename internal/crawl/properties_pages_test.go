package crawl_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// TestLinkProperties: the links that properties and filters accept.
func TestLinkProperties(t *testing.T) {
	filters := func(list ...wire.SiteFilter) func(*wire.Site, *wire.URL) {
		return func(s *wire.Site, _ *wire.URL) { s.Filters = append(s.Filters, list...) }
	}
	many := `<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>`
	tests := []struct {
		name       string
		properties []string
		page       reply // of /list/
		more       map[string]reply
		change     func(*wire.Site, *wire.URL)
		want       []string
		requests   []string // besides the page; nil: not checked
	}{
		{name: "rel", page: reply{body: `<a href=/1 rel="x NoFollow">1</a><a href=/2 rel=ugc>2</a><a href=/3 rel=sponsored>3</a><a href=/4 rel=next>4</a>`}, want: []string{"/4"}},
		{name: "rel of the site's choice", properties: []string{"ROBOTS_REL", "ugc, next"}, page: reply{body: `<a href=/1 rel=nofollow>1</a><a href=/2 rel=ugc>2</a><a href=/4 rel=next>4</a>`}, want: []string{"/1"}},
		{name: "any rel", properties: []string{"ROBOTS_REL", "0"}, page: reply{body: `<a href=/1 rel=nofollow>1</a>`}, want: []string{"/1"}},
		{name: "meta robots", page: reply{body: `<meta name=robots content="nofollow"><a href=/1>1</a>`}},
		{name: "meta robots turned off", properties: []string{"ROBOTS_META", "0"}, page: reply{body: `<meta name=robots content="nofollow"><a href=/1>1</a>`}, want: []string{"/1"}},
		{name: "meta named after this robot", page: reply{body: `<p>x<meta name=HCE-DC content="nofollow"><a href=/1>1</a>`}},
		{name: "meta named after another robot", page: reply{body: `<meta name=otherbot content="nofollow"><a href=/1>1</a>`}, want: []string{"/1"}},
		{name: "meta named after the site's own User-Agent", properties: []string{"HTTP_HEADERS", "User-Agent: MyBot/1.0"}, page: reply{body: `<meta name=mybot content="nofollow"><a href=/1>1</a>`}},
		{name: "meta for the name that the site does not use", properties: []string{"HTTP_HEADERS", "User-Agent: MyBot/1.0"}, page: reply{body: `<meta name=hce-dc content="nofollow"><a href=/1>1</a>`}, want: []string{"/1"}},
		{name: "robots header for this robot", page: reply{header: map[string]string{"X-Robots-Tag": "hce-dc: nofollow"}, body: `<a href=/1>1</a>`}},
		{name: "robots header", page: reply{header: map[string]string{"X-Robots-Tag": "nofollow"}, body: many}},
		{name: "robots header turned off", properties: []string{"ROBOTS_HEADER", "0"}, page: reply{header: map[string]string{"X-Robots-Tag": "nofollow"}, body: `<a href=/1>1</a>`}, want: []string{"/1"}},
		{name: "kept robots.txt for links", properties: []string{"ROBOTS_MODE", "1", "ROBOTS_CACHE", "1", "ROBOTS_COLLECT", "2"}, page: reply{body: `<a href=/1>1</a><a href=/kept>2</a>`}, want: []string{"/1"}, requests: []string{}},
		{name: "kept robots.txt, links are not judged", properties: []string{"ROBOTS_MODE", "1", "ROBOTS_CACHE", "1", "ROBOTS_COLLECT", "0"}, page: reply{body: `<a href=/1>1</a><a href=/kept>2</a>`}, want: []string{"/1", "/kept"}},
		{name: "XPath alone", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"/list/": ["//h2/a/@href", "//p/text()"], "/none/": ["//a/@href"]}}`},
			page: reply{header: map[string]string{"Link": "</header>; rel=next"}, body: `<a href=/1>1</a><h2><a href=/2>2</a></h2><p>/3</p>`}, want: []string{"/2", "/3"}},
		{name: "XPath and the built-in list", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": "//p/text()"}, "mode": "1"}`},
			page: reply{header: map[string]string{"Link": "</header>; rel=next"}, body: `<a href=/1>1</a><p>/3</p>`}, want: []string{"/1", "/header", "/3"}},
		{name: "XPath of other pages", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"/none/": ["//a/@href"]}}`}, page: reply{body: many}},
		{name: "XPath with dates", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": ["//a[contains(@href,'%@DATE(-24)%')]/@href", "//a[@href='/%@YEAR()%%@MONTH(+1)%']/@href"]}, "date_format": "%d.%m"}`},
			page: reply{body: `<a href=/02.02>1</a><a href=/03.02>2</a><a href=/202602>3</a>`}, want: []string{"/02.02", "/202602"}},
		{name: "a broken XPath stops itself", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": ["//[", "//a/@href"]}}`}, page: reply{body: `<a href=/1>1</a>`}, want: []string{"/1"}},
		{name: "limit of pages of a form", properties: []string{"COLLECT_URLS_LIMITS", `{"/LIST/": [["MaxURLSFromPage", 2]]}`}, page: reply{body: many}, change: func(_ *wire.Site, u *wire.URL) { u.MaxURLsFromPage = 1 }, want: []string{"/1", "/2"}},
		{name: "limit of other pages", properties: []string{"COLLECT_URLS_LIMITS", `{"/x/": [["MaxURLSFromPage", 2]]}`}, page: reply{body: many}, change: func(_ *wire.Site, u *wire.URL) { u.MaxURLsFromPage = 1 }, want: []string{"/1"}},
		{name: "URL_LIMITS", properties: []string{"URL_LIMITS", `{"root_url_mask": ["/[123]$"], "offset": 1, "max_items": 1}`}, page: reply{body: many}, want: []string{"/2"}, requests: []string{}},
		{name: "URL_LIMITS by type", properties: []string{"URL_LIMITS", `[{"content_type_mask": ["pdf"]}]`}, page: reply{body: many}, more: map[string]reply{"/2": {kind: "application/pdf"}, "/3": {kind: "application/pdf", code: 404}},
			want: []string{"/2"}, requests: []string{"HEAD /1", "HEAD /2", "HEAD /3", "HEAD /4"}},
		{name: "types of links", properties: []string{"MIME_TYPE_AUTO_DETECT", "2", "ALLOWED_CTYPES", "text/html"}, page: reply{body: many}, more: map[string]reply{"/2": {kind: "application/pdf"}, "/3": {code: 500}},
			want: []string{"/1", "/3", "/4"}, requests: []string{"HEAD /1", "HEAD /2", "HEAD /3", "HEAD /4"}},
		{name: "types of links, mapped", properties: []string{"MIME_TYPE_AUTO_DETECT", "2", "ALLOWED_CTYPES", "text/html", "CONTENT_TYPE_MAP", `{"a/b": "text/html"}`}, page: reply{body: `<a href=/1>1</a>`}, more: map[string]reply{"/1": {kind: "a/b"}}, want: []string{"/1"}},
		{name: "replacements", properties: []string{"URL_NORMALIZE", `{"replace": [{"(\\?|&)SID=\\w+": ""}, {"^/old/(.*)": "/new/\\1"}]}`}, page: reply{body: `<a href="/old/a?sid=5">1</a>`}, want: []string{"/new/a"}},
		{name: "the mask of URL_NORMALIZE wins", properties: []string{"URL_NORMALIZE", `{"mask": 5}`, "URL_NORMALIZE_MASK", "4"}, page: reply{body: `<a href="http://www.x.test/">1</a>`}, want: []string{"http://x.test/"}},
		{name: "resolver by HEAD", properties: []string{"HTTP_REDIRECT_RESOLVER", `{"URL": ["/go"]}`}, page: reply{body: `<a href=/go1>1</a><a href=/2>2</a><a href=/go3>3</a><a href=/go4>4</a>`},
			more: map[string]reply{"/go1": redirectTo("/a"), "/go3": {code: 404}}, want: []string{"/a", "/2", "/go4"}, requests: []string{"HEAD /go1", "HEAD /a", "HEAD /go3", "HEAD /go4"}},
		{name: "resolver by GET, of some codes", properties: []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "SGET", "TYPES": [301]}`}, page: reply{body: `<a href=/go1>1</a><a href=/go2>2</a>`},
			more: map[string]reply{"/go1": redirectTo("/a"), "/go2": {code: 301, header: map[string]string{"Location": "/b"}}}, want: []string{"/go1", "/b"}, requests: []string{"GET /go1", "GET /a", "GET /go2", "GET /b"}},
		{name: "resolver with a limit", properties: []string{"HTTP_REDIRECT_RESOLVER", `{"MAX": 1}`}, page: reply{body: `<a href=/go1>1</a><a href=/go2>2</a>`},
			more: map[string]reply{"/go1": redirectTo("/a"), "/go2": redirectTo("/go1")}, want: []string{"/a"}},
		{name: "filters of the scheme", change: filters(wire.SiteFilter{Pattern: "^https:", Stage: 6, Action: -1, Type: 1, State: 1}), page: reply{body: `<a href=/1>1</a><a href="https://x.test/">2</a>`}, want: []string{"/1"}},
		{name: "only one scheme", change: filters(wire.SiteFilter{Pattern: "^https:", Stage: 6, Action: 1, Type: 1, State: 1}), page: reply{body: `<a href=/1>1</a><a href="https://x.test/">2</a>`}, want: []string{"https://x.test/"}},
		{name: "forms are links", properties: []string{"COLLECT_POST_DATA", "1"}, page: reply{body: `<form action=/f method=POST><input name=q value=v><input name=n></form>`}, want: []string{"/f"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			replies := map[string]reply{"/list/": tt.page}
			maps.Copy(replies, tt.more)
			sc := newScene(t, replies, withHeader(""))
			w := newWorld(t)
			w.job.Now = func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }
			w.keepRobots(t, sc, "User-agent: *\nDisallow: /kept")
			site := w.addSite("s", tt.properties...)
			it := w.item("s", sc.URL+"/list/", func(u *wire.URL) {
				if tt.change != nil {
					tt.change(site, u)
				}
			})
			w.run(batchOf(it))
			want := slices.Clone(tt.want)
			for i := range want {
				if want[i][0] == '/' {
					want[i] = sc.URL + want[i]
				}
			}
			if got := w.links(it); !slices.Equal(got, want) {
				t.Errorf("links %v, want %v", got, want)
			}
			if got := sc.requests()[1:]; tt.requests != nil && !slices.Equal(got, tt.requests) {
				t.Errorf("requests %v, want %v", got, tt.requests)
			}
			limit := errormask.Mask(0)
			if strings.HasPrefix(tt.name, "limit of") {
				limit = errormask.MaxURLsFromPage
			}
			if row := w.row(it); row.ErrorMask != limit || w.SiteBits != 0 {
				t.Errorf("row: %s, site: %s", bitNames(row.ErrorMask), bitNames(w.SiteBits))
			}
		})
	}
}

// TestNewRowProperties: the values that properties set in rows of links.
func TestNewRowProperties(t *testing.T) {
	sc := newScene(t, map[string]reply{"/": {body: `<form action=/f method=post><input name=q value=v><input name=known value=x></form><a href=/news/1>1</a><a href=/2>2</a>`, header: map[string]string{"X-Robots-Tag": "noindex"}}}, withHeader(""))
	w := newWorld(t)
	w.addSite("s", "COLLECT_POST_DATA", "1",
		"URLS_FIELDS_INIT", `{"priority": {"value": "7", "conditions": ["parent.depth == 9", "site.id search ^s$"]}, "maxURLsFromPage": {"value": 3}, "type": {"value": 1, "conditions": ["parent.url is empty"]}}`,
		"RECRAWL_URL_UPDATE", `{"/news/": {"fields": {"Priority": 5, "tcDate": "NOW()"}}}`)
	it := w.item("s", sc.URL+"/")
	w.run(batchOf(it))
	out := w.Results["s "+it.URLID]
	for i, link := range out.Links {
		if u := link.URL; u.Priority != 7 || u.MaxURLsFromPage != 3 || u.Type != 0 || (u.HTTPMethod == "post") != strings.HasSuffix(u.URL, "/f") {
			t.Errorf("row %+v", u)
		}
		want := 0
		if strings.Contains(link.URL.URL, "/news/") {
			want = 2
		}
		if len(link.Update) != want || want > 0 && (link.Update["Priority"] != int64(5) || link.Update["TcDate"] != schema.Expr("NOW()")) {
			t.Errorf("update %d: %v", i, link.Update)
		}
	}
	if len(out.Links) != 3 || out.FormFields["HTTP_POST_FORM_q"] != "v" || len(out.FormFields) != 2 || out.Attributes["robots_noindex"] != "1" {
		t.Errorf("%d links, fields %v, attributes %v", len(out.Links), out.FormFields, out.Attributes)
	}
}

// TestLinksElsewhere: URLs of type 2 and 3 add links to other sites to those sites.
func TestLinksElsewhere(t *testing.T) {
	for kind, choose := range map[int64]int64{wire.TypeRegular: 0, wire.TypeRegularExt: wire.SelectQualify, wire.TypeNewSite: wire.SelectAuto} {
		sc := newScene(t, map[string]reply{"/": {body: `<a href=/1>1</a><a href="http://x.test/2">2</a>`}}, withHeader(""))
		w := newWorld(t)
		w.addSite("s")
		it := w.item("s", sc.URL+"/", func(u *wire.URL) { u.Type = kind })
		w.run(batchOf(it))
		out := w.Results["s "+it.URLID]
		if choose == 0 {
			if len(out.Links) != 2 || len(out.Elsewhere) != 0 {
				t.Errorf("type %d: %v, %v", kind, out.Links, out.Elsewhere)
			}
			continue
		}
		if len(out.Links) != 1 || len(out.Elsewhere) != 1 || out.Elsewhere[0].URL.URL != "http://x.test/2" || out.Select != choose {
			t.Errorf("type %d: %d links, elsewhere %v by %d", kind, len(out.Links), out.Elsewhere, out.Select)
		}
	}
}

// TestContentProperties: the effect of properties and filters on a page.
func TestContentProperties(t *testing.T) {
	filters := func(list ...wire.SiteFilter) func(*wire.Site, *wire.URL) {
		return func(s *wire.Site, _ *wire.URL) {
			for _, f := range list {
				f.Stage, f.State = 1, 1
				s.Filters = append(s.Filters, f)
			}
		}
	}
	const day = "Tue, 03 Feb 2026 01:02:03 GMT"
	dated := map[string]string{"Last-Modified": day, "Date": "Wed, 04 Feb 2026 00:00:00 GMT"}
	tests := []struct {
		name       string
		properties []string
		path       string
		page       reply
		change     func(*wire.Site, *wire.URL)
		bits       errormask.Mask
		kind       string // of the row, "" for text/html
		raw        string // "" for any, "-" for none
		tidy       bool
		status     int64 // 0 for Crawled
		size       int64 // 0 for any
		pDate      string
	}{
		{name: "allowed type", properties: []string{"ALLOWED_CTYPES", "image/*, text/html"}},
		{name: "type that is not allowed", properties: []string{"ALLOWED_CTYPES", "image/*"}, bits: errormask.MIME, raw: "-"},
		{name: "mapped type", properties: []string{"ALLOWED_CTYPES", "text/html", "CONTENT_TYPE_MAP", `{"text/plain": "text/html"}`}, page: reply{kind: "text/plain; charset=utf-8"}},
		{name: "type by content", properties: []string{"MIME_TYPE_AUTO_DETECT", "1"}, page: reply{kind: "application/pdf", body: "<html>x"}},
		{name: "type by content, mapped", properties: []string{"MIME_TYPE_AUTO_DETECT", "1", "CONTENT_TYPE_MAP", `{"text/html": "a/b"}`}, page: reply{kind: "application/pdf", body: "<html>x"}, kind: "a/b"},
		{name: "type as declared", page: reply{kind: "application/pdf", body: "<html>x"}, kind: "application/pdf"},
		{name: "rule of listed types", properties: []string{"MIME_TYPE_AUTO_DETECT", `[{"mode": 2, "content_types": ["application/pdf"]}]`}, page: reply{kind: "application/pdf", body: "<html>x"}},
		{name: "rule of other types", properties: []string{"MIME_TYPE_AUTO_DETECT", `{"mode": 3, "content_types": ["application/pdf"]}`}, page: reply{kind: "application/pdf", body: "<html>x"}, kind: "application/pdf"},
		{name: "rule of unknown types", properties: []string{"MIME_TYPE_AUTO_DETECT", `[{"mode": 1}]`}, page: reply{kind: "application/octet-stream", body: "<html>x"}},
		{name: "rule of URLs", properties: []string{"MIME_TYPE_AUTO_DETECT", `[{"url_expression": "\\.pdf$"}]`}, path: "/a.html", page: reply{kind: "application/pdf", body: "<html>x"}, kind: "application/pdf"},
		{name: "rule of roots", properties: []string{"MIME_TYPE_AUTO_DETECT", `[{"url_parent": 0, "url_types": [0, 1]}]`}, page: reply{kind: "application/pdf", body: "<html>x"}},
		{name: "rule of others", properties: []string{"MIME_TYPE_AUTO_DETECT", `[{"url_parent": 1}]`}, page: reply{kind: "application/pdf", body: "<html>x"}, kind: "application/pdf"},
		{name: "stored type", properties: []string{"MIME_TYPE_STORE_ON_DISK", "text/*"}, raw: "<p>a page"},
		{name: "type that is not stored", properties: []string{"MIME_TYPE_STORE_ON_DISK", "image/png"}, bits: errormask.RawNotStored, raw: "-"},
		{name: "all types are stored", properties: []string{"MIME_TYPE_STORE_ON_DISK", "*"}, raw: "<p>a page"},
		{name: "replacements in turn", properties: []string{"REPLACE", `[{"WHERE": "RAW", "WHAT": "one", "WITH": "two"}, {"WHAT": "(t)wo", "WITH": "\\1hree"}]`}, page: reply{body: "one"}, raw: "three", size: 5},
		{name: "replacement on condition", properties: []string{"REPLACE", `[{"WHAT": "a", "WITH": "A", "CONDITION": "1"}, {"WHAT": "b", "WITH": "B", "CONDITION": "0"}]`}, page: reply{body: "ab"}, raw: "Ab"},
		{name: "replacement in XML", properties: []string{"REPLACE", `{"WHAT": "one", "WITH": "two"}`}, page: reply{kind: "application/xml", body: "<a>one</a>"}, kind: "application/xml", raw: "<a>two</a>"},
		{name: "no replacement in images", properties: []string{"REPLACE", `{"WHAT": "one", "WITH": "two"}`}, page: reply{kind: "image/png", body: "one"}, kind: "image/png", raw: "one"},
		{name: "repaired", properties: []string{"HTML_RECOVER", "1"}, page: reply{body: "<p>a"}, raw: "<p>a", tidy: true},
		{name: "not repaired", properties: []string{"HTML_RECOVER", "0"}, page: reply{body: "<p>a"}},
		{name: "good pages are not repaired", properties: []string{"HTML_RECOVER", "2"}, page: reply{body: "<!DOCTYPE html><html><head><title>a</title></head><body><p>a</p></body></html>"}},
		{name: "bad pages are repaired", properties: []string{"HTML_RECOVER", "2"}, page: reply{body: "<p><script>a</p>"}, tidy: true},
		{name: "date, the last source wins", path: "/2024/05/17/", page: reply{header: dated}, pDate: "2026-02-03 01:02:03"},
		{name: "date of the URL", properties: []string{"PDATE_SOURCES_MASK", "1"}, path: "/2024/05/17/", page: reply{header: dated}, pDate: "2024-05-17 00:00:00"},
		{name: "date of the feed", properties: []string{"PDATE_SOURCES_MASK", "2"}, change: func(_ *wire.Site, u *wire.URL) { u.PDate = "2020-01-02 03:04:05" }, pDate: "2020-01-02 03:04:05"},
		{name: "date of the answer", properties: []string{"PDATE_SOURCES_MASK", "4"}, page: reply{header: dated}, pDate: "2026-02-04 00:00:00"},
		{name: "date, an earlier one stays", properties: []string{"PDATE_SOURCES_MASK_OVERWRITE", "12"}, path: "/2024/05/17/", page: reply{header: dated}, pDate: "2024-05-17 00:00:00"},
		{name: "status of a code", properties: []string{"HTTP_CODE_STATUS_UPDATE", `{"202": "1"}`}, page: reply{code: 202}, status: wire.StatusNew},
		{name: "status of another code", properties: []string{"HTTP_CODE_STATUS_UPDATE", `{"202": 1}`}},
		{name: "content is wanted", change: filters(wire.SiteFilter{Pattern: "a p", Action: 1, Type: 1})},
		{name: "content is not there", change: filters(wire.SiteFilter{Pattern: "a q", Action: 1, Type: 1, Subject: "RAW_CONTENT"}), bits: errormask.FiltersBreak, raw: "-"},
		{name: "content is not wanted", change: filters(wire.SiteFilter{Pattern: "a p", Action: -1, Type: 1}), bits: errormask.FiltersBreak, raw: "-"},
		{name: "headers are wanted", page: reply{header: map[string]string{"X-A": "yes"}}, change: filters(wire.SiteFilter{Pattern: "(?i)x-a: yes", Action: 1, Type: 1, Subject: "HEADERS_ALL"})},
		{name: "headers are not there", change: filters(wire.SiteFilter{Pattern: "(?i)x-a: yes", Action: 1, Type: 1, Subject: "HEADERS_ALL"}), bits: errormask.FiltersBreak, raw: "-"},
		{name: "young enough", page: reply{header: dated}, change: filters(wire.SiteFilter{Pattern: "%PDATE% > '2026-02-01 00:00:00'", Action: 1, Type: 1, OpCode: 7, Subject: "LAST_MODIFIED"})},
		{name: "young enough, macro in quotes", page: reply{header: dated}, change: filters(wire.SiteFilter{Pattern: "'%PDATE%' > '2026-02-01 00:00:00' AND \"%PDATE%\" > '2026-02-01'", Action: 1, Type: 1, OpCode: 7, Subject: "LAST_MODIFIED"})},
		{name: "too old, macro in quotes", page: reply{header: dated}, change: filters(wire.SiteFilter{Pattern: "'%PDATE%' > '2026-03-01 00:00:00'", Action: 1, Type: 1, OpCode: 7, Subject: "LAST_MODIFIED"}), bits: errormask.FiltersBreak, raw: "-"},
		{name: "too old", page: reply{header: dated}, change: filters(wire.SiteFilter{Pattern: "%PDATE% > '2026-03-01 00:00:00'", Action: 1, Type: 1, OpCode: 7, Subject: "LAST_MODIFIED"}), bits: errormask.FiltersBreak, raw: "-"},
		{name: "filters of other stages do not apply", change: func(s *wire.Site, _ *wire.URL) {
			s.Filters = append(s.Filters, wire.SiteFilter{Pattern: "a p", Stage: 2, Action: -1, Type: 1, State: 1})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sc := newScene(t, map[string]reply{"": tt.page}, withHeader(""))
			w := newWorld(t)
			site := w.addSite("s", tt.properties...)
			it := w.item("s", sc.URL+"/"+strings.TrimPrefix(tt.path, "/"), func(u *wire.URL) {
				if tt.change != nil {
					tt.change(site, u)
				}
			})
			answer := w.run(batchOf(it))
			row, raw := w.row(it), w.file(it, wire.ContentRaw)
			if row.ErrorMask != tt.bits || w.SiteBits != 0 {
				t.Errorf("row: %s, site: %s", bitNames(row.ErrorMask), bitNames(w.SiteBits))
			}
			if tt.kind == "" {
				tt.kind = "text/html"
			}
			if tt.status == 0 {
				tt.status = wire.StatusCrawled
			}
			if row.ContentType != tt.kind || row.Status != tt.status || tt.size > 0 && row.Size != tt.size {
				t.Errorf("type %q, status %d, size %d", row.ContentType, row.Status, row.Size)
			}
			switch tt.raw {
			case "":
			case "-":
				if raw != "" {
					t.Errorf("stored %q", raw)
				}
			default:
				if raw != tt.raw {
					t.Errorf("stored %q, want %q", raw, tt.raw)
				}
			}
			if tidy := w.file(it, wire.ContentTidy); (tidy != "") != tt.tidy {
				t.Errorf("tidy %q", tidy)
			}
			if tt.pDate != "" && string(answer.Items[0].URL.PDate) != tt.pDate {
				t.Errorf("date %s", answer.Items[0].URL.PDate)
			}
		})
	}
}

// TestReplaceThatFails: an invalid REPLACE marks the site, and the page is stored without it.
func TestReplaceThatFails(t *testing.T) {
	sc := newScene(t, map[string]reply{"/": {body: strings.Repeat("a", 3000)}}, withHeader(""))
	w := newWorld(t)
	w.addSite("s", "REPLACE", `[{"WHAT": "a", "WITH": "`+strings.Repeat("b", 5000)+`"}, {"WHAT": "^a", "WITH": "c"}]`)
	it := w.item("s", sc.URL+"/")
	w.run(batchOf(it))
	if raw := w.file(it, wire.ContentRaw); raw != "c"+strings.Repeat("a", 2999) || w.SiteBits != errormask.Initialization || w.row(it).ErrorMask != 0 {
		t.Errorf("%d bytes, site %s, row %s", len(raw), bitNames(w.SiteBits), bitNames(w.row(it).ErrorMask))
	}
}

// TestStoredFiles: each file of an exchange can be turned off.
func TestStoredFiles(t *testing.T) {
	kinds := map[string]int{"STORE_HTTP_HEADERS": wire.ContentHeaders, "STORE_HTTP_REQUEST": wire.ContentRequests, "STORE_COOKIES": wire.ContentCookies}
	for off := range kinds {
		sc := newScene(t, map[string]reply{"/": {header: map[string]string{"Set-Cookie": "a=1"}}}, withHeader(""))
		w := newWorld(t)
		w.addSite("s", off, "0")
		it := w.item("s", sc.URL+"/")
		w.run(batchOf(it))
		for name, kind := range kinds {
			if stored := w.file(it, kind) != ""; stored == (name == off) {
				t.Errorf("%s is 0, %s stored: %v", off, name, stored)
			}
		}
	}
}

// TestStoreAsReceived: the bytes of a text page are stored as they came, and links are found as ever.
func TestStoreAsReceived(t *testing.T) {
	const page = "\xef\xbb\xbf<html>\xff\r\n<a href='/next'>n</a>"
	for value, want := range map[string]string{"": strings.TrimPrefix(strings.ReplaceAll(page, "\xff", "\ufffd"), "\xef\xbb\xbf"), "1": page} {
		sc := newScene(t, map[string]reply{"/": {body: page}, "/next": {body: "x"}}, withHeader(""))
		w := newWorld(t)
		w.addSite("s", "STORE_AS_RECEIVED", value)
		it := w.item("s", sc.URL+"/")
		w.run(batchOf(it))
		if raw := w.file(it, wire.ContentRaw); raw != want || w.row(it).LinksI != 1 {
			t.Errorf("STORE_AS_RECEIVED %q: %q, %d links", value, raw, w.row(it).LinksI)
		}
	}
}

// TestSitemapProperty: the sitemaps that become rows with a root page.
func TestSitemapProperty(t *testing.T) {
	for value, want := range map[string][]string{
		"":                         {"{own}/named.xml"},
		"1":                        {"{own}/named.xml"},
		"0":                        nil,
		"{own}/a.xml, {own}/b.xml": {"{own}/a.xml", "{own}/b.xml"},
		`["{own}/a.xml"]`:          {"{own}/a.xml"},
	} {
		sc := newScene(t, map[string]reply{"/robots.txt": {body: "Sitemap: {own}/named.xml\nSitemap: http://elsewhere.test/no.xml\n", kind: "text/plain"}}, withHeader(""))
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "1", "SITEMAPS", sc.fill(value))
		root, inner := w.item("s", sc.URL+"/"), w.item("s", sc.URL+"/inner", func(u *wire.URL) { u.ParentMd5 = wire.Md5("x") })
		w.run(batchOf(root, inner))
		for i := range want {
			want[i] = sc.fill(want[i])
		}
		if got := w.links(root); !slices.Equal(got, want) || len(w.links(inner)) > 0 {
			t.Errorf("%q: %v, want %v; of an inner page %v", value, got, want, w.links(inner))
		}
	}
}

// TestRulesForTheDataOwner: the rules that the repository applies arrive with the page.
func TestRulesForTheDataOwner(t *testing.T) {
	sc := newScene(t, nil, withHeader(""))
	w := newWorld(t)
	w.addSite("s", "RECRAWL_NO_ROOT_URLS", "0", "RECRAWL_URL_AGE_EXPRESSION", "1", "RECRAWL_URL_UPDATE_STATUS", "-1", "RECRAWL_URL_UPDATE_TCDATE", "",
		"RECRAWL_URL_UPDATE_UDATE", "2026-01-01", "RECRAWL_URL_UPDATE_CDATE", "NOW()", "AUTO_REMOVE_RESOURCES", "5", "AUTO_REMOVE_WHERE", "Status=7",
		"AUTO_REMOVE_ORDER", "TcDate", "AUTO_REMOVE_WHERE_ACTIVE", "Status=1", "SQL_EXPRESSION_FIELDS_UPDATE_CRAWLER", `[{"URL": {"Priority": {"%DEPTH%": "0"}}}, {"Moon": {}}]`)
	it := w.item("s", sc.URL+"/")
	w.run(batchOf(it))
	out := w.Results["s "+it.URLID]
	want := wire.LinkRules{KeepKnown: true, Age: "1", Status: wire.KeepStatus, UDate: "2026-01-01", CDate: "NOW()", RemoveMost: 5, RemoveWhere: "Status=7", RemoveBy: "TcDate", Active: "Status=1"}
	if out.Rules == nil || *out.Rules != want {
		t.Errorf("rules %+v", out.Rules)
	}
	// The valid part of the expressions applies.
	if len(out.Expressions) != 1 || out.Expressions[0] != (wire.FieldExpression{Object: "URL", Column: "Priority", SQL: "%DEPTH%"}) || w.SiteBits != errormask.Initialization {
		t.Errorf("expressions %+v, site %s", out.Expressions, bitNames(w.SiteBits))
	}
}
