package crawlprogram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
)

// Every row of a site with known links is exact.
func TestSmallSite(t *testing.T) {
	w := newWeb(t, map[string]string{
		"/":  `<a href="/a">a</a> <a href="/b">b</a> <a href="/a">again</a> <a href="http://other.test/x">x</a>`,
		"/a": `<a href="/b">b</a> <a href="/c">c</a> <a href="/">home</a>`,
		"/b": `<a href="/c">c</a> <a href="/b">self</a> <a href="/gone">gone</a>`,
		"/c": `the end`,
	})
	n := newNode(t)
	root := w.URL + "/"
	site := n.site(root, `,"priority":5,"filters":[{"pattern":"(.*)","stage":5,"action":1},{"pattern":"other","stage":5,"action":-1}]`+properties())
	rootRow := n.row(site, root)
	n.crawl(site, nil, root)
	n.crawl(site, nil, w.URL+"/a", w.URL+"/b")
	n.crawl(site, nil, w.URL+"/c", w.URL+"/gone")
	var size int64
	for _, want := range []struct {
		path                 string
		freq, linksI, linksE int64
		depth, code          int64
	}{
		{"/", 1, 2, 1, 0, 200}, {"/a", 1, 3, 0, 1, 200}, {"/b", 2, 2, 0, 1, 200}, {"/c", 2, 0, 0, 2, 200}, {"/gone", 1, 0, 0, 2, 404},
	} {
		u := n.row(site, w.URL+want.path)
		if u.Freq != want.freq || u.LinksI != want.linksI || u.LinksE != want.linksE || u.Depth != want.depth || u.Priority != rootRow.Priority ||
			u.HTTPCode != want.code || u.Status != wire.StatusCrawled || u.Crawled != 1 {
			t.Errorf("%s: Freq %d, LinksI %d, LinksE %d, Depth %d, Priority %d, code %d, status %d, crawled %d", want.path, u.Freq, u.LinksI, u.LinksE, u.Depth, u.Priority, u.HTTPCode, u.Status, u.Crawled)
		}
		size += u.Size
	}
	if found := n.rows(site, "http://other.test/x"); len(found) != 0 {
		t.Error("a filtered link has a row")
	}
	s := n.counters(site)
	if s.Resources != 4 || s.CollectedURLs != 4 || s.NewURLs != 0 || s.Errors != 1 || s.Size != size || s.ErrorMask != errormask.HTTP {
		t.Errorf("counters %+v", s)
	}
	// A second crawl of a page does not raise the Freq of its links.
	n.crawl(site, nil, root)
	if u := n.row(site, w.URL+"/a"); u.Freq != 1 {
		t.Errorf("after a second crawl /a has Freq %d", u.Freq)
	}
	n.counters(site)
}

// A feed stores entries with their documents, or the pages of RSS entries.
func TestStoredFeed(t *testing.T) {
	const text = `<rss version="2.0"><channel><item><link>http://HOST/1</link><pubDate>Mon, 05 Jan 2026 10:00:00 GMT</pubDate></item><item><link>http://HOST/2</link></item></channel></rss>`
	for _, processor := range []string{"FEED_PARSER", "RSS"} {
		t.Run(processor, func(t *testing.T) {
			w := newWeb(t, map[string]string{"/feed.xml": text, "/1": "one", "/2": "two"})
			n := newNode(t)
			site := n.site(w.URL+"/feed.xml", properties("PROCESSOR_NAME", processor))
			passes := func(b *wire.Batch) { b.MaxIterations = 2 }
			for range 2 { // the second crawl finds nothing new
				n.crawl(site, passes, w.URL+"/feed.xml")
				one := n.row(site, w.URL+"/1")
				raw, err := n.repo.RawContent(t.Context(), site, one.URLMd5, wire.ContentRaw)
				n.must(err)
				feed, err := n.repo.RawContent(t.Context(), site, site, wire.ContentRaw)
				n.must(err)
				if one.Status != wire.StatusCrawled || one.Crawled != 1 || one.ErrorMask != 0 || one.HTTPCode != 200 || one.ParentMd5 != site {
					t.Errorf("entry %+v", one)
				}
				if processor == "FEED_PARSER" && (one.Type != wire.TypeFetched || string(one.PDate) != "2026-01-05 10:00:00" || !strings.Contains(string(raw), `"parent_rss_feed"`) || len(feed) > 0) {
					t.Errorf("row %+v, document %s, feed %s", one, raw, feed)
				}
				if processor == "RSS" && (one.Type != wire.TypeSingle || string(raw) != "one" || len(feed) == 0) {
					t.Errorf("row %+v, page %s, feed %s", one, raw, feed)
				}
				if s := n.counters(site); s.CollectedURLs != 2 || s.NewURLs != 0 || s.Errors != 0 {
					t.Errorf("counters %+v", s)
				}
			}
		})
	}
}

// A sitemap of robots.txt becomes rows and is still a sitemap in the next crawl.
func TestStoredSitemap(t *testing.T) {
	w := newWeb(t, map[string]string{
		"/robots.txt": "Sitemap: http://HOST/s.xml", "/": "home",
		"/s.xml": `<urlset><url><loc>http://HOST/1</loc><lastmod>2026-01-05</lastmod><priority>0.5</priority></url></urlset>`,
	})
	n := newNode(t)
	site := n.site(w.URL+"/", properties("ROBOTS_MODE", "1", "SITEMAPS", "1"))
	n.crawl(site, nil, w.URL+"/")
	before := n.row(site, w.URL+"/").Priority
	for round := 1; round <= 2; round++ {
		n.crawl(site, nil, w.URL+"/s.xml")
		if u := n.row(site, w.URL+"/s.xml"); u.ContentType != "application/sitemap+xml" || u.Crawled != int64(round) || u.ErrorMask != 0 {
			t.Errorf("sitemap %+v", u)
		}
		w.mu.Lock()
		w.pages["/s.xml"] = strings.ReplaceAll(w.pages["/s.xml"], "/1<", "/2<")
		w.mu.Unlock()
	}
	for _, path := range []string{"/1", "/2"} {
		if u := n.row(site, w.URL+path); string(u.LastModified) != "2026-01-05 00:00:00" || u.Priority != before+50 || u.Status != wire.StatusNew || u.Depth != 1 {
			t.Errorf("page %+v", u)
		}
	}
	n.counters(site)
}

// A row that was crawled as a page becomes a sitemap when SITEMAPS names it.
func TestPageBecomesSitemap(t *testing.T) {
	w := newWeb(t, map[string]string{"/": `<a href="/s.xml">x</a>`, "/s.xml": `<urlset><url><loc>http://HOST/1</loc></url></urlset>`})
	n := newNode(t)
	site := n.site(w.URL+"/", `,"recrawlPeriod":1`+properties("RECRAWL_URL_AGE_EXPRESSION", "0"))
	n.crawl(site, nil, w.URL+"/")
	n.crawl(site, nil, w.URL+"/s.xml")
	withSitemap := func(b *wire.Batch) { b.Items[0].Properties = map[string]string{"SITEMAPS": w.URL + "/s.xml"} }
	n.crawl(site, withSitemap, w.URL+"/")
	if u := n.row(site, w.URL+"/s.xml"); u.ContentType != "application/sitemap+xml" || u.Status != wire.StatusNew {
		t.Errorf("row %+v", u)
	}
	n.crawl(site, nil, w.URL+"/s.xml")
	n.row(site, w.URL+"/1")
	n.counters(site)
}

// The row of the first page of a chain ends with its batch, and the list of the chain is
// stored next to its page.
func TestStoredChain(t *testing.T) {
	w := newWeb(t, map[string]string{"/": `<a href="/?part=2">2</a>`, "/?part=2": `<a href="/?part=3">3</a>`, "/?part=3": "the end"})
	n := newNode(t)
	site := n.site(w.URL+"/", properties("URL_CHAIN", `{"url_pattern":"part="}`))
	for round := int64(1); round <= 2; round++ {
		n.crawl(site, func(b *wire.Batch) { b.MaxIterations = 5 }, w.URL+"/")
		if u := n.row(site, w.URL+"/"); u.Status != wire.StatusCrawled || u.Type != wire.TypeRegular || u.Crawled != round {
			t.Errorf("first page %+v", u)
		}
		for _, part := range []string{"/?part=2", "/?part=3"} {
			if u := n.row(site, w.URL+part); u.Status != wire.StatusCrawled || u.Type != wire.TypeChain || u.Crawled != round {
				t.Errorf("part %+v", u)
			}
		}
	}
	var chain []string
	contents, err := n.repo.Raw.List(t.Context(), site, wire.Md5(w.URL+"/"))
	n.must(err)
	pages := map[string]bool{}
	for _, v := range contents {
		if pages[v.Name] = pages[v.Name] || int(v.Kind) == wire.ContentRaw; int(v.Kind) != wire.ContentChain {
			continue
		}
		text, err := n.repo.Raw.Read(t.Context(), v)
		n.must(err)
		if chain = append(chain, string(text)); len(chain) == 1 && !pages[v.Name] {
			t.Errorf("the list has no page: %v", contents)
		}
	}
	want := wire.Md5(w.URL+"/?part=2") + "\n" + wire.Md5(w.URL+"/?part=3") + "\n"
	if len(chain) != 2 || chain[0] != want || chain[1] != want {
		t.Errorf("lists %q, want %q", chain, want)
	}
	n.counters(site)
}

// dying is a repository that fails when rows are marked for the second time.
type dying struct {
	*storage.Repository
	marks int
}

func (d *dying) MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error) {
	if d.marks++; d.marks > 1 {
		return nil, errors.New("killed")
	}
	return d.Repository.MarkCrawling(ctx, site, batch, items)
}

// A kill between the passes leaves the first page locked. URL_RETURN unlocks it, and the
// next batch crawls the whole chain.
func TestKilledChain(t *testing.T) {
	w := newWeb(t, map[string]string{"/": `<a href="/?part=2">2</a>`, "/?part=2": "the end"})
	n := newNode(t)
	site := n.site(w.URL+"/", properties("URL_CHAIN", `{"url_pattern":"part="}`))
	row := n.row(site, w.URL+"/")
	row.Status = wire.StatusSelectedCrawling
	raw, err := json.Marshal(wire.Batch{ID: 99, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 3,
		Items: []wire.BatchItem{{SiteID: site, URLID: row.URLMd5, URL: row}}})
	n.must(err)
	n.job.Data = &dying{Repository: n.repo}
	if _, err := n.job.Run(t.Context(), raw); err == nil {
		t.Fatal("the batch did not fail")
	}
	n.job.Data = n.repo
	if u := n.row(site, w.URL+"/"); u.Status != wire.StatusCrawling || u.BatchID != 99 {
		t.Errorf("locked row %+v", u)
	}
	n.ask(`["URL_RETURN",{"batchId":99}]`)
	if u := n.row(site, w.URL+"/"); u.Status != wire.StatusNew {
		t.Errorf("returned row %+v", u)
	}
	n.crawl(site, func(b *wire.Batch) { b.MaxIterations = 3 }, w.URL+"/")
	for _, path := range []string{"/", "/?part=2"} {
		if u := n.row(site, w.URL+path); u.Status != wire.StatusCrawled || u.ErrorMask != 0 {
			t.Errorf("row %+v", u)
		}
	}
	n.counters(site)
}

// The values of a URL schema are used up over batches; every row has its own key.
func TestStoredSchema(t *testing.T) {
	w := newWeb(t, map[string]string{"/?q=a": "a", "/?q=b": "b", "/?q=c": "c"})
	n := newNode(t)
	template := w.URL + "/?q=%q%"
	site := n.site(template, properties("URLS_SCHEMA", `{"type":1,"mode":1,"max_items":2,"parameters":{"q":["a","b","c"]}}`))
	if answer := n.crawl(site, nil, template); len(answer.Items) != 1 || answer.Items[0].URL.URL != w.URL+"/?q=a" {
		t.Errorf("first batch: %+v", answer.Items)
	}
	if u := n.row(site, template); u.Status != wire.StatusCrawled || u.Crawled != 1 || u.Size != 0 {
		t.Errorf("template %+v", u)
	}
	if u := n.row(site, w.URL+"/?q=b"); u.Status != wire.StatusNew || u.ParentMd5 != wire.Md5(template) {
		t.Errorf("other %+v", u)
	}
	if answer := n.crawl(site, nil, template); len(answer.Items) != 1 || answer.Items[0].URL.URL != w.URL+"/?q=c" {
		t.Errorf("second batch: %+v", answer.Items)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.requests, []string{"/?q=a", "/?q=c"}) {
		t.Errorf("requested %v", w.requests)
	}
	n.counters(site)
}

// Each algorithm of DETECT_MODIFIED finds an unchanged page, and each behavior updates its
// row.
func TestDetectModified(t *testing.T) {
	const date = "Mon, 05 Jan 2026 10:00:00 GMT"
	for algorithm := range 4 {
		for behavior := range 4 {
			t.Run(fmt.Sprint("algorithm ", algorithm, ", behavior ", behavior), func(t *testing.T) {
				w := newWeb(t, map[string]string{"/": `<a href="/new">x</a>`, "/p": `<a href="/a">x</a>`})
				var methods []string
				w.more = func(rw http.ResponseWriter, r *http.Request) {
					methods = append(methods, r.Method)
					rw.Header().Set("ETag", `"e"`)
					rw.Header().Set("Last-Modified", date)
					if r.Header.Get("If-None-Match") == `"e"` || r.Header.Get("If-Modified-Since") == date {
						rw.WriteHeader(http.StatusNotModified)
					}
				}
				compare := map[int]int{3: 1}[algorithm] // HEAD compares dates
				mode := map[int]int{3: 2}[algorithm] + map[bool]int{true: 1}[algorithm != 3]
				n := newNode(t)
				site := n.site(w.URL+"/", properties("DETECT_MODIFIED", fmt.Sprintf(`{"algorithm":%d,"mode":%d,"compare":%d,"behavior":%d}`, algorithm, mode, compare, behavior)))
				n.crawl(site, nil, w.URL+"/")
				first := n.row(site, w.URL+"/")
				processed := behavior%2 == 0 // with behavior 0 it makes no difference
				status := int64(wire.StatusCrawled)
				if processed {
					_, err := n.repo.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: site, Data: []byte("{}")}})
					n.must(err)
				}
				if behavior == 2 {
					status = wire.StatusProcessed
				}
				const old = "2026-01-01 00:00:00"
				n.ask(`["URL_UPDATE",[{"siteId":%q,"url":%q,"UDate":%q}]]`, site, w.URL+"/", old)
				n.crawl(site, nil, w.URL+"/")
				u := n.row(site, w.URL+"/")
				code := int64(304)
				if algorithm == 3 {
					code = 200
				}
				if u.Status != status || u.HTTPCode != code || u.ErrorMask != 0 || u.State != wire.URLEnabled || u.Crawled != 2 ||
					u.MRate != 0.5 || u.MRateCounter != 2 || u.Size != first.Size || u.RawContentMd5 != first.RawContentMd5 || u.ContentType != first.ContentType || u.ETag != "e" {
					t.Errorf("row %+v", u)
				}
				if kept := string(u.UDate) == old; kept != (behavior != 3) {
					t.Errorf("UDate %s", u.UDate)
				}
				if len(methods) != 2 || (methods[1] == http.MethodHead) != (algorithm == 3) {
					t.Errorf("methods %v", methods)
				}
				n.counters(site)
			})
		}
	}
}

// A full site stores no further links, unless AUTO_REMOVE removes old rows.
func TestLimits(t *testing.T) {
	tests := []struct {
		name string
		more string
		want []string // links with a row
	}{
		{"no limit", properties(), []string{"/1", "/2", "/3"}},
		{"MaxURLs", `,"maxURLs":3` + properties(), []string{"/1", "/2"}},
		{"MaxResources, which includes the page", `,"maxResources":3` + properties(), []string{"/1", "/2"}},
		{"AUTO_REMOVE", `,"maxURLs":3` + properties("AUTO_REMOVE_RESOURCES", "2", "AUTO_REMOVE_WHERE", "ParentMd5<>''", "AUTO_REMOVE_ORDER", "CDate"), []string{"/1", "/2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWeb(t, map[string]string{"/": `<a href="/1">1</a><a href="/2">2</a><a href="/3">3</a>`, "/1": `<a href="/4">4</a><a href="/5">5</a>`})
			n := newNode(t)
			site := n.site(w.URL+"/", tt.more)
			n.crawl(site, nil, w.URL+"/")
			check := func(want []string, all ...string) {
				t.Helper()
				var got []string
				for _, path := range all {
					if len(n.rows(site, w.URL+path)) == 1 {
						got = append(got, path)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("rows %v, want %v", got, want)
				}
			}
			check(tt.want, "/1", "/2", "/3")
			n.counters(site)
			if tt.name != "AUTO_REMOVE" {
				return
			}
			n.crawl(site, nil, w.URL+"/1")
			s := n.counters(site)
			if s.CollectedURLs > 2 {
				t.Errorf("%d collected", s.CollectedURLs)
			}
			if got := n.rows(site, w.URL+"/2", w.URL+"/4"); len(got) != 1 || got[w.URL+"/4"].URL == "" {
				t.Errorf("%d of the old and the new link have rows, want 1", len(got))
			}
		})
	}
}

// The type of the page decides which site gets links to other hosts.
func TestLinksToOtherHosts(t *testing.T) {
	tests := []struct {
		name    string
		kind    int64
		known   string // site of the link to a known host: own, theirs or general
		unknown string // site of the link to an unknown host
	}{
		{"regular", wire.TypeRegular, "own", "own"},
		{"links go to existing sites", wire.TypeRegularExt, "theirs", "general"},
		{"sites are created", wire.TypeNewSite, "theirs", "theirs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWeb(t, map[string]string{"/": `<a href="/1">1</a><a href="http://known.test/x">x</a><a href="http://unknown.test/y">y</a>`})
			n := newNode(t)
			n.site("http://known.test/", properties())
			site := n.site(w.URL+"/", properties())
			n.ask(`["URL_UPDATE",[{"siteId":%q,"url":%q,"type":%d}]]`, site, w.URL+"/", tt.kind)
			n.crawl(site, nil, w.URL+"/")
			n.row(site, w.URL+"/1")
			for url, where := range map[string]string{"http://known.test/x": tt.known, "http://unknown.test/y": tt.unknown} {
				host, _, _ := strings.Cut(url[7:], "/")
				at := map[string]string{"own": site, "theirs": wire.Md5("http://" + host + "/"), "general": wire.GeneralSite}[where]
				for _, id := range []string{site, wire.Md5("http://" + host + "/"), wire.GeneralSite} {
					found, err := n.repo.Rows(t.Context(), id, []string{wire.Md5(url)})
					if there := len(found) == 1; err == nil && there != (id == at) {
						t.Errorf("%s is a row of %s: %v", url, id, there)
					}
				}
			}
			n.counters(site)
		})
	}
}

// The attribute robots_noindex is set while the page has noindex.
func TestNoIndexAttribute(t *testing.T) {
	w := newWeb(t, map[string]string{"/": ""})
	n := newNode(t)
	site := n.site(w.URL+"/", properties())
	for _, step := range []struct {
		page string
		want bool
	}{{"plain", false}, {`<meta name="robots" content="noindex">x`, true}, {`<meta name="robots" content="noindex">y`, true}, {"plain again", false}} {
		w.mu.Lock()
		w.pages["/"] = step.page
		w.mu.Unlock()
		n.crawl(site, nil, w.URL+"/")
		answer := n.ask(`["ATTRIBUTE_FETCH",[{"siteId":%q,"urlMd5":%q}]]`, site, site)
		if got := strings.Contains(answer, "robots_noindex"); got != step.want {
			t.Errorf("%s: %s", step.page, answer)
		}
	}
}

// The next process sends the cookies that a site has set.
func TestCookiesOutliveTheProcess(t *testing.T) {
	w := newWeb(t, map[string]string{"/": `<a href="/next">x</a>`, "/next": "x"})
	w.more = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.SetCookie(rw, &http.Cookie{Name: "session", Value: "s1", MaxAge: 3600})
		}
	}
	n := newNode(t)
	site := n.site(w.URL+"/", properties())
	n.crawl(site, nil, w.URL+"/")
	end := n.start()
	defer end()
	n.crawl(site, nil, w.URL+"/next")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) != 2 || !strings.Contains(w.requests[1], "session=s1") {
		t.Errorf("requested %q", w.requests)
	}
}

// Real-time batches as users of the original send them are accepted and crawled.
func TestBatchesOfTheOriginal(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "wire", "testdata", "requests", "BATCH", "*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d batches, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var requested sync.Map
			s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				requested.Store(r.URL.RequestURI(), true)
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprint(rw, "<p>here")
			}))
			t.Cleanup(s.Close)
			n := newNode(t)
			batch, err := wire.ReadBatch(text, &lenient.Notes{})
			n.must(err)
			if len(batch.Items) == 0 {
				t.Fatal("the batch has no items")
			}
			// Keys stay as they are; the test server replaces the hosts.
			moved := string(text)
			urls := map[string]bool{}
			for _, it := range batch.Items {
				if it.URL.URL == "" {
					continue // the request has its content
				}
				scheme, rest, _ := strings.Cut(it.URL.URL, "://")
				host, path, _ := strings.Cut(rest, "/")
				moved = strings.ReplaceAll(moved, scheme+"://"+host+"/", s.URL+"/")
				urls["/"+path] = true
			}
			job := n.job
			answer, err := job.Run(context.Background(), json.RawMessage(moved))
			n.must(err)
			b := answer.(wire.Batch)
			if b.ID != batch.ID || b.CrawlerType != wire.CrawlRealTime || len(b.Items) != len(batch.Items) {
				t.Errorf("batch %d, type %d, %d items of %d", b.ID, b.CrawlerType, len(b.Items), len(batch.Items))
			}
			for i, it := range b.Items {
				if it.URLID != batch.Items[i].URLID || it.URL.HTTPCode != 200 || it.URL.Status != wire.StatusCrawled || it.URL.ErrorMask != 0 {
					t.Errorf("item %d: code %d, status %d, errors %v, %s", i, it.URL.HTTPCode, it.URL.Status, it.URL.ErrorMask.Names(), it.URL.URL)
				}
			}
			for path := range urls {
				if _, ok := requested.Load(path); !ok {
					t.Errorf("%s was not requested", path)
				}
			}
		})
	}
}
