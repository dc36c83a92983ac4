package crawl

import (
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// A selection needs a stored page of a site with few waiting items. It names the sites that the
// batch keeps busy, without those that have a delay.
func TestFlow(t *testing.T) {
	f := newFlow(4) // low is 2
	newItem := func(site string, delay int64) *item {
		it := &item{site: &siteWork{Site: wire.Site{ID: site, RequestDelay: delay}}, refilled: true}
		it.SiteID = site
		f.countQueued(it)
		return it
	}
	stored := func(it *item, status int64, until schema.Date) {
		f.countFetched(it)
		it.url.Status = status
		it.handedBack = status == wire.StatusNew
		f.countStored([]*outcome{{item: it, result: wire.Fetched{HeldUntil: until}}})
	}
	check := func(when string, wantMay bool, want ...string) {
		t.Helper()
		d := f.currentDemand()
		f.noteSelection(d)
		slices.Sort(d.own)
		if may := d.others || len(d.own) > 0; may != wantMay || d.empty || !slices.Equal(d.own, want) {
			t.Errorf("%s: %+v; want %v, %v", when, d, wantMay, want)
		}
	}
	slow := []*item{newItem("slow", 0), newItem("slow", 0), newItem("slow", 0)}
	fast := []*item{newItem("fast", 0), newItem("fast", 0), newItem("fast", 0)}
	delayed := []*item{newItem("delayed", 500), newItem("delayed", 500)}
	held := []*item{newItem("held", 0), newItem("held", 0)}
	check("nothing is stored", false)
	stored(fast[0], wire.StatusCrawled, "")
	check("two items wait", false)
	f.countFetched(fast[1])
	check("one item of the fast site waits", true, "fast")
	check("nothing was stored since", false)
	stored(delayed[0], wire.StatusCrawled, "")
	check("a site with a delay has items", false)
	stored(delayed[1], wire.StatusCrawled, "")
	check("a site with a delay has no items", true)
	stored(held[0], wire.StatusNew, "2026-01-05 10:00:00")
	check("an item was handed back", false)
	stored(fast[2], wire.StatusCrawled, "")
	check("only stored items are left of the fast site", true, "fast")
	if !f.needsResults() {
		t.Error("the fast site has no item that waits, and its last page is not stored at once")
	}
	f.countStored([]*outcome{{item: fast[1]}})
	for _, it := range append(slow, held[1]) {
		stored(it, wire.StatusNew, "")
	}
	if d := f.currentDemand(); !d.empty || d.others || len(d.own) > 0 || f.open != 0 || f.unfetched != 0 || f.stalled != 0 || len(f.sites) > 0 {
		t.Errorf("at the end: %+v, %+v", d, f)
	}
	if f.mask != errormask.MaxExecutionTime {
		t.Errorf("errors %v", f.mask.Names())
	}
}

// A site with a delay is selected while it has items, if it has several hosts: they would wait for the
// host that has items left. Each of its hosts counts for the number of rows, and for more while one of
// them has none and there is room.
func TestFlowOfManyHosts(t *testing.T) {
	for name, c := range map[string]struct {
		most  int64
		hosts string // of the items, in the order of the fetch
		below int    // with so many items it is not selected
	}{
		"each host has items": {500, strings.Repeat("abc", 2*perHost), 3 * perHost},
		"a host has none":     {500, "cb" + strings.Repeat("a", 4*mostPerHost), 3 * mostPerHost},
		"no room for so many": {4, "cb" + strings.Repeat("a", 2*mostSlow), mostSlow},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlow(c.most)
			var items []*item
			for _, host := range c.hosts {
				it := &item{site: &siteWork{Site: wire.Site{ID: "s", RequestDelay: 500}}, host: string(host)}
				it.SiteID = "s"
				f.countQueued(it)
				items = append(items, it)
			}
			for i, it := range items {
				f.countFetched(it)
				it.url.Status = wire.StatusCrawled
				f.countStored([]*outcome{{item: it}})
				left := len(items) - i - 1
				d := f.currentDemand()
				f.noteSelection(d)
				if selected, want := slices.Contains(d.own, "s"), left > 0 && left < c.below; selected != want {
					t.Fatalf("with %d items selected: %v", left, selected)
				}
				if left > 0 && f.maxHosts("s") != 3 {
					t.Fatalf("%d hosts", f.maxHosts("s"))
				}
			}
			if n := f.maxHosts("s"); n != 1 {
				t.Errorf("a site without items has %d hosts", n)
			}
		})
	}
}
