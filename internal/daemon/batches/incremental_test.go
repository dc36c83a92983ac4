package batches

import (
	"encoding/json"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/frontier"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

func incremental(cfg *CrawlConfig) {
	cfg.Mode, cfg.MaxTasks = false, 1
	cfg.Incremental = IncrementalConfig{
		Mode: true, Period: 20 * time.Second, MaxDepth: 6, MaxURLs: 3,
		SitesCriterion: wire.Criterion{Where: "`State`=1"}, URLsCriterion: wire.Criterion{Where: "`Status`=7", OrderBy: "`MRate` DESC"},
	}
}

// crawledWorld returns a world whose pages are all processed.
func crawledWorld(nodes, urls int) *world {
	w := newWorld(nodes, 1, urls)
	for _, node := range w.nodes {
		for _, r := range node {
			r.status, r.crawled = wire.StatusProcessed, 1
		}
	}
	return w
}

func TestIncrementalBatch(t *testing.T) {
	w := crawledWorld(1, 5)
	r := newRig(t, w)
	c := r.crawl(incremental)
	task := r.submitted()
	var notes lenient.Notes
	b, err := wire.ReadBatch(task.Stdin, &notes)
	if err != nil || len(notes.Unknown) > 0 || len(b.Refill) != 1 {
		t.Fatal(err, notes.Unknown)
	}
	q := b.Refill[0]
	if q.MaxURLs != 3 || q.Algorithm != 1 || !q.SkipBusySites || q.SitesCriterion.Where != "`State`=1" ||
		q.URLsCriterion.Where != "(`Status`=7) AND `Depth`<=6" || q.URLsCriterion.OrderBy != "`MRate` DESC" ||
		q.URLUpdate["Status"] != int64(wire.StatusSelectedIncremental) || q.URLUpdate["Batch_Id"] != batchOf(task.ID) {
		t.Errorf("selection %+v", q)
	}
	if b.CrawlerType != wire.CrawlIncremental || b.RefillTime != 0 || len(b.Items) != 3 {
		t.Errorf("batch %+v", b)
	}
	if task.Type != CrawlTask || task.TimeLimit != time.Minute {
		t.Errorf("task %+v", task)
	}
	r.stats(map[string]int{
		"batches_crawl_url_fetch_incr": 1, "batches_crawl_url_fetch": 0, "batches_crawl_filled": 0, "batches_crawl_urls": 0,
		"batches_crawl_queue": 1, "batches_crawl_items_avg": 0,
	})
	// One at a time, without a slot of crawling.
	r.clock.pass(20 * time.Second)
	r.settled()
	r.stats(map[string]int{"batches_crawl_url_fetch_incr": 1})
	r.inside(func() {
		if c.usedSlots() != 0 {
			t.Errorf("%d used slots", c.usedSlots())
		}
	})
	r.finish(task, 0, 2) // one page was not fetched
	r.empty()
	if n, m := w.count(wire.StatusCrawled), w.count(wire.StatusNew); n != 2 || m != 1 {
		t.Errorf("%d crawled, %d New; want 2 and 1", n, m)
	}
	r.clock.pass(20 * time.Second)
	r.env.exit(r.submitted().ID, 1, "")
	r.empty()
	if n := w.count(wire.StatusSelectedIncremental); n != 0 {
		t.Errorf("%d rows are still selected after a fault", n)
	}
	r.stats(map[string]int{"batches_crawl_fault": 1, "batches_crawl_urls_fault": 3})
}

// A busy queue of regular crawling does not block incremental crawling, which uses none of its
// slots.
func TestIncrementalNeedsNoSlot(t *testing.T) {
	w := newWorld(1, 2, 40)
	for i, k := range w.order {
		if i >= 30 {
			w.nodes[0][k].status = wire.StatusProcessed
		}
	}
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) {
		incremental(cfg)
		cfg.Mode, cfg.MaxURLs = true, 10
	})
	kinds := map[int64]executor.Task{}
	for range 2 {
		task := r.submitted()
		b, err := wire.ReadBatch(task.Stdin, nil)
		if err != nil {
			t.Fatal(err)
		}
		kinds[b.CrawlerType] = task
	}
	if len(kinds) != 2 {
		t.Fatalf("batches of %d kinds, want one of each", len(kinds))
	}
	r.settled()
	r.finish(kinds[wire.CrawlNormal], 0, 10)
	r.finish(r.submitted(), 0, 10) // its slot is filled while the incremental batch runs
	r.finish(kinds[wire.CrawlIncremental], 0, 3)
	r.finish(r.submitted(), 0, 10)
	r.empty()
}

// No copies are made, because other nodes know the pages. At the end, nodes that selected them
// are informed.
func TestIncrementalOnTwoNodes(t *testing.T) {
	w := crawledWorld(1, 3)
	w.nodes = append(w.nodes, map[key]*row{})
	for k, r := range w.nodes[0] {
		other := *r
		w.nodes[1][k] = &other
	}
	r := newRig(t, w)
	r.crawl(incremental)
	task := r.submitted()
	if n := len(items(t, task.Stdin)); n != 3 {
		t.Errorf("%d items: a page is in the batch twice", n)
	}
	r.finish(task, 0, 3)
	r.empty()
	if n := len(w.requests(wire.URLNew)); n != 0 {
		t.Errorf("%d propagations", n)
	}
	if n := w.count(wire.StatusCrawled); n != 6 {
		t.Errorf("%d rows crawled on both nodes, want 6", n)
	}
}

func TestIncrementalSelectionIsLost(t *testing.T) {
	w := crawledWorld(2, 3)
	r := newRig(t, w)
	w.faults[wire.URLFetch] = []fault{fine, down}
	r.crawl(incremental)
	testwait.Until(r.t, "the selection is looked after", func() bool { return len(w.requests(wire.URLReturn)) == 2 })
	r.empty()
	r.clock.pass(20 * time.Second)
	r.finish(r.submitted(), 0, 3)
	r.empty()
	r.stats(map[string]int{"batches_crawl_url_fetch_incr": 2, "batches_crawl_url_fetch_requests": 0})
}

func TestIncrementalRejects(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	c := r.crawl(incremental)
	r.stats(map[string]int{"batches_crawl_total": 1})
	k := key{"s", wire.Md5("a")}
	r.inside(func() {
		c.batches["crawl-1"] = &batch{id: 1, task: "crawl-1", stage: running, keys: map[key]bool{k: true}}
		c.startBatch(round{id: 2, rules: frontier.Rules{Incremental: true}}, []nodeAnswer{{object: json.RawMessage(`[{"siteId":"s","urlMd5":"` + k.Md5 + `"}]`)}})
		clear(c.batches)
	})
	testwait.Until(r.t, "it is given back", func() bool { return len(r.world.requests(wire.URLUpdate)) == 1 })
}
