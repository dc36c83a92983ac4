package sqlstore

import (
	"fmt"
	"slices"
	"testing"

	"hce/dc/internal/wire"
)

// The sums count all sites except "0". Of more categories than fit, the ones with few new URLs
// share a sum.
func TestSiteTotals(t *testing.T) {
	b := newBench(t)
	totals := func() []wire.SiteTotal {
		list, err := b.SiteTotals(ctx)
		b.must(err)
		return list
	}
	if list := totals(); list == nil || len(list) > 0 {
		t.Errorf("without sites: %v", list)
	}
	b.newSite(`{"id":"a","categoryId":7,"urls":["http://a.test/"]}`)
	b.newSite(`{"id":"b","categoryId":7,"urls":["http://b.test/"]}`)
	b.newSite(`{"id":"c","categoryId":7,"state":3,"urls":["http://c.test/"]}`)
	b.newURLs(`[{"siteId":"a","url":"http://a.test/1"},{"siteId":"a","url":"http://a.test/2","status":3},
		{"siteId":"a","url":"http://a.test/3","status":4,"crawled":1,"size":9,"contentType":"text/html"},{"siteId":"a","url":"http://a.test/4","status":6}]`)
	want := []wire.SiteTotal{
		{Category: 7, State: wire.SiteActive, Sites: 2, New: 3, Crawling: 1, Crawled: 1, Processing: 1},
		{Category: 7, State: wire.SiteSuspended, Sites: 1, New: 1},
	}
	if list := totals(); !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
	for i := range wire.MostCategories + 5 {
		b.newSite(fmt.Sprintf(`{"id":"n%d","categoryId":%d,"urls":["http://n%d.test/"]}`, i, 100+i, i))
	}
	list := totals()
	last := wire.SiteTotal{Category: wire.OtherCategories, State: wire.SiteActive, Sites: 6, New: 6}
	if len(list) != wire.MostCategories+2 || !slices.Contains(list, want[0]) || list[len(list)-1] != last {
		t.Errorf("%d sums: %+v", len(list), list)
	}
}
