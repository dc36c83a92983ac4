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

// tree answers each path with links to three paths below it.
func tree(t *testing.T) *server {
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(r.URL.Path, "/")
		page(w, fmt.Sprintf(`<a href="%s/a">a</a><a href="%s/b">b</a><a href="%s/c">c</a>`, path, path, path))
	})
}

func TestPasses(t *testing.T) {
	tests := []struct {
		name       string
		iterations int64
		maxItems   int64
		depth      int64
		kind, mode int64
		known      string // a link that has a row
		want       string // paths of the answer, in order
		rows       int    // of the site, after the batch
		cut        bool
	}{
		{"one pass", 1, 0, 1, wire.CrawlNormal, 3, "", "/", 4, false},
		{"no depth", 5, 0, 0, wire.CrawlNormal, 3, "", "/", 4, false},
		{"links of links are not collected", 5, 0, 1, wire.CrawlNormal, 3, "", "/ /a /b /c", 4, false},
		{"a known link is not crawled again", 2, 0, 1, wire.CrawlNormal, 3, "/b", "/ /a /c", 4, false},
		{"as many as maxItems", 2, 3, 1, wire.CrawlNormal, 3, "", "/ /a /b", 4, true},
		{"in real time nothing is stored", 2, 0, 1, wire.CrawlRealTime, 1, "", "/ /a /b /c", 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := tree(t), newWorld(t)
			w.addSite("s")
			it := w.item("s", s.URL+"/")
			it.Depth = tt.depth
			if tt.known != "" {
				u := wire.NewURL("s", s.URL+tt.known)
				u.Status = wire.StatusProcessed
				w.URLs["s "+u.URLMd5] = u
			}
			b := batchOf(it)
			b.CrawlerType, b.DBMode, b.MaxIterations, b.MaxItems = tt.kind, tt.mode, tt.iterations, tt.maxItems
			answer := w.run(b)
			if got := strings.Join(left(answer), " "); got != tt.want || len(w.URLs) != tt.rows {
				t.Errorf("answer %s, want %s; %d rows, want %d", got, tt.want, len(w.URLs), tt.rows)
			}
			if answer.ErrorMask&errormask.MaxItems != 0 != tt.cut || answer.Items[len(answer.Items)-1].URL.ErrorMask&errormask.MaxItems != 0 != tt.cut {
				t.Errorf("bits of the answer: %v", answer.ErrorMask.Names())
			}
			if paths := s.paths(); len(paths) != len(answer.Items) || len(slices.Compact(slices.Sorted(slices.Values(paths)))) != len(paths) {
				t.Errorf("requests %v", paths)
			}
		})
	}
}

// Every page contains the same links: each becomes an item once.
func TestFurtherItemsOnce(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { page(w, `<a href="/x">x</a><a href="/y">y</a>`) })
	w := newWorld(t)
	w.addSite("s")
	b := batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"), w.item("s", s.URL+"/x"))
	for i := range b.Items {
		b.Items[i].Depth = 1
	}
	b.MaxIterations = 3
	if got := strings.Join(left(w.run(b)), " "); got != "/1 /2 /x /y" {
		t.Error(got)
	}
}

func TestGivenContent(t *testing.T) {
	for name, data := range map[string]string{
		"plain":  `<html><body><a href=\"/next\">n</a></body></html>`,
		"base64": "PGh0bWw+PGJvZHk+PGEgaHJlZj0iL25leHQiPm48L2E+PC9ib2R5PjwvaHRtbD4=",
	} {
		t.Run(name, func(t *testing.T) {
			s, w := tree(t), newWorld(t)
			w.addSite("s")
			it := w.item("s", s.URL+"/given")
			it.URL.URLPut = []byte(`{"siteId":null,"urlMd5":null,"criterions":null,"contentType":0,"putDict":{"id":null,"data":"` + data + `","cDate":null}}`)
			w.run(batchOf(it))
			row := w.row(it)
			if row.ErrorMask != 0 || row.Status != wire.StatusCrawled || row.HTTPCode != 200 || row.ContentType != "text/html" || len(s.paths()) != 0 {
				t.Errorf("row %+v, requests %v", row, s.paths())
			}
			if links := w.links(it); len(links) != 1 || links[0] != s.URL+"/next" {
				t.Errorf("links %v", links)
			}
			if text := w.file(it, wire.ContentRaw); !strings.HasPrefix(text, "<html><body>") {
				t.Errorf("stored %q", text)
			}
		})
	}
	t.Run("broken", func(t *testing.T) {
		s, w := tree(t), newWorld(t)
		w.addSite("s")
		it := w.item("s", s.URL+"/given")
		it.URL.URLPut = []byte(`{"putDict":{}}`)
		w.run(batchOf(it))
		if row := w.row(it); row.State != wire.URLError || row.ErrorMask != errormask.GeneralCrawler || len(s.paths()) != 0 {
			t.Errorf("%v, requests %v", row.ErrorMask.Names(), s.paths())
		}
	})
}

// A stored result answers a client without a request, unless a recrawl is requested.
func TestCachedInRealTime(t *testing.T) {
	for _, recrawl := range []string{"", "0", "1"} {
		s, w := tree(t), newWorld(t)
		w.addSite("s")
		it := w.item("s", s.URL+"/", func(u *wire.URL) { u.Crawled, u.TagsCount = 1, 4 })
		if recrawl != "" {
			it.Properties = map[string]string{"recrawl": recrawl}
		}
		b := batchOf(it)
		b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
		answer := w.run(b)
		if len(answer.Items) != 1 || answer.Items[0].URL.ContentMask != 1 || len(s.paths()) != map[string]int{"": 0, "0": 0, "1": 1}[recrawl] {
			t.Errorf("recrawl %q: items %+v, requests %v", recrawl, answer.Items, s.paths())
		}
	}
}

// A client may request a page of a site that is not stored.
func TestUnknownSiteInRealTime(t *testing.T) {
	s, w := tree(t), newWorld(t)
	it := w.item("none", s.URL+"/")
	it.Depth = 1
	clear(w.URLs)
	b := batchOf(it)
	b.CrawlerType, b.DBMode, b.MaxIterations = wire.CrawlRealTime, wire.DBRead, 2
	raw, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	site := `"siteObj":{"properties":{"ROBOTS_MODE":"0"},"filters":[{"pattern":"/b$","stage":5,"action":1,"state":1}]}`
	answer, err := w.job.Run(t.Context(), []byte(strings.Replace(string(raw), `"siteObj":null`, site, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(left(answer.(wire.Batch)), " "); got != "/ /b" || len(w.URLs) != 0 {
		t.Errorf("answer %s, rows %v", got, w.URLs)
	}
}

func TestUnknownSiteAsGeneral(t *testing.T) {
	for _, general := range []bool{false, true} {
		s, w := tree(t), newWorld(t)
		w.job.Config.GeneralForUnknown = general
		w.addSite("0")
		it := w.item("none", s.URL+"/")
		u := wire.NewURL("0", s.URL+"/")
		answer := w.run(batchOf(it))
		row, stored := w.URLs["0 "+u.URLMd5]
		if stored != general || general && (row.Status != wire.StatusCrawled || len(answer.Items) != 1 || answer.Items[0].SiteID != "0") {
			t.Errorf("general %t: row %+v, answer %+v", general, row, answer.Items)
		}
	}
}
