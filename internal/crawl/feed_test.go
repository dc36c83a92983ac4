package crawl_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// feedServer serves a feed at /feed and a small page elsewhere. An entry is the path of its link
// and its date, separated by a space.
func feedServer(t *testing.T, entries ...string) *server {
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/feed" {
			page(w, `<a href="/from-a-page">x</a>`)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>t</title><link>http://`+r.Host+`/</link>`)
		for _, e := range entries {
			path, date, _ := strings.Cut(e, " ")
			fmt.Fprintf(w, "<item><title>about %s</title><link>http://%s%s</link><pubDate>%s</pubDate></item>", path, r.Host, path, date)
		}
		fmt.Fprint(w, "</channel></rss>")
	})
}

const (
	monday  = "Mon, 05 Jan 2026 10:00:00 GMT"
	tuesday = "Tue, 06 Jan 2026 12:30:00 +0200"
)

// linkPaths returns the paths of the links of an item's page.
func (w *world) linkPaths(it wire.BatchItem) []string {
	var list []string
	for _, l := range w.links(it) {
		list = append(list, l[strings.Index(l[8:], "/")+8:])
	}
	return list
}

// TestFeedParser: entries become crawled rows with the entry as their content. The feed itself is
// not stored.
func TestFeedParser(t *testing.T) {
	s, w := feedServer(t, "/1 "+monday, "/2 "+tuesday, "/3", "/1"), newWorld(t)
	w.addSite("s", "PROCESSOR_NAME", "FEED_PARSER")
	root := w.item("s", s.URL+"/feed")
	b := batchOf(root)
	b.MaxIterations = 3
	answer := w.run(b)
	if got := left(answer); !slices.Equal(got, []string{"/feed"}) {
		t.Errorf("the answer has %v", got)
	}
	if row := w.row(root); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
		t.Errorf("the feed's row %+v", row)
	}
	if files := w.Files["s "+root.URLID]; len(files) > 0 {
		t.Errorf("the feed itself is stored: %d files", len(files))
	}
	if got := s.paths(); !slices.Equal(got, []string{"/feed"}) {
		t.Errorf("visited %v", got)
	}
	dates := map[string]string{"/1": "2026-01-05 10:00:00", "/2": "2026-01-06 10:30:00", "/3": ""}
	found := w.Results["s "+root.URLID].Links
	if len(found) != 3 {
		t.Fatalf("%d entries: %v", len(found), w.links(root))
	}
	for _, l := range found {
		path := strings.TrimPrefix(l.URL.URL, s.URL)
		u := l.URL
		if u.Status != wire.StatusCrawled || u.Crawled != 1 || u.Type != wire.TypeFetched || u.HTTPCode != 200 || u.ProcessingDelay != 0 ||
			u.ParentMd5 != root.URLID || u.Depth != 1 || string(u.PDate) != dates[path] || u.URLMd5 != wire.Md5(u.URL) || u.ContentType == "" {
			t.Errorf("%s: row %+v", path, u)
		}
		if len(l.Files) != 1 || l.Files[0].Type != wire.ContentRaw || l.At.IsZero() {
			t.Fatalf("%s: files %+v", path, l.Files)
		}
		var doc struct {
			Entry   map[string]any
			URLMd5  string
			PubDate *string
			Feed    string `json:"parent_rss_feed"`
			FeedMd5 string `json:"parent_rss_feed_urlMd5"`
		}
		if err := json.Unmarshal(l.Files[0].Data, &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Entry) == 0 || doc.URLMd5 != u.URLMd5 || doc.Feed != s.URL+"/feed" || doc.FeedMd5 != root.URLID ||
			(doc.PubDate == nil) != (dates[path] == "") || doc.PubDate != nil && *doc.PubDate != dates[path] {
			t.Errorf("%s: document %s", path, l.Files[0].Data)
		}
		if u.Size != int64(len(l.Files[0].Data)) {
			t.Errorf("%s: size %d of %d bytes", path, u.Size, len(l.Files[0].Data))
		}
	}
}

// TestFeedEntriesAreLinks: the rules of links apply to entries.
func TestFeedEntriesAreLinks(t *testing.T) {
	sql := func(action int64, pattern string) func(*wire.Site) {
		return func(s *wire.Site) {
			s.Filters = append(s.Filters, wire.SiteFilter{Pattern: pattern, OpCode: 7, Stage: 0, Action: action, State: 1})
		}
	}
	tests := []struct {
		name   string
		change func(*wire.Site)
		item   func(*wire.URL)
		want   []string
	}{
		{"all", func(*wire.Site) {}, nil, []string{"/1", "/2", "/3"}},
		{"include by date", sql(1, "%PDATE% > '2026-01-05 23:00:00'"), nil, []string{"/2", "/3"}},
		{"exclude by date", sql(-1, "%PDATE% > '2026-01-05 23:00:00'"), nil, []string{"/1", "/3"}},
		{"exclude by URL", func(s *wire.Site) {
			s.Filters = append(s.Filters, wire.SiteFilter{Pattern: "/2$", Stage: 0, Action: -1, State: 1})
		}, nil, []string{"/1", "/3"}},
		{"the site's MaxURLsFromPage", func(s *wire.Site) { s.MaxURLsFromPage = 2 }, nil, []string{"/1", "/2"}},
		{"the URL's own", func(s *wire.Site) { s.MaxURLsFromPage = 2 }, func(u *wire.URL) { u.MaxURLsFromPage = 1 }, []string{"/1"}},
		{"COLLECT_URLS_LIMITS", func(s *wire.Site) {
			s.Properties = append(s.Properties, wire.SiteProperty{Name: "COLLECT_URLS_LIMITS", Value: `{"/FEED": [["MaxURLSFromPage", 1]]}`})
		}, nil, []string{"/1"}},
	}
	for _, processor := range []string{"FEED_PARSER", "RSS"} {
		for _, tt := range tests {
			t.Run(processor+"/"+tt.name, func(t *testing.T) {
				s, w := feedServer(t, "/1 "+monday, "/2 "+tuesday, "/3"), newWorld(t)
				tt.change(w.addSite("s", "PROCESSOR_NAME", processor))
				if tt.item == nil {
					tt.item = func(*wire.URL) {}
				}
				root := w.item("s", s.URL+"/feed", tt.item)
				w.run(batchOf(root))
				if got := w.linkPaths(root); !slices.Equal(got, tt.want) {
					t.Errorf("entries %v, want %v", got, tt.want)
				}
			})
		}
	}
}

// realTime makes a real-time batch.
func realTime(b wire.Batch) wire.Batch {
	b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
	return b
}

// TestFeedParserInRealTime: one item for each entry replaces the feed, within maxItems
// (docs/spec/crawling.md 1.6, F36).
func TestFeedParserInRealTime(t *testing.T) {
	tests := []struct {
		name     string
		maxItems int64
		entries  []string
		items    []string
		want     []string
		cut      bool
	}{
		{"no limit", 0, []string{"/1", "/2", "/3"}, []string{"/feed"}, []string{"/1", "/2", "/3"}, false},
		{"room for all", 3, []string{"/1", "/2", "/3"}, []string{"/feed"}, []string{"/1", "/2", "/3"}, false},
		{"room for two", 2, []string{"/1", "/2", "/3"}, []string{"/feed"}, []string{"/1", "/2"}, true},
		{"a page takes one place", 3, []string{"/1", "/2", "/3"}, []string{"/feed", "/page"}, []string{"/1", "/2", "/page"}, true},
		{"no room but its own", 2, []string{"/1", "/2"}, []string{"/page", "/feed"}, []string{"/page", "/1"}, true},
		{"no entries", 0, nil, []string{"/feed"}, []string{"/feed"}, false},
		{"an entry is in the batch", 0, []string{"/1", "/2"}, []string{"/2", "/feed"}, []string{"/2", "/1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := feedServer(t, tt.entries...), newWorld(t)
			w.addSite("s", "PROCESSOR_NAME", "FEED_PARSER")
			var items []wire.BatchItem
			for _, path := range tt.items {
				items = append(items, w.item("s", s.URL+path))
			}
			b := realTime(batchOf(items...))
			b.MaxItems = tt.maxItems
			answer := w.run(b)
			if got := left(answer); !slices.Equal(got, tt.want) {
				t.Errorf("the answer has %v, want %v", got, tt.want)
			}
			last := answer.Items[len(answer.Items)-1]
			if cut := last.URL.ErrorMask&errormask.MaxItems != 0; cut != tt.cut || answer.ErrorMask&errormask.MaxItems != 0 != tt.cut {
				t.Errorf("bit 42: %v, of the batch %s", cut, bitNames(answer.ErrorMask))
			}
			for _, it := range answer.Items {
				if it.URL.Type == wire.TypeFetched && (len(w.Files["s "+it.URLID]) != 1 || it.URL.Status != wire.StatusCrawled || it.URLID != it.URL.URLMd5 || it.SiteID != "s") {
					t.Errorf("entry %+v", it.URL)
				}
			}
			if len(w.Saves) != 0 {
				t.Errorf("rows are written: %v", w.Saves)
			}
		})
	}
}

// TestRSS: entries become rows that are crawled, in the next pass if there is one, at any depth.
// Known entries are not crawled again.
func TestRSS(t *testing.T) {
	s, w := feedServer(t, "/1 "+monday, "/known", "/2"), newWorld(t)
	w.addSite("s", "PROCESSOR_NAME", "RSS")
	root := w.item("s", s.URL+"/feed")
	known := w.item("s", s.URL+"/known", func(u *wire.URL) { u.Status, u.BatchID, u.Crawled = wire.StatusCrawled, 3, 1 })
	answer := w.run(batchOf(root))
	if row := w.row(known); row.Crawled != 1 || row.BatchID != 3 {
		t.Errorf("with one pass: the known entry %+v", row)
	}
	if got := s.paths(); !slices.Equal(got, []string{"/feed"}) {
		t.Errorf("with one pass: visited %v", got)
	}
	one := w.URLs["s "+wire.Md5(s.URL+"/1")]
	if one.Status != wire.StatusNew || one.Crawled != 0 || one.Type != wire.TypeSingle || string(one.PDate) != "2026-01-05 10:00:00" {
		t.Errorf("row %+v", one)
	}
	if w.file(root, wire.ContentRaw) == "" || len(answer.Items) != 1 || answer.ErrorMask != 0 {
		t.Errorf("the feed: %d items, %s", len(answer.Items), bitNames(answer.ErrorMask))
	}

	w = newWorld(t)
	w.addSite("s", "PROCESSOR_NAME", "RSS")
	root = w.item("s", s.URL+"/feed")
	known = w.item("s", s.URL+"/known", func(u *wire.URL) { u.Status, u.BatchID, u.Crawled = wire.StatusCrawled, 3, 1 })
	b := batchOf(root)
	b.MaxIterations = 2
	answer = w.run(b)
	if got := left(answer); !slices.Equal(got, []string{"/feed", "/1", "/2"}) {
		t.Errorf("with two passes: the answer has %v", got)
	}
	if got := s.paths()[1:]; !slices.Equal(got, []string{"/feed", "/1", "/2"}) {
		t.Errorf("with two passes: visited %v", got)
	}
	if row := w.row(known); row.Crawled != 1 || row.BatchID != 3 {
		t.Errorf("the known entry %+v", row)
	}
	one = w.URLs["s "+wire.Md5(s.URL+"/1")]
	if one.Status != wire.StatusCrawled || one.ErrorMask != 0 || one.Crawled != 1 {
		t.Errorf("the page of an entry: %s, %+v", bitNames(one.ErrorMask), one)
	}
	head := w.file(wire.BatchItem{SiteID: "s", URLID: one.URLMd5}, wire.ContentHeaders)
	if !strings.Contains(head, "\r\nX-feed_url: "+s.URL+"/feed\r\nX-pubdateRssFeed: 2026-01-05 10:00:00\r\n") {
		t.Errorf("headers of an entry's page: %q", head)
	}
	if _, found := w.URLs["s "+wire.Md5(s.URL+"/from-a-page")]; found {
		t.Error("the links of an entry's page are collected")
	}
}

// TestRSSInRealTime: the entries replace the feed; a feed without entries stays, with bit 45.
func TestRSSInRealTime(t *testing.T) {
	tests := []struct {
		name    string
		passes  int64
		entries []string
		want    []string
		bits    errormask.Mask
	}{
		{"two passes", 2, []string{"/1", "/2"}, []string{"/1", "/2"}, 0},
		{"one pass", 1, []string{"/1", "/2"}, []string{"/feed"}, errormask.RSSEmpty},
		{"no entries", 2, nil, []string{"/feed"}, errormask.RSSEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := feedServer(t, tt.entries...), newWorld(t)
			w.addSite("s", "PROCESSOR_NAME", "RSS")
			b := realTime(batchOf(w.item("s", s.URL+"/feed")))
			b.MaxIterations = tt.passes
			answer := w.run(b)
			if got := left(answer); !slices.Equal(got, tt.want) || answer.ErrorMask != tt.bits || answer.Items[0].URL.ErrorMask != tt.bits {
				t.Errorf("the answer has %v, %s", got, bitNames(answer.ErrorMask))
			}
		})
	}
}

// TestEmptyFeeds: the bits of a feed without entries.
func TestEmptyFeeds(t *testing.T) {
	const empty = `<rss version="2.0"><channel><title>t</title></channel></rss>`
	tests := []struct {
		name, kind, body string
		want             errormask.Mask
	}{
		{"an empty feed", "application/rss+xml", empty, errormask.RSSEmpty},
		{"an empty feed that says to be HTML", "text/html", empty, errormask.RSSEmpty | errormask.UnsupportedType},
		{"a page", "text/html", `<html><body><a href="/x">x</a></body></html>`, errormask.RSSEmpty | errormask.UnsupportedType},
		{"a text", "text/plain", "x", errormask.RSSEmpty},
	}
	for _, processor := range []string{"FEED_PARSER", "RSS"} {
		for _, tt := range tests {
			t.Run(processor+"/"+tt.name, func(t *testing.T) {
				s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tt.kind)
					fmt.Fprint(w, tt.body)
				})
				w := newWorld(t)
				w.addSite("s", "PROCESSOR_NAME", processor)
				root := w.item("s", s.URL+"/feed")
				answer := w.run(batchOf(root))
				if row := w.row(root); row.ErrorMask != tt.want || row.Status != wire.StatusCrawled || answer.ErrorMask != tt.want {
					t.Errorf("%s, status %d", bitNames(row.ErrorMask), row.Status)
				}
				if got := w.links(root); len(got) > 0 {
					t.Errorf("links %v", got)
				}
			})
		}
	}
}

// TestFeedModes: forms of an entry's document, and the feed itself as first entry.
func TestFeedModes(t *testing.T) {
	tests := []struct {
		name       string
		properties []string
		links      []string
		entry      string // part of the last document
	}{
		{"as written", nil, []string{"/1"}, `"pubDate"`},
		{"RSS_FEEDPARSER_MODE", []string{"RSS_FEEDPARSER_MODE", "1"}, []string{"/1"}, `"published"`},
		{"RSS_FEED_ZERO_ITEM", []string{"RSS_FEED_ZERO_ITEM", "1"}, []string{"/", "/1"}, `"pubDate"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := feedServer(t, "/1 "+monday), newWorld(t)
			w.addSite("s", append([]string{"PROCESSOR_NAME", "FEED_PARSER"}, tt.properties...)...)
			root := w.item("s", s.URL+"/feed")
			w.run(batchOf(root))
			if got := w.linkPaths(root); !slices.Equal(got, tt.links) {
				t.Fatalf("entries %v, want %v", got, tt.links)
			}
			found := w.Results["s "+root.URLID].Links
			if doc := string(found[len(found)-1].Files[0].Data); !strings.Contains(doc, tt.entry) {
				t.Errorf("document %s", doc)
			}
		})
	}
}

// TestFeedsOfOtherSites: without PROCESSOR_NAME, links of a feed are ordinary links.
func TestFeedsOfOtherSites(t *testing.T) {
	s, w := feedServer(t, "/1 "+monday, "/2"), newWorld(t)
	w.addSite("s")
	root := w.item("s", s.URL+"/feed")
	w.run(batchOf(root))
	if got := w.linkPaths(root); !slices.Contains(got, "/1") || !slices.Contains(got, "/2") {
		t.Errorf("links %v", got)
	}
	for _, l := range w.Results["s "+root.URLID].Links {
		if l.URL.Status != wire.StatusNew || l.URL.Type != wire.TypeRegular || len(l.Files) > 0 {
			t.Errorf("row %+v", l.URL)
		}
	}
	if w.file(root, wire.ContentRaw) == "" {
		t.Error("the feed is not stored")
	}
}

// TestFetchedEntryIsNotParsed: a URL of type 4 is a page, even if it is a feed.
func TestFetchedEntryIsNotParsed(t *testing.T) {
	for _, processor := range []string{"FEED_PARSER", "RSS"} {
		s, w := feedServer(t, "/1"), newWorld(t)
		w.addSite("s", "PROCESSOR_NAME", processor)
		it := w.item("s", s.URL+"/feed", func(u *wire.URL) { u.Type = wire.TypeFetched })
		w.run(batchOf(it))
		if got := w.links(it); len(got) > 0 || w.row(it).ErrorMask != 0 {
			t.Errorf("%s: links %v, %s", processor, got, bitNames(w.row(it).ErrorMask))
		}
	}
}

// TestResolvedEntries: an entry whose link redirects remains an entry.
func TestResolvedEntries(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/feed":
			w.Header().Set("Content-Type", "application/rss+xml")
			fmt.Fprintf(w, `<rss version="2.0"><channel><item><link>http://%s/short</link></item></channel></rss>`, r.Host)
		case "/short":
			http.Redirect(w, r, "/long", http.StatusMovedPermanently)
		default:
			page(w, "x")
		}
	})
	w := newWorld(t)
	w.addSite("s", "PROCESSOR_NAME", "FEED_PARSER", "HTTP_REDIRECT_RESOLVER", `{"METHOD":"HEAD"}`)
	root := w.item("s", s.URL+"/feed")
	w.run(batchOf(root))
	found := w.Results["s "+root.URLID].Links
	if len(found) != 1 || found[0].URL.URL != s.URL+"/long" || found[0].URL.Type != wire.TypeFetched || len(found[0].Files) != 1 {
		t.Errorf("%+v", found)
	}
}
