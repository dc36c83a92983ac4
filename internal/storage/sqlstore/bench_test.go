package sqlstore

import (
	"fmt"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/schema"
)

// big makes a site s with n rows in Status 1.
func big(b *testing.B, n int, synchronous string) *bench {
	b.Helper()
	s := newBenchOf(b, synchronous)
	s.newSite(`{"id":"s","urls":["http://example.com/"]}`)
	for from := 0; from < n; from += 10000 {
		s.must(s.runUpdateTx(ctx, "test", func(t *tx) error {
			var rows []*wire.URL
			for i := from; i < min(from+10000, n); i++ {
				u := linkTo(i)
				rows = append(rows, &u)
			}
			return t.AddURLs("s", rows)
		}))
	}
	return s
}

func linkTo(i int) wire.URL {
	u := wire.NewURL("s", fmt.Sprintf("http://example.com/some/path/of/a/page/%d.html?with=query", i))
	u.ParentMd5, u.Depth, u.UDate = wire.Md5("http://example.com/"), int64(i%7), "2026-01-01 00:00:00"
	return u
}

// 64 results with 100 links each, 95 of 100 known.
func BenchmarkFinishCrawl(b *testing.B) {
	cases := []struct {
		name, synchronous string
		period            int  // RecrawlPeriod in minutes: known links are checked
		first             bool // links count in Freq
		nav               bool // all pages share their known links
	}{
		{"FULL", "FULL", 0, false, false}, {"NORMAL", "NORMAL", 0, false, false},
		{"young", "NORMAL", 1 << 20, false, false}, {"freq", "NORMAL", 0, true, false},
		{"menu", "NORMAL", 0, false, true}, {"menu and freq", "NORMAL", 0, true, true},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			const known, results, links = 100000, 64, 100
			s := big(b, known, c.synchronous)
			_, err := s.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: schema.Patch{"RecrawlPeriod": int64(c.period)}})
			s.must(err)
			next, batch := known, int64(0)
			for b.Loop() {
				b.StopTimer()
				batch++
				var list []wire.Fetched
				var items []wire.URL
				for i := range results {
					item := linkTo((int(batch)*results + i) % known)
					items = append(items, item)
					r := wire.Fetched{URLMd5: item.URLMd5, Crawled: true, First: c.first, Set: schema.Patch{"Status": int64(4), "Size": int64(30000),
						"CrawlingTime": int64(250), "HTTPCode": int64(200), "ContentType": "text/html", "Charset": "utf-8", "ErrorMask": int64(0),
						"RawContentMd5": item.URLMd5, "TcDate": "2026-01-05 10:00:00", "UDate": "2026-01-05 10:00:00", "LinksI": int64(100), "ETag": "x"}}
					for j := range links {
						n := (i*7919 + j*104729) % known
						if c.nav {
							n = j * 104729 % known
						}
						if j%20 == 0 {
							n, next = next, next+1
						}
						r.Links = append(r.Links, wire.Link{URL: linkTo(n)})
					}
					list = append(list, r)
				}
				_, err := s.MarkCrawling(ctx, "s", batch, items)
				s.must(err)
				b.StartTimer()
				s.saved(s.FinishCrawl(ctx, "s", batch, list))
			}
		})
	}
}

// Fetches and marks 500 rows of 100,000.
func BenchmarkURLFetch(b *testing.B) {
	s := big(b, 100000, "FULL")
	for name, c := range map[string]wire.Criterion{
		"shipped": {Where: "Status=1 AND State=0", OrderBy: crawlOrder, Limit: "500"},
		"default": {OrderBy: "CDate ASC", Limit: "500"},
		"sorted":  {Where: "Status=1 AND State=0", OrderBy: "Size DESC, URL", Limit: "500"},
	} {
		for _, mark := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/mark=%v", name, mark), func(b *testing.B) {
				r := wire.URLFetchRequest{MaxURLs: 500, URLsCriterion: c, AttributeNames: []string{"*"}}
				if mark {
					r.URLUpdate = schema.Patch{"Status": int64(2), "Batch_Id": int64(7)}
				}
				for b.Loop() {
					urls, err := s.URLFetch(ctx, []wire.URLFetchRequest{r})
					s.must(err)
					if len(urls) != 500 {
						b.Fatalf("%d rows", len(urls))
					}
					if mark {
						b.StopTimer()
						_, err := s.URLReturn(ctx, wire.URLReturnRequest{BatchID: 7})
						s.must(err)
						b.StartTimer()
					}
				}
			})
		}
	}
}

func BenchmarkMarkCrawling(b *testing.B) {
	s := big(b, 20000, "FULL")
	var items []wire.URL
	for i := range 500 {
		items = append(items, linkTo(i*7))
	}
	batch := int64(0)
	for b.Loop() {
		batch++
		_, err := s.MarkCrawling(ctx, "s", batch, items)
		s.must(err)
		b.StopTimer()
		_, err = s.URLReturn(ctx, wire.URLReturnRequest{BatchID: batch})
		s.must(err)
		b.StartTimer()
	}
}

func BenchmarkURLNew(b *testing.B) {
	s := big(b, 1000, "FULL")
	next := 1000
	for b.Loop() {
		var list []wire.URLNewRequest
		for range 1000 {
			u := linkTo(next)
			next++
			list = append(list, wire.URLNewRequest{Row: schema.Patch{"URL": u.URL, "URLMd5": u.URLMd5, "CDate": schema.Expr("NOW()")}, SiteSelect: wire.SelectNone})
		}
		_, _, err := s.URLNew(ctx, list)
		s.must(err)
	}
}

func BenchmarkSite(b *testing.B) {
	s := big(b, 1000, "FULL")
	for b.Loop() {
		_, err := s.Site(ctx, "s")
		s.must(err)
	}
}

// Fetches from 1000 sites without matching rows.
func BenchmarkURLFetchOfManySites(b *testing.B) {
	s := big(b, 1, "FULL")
	for i := range 1000 {
		s.newSite(fmt.Sprintf(`{"id":"many%d"}`, i))
	}
	for b.Loop() {
		urls, err := s.URLFetch(ctx, []wire.URLFetchRequest{{MaxURLs: 500, Algorithm: 1, URLsCriterion: wire.Criterion{Where: "Status=7 AND State=0", OrderBy: crawlOrder}}})
		s.must(err)
		if len(urls) != 0 {
			b.Fatal(len(urls))
		}
	}
}

func BenchmarkSiteDelete(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := big(b, 50000, "FULL")
		b.StartTimer()
		_, err := s.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "s", DelayedType: wire.Immediate}})
		s.must(err)
	}
}

func BenchmarkSiteNew(b *testing.B) {
	s := big(b, 1, "FULL")
	n := 0
	for b.Loop() {
		n++
		s.newSite(fmt.Sprintf(`{"id":"n%d","urls":["http://n%d/"],"properties":{"A":"1","B":"2"}}`, n, n))
	}
}

// Deletes the URLs of a large site by a condition, delayed, then purges them.
func BenchmarkURLDeleteOfMany(b *testing.B) {
	const rows = 100000
	for b.Loop() {
		b.StopTimer()
		s := big(b, rows, "FULL")
		b.StartTimer()
		_, err := s.URLDelete(ctx, []wire.URLDeleteRequest{{SiteID: "s", Criterion: wire.Criterion{Where: "ParentMd5<>''"}, DelayedType: wire.Delayed}})
		s.must(err)
		_, err = s.URLPurge(ctx, []wire.URLPurgeRequest{{SiteID: "s"}})
		s.must(err)
	}
}

// 2,058 known links of another node, between the writes of a crawler. With seven links in a bundle they
// are of eight nodes, with one of fifty.
func BenchmarkLinksStore(b *testing.B) {
	const known, links = 60000, 2058
	for _, c := range []struct{ requests, bundle int }{{7, 7}, {1, 7}, {1, 1}} {
		b.Run(fmt.Sprintf("requests=%d/links=%d", c.requests, c.bundle), func(b *testing.B) {
			s := big(b, known, "NORMAL")
			d, err := sqldb.Open(ctx, s.config)
			s.must(err)
			b.Cleanup(func() { d.Close() })
			crawler := Open(d, Options{Now: s.db.Options.Now})
			id, next := int64(0), 0
			for b.Loop() {
				for range c.requests {
					b.StopTimer()
					var r cluster.LinksMessage
					for range links / c.requests / c.bundle {
						id++
						bundle := cluster.LinkBundle{ID: id, From: "n2"}
						for range c.bundle {
							next++
							u := linkTo(next * 7919 % known)
							u.SiteID, u.Freq = "s", 1
							bundle.Links = append(bundle.Links, cluster.LinkOut(u))
						}
						r.Bundles = append(r.Bundles, bundle)
					}
					_, err := crawler.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: schema.Patch{"Priority": id}})
					s.must(err)
					b.StartTimer()
					stored, err := s.LinksStore(ctx, r)
					s.must(err)
					if stored.Known != links/c.requests {
						b.Fatalf("%+v", stored)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*links), "µs/link")
		})
	}
}
