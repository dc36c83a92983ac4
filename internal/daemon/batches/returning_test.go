package batches

import (
	"slices"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/frontier"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// sweeps returns the URL_RETURN requests for stuck rows so far.
func (r *rig) sweeps() (all []wire.URLReturnRequest) {
	r.t.Helper()
	for _, q := range r.world.returns(r.t, 0) {
		if q.Age > 0 {
			all = append(all, q)
		}
	}
	return all
}

func stuckRows(cfg *CrawlConfig) {
	cfg.Mode = false
	cfg.Return = ReturnConfig{Mode: true, Period: 10 * time.Minute, Age: 30 * time.Minute, MaxURLs: 4}
}

// Stuck rows are returned in portions. Rows of active batches of any manager stay
// (docs/spec/daemon.md F7), and no attempt is counted.
func TestStuckRows(t *testing.T) {
	w := newWorld(1, 2, 20)
	r := newRig(t, w)
	batches := []int64{5, 6, 7, 8} // unknown, of a processing task, of a crawl task, unknown
	statuses := []int64{3, 6, 2, 5}
	for i, k := range w.order {
		row := w.nodes[0][k]
		row.batch, row.status, row.stuck = batches[i%4], statuses[i%4], i < 16
	}
	r.env.add(executor.Task{ID: "process-6", Type: ProcessTask}, executor.Running)
	r.env.add(executor.Task{ID: "crawl-7", Type: CrawlTask}, executor.Running)
	w.faults[wire.URLReturn] = []fault{deafen} // of the recovery, which would return the unknown batches
	c := r.crawl(stuckRows)
	testwait.Until(r.t, "the recovery is asked for", func() bool { return len(w.requests(wire.URLReturn)) == 1 })
	for i, want := range []int{4, 8, 8, 8} { // of unknown batches: 8 stuck rows and 2 young ones
		r.inside(func() { c.ready = true })
		r.clock.pass(10 * time.Minute)
		testwait.Until(r.t, "a sweep", func() bool { return len(r.sweeps()) > i })
		r.stats(map[string]int{"batches_crawl_urls_ret": want})
	}
	q := r.sweeps()[0]
	if q.Age != 1800 || q.MaxURLs != 4 || q.Fault || len(q.Statuses) != 0 || len(q.Sites) != 0 || !slices.Equal(q.Except, []int64{6, 7}) {
		t.Errorf("URL_RETURN %+v", q)
	}
	for status, want := range map[int64]int{wire.StatusNew: 4, wire.StatusCrawled: 4, 3: 1, 5: 1, 6: 5, 2: 5} {
		if n := w.count(status); n != want {
			t.Errorf("%d rows in Status %d, want %d", n, status, want)
		}
	}
	for _, k := range w.order {
		if w.nodes[0][k].attempts != 0 {
			t.Fatal("an attempt was counted")
		}
	}
}

// The rows of a batch that is being selected or submitted stay, although the executor does not
// know it yet.
func TestRowsOfOpenSelectionStay(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	c := r.crawl(stuckRows)
	r.recovered()
	testwait.Until(r.t, "a sweep", func() bool { return len(r.sweeps()) == 1 })
	r.inside(func() {
		c.returning = false
		c.open[11] = round{id: 11}
		c.open[12] = round{id: 12, rules: frontier.Rules{Incremental: true}}
		c.batches["crawl-13"] = &batch{id: 13, task: "crawl-13", stage: running}
		c.returnStuck([]executor.Status{{ID: "crawl-14"}})
		clear(c.open)
		clear(c.batches)
	})
	testwait.Until(r.t, "a second sweep", func() bool { return len(r.sweeps()) == 2 })
	if got := r.sweeps()[1].Except; !slices.Equal(got, []int64{11, 12, 13, 14}) {
		t.Errorf("excluded: %v", got)
	}
}

// Returned rows are crawled at once, not with the next period.
func TestReturnedRowsAreCrawled(t *testing.T) {
	w := newWorld(1, 1, 4)
	r := newRig(t, w)
	r.crawl(func(cfg *CrawlConfig) {
		stuckRows(cfg)
		cfg.Mode = true
	})
	task := r.submitted()
	r.stats(map[string]int{"batches_crawl_total": 2}) // the second was empty
	w.set(func() {
		w.nodes[0][key{"s", "m"}] = &row{status: 3, batch: 99, stuck: true, parent: "p"}
		k := key{"site0", wire.Md5("stuck")}
		w.order = append(w.order, k)
		w.nodes[0][k] = &row{status: 3, batch: 99, stuck: true, parent: "p"}
	})
	r.clock.pass(10 * time.Minute)
	if next := r.submitted(); len(items(t, next.Stdin)) != 1 {
		t.Errorf("batch %s", next.Stdin)
	} else {
		r.finish(next, 0, 1)
	}
	r.finish(task, 0, 4)
	r.empty()
}

// A failed return is repeated with the next period.
func TestSweepOfStuckRowsFails(t *testing.T) {
	w := newWorld(1, 1, 4)
	for _, row := range w.nodes[0] {
		row.status, row.batch, row.stuck = 3, 99, true
	}
	r := newRig(t, w)
	w.faults[wire.URLReturn] = []fault{deafen, down, down}
	c := r.crawl(stuckRows)
	testwait.Until(r.t, "the recovery is asked for", func() bool { return len(w.requests(wire.URLReturn)) == 1 })
	for i := range 4 {
		r.inside(func() { c.ready = true })
		r.clock.pass(10 * time.Minute)
		testwait.Until(r.t, "a sweep", func() bool { return len(r.sweeps()) > i })
		testwait.Until(r.t, "its end", func() (over bool) {
			r.inside(func() { over = !c.returning })
			return over
		})
	}
	r.stats(map[string]int{"batches_crawl_urls_ret": 4})
}
