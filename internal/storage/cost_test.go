package storage

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// What a page costs in the stores does not depend on the machine: a batch takes 64 URLs at a
// time and stores pages of 50 links, 5 of them new, and three files. A limit that is too high
// after an improvement should be lowered.
func TestCostOfAPage(t *testing.T) {
	const round, links, warm, rounds = 64, 50, 4, 5
	limits := []struct {
		name string
		most float64
	}{{"transactions", 0.05}, {"statements", 0.6}, {"changed rows", 17}, {"allocations", 270}}
	n := newNode(t)
	n.Store = sqlstore.Open(n.db, sqlstore.Options{Now: func() time.Time { return n.now }, FreqDelay: 5 * time.Second})
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0}]`, site, root))
	known := 0
	link := func(parent string, i int) wire.Link {
		u := wire.NewURL(site, fmt.Sprintf("%sfolder/%d.html", root, i))
		u.ParentMd5, u.Depth, u.UDate, u.CDate = parent, 1, schema.DateOf(n.now), schema.DateOf(n.now)
		known = max(known, i+1)
		return wire.Link{URL: u}
	}
	selection := []wire.URLFetchRequest{{Sites: []string{site}, MaxURLs: round, URLsCriterion: wire.Criterion{Where: "Status=1 AND State=0", OrderBy: "Priority DESC, Depth, UDate"},
		SiteUpdate: schema.Patch{"TcDate": schema.Expr("NOW()")}, URLUpdate: schema.Patch{"Status": int64(2), "Batch_Id": int64(7), "UDate": schema.Expr("NOW()")}}}
	var m runtime.MemStats
	cost := func() [4]float64 {
		transactions, statements, rows := n.db.Counts()
		runtime.ReadMemStats(&m)
		return [4]float64{float64(transactions), float64(statements), float64(rows), float64(m.Mallocs)}
	}
	var total [4]float64
	measured := func(do func()) {
		before := cost()
		do()
		for i, after := range cost() {
			total[i] += after - before[i]
		}
	}
	pages := 0
	for i := range warm + rounds {
		if i == warm {
			total, pages = [4]float64{}, 0
		}
		n.now = n.now.Add(time.Second)
		var rows []wire.URL
		measured(func() {
			var err error
			rows, err = n.Take(t.Context(), selection, 7)
			n.must(err)
		})
		var results []wire.Fetched
		for p, u := range rows {
			r := wire.Fetched{URLMd5: u.URLMd5, Crawled: true, First: true, At: n.now,
				Files: []wire.File{{Type: 0, Data: []byte("page")}, {Type: 1, Data: []byte("headers")}, {Type: 2, Data: []byte("request")}},
				Set: schema.Patch{"Status": int64(4), "State": int64(0), "Size": int64(4000 + p), "CrawlingTime": int64(3), "TotalTime": int64(3), "HTTPCode": int64(200),
					"ContentType": "text/html", "Charset": "utf-8", "ErrorMask": int64(0), "UDate": string(schema.DateOf(n.now)), "TcDate": string(schema.DateOf(n.now)), "LinksI": int64(links)}}
			for j := range links {
				next := known
				if j%10 > 0 && known > 5 {
					next = (p*31 + j*7) % known
				}
				r.Links = append(r.Links, link(u.URLMd5, next))
			}
			results = append(results, r)
		}
		measured(func() { n.saved(n.SaveCrawl(t.Context(), site, 7, results)) })
		pages += len(rows)
	}
	measured(func() { n.must(n.Flush(t.Context())) })
	if pages != rounds*round {
		t.Fatalf("%d pages", pages)
	}
	for i, limit := range limits {
		got := total[i] / float64(pages)
		t.Logf("%.3f %s per page", got, limit.name)
		if got > limit.most {
			t.Errorf("%.3f %s per page, limit %.3f", got, limit.name, limit.most)
		}
	}
}
