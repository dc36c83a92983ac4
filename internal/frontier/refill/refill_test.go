package refill

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A selection needs a stored page of a site with few waiting items. It names the sites that the
// batch keeps busy, without those that have a delay.
func TestFlow(t *testing.T) {
	f := New(4) // low is 2
	newItem := func(site string, delayed bool) Item {
		it := Item{Site: site, Delayed: delayed}
		f.CountQueued(it)
		return it
	}
	stored := func(it Item, page, held bool) {
		f.CountFetched(it)
		f.CountStored([]Stored{{Item: it, Page: page, Held: held}})
	}
	check := func(when string, wantMay bool, want ...string) {
		t.Helper()
		d := f.currentDemand()
		f.noteSelection(d)
		slices.Sort(d.Own)
		if may := d.Others || len(d.Own) > 0; may != wantMay || d.empty || !slices.Equal(d.Own, want) {
			t.Errorf("%s: %+v; want %v, %v", when, d, wantMay, want)
		}
	}
	slow := []Item{newItem("slow", false), newItem("slow", false), newItem("slow", false)}
	fast := []Item{newItem("fast", false), newItem("fast", false), newItem("fast", false)}
	delayed := []Item{newItem("delayed", true), newItem("delayed", true)}
	held := []Item{newItem("held", false), newItem("held", false)}
	check("nothing is stored", false)
	stored(fast[0], true, false)
	check("two items wait", false)
	f.CountFetched(fast[1])
	check("one item of the fast site waits", true, "fast")
	check("nothing was stored since", false)
	stored(delayed[0], true, false)
	check("a site with a delay has items", false)
	stored(delayed[1], true, false)
	check("a site with a delay has no items", true)
	stored(held[0], false, true)
	check("an item was handed back", false)
	stored(fast[2], true, false)
	check("only stored items are left of the fast site", true, "fast")
	if !f.NeedsResults() {
		t.Error("the fast site has no item that waits, and its last page is not stored at once")
	}
	f.CountStored([]Stored{{Item: fast[1]}})
	for _, it := range append(slow, held[1]) {
		stored(it, false, false)
	}
	if d := f.currentDemand(); !d.empty || d.Others || len(d.Own) > 0 || f.open != 0 || f.unfetched != 0 || f.stalled != 0 || len(f.sites) > 0 {
		t.Errorf("at the end: %+v, %+v", d, f)
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
			f := New(c.most)
			var items []Item
			for _, host := range c.hosts {
				it := Item{Site: "s", Host: string(host), Delayed: true}
				f.CountQueued(it)
				items = append(items, it)
			}
			for i, it := range items {
				f.CountFetched(it)
				f.CountStored([]Stored{{Item: it, Page: true}})
				left := len(items) - i - 1
				d := f.currentDemand()
				f.noteSelection(d)
				if selected, want := slices.Contains(d.Own, "s"), left > 0 && left < c.below; selected != want {
					t.Fatalf("with %d items selected: %v", left, selected)
				}
				if left > 0 && f.MaxHosts("s") != 3 {
					t.Fatalf("%d hosts", f.MaxHosts("s"))
				}
			}
			if n := f.MaxHosts("s"); n != 1 {
				t.Errorf("a site without items has %d hosts", n)
			}
		})
	}
}

// TestSteps: own sites are selected at once, other sites at most once in lookGap while items wait, and without slow
// requests nothing is selected after the time of the batch.
func TestSteps(t *testing.T) {
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	f := New(4)
	f.ExpectRows()
	check := func(when string, step Step, want Step) {
		t.Helper()
		if step.Selects != want.Selects || step.Ends != want.Ends || step.Wait != want.Wait || step.Others != want.Others || !slices.Equal(step.Own, want.Own) || !slices.Equal(step.Emptied, want.Emptied) {
			t.Errorf("%s: %+v", when, step)
		}
	}
	check("a batch without items", f.Next(at, false, false), Step{Selects: true, Demand: Demand{Others: true}})
	check("nothing was due", f.Next(at, false, false), Step{Ends: true})
	a, b := Item{Site: "a"}, Item{Site: "b"}
	for range 3 {
		f.CountQueued(a)
	}
	f.CountQueued(b)
	check("items wait", f.Next(at, false, false), Step{})
	f.CountFetched(b)
	f.CountStored([]Stored{{Item: b, Page: true}})
	soon := at.Add(lookGap / 2)
	check("a site has no items, and others were selected just before", f.Next(soon, false, false), Step{Selects: true, Wait: lookGap / 2, Demand: Demand{Emptied: []string{"b"}}})
	check("its selection has run", f.Next(soon, false, false), Step{Wait: lookGap / 2})
	check("the gap is over", f.Next(at.Add(lookGap), false, false), Step{Selects: true, Demand: Demand{Others: true}})
	for range 2 {
		f.CountFetched(a)
		f.CountStored([]Stored{{Item: a, Page: true}})
	}
	check("the time is over", f.Next(at.Add(time.Minute), false, true), Step{})
	check("few items of a site wait, and slow requests run", f.Next(at.Add(time.Minute), true, true), Step{Selects: true, Wait: lookPeriod - time.Minute + lookGap, Demand: Demand{Others: true, Own: []string{"a"}}})
	f.CountFetched(a)
	f.CountStored([]Stored{{Item: a}})
	check("all is stored", f.Next(at.Add(time.Minute), false, true), Step{Ends: true})
}
