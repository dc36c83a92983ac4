package sqlstore

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// BenchmarkSiteSize compares the time of requests on a site of a million rows (SITE_ROWS)
// and on a site of ten thousand, alternating in one database. The unit x is the ratio of
// the means: 1 if the size of a site has no influence.
//
//	go test ./internal/storage/sqlstore -run '^$' -bench SiteSize -benchtime 20x
func BenchmarkSiteSize(b *testing.B) {
	if backend != sqldb.DriverSQLite {
		return // TestMain runs it twice; it tests both backends itself
	}
	large := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("SITE_ROWS")); err == nil {
		large = n
	}
	defer func() { backend = sqldb.DriverSQLite }()
	for _, backend = range dbtest.Backends {
		b.Run(backend, func(b *testing.B) {
			s := newBenchOf(b, "NORMAL")
			sizes := map[string]int{"small": 10_000, "large": large}
			for site, rows := range sizes {
				s.fillSite(site, rows)
			}
			for name, ask := range s.requests() {
				b.Run(name, func(b *testing.B) {
					took := map[string]time.Duration{}
					round := 0
					for b.Loop() {
						round++
						for site, rows := range sizes {
							start := time.Now()
							ask(site, rows, round)
							took[site] += time.Since(start)
						}
					}
					b.ReportMetric(float64(took["large"])/float64(took["small"]), "x")
					b.ReportMetric(float64(took["small"].Microseconds())/float64(round), "small-us/op")
					b.ReportMetric(float64(took["large"].Microseconds())/float64(round), "large-us/op")
				})
			}
		})
	}
}

// fillSite makes a site of n rows: most are new, with different ages, priorities and
// depths; some are crawled, some have errors.
func (b *bench) fillSite(site string, rows int) {
	b.Helper()
	b.newSite(`{"id":"` + site + `","urls":["http://` + site + `.example.com/"]}`)
	for from := 0; from < rows; from += 10_000 {
		b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
			var list []*wire.URL
			for i := from; i < min(from+10_000, rows); i++ {
				u := sizedURL(site, i)
				list = append(list, &u)
			}
			return t.AddURLs(site, list)
		}))
	}
	if backend == sqldb.DriverMySQL {
		b.analyze(site)
	}
}

func sizedURL(site string, i int) wire.URL {
	u := wire.NewURL(site, fmt.Sprintf("http://%s.example.com/some/path/%d.html", site, i))
	u.ParentMd5, u.Depth, u.Priority = wire.Md5("http://"+site+".example.com/"), int64(i%7), int64(i%5)
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
	u.CDate, u.UDate = schema.DateOf(made), schema.DateOf(made)
	switch {
	case i%3 == 0:
		u.Status, u.Crawled, u.Size, u.HTTPCode, u.ContentType = wire.StatusCrawled, 1, 30_000, 200, "text/html"
	case i%101 == 0:
		u.Status, u.Crawled, u.State, u.ErrorMask = wire.StatusCrawled, 1, wire.URLError, errormask.HTTP
	}
	return u
}

// requests are the measured requests; each call uses other keys.
func (b *bench) requests() map[string]func(site string, rows, round int) {
	b.db.Options.FreqDelay = 5 * time.Second // as crawler-task
	made := map[string]wire.Link{}
	link := func(site string, i int) wire.Link {
		name := fmt.Sprint(site, i)
		if _, known := made[name]; !known {
			made[name] = wire.Link{URL: sizedURL(site, i)}
		}
		return made[name]
	}
	return map[string]func(string, int, int){
		"URL_FETCH of 500 as the daemon": func(site string, _, _ int) {
			urls := b.fetch(`[{"sitesList":["` + site + `"],"maxURLs":500,"urlsCriterions":{"WHERE":"Status=1 AND State=0","ORDER BY":"` + crawlOrder + `","LIMIT":"500"},
				"urlUpdate":{"status":2,"batchId":7}}]`)
			if len(urls) != 500 {
				b.Fatalf("%d URLs", len(urls))
			}
			_, err := b.URLReturn(ctx, wire.URLReturnRequest{BatchID: 7, Sites: []string{site}})
			b.must(err)
		},
		"URL_FETCH of 500 by default order": func(site string, _, _ int) {
			if urls := b.fetch(`[{"sitesList":["` + site + `"],"maxURLs":500,"urlsCriterions":{"LIMIT":"500"}}]`); len(urls) != 500 {
				b.Fatalf("%d URLs", len(urls))
			}
		},
		"a chunk of 64 pages": func(site string, rows, round int) {
			r, err := wire.ReadURLFetch(json.RawMessage(`[{"sitesList":["`+site+`"],"maxURLs":64,"urlsCriterions":{"WHERE":"Status=1 AND State=0","ORDER BY":"`+crawlOrder+`","LIMIT":"64"},
				"urlUpdate":{"status":2,"batchId":9}}]`), nil)
			b.must(err)
			urls, _, err := b.Take(ctx, r, 9)
			if b.must(err); len(urls) != 64 {
				b.Fatalf("%d URLs", len(urls))
			}
			var list []wire.Fetched
			for i, u := range urls {
				f := wire.Fetched{URLMd5: u.URLMd5, Crawled: true, First: true, Set: schema.Patch{"Status": int64(4), "Size": int64(5), "HTTPCode": int64(200), "ContentType": "text/html",
					"RawContentMd5": u.URLMd5, "CrawlingTime": int64(5), "UDate": string(schema.DateOf(b.now))}}
				for j := range 50 { // as in bench/scale.go
					n := 7919 * (round + i*50 + j)
					switch {
					case j < 25:
						n %= 200
					case j < 45:
						n = i + n%1000
					}
					f.Links = append(f.Links, link(site, n%rows))
				}
				list = append(list, f)
			}
			_, err = b.FinishCrawl(ctx, site, 9, list)
			b.must(err)
		},
		"URL_STATUS of one": func(site string, rows, round int) {
			urls, err := b.URLStatus(ctx, []wire.URLStatusRequest{{SiteID: site, URLMd5: sizedURL(site, round*7919%rows).URLMd5}})
			if b.must(err); len(urls) != 1 {
				b.Fatal("no row")
			}
		},
		"SITE_STATUS": func(site string, rows, _ int) {
			if s := b.site(site); s.CollectedURLs < int64(rows) {
				b.Fatalf("%d URLs", s.CollectedURLs)
			}
		},
		"SITE_STATUS after a change": func(site string, rows, round int) {
			u := sizedURL(site, round*7919%rows)
			_, err := b.URLUpdate(ctx, []wire.URLUpdateRequest{{SiteID: site, URLMd5: u.URLMd5, Set: schema.Patch{"ErrorMask": int64(1 << (round % 10))},
				Criterion: wire.Criterion{Limit: "1"}}})
			b.must(err)
			b.site(site)
		},
		"URL_NEW of 1,000": func(site string, rows, round int) {
			list := make([]map[string]any, 1000)
			for i := range list {
				list[i] = map[string]any{"siteId": site, "url": fmt.Sprintf("http://%s.example.com/new/%d/%d", site, rows, newNumber), "parentMd5": wire.Md5("x")}
				newNumber++
			}
			raw, err := json.Marshal(list)
			b.must(err)
			b.newURLs(string(raw))
		},
	}
}

var newNumber int

// analyze updates MySQL's statistics, as the server does after some time.
func (b *bench) analyze(site string) {
	b.Helper()
	b.must(b.db.Update(ctx, func(t *sqldb.Tx) error {
		return t.Each("ANALYZE TABLE "+t.DB.SiteTable(sqldb.URLs, site), nil, func(func(...any) error) error { return nil })
	}))
}
