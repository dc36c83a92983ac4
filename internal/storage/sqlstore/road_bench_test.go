package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// road crawls a made-up site page by page, as a batch does: it selects 64 rows, takes them
// and stores their results. Each page has 50 links: 45 to known pages, as in a menu and in
// texts, and 5 to new ones.
type road struct {
	*bench
	r     *rand.Rand
	known int // pages that were linked to
	pages int // pages that were crawled
	texts []string
	keys  []string
}

const roadLinks, roadRound = 50, 64

func newRoad(t testing.TB) *road {
	d := &road{bench: newBenchOf(t, "NORMAL"), r: rand.New(rand.NewPCG(20260105, 10))}
	d.newSite(`{"id":"s","urls":["` + d.url(0) + `"]}`)
	d.known = 1
	return d
}

func (d *road) url(i int) string {
	for len(d.texts) <= i {
		d.texts = append(d.texts, fmt.Sprintf("http://example.com/docs/api/java.base/some/pkg/Class%d.html", len(d.texts)))
		d.keys = append(d.keys, wire.Md5(d.texts[len(d.texts)-1]))
	}
	return d.texts[i]
}

// link is the row that a page brings for a page i.
func (d *road) link(parent string, i int) wire.Link {
	u := wire.NewURL("s", "")
	u.URL = d.url(i)
	u.URLMd5, u.ParentMd5, u.Depth = d.keys[i], parent, 3
	u.CDate, u.UDate, u.TcDate = schema.DateOf(d.now), schema.DateOf(d.now), schema.DateOf(d.now)
	return wire.Link{URL: u}
}

// result is the outcome of a page.
func (d *road) result(md5 string) wire.Fetched {
	r := wire.Fetched{URLMd5: md5, Crawled: true, First: true, Links: make([]wire.Link, 0, roadLinks), Set: schema.Patch{
		"Status": int64(4), "State": int64(0), "Size": int64(30000 + d.pages), "CrawlingTime": int64(1 + d.pages%7), "TotalTime": int64(2), "HTTPCode": int64(200),
		"ContentType": "text/html", "Charset": "utf-8", "ErrorMask": int64(0), "RawContentMd5": md5, "TcDate": string(schema.DateOf(d.now)),
		"UDate": string(schema.DateOf(d.now)), "LinksI": int64(roadLinks), "LinksE": int64(3), "ETag": "\"x-123\"", "LastModified": "2025-01-01 00:00:00",
		"HTTPMethod": "get", "Depth": int64(2), "Processed": int64(0)}}
	for j := range roadLinks {
		switch {
		case j%10 == 0: // new
			r.Links = append(r.Links, d.link(md5, d.known))
			d.known++
		case j%2 == 0: // menu
			r.Links = append(r.Links, d.link(md5, j%d.known))
		default: // text
			r.Links = append(r.Links, d.link(md5, d.r.IntN(d.known)))
		}
	}
	return r
}

// round crawls the next pages. Timer, if given, runs only during the calls of the store.
func (d *road) round(batch int64, start, stop func()) int {
	selection := []wire.URLFetchRequest{{MaxURLs: roadRound, Algorithm: 1, SkipBusySites: true, AttributeNames: []string{}, AsBatch: 0,
		SitesCriterion: wire.Criterion{Where: "`State`=1 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & 1 > 0", OrderBy: "`Priority` DESC, `TcDate` ASC"},
		URLsCriterion:  wire.Criterion{Where: "`Status`=1 AND `State`=0", OrderBy: crawlOrder},
		SiteUpdate:     schema.Patch{"TcDate": schema.Expr("NOW()")},
		URLUpdate:      schema.Patch{"Status": int64(2), "Batch_Id": batch, "TcDate": schema.Expr("NOW()"), "UDate": schema.Expr("NOW()")}}}
	start()
	rows, _, err := d.Take(ctx, selection, batch)
	d.must(err)
	stop()
	d.now = d.now.Add(200 * time.Millisecond) // as at 320 pages a second
	var results []wire.Fetched
	for _, u := range rows {
		results = append(results, d.result(u.URLMd5))
		d.pages++
	}
	start()
	d.saved(d.FinishCrawl(ctx, "s", batch, results))
	stop()
	return len(rows)
}

// BenchmarkRoad measures what a page costs in SQL.
func BenchmarkRoad(b *testing.B) {
	if backend != sqldb.DriverSQLite {
		return // TestMain runs it twice; it tests both backends itself
	}
	defer func() { backend = sqldb.DriverSQLite }()
	for _, backend = range dbtest.Backends {
		b.Run(backend, benchmarkRoad)
	}
}

func benchmarkRoad(b *testing.B) {
	d := newRoad(b)
	batch := int64(1)
	d.db.Options.FreqDelay = 5 * time.Second
	for d.pages < 500 {
		d.round(batch, func() {}, func() {})
		batch++
	}
	t0, s0, r0 := d.db.Counts()
	pages, used := 0, time.Duration(0)
	start := func() { used -= processorTime(); b.StartTimer() }
	stop := func() { b.StopTimer(); used += processorTime() }
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	for pages < b.N {
		n := d.round(batch, start, stop)
		if n == 0 {
			b.Fatal("no page left")
		}
		pages += n
		batch++
	}
	t1, s1, r1 := d.db.Counts()
	b.ReportMetric(float64(used.Microseconds())/float64(pages), "cpu-us/page")
	b.ReportMetric(float64(t1-t0)/float64(pages), "transactions/page")
	b.ReportMetric(float64(s1-s0)/float64(pages), "statements/page")
	b.ReportMetric(float64(r1-r0)/float64(pages), "rows/page")
}

// processorTime is the processor time of this process, without the database server.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
