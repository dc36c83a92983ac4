package batches

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// settledRow checks the rows of a URL that one node has crawled.
func settledRow(t *testing.T, w *world, k key) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	crawled := int64(0)
	for i, node := range w.nodes {
		r := node[k]
		if r == nil {
			continue
		}
		crawled += r.crawled
		if r.status != wire.StatusCrawled {
			t.Errorf("node %d has %v in status %d", i, k, r.status)
		}
	}
	if crawled != 1 {
		t.Errorf("%v was crawled %d times", k, crawled)
	}
}

// While one node crawls, the others hold the rows and mark them crawled afterwards: rows they
// had, copies of new rows, and duplicates that they selected as well.
func TestSeveralNodes(t *testing.T) {
	w := newWorld(3, 2, 12)
	both := w.order[0] // known to two nodes
	w.nodes[1][both] = &row{status: wire.StatusNew, parent: "p"}
	root := w.order[3] // a root URL is not copied
	w.nodes[0][root].parent = ""
	r := newRig(t, w)
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 20, 1 })
	task := r.submitted()
	keys := items(t, task.Stdin)
	if len(keys) != 12 {
		t.Fatalf("%d items, want 12 without duplicates", len(keys))
	}
	testwait.Until(r.t, "the copies are there", func() bool { return len(w.requests(wire.URLNew)) == 1 })
	var copies []struct {
		SiteID, URLMd5              string
		Status, BatchID, SiteSelect int64
		Crawled                     int64
		ETag                        string
	}
	if err := json.Unmarshal(w.requests(wire.URLNew)[0], &copies); err != nil {
		t.Fatal(err)
	}
	if len(copies) != 11 {
		t.Errorf("%d copies, want 11", len(copies))
	}
	for _, k := range copies {
		if k.Status != wire.StatusSelectedCrawling || k.BatchID != batchOf(task.ID) || k.SiteSelect != wire.SelectNone || (key{k.SiteID, k.URLMd5}) == root {
			t.Errorf("copy %+v", k)
		}
	}
	if _, err := wire.ReadURLNew(w.requests(wire.URLNew)[0], nil); err != nil {
		t.Errorf("db-task refuses the copies: %v", err)
	}
	late := keys[11]
	w.set(func() { w.nodes[2][late] = &row{status: wire.StatusNew} }) // discovered there meanwhile
	r.finish(task, 1, 12)
	r.empty()
	for _, k := range keys {
		settledRow(t, w, k)
	}
	r.inside(func() {
		if c.faults != 0 {
			t.Errorf("%d faults", c.faults)
		}
	})
	if _, err := wire.ReadURLUpdate(w.requests(wire.URLUpdate)[0], nil); err != nil {
		t.Errorf("db-task refuses the updates: %v", err)
	}
}

// URLs that the batch did not crawl are due again on every node, in any order of the daemon's
// requests. Only crawled URLs are marked crawled.
func TestSeveralNodesHandBack(t *testing.T) {
	w := newWorld(2, 2, 10)
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 10, 1 })
	task := r.submitted()
	keys := items(t, task.Stdin)
	r.finish(task, 0, 6)
	next := r.submitted()
	again := items(t, next.Stdin)
	if len(again) != 4 {
		t.Fatalf("%d URLs are due again, want 4", len(again))
	}
	for _, k := range keys[:6] {
		settledRow(t, w, k)
	}
	r.finish(next, 1, 4)
	r.empty()
	for _, k := range keys {
		settledRow(t, w, k)
	}
	asked := w.ops()
	news, back := slices.Index(asked, wire.URLUpdate), slices.Index(asked[1:], wire.URLReturn)+1
	if news > back {
		t.Errorf("rows were returned before the other nodes were informed: %v", asked)
	}
}

// Only one selection runs at a time: a hint meanwhile waits for its answer, and is not lost.
func TestHintDuringSelection(t *testing.T) {
	w := newWorld(2, 1, 2)
	w.faults[wire.URLFetch] = []fault{fine, late}
	answer := sync.OnceFunc(func() { close(w.answer) })
	defer answer()
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks = 2 })
	fetches := func() int { return len(w.requests(wire.URLFetch)) }
	testwait.Until(r.t, "a look and a selection", func() bool { return fetches() == 2 })
	for range 5 {
		r.work()
		r.clock.pass(2 * moreAfter)
		waiting := 0
		r.inside(func() { waiting = r.queue.Waiting() })
		if waiting != 1 {
			t.Fatalf("%d requests without an answer during a selection, want 1", waiting)
		}
	}
	answer()
	task := r.submitted()
	testwait.Until(r.t, "another look", func() bool { return fetches() == 3 })
	r.finish(task, 0, 2)
	r.empty()
}

// A failed batch also returns its copies.
func TestSeveralNodesFault(t *testing.T) {
	w := newWorld(2, 2, 10)
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 10, 1 })
	task := r.submitted()
	w.work(task.Stdin, 0, 0)
	r.env.end(task.ID, executor.Failed, "")
	r.empty()
	if n := w.count(wire.StatusNew); n != 20 {
		t.Errorf("%d rows New, want 10 on each node", n)
	}
	if n := len(w.requests(wire.URLUpdate)); n != 0 {
		t.Error("other nodes were informed of a failed batch")
	}
}

// The copies of a fast batch arrive before its rows are returned.
func TestCopiesComeFirst(t *testing.T) {
	w := newWorld(2, 1, 2)
	r := newRig(t, w)
	w.faults[wire.URLNew] = []fault{deafen}
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks = 1 })
	task := r.submitted()
	r.finish(task, 0, 2)
	testwait.Until(r.t, "the end waits", func() (waits bool) {
		r.inside(func() { waits = c.batches[task.ID].after != nil })
		return waits
	})
	r.settled()
	if n := len(w.returns(t, batchOf(task.ID))); n != 0 {
		t.Error("rows were returned before the copies arrived")
	}
	r.clock.pass(30 * time.Second) // DTMDTimeout of URL_NEW
	r.empty()
}

func TestOneNodeOutOfOrder(t *testing.T) {
	w := newWorld(2, 2, 8)
	r := newRig(t, w)
	w.faults[wire.URLFetch] = []fault{fine, partial}
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks, cfg.Propagate = 10, 1, false })
	task := r.submitted()
	if n := len(items(t, task.Stdin)); n != 4 {
		t.Errorf("%d items of the working node, want 4", n)
	}
	r.finish(task, 0, 4)
	next := r.submitted() // rows that the failed node had marked are due
	if n := len(items(t, next.Stdin)); n != 4 {
		t.Errorf("%d items, want 4", n)
	}
	r.finish(next, 1, 4)
	r.empty()
}

// A URL that is in an active batch of another node is given back, only where this selection
// marked it.
func TestActiveURLsAreRejected(t *testing.T) {
	for _, check := range []bool{true, false} {
		w := newWorld(2, 1, 1)
		k := w.order[0]
		r := newRig(t, w)
		c := r.crawl(func(cfg *CrawlConfig) { cfg.Propagate, cfg.CheckActive = false, check })
		first := r.submitted()
		w.set(func() { w.nodes[1][k] = &row{status: wire.StatusNew} }) // discovered there meanwhile
		w.work(first.Stdin, 0, 0)
		r.work()
		if check {
			testwait.Until(r.t, "it is given back", func() bool { return w.nodesStatus(1, k) == wire.StatusNew && len(w.requests(wire.URLUpdate)) > 0 })
			r.settled()
			if got := w.nodesStatus(0, k); got != wire.StatusCrawling {
				t.Errorf("the row of the active batch has status %d", got)
			}
			if _, err := wire.ReadURLUpdate(w.requests(wire.URLUpdate)[0], nil); err != nil {
				t.Errorf("db-task refuses the update: %v", err)
			}
			r.finish(first, 0, 1)
			testwait.Until(r.t, "both are crawled", func() bool { return w.count(wire.StatusCrawled) == 2 })
		} else {
			second := r.submitted()
			r.finish(first, 0, 1)
			r.finish(second, 1, 1)
		}
		r.empty()
		r.inside(func() {
			if c.faults != 0 {
				t.Errorf("%d faults", c.faults)
			}
		})
		r.stop()
	}
}

func (w *world) nodesStatus(node int, k key) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[node][k].status
}

// Strategy 1 deletes copies under the same condition.
func TestCopiesAreDeleted(t *testing.T) {
	w := newWorld(2, 1, 2)
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.CrawledStrategy = 1, 1 })
	task := r.submitted()
	r.finish(task, 0, 2)
	testwait.Until(r.t, "copies are deleted", func() bool { return len(w.requests(wire.URLDelete)) == 1 })
	var list []struct {
		SiteID                       string
		URL                          *string
		URLType, DelayedType, Reason int64
		Criterions                   struct {
			WHERE string
			LIMIT int64
		}
	}
	if err := json.Unmarshal(w.requests(wire.URLDelete)[0], &list); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(batchOf(task.ID))
	want := "`URLMd5`='" + items(t, task.Stdin)[0].Md5 + "' AND `ParentMd5`<>'' AND ((`Status`=1 AND `Batch_Id`<>" + id + ") OR (`Status` IN (2,8) AND `Batch_Id`=" + id + "))"
	if len(list) != 2 || list[0].URL != nil || list[0].Criterions.WHERE != want || list[0].Reason != 3 || list[0].URLType != wire.ByMd5 {
		t.Errorf("request %+v", list)
	}
	// The fake node deletes nothing, so the copies are returned.
	for r.world.count(wire.StatusNew) > 0 || r.env.left() > 0 {
		select {
		case id := <-r.env.submitted:
			r.finish(r.env.task(id), 0, 2)
		case <-time.After(time.Millisecond):
		}
		if submits, _ := r.env.counts(); submits > 3 {
			break
		}
	}
}
