package batches

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/frontier"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

func TestNothingIsDue(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	c := r.crawl(nil)
	testwait.Until(r.t, "a selection", func() bool { return len(r.world.requests(wire.URLFetch)) == 1 })
	r.settled()
	if n := len(r.world.requests(wire.URLFetch)); n != 1 {
		t.Errorf("%d selections, want 1: an empty selection must not be repeated", n)
	}
	r.work() // a hint, as of a new site
	testwait.Until(r.t, "a second selection", func() bool { return len(r.world.requests(wire.URLFetch)) == 2 })
	r.settled() // a period that begins before the answer selects nothing
	r.clock.pass(time.Hour)
	testwait.Until(r.t, "a third selection", func() (answered bool) {
		r.inside(func() { answered = c.total == 3 })
		return answered
	})
	r.settled()
	r.inside(func() {
		if c.total != 3 || c.filled != 0 || c.fetches != 3 || len(c.batches) != 0 {
			t.Errorf("total %d filled %d fetches %d active %d", c.total, c.filled, c.fetches, len(c.batches))
		}
	})
	if n := len(r.world.returns(t, 0)); n != 1 {
		t.Errorf("%d recoveries, want 1", n)
	}
}

// A queue that finds nothing for a minute looks less often, until a hint.
func TestIdleQueueLooksLessOften(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.Period = 2 * time.Second })
	period := func(want time.Duration) func() bool {
		return func() (is bool) {
			r.inside(func() { is = c.lookPeriod(&c.cfg.Mode, &c.cfg.Period)() == want })
			return is
		}
	}
	later := func(d time.Duration) {
		r.settled() // a request under way would time out
		r.clock.pass(d)
	}
	r.recovered()
	r.work()
	testwait.Until(t, "regular looks after a hint", period(2*time.Second))
	later(idleAfter + time.Second)
	testwait.Until(t, "fewer looks", period(idlePeriod))
	later(idleAfter)
	testwait.Until(t, "half as many", period(2*idlePeriod))
	later(time.Hour)
	testwait.Until(t, "the fewest looks", period(longestIdle))
	r.work()
	testwait.Until(t, "regular looks after another hint", period(2*time.Second))
}

func TestEmptyBatch(t *testing.T) {
	r := newRig(t, newWorld(1, 2, 4))
	c := r.crawl(func(cfg *CrawlConfig) {
		cfg.MaxURLs, cfg.BatchTime, cfg.MaxIterations, cfg.RemoveUnprocessed = 4, 2*time.Minute, 3, true
		cfg.PaceTime, cfg.RefillTime = 7*time.Second, 5*time.Second
		cfg.SitesCriterion.Where, cfg.URLsCriterion.OrderBy = "`State`=1", "`Depth` ASC"
	})
	task := r.submitted()
	if task.Type != CrawlTask || task.TimeLimit != time.Minute || task.QueueTTL != time.Minute {
		t.Errorf("task %+v", task)
	}
	if len(task.Stages) != 1 || task.Stages[0].Program != "crawler-task" {
		t.Errorf("stages %+v", task.Stages)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(task.Stdin, &raw); err != nil {
		t.Fatal(err)
	}
	id := batchOf(task.ID)
	for name, want := range map[string]string{
		"id": fmt.Sprint(id), "crawlerType": "1", "dbMode": "3", "maxIterations": "3", "maxItems": "null",
		"errorMask": "0", "removeUnprocessedItems": "true",
		"maxExecutionTime": "48", // below the 60 s of the executor, although the ini has 120
	} {
		if string(raw[name]) != want {
			t.Errorf("%s = %s, want %s", name, raw[name], want)
		}
	}
	b, err := wire.ReadBatch(task.Stdin, nil)
	if err != nil {
		t.Fatalf("crawler-task refuses the batch: %v", err)
	}
	if b.ID != id || id <= 0 || len(b.Refill) != 1 || b.RefillTime != 5000 {
		t.Fatalf("batch %+v", b)
	}
	f := b.Refill[0]
	if f.MaxURLs != 4 || f.Algorithm != 1 || f.PaceTime != 7000 || !f.SkipBusySites ||
		f.SitesCriterion.Where != "`State`=1" || f.URLsCriterion.OrderBy != "`Depth` ASC" {
		t.Errorf("selection %+v", f)
	}
	look, err := wire.ReadURLFetch(r.world.requests(wire.URLFetch)[0], nil)
	if err != nil {
		t.Fatalf("db-task refuses the look: %v", err)
	}
	if l := look[0]; l.MaxURLs != 1 || !l.SkipBusySites || l.SitesCriterion.Where != f.SitesCriterion.Where || l.URLsCriterion.OrderBy != f.URLsCriterion.OrderBy ||
		len(l.URLUpdate) > 0 || len(l.SiteUpdate) > 0 {
		t.Errorf("look %+v", l)
	}
	r.finish(task, 0, 4)
	r.empty()
	if n := r.world.count(wire.StatusCrawled); n != 4 {
		t.Errorf("%d URLs crawled, want 4", n)
	}
	r.inside(func() {
		if c.filled != 1 || c.items != 4 || c.faults != 0 {
			t.Errorf("filled %d items %d faults %d", c.filled, c.items, c.faults)
		}
	})
}

// The URLs that a task took count, and URL_RETURN frees rows of any site.
func TestRowsOfTask(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 3))
	c := r.crawl(nil)
	task := r.submitted()
	r.world.set(func() {
		for _, row := range r.world.nodes[0] {
			row.status = wire.StatusCrawled
		}
	})
	r.env.end(task.ID, executor.Finished, `{"items":[],"refilled":7,"tally":{"responses.2xx":9}}`)
	r.empty()
	r.inside(func() {
		if c.items != 7 || c.filled != 1 || c.faults != 0 || c.tally["responses.2xx"] != 9 {
			t.Errorf("%d items of %d batches, %d faults, tally %v", c.items, c.filled, c.faults, c.tally)
		}
	})
	if got := r.world.returns(t, batchOf(task.ID)); len(got) != 1 || len(got[0].Sites) != 0 {
		t.Errorf("URL_RETURN %+v", got)
	}
}

// A look finds a row that no task can take: a task starts in each period, not in a loop.
func TestTaskTakesNothing(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 1))
	r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 0, 1 })
	for n := 1; n <= 3; n++ {
		r.finish(r.submitted(), 0, 0)
		r.empty()
		r.settled()
		if submits, _ := r.env.counts(); submits != n {
			t.Fatalf("%d tasks, want %d", submits, n)
		}
		r.clock.pass(time.Hour)
	}
}

func TestSlotsAreRefilledAtOnce(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 25))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 5, 2 })
	tasks := []executor.Task{r.submitted(), r.submitted()}
	for len(tasks) > 0 {
		r.settled()
		r.inside(func() {
			if n := c.usedSlots(); n > 2 {
				t.Errorf("%d used slots", n)
			}
		})
		r.finish(tasks[0], 0, 5)
		if tasks = tasks[1:]; r.world.count(wire.StatusNew) > 0 {
			tasks = append(tasks, r.submitted())
		}
	}
	r.empty()
	if _, most := r.env.counts(); most != 2 || r.world.count(wire.StatusCrawled) != 25 {
		t.Errorf("at most %d concurrent tasks, %d URLs crawled", most, r.world.count(wire.StatusCrawled))
	}
}

// A hint during a look is not lost.
func TestHintDuringLook(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	r.world.faults[wire.URLFetch] = []fault{late}
	c := r.crawl(nil)
	testwait.Until(r.t, "a look", func() bool { return len(r.world.requests(wire.URLFetch)) == 1 })
	r.work()
	testwait.Until(r.t, "the hint is noted", func() (noted bool) {
		r.inside(func() { noted = c.hinted })
		return noted
	})
	close(r.world.answer)
	testwait.Until(r.t, "a second look", func() bool { return len(r.world.requests(wire.URLFetch)) == 2 })
}

// Each end of a task returns the rows and is counted once. It counts as an attempt unless the
// task was cancelled or lost.
func TestTaskEnds(t *testing.T) {
	tests := []struct {
		name             string
		end              func(r *rig, task executor.Task)
		good, expired    bool
		crawled, new     int
		rests, submitted bool
	}{
		{name: "finished", good: true, crawled: 4, submitted: true,
			end: func(r *rig, task executor.Task) { r.finish(task, 0, 4) }},
		{name: "finished with two rows left", good: true, crawled: 2, new: 2, submitted: true,
			end: func(r *rig, task executor.Task) { r.finish(task, 0, 2) }},
		{name: "program reports a fault of the machine", new: 4, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.exit(task.ID, 1, "crawler-task: no space left on device") }},
		{name: "fault of the machine after some pages", crawled: 3, new: 1, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) {
				r.world.work(task.Stdin, 0, 3)
				r.env.exit(task.ID, 1, "")
			}},
		{name: "program cannot be started", new: 4, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.exit(task.ID, 127, "") }},
		{name: "program was stopped from outside", new: 4, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.exit(task.ID, 143, "") }},
		{name: "program crashes without items, too", new: 4, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) {
				r.env.set(func() { r.env.control.State = executor.Failed })
				r.env.exit(task.ID, 139, "")
			}},
		{name: "lost", new: 4, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.end(task.ID, executor.Lost, "") }},
		{name: "cancelled", new: 4, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.end(task.ID, executor.Cancelled, "") }},
		{name: "expired", expired: true, new: 4, rests: true, submitted: true,
			end: func(r *rig, task executor.Task) { r.env.end(task.ID, executor.Refused, "") }},
		{name: "refused by the executor", new: 4, rests: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, newWorld(1, 2, 4))
			if !test.submitted {
				r.env.refuse = executor.ErrRefused
			}
			c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks = 1 })
			if test.submitted {
				task := r.submitted()
				r.env.set(func() { r.env.refuse = errors.New("no more") }) // of returned rows
				id := batchOf(task.ID)
				test.end(r, task)
				testwait.Until(r.t, "the rows are returned", func() bool { return len(r.world.returns(t, id)) == 1 })
				got := r.world.returns(t, id)[0]
				if got.Fault || got.MaxAttempts != 3 || len(got.Sites) != 0 || len(got.Except) != 0 {
					t.Errorf("URL_RETURN %+v", got)
				}
			}
			testwait.Until(r.t, "the end is counted", func() (counted bool) {
				r.inside(func() { counted = c.faults > 0 || test.good })
				return counted
			})
			r.empty()
			if n := r.world.count(wire.StatusCrawled); n != test.crawled {
				t.Errorf("%d rows crawled, want %d", n, test.crawled)
			}
			if n := r.world.count(wire.StatusNew); n != test.new {
				t.Errorf("%d rows New, want %d", n, test.new)
			}
			selections := len(r.world.requests(wire.URLFetch))
			if test.rests && selections != 1 {
				t.Errorf("%d selections: a fault must not repeat at once", selections)
			}
			if !test.rests && selections == 1 {
				t.Error("the free slot was not filled")
			}
			r.inside(func() {
				wantFaults, wantURLs := int64(1), int64(test.new)
				if test.good {
					wantFaults, wantURLs = 0, 0
				}
				if !test.submitted { // it had no rows
					wantURLs = 0
				}
				if !test.rests && test.new > 0 { // the next task was refused
					wantFaults++
				}
				if c.faults != wantFaults || c.urlsFault != wantURLs || (c.expired == 1) != test.expired {
					t.Errorf("faults %d of %d URLs, %d expired; want %d of %d, %v", c.faults, c.urlsFault, c.expired, wantFaults, wantURLs, test.expired)
				}
			})
		})
	}
}

// A fault of the machine costs no URL an attempt, however long it takes. The queue pauses, tries
// one batch at a time, says why, and goes on by itself when the fault ends.
func TestFaultOfTheMachine(t *testing.T) {
	r := newRig(t, newWorld(1, 2, 4))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs = 2 })
	for _, task := range []executor.Task{r.submitted(), r.submitted()} {
		r.env.exit(task.ID, 1, "a warning\ncrawler-task: write /raw/1.warc: no space left on device\n")
	}
	for pause := range 6 {
		testwait.Until(r.t, "the queue pauses", func() (rests bool) {
			r.inside(func() { rests = c.rested == int64(pause+1) && len(c.batches) == 0 })
			return rests
		})
		if got := r.operator(wire.AdminStat, "batches_crawl_pause", nil).Fields["batches_crawl_pause"]; got != "crawler-task: write /raw/1.warc: no space left on device" {
			t.Errorf("reason of the pause %q", got)
		}
		want := min(shortestRest<<pause, longestRest)
		r.inside(func() {
			if c.rest != want {
				t.Errorf("pause %d: %v, want %v", pause, c.rest, want)
			}
		})
		submits, _ := r.env.counts()
		r.work()
		r.clock.pass(want - time.Second)
		r.settled()
		if again, _ := r.env.counts(); again != submits {
			t.Fatal("a batch started during the pause")
		}
		r.clock.pass(time.Second) // without a hint and long before the next period
		task := r.submitted()
		r.settled()
		if again, _ := r.env.counts(); again != submits+1 {
			t.Errorf("%d batches try whether the fault has ended", again-submits)
		}
		if pause < 5 {
			r.env.exit(task.ID, 1, "crawler-task: write /raw/1.warc: no space left on device")
			continue
		}
		r.finish(task, 0, 2)
		r.finish(r.submitted(), 0, 2)
	}
	r.empty()
	r.stats(map[string]int{"batches_crawl_pauses": 6, "batches_crawl_halved": 0})
	r.inside(func() {
		if c.fault != "" || c.rest != 0 {
			t.Errorf("fault %q, rest %v", c.fault, c.rest)
		}
	})
	for k, row := range r.world.nodes[0] {
		if row.attempts != 0 || row.state != 0 || row.status != wire.StatusCrawled {
			t.Errorf("%v: %+v", k, row)
		}
	}
}

func TestWatchMissed(t *testing.T) {
	t.Run("missed end", func(t *testing.T) {
		r := newRig(t, newWorld(1, 1, 4))
		r.env.deaf = true
		r.crawl(func(cfg *CrawlConfig) { cfg.QueuePeriod = 10 * time.Second })
		task := r.submitted()
		r.finish(task, 0, 4)
		r.clock.pass(10 * time.Second)
		r.empty()
		if n := r.world.count(wire.StatusCrawled); n != 4 {
			t.Errorf("%d crawled", n)
		}
	})
	t.Run("unknown task", func(t *testing.T) {
		r := newRig(t, newWorld(1, 1, 4))
		c := r.crawl(func(cfg *CrawlConfig) { cfg.QueuePeriod, cfg.MaxTasks = 10*time.Second, 1 })
		task := r.submitted()
		testwait.Until(r.t, "the task is accepted", func() (ok bool) {
			r.inside(func() { ok = c.batches[task.ID].stage == running })
			return ok
		})
		r.env.lose(task.ID)
		r.clock.pass(10 * time.Second)
		next := r.submitted() // its URLs are due again
		r.inside(func() {
			if c.faults != 1 {
				t.Errorf("%d faults", c.faults)
			}
		})
		r.finish(next, 0, 4)
		r.empty()
	})
	t.Run("status fails", func(t *testing.T) {
		r := newRig(t, newWorld(1, 1, 4))
		r.env.noResult, r.env.noDelete = errors.New("disk"), errors.New("disk")
		c := r.crawl(nil)
		task := r.submitted()
		r.finish(task, 0, 4)
		testwait.Until(r.t, "the result is asked for in vain", func() (tried bool) {
			r.inside(func() { tried = c.checkFaults == 1 })
			return tried
		})
		r.clock.pass(2 * time.Second)
		testwait.Until(r.t, "the task is deleted in vain", func() (tried bool) {
			r.inside(func() { tried = c.deleteFaults == 1 })
			return tried
		})
		r.clock.pass(2 * time.Second)
		r.empty()
	})
}

// A restarted manager adopts running tasks, ends finished ones, and returns the rows of all
// other batches before it starts new work.
func TestRestart(t *testing.T) {
	w := newWorld(1, 4, 40)
	r := newRig(t, w)
	mark := func(from, to int, status, id int64) []byte {
		var list []map[string]any
		for _, k := range w.order[from:to] {
			w.nodes[0][k].status, w.nodes[0][k].batch = status, id
			list = append(list, map[string]any{"siteId": k.Site, "urlId": k.Md5})
		}
		raw, err := json.Marshal(map[string]any{"id": id, "items": list})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	old := func(kind string, id int64, state executor.State, stdin []byte) executor.Task {
		task := executor.Task{ID: taskID(kind, id), Type: kind, Stdin: stdin}
		r.env.add(task, state)
		return task
	}
	alive := old(CrawlTask, 7, executor.Running, mark(0, 10, 3, 7))
	done := old(CrawlTask, 8, executor.Running, mark(10, 15, 3, 8))
	r.env.end(done.ID, executor.Finished, w.work(done.Stdin, 0, 4))
	old(CrawlTask, 9, executor.Lost, mark(15, 20, 2, 9))
	mark(20, 30, 2, 555) // selected, and the daemon was killed
	mark(30, 40, 5, 999) // of the other manager
	old(ProcessTask, 999, executor.Running, nil)
	r.env.add(executor.Task{ID: "crawl-strange", Type: CrawlTask}, executor.Lost)

	w.faults[wire.URLReturn] = []fault{down, down, down} // for three batches, or the recovery
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxURLs, cfg.MaxTasks = 100, 3 })
	testwait.Until(r.t, "the first round failed", func() bool { return len(w.requests(wire.URLReturn)) >= 3 })
	r.settled()
	if len(w.requests(wire.URLFetch)) > 0 && len(w.returns(t, 0)) == 0 {
		t.Fatal("URLs were selected before the rows of the last run were returned")
	}
	r.clock.pass(2 * time.Second)
	task := r.submitted()
	got := map[key]bool{}
	for _, k := range items(t, task.Stdin) {
		got[k] = true
	}
	for i, k := range w.order {
		switch {
		case (i < 10 || i >= 30) && got[k]:
			t.Errorf("URL %d of an active batch is in a new batch", i)
		case i >= 20 && i < 30 && !got[k]:
			t.Errorf("URL %d of an unknown batch is not due again", i)
		}
	}
	for i, op := range w.ops() {
		if op == wire.URLFetch && i < 2 {
			t.Errorf("request %d is a selection", i)
		}
	}
	recovery := w.returns(t, 0)
	last := recovery[len(recovery)-1]
	if len(last.Except) == 0 || last.Except[0] != 7 || last.Fault || len(last.Statuses) != 3 {
		t.Errorf("recovery %+v", last)
	}
	for _, id := range []int64{8, 9} {
		if n := len(w.returns(t, id)); n == 0 {
			t.Errorf("the rows of batch %d were not returned", id)
		}
	}
	if n := len(w.returns(t, 7)); n != 0 {
		t.Error("rows of the active batch were returned")
	}
	r.env.end(alive.ID, executor.Finished, w.work(alive.Stdin, 0, 10))
	r.finish(task, 0, 100)
	for r.env.left() > 1 { // the other URLs, and the task of the other manager
		select {
		case id := <-r.env.submitted:
			r.finish(r.env.task(id), 0, 100)
		case <-time.After(time.Millisecond):
			r.pass(time.Second)
		}
	}
	r.inside(func() {
		if c.faults != 2 { // lost and strange
			t.Errorf("%d faults", c.faults)
		}
	})
	if n := w.count(wire.StatusCrawled); n != 30 {
		t.Errorf("%d URLs crawled, want 30", n)
	}
	if n := w.count(wire.StatusSelectedProcessing); n != 10 {
		t.Errorf("%d rows of the other manager, want 10", n)
	}
}

func TestSelectionWithoutAnswer(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		r := newRig(t, newWorld(2, 1, 4))
		r.world.faults[wire.URLFetch] = []fault{fine, down}
		r.crawl(nil)
		testwait.Until(r.t, "a look and a selection", func() bool { return len(r.world.requests(wire.URLFetch)) == 2 })
		testwait.Until(r.t, "its rows are returned", func() bool { return len(r.world.requests(wire.URLReturn)) == 2 })
		r.empty()
		r.settled()
		if n := len(r.world.requests(wire.URLFetch)); n != 2 {
			t.Errorf("%d requests before the next period", n)
		}
		r.clock.pass(time.Hour)
		r.finish(r.submitted(), 0, 4)
		r.empty()
	})
	t.Run("lost answer", func(t *testing.T) {
		r := newRig(t, newWorld(2, 1, 4))
		r.world.faults[wire.URLFetch] = []fault{fine, deafen}
		c := r.crawl(nil)
		testwait.Until(r.t, "a look and a selection", func() bool { return len(r.world.requests(wire.URLFetch)) == 2 })
		var fetch []struct{ URLUpdate struct{ BatchID int64 } }
		if err := json.Unmarshal(r.world.requests(wire.URLFetch)[1], &fetch); err != nil {
			t.Fatal(err)
		}
		id := fetch[0].URLUpdate.BatchID
		r.clock.pass(30 * time.Second) // DTMDTimeout
		testwait.Until(r.t, "rows are returned", func() bool { return len(r.world.returns(t, id)) == 1 })
		// The node finishes the selection later.
		r.world.set(func() {
			for _, node := range r.world.nodes {
				r.world.selectRows(node, 10, 2, id)
			}
		})
		r.inside(func() {
			if c.usedSlots() != 0 {
				t.Error("a lost selection takes a slot")
			}
		})
		r.inside(func() { c.cfg.Mode = false })
		r.drained()
		if n := r.world.count(wire.StatusNew); n != 4 {
			t.Errorf("%d rows are New, want 4", n)
		}
		r.inside(func() { c.cfg.Mode = true })
		r.clock.pass(time.Hour)
		r.finish(r.submitted(), 0, 4)
		r.empty()
	})
}

// While rows cannot be returned, nothing is lost, retries become less frequent, and the batch
// keeps its slot.
func TestReturnFailsThenWorks(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 8))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 1, 4 })
	task := r.submitted()
	r.world.set(func() { r.world.broken[wire.URLReturn] = true })
	r.finish(task, 0, 2)
	id := batchOf(task.ID)
	testwait.Until(r.t, "a try", func() bool { return len(r.world.returns(t, id)) == 1 })
	r.work()
	r.settled()
	if n := len(r.world.requests(wire.URLFetch)); n > 2 {
		t.Errorf("%d selections while rows cannot be returned", n)
	}
	testwait.Until(r.t, "the try has failed", func() (late bool) {
		r.inside(func() { late = c.batches[task.ID].late && c.batches[task.ID].stage == returning })
		return late
	})
	for range 60 {
		r.clock.pass(time.Second)
		r.settled()
	}
	if n := len(r.world.returns(t, id)); n > 10 {
		t.Errorf("%d retries in a minute", n)
	}
	testwait.Until(r.t, "more tries", func() bool {
		r.pass(time.Second)
		return len(r.world.returns(t, id)) >= 4
	})
	r.world.set(func() { r.world.broken[wire.URLReturn] = false })
	// The time must not advance further: that would end the next selection.
	testwait.Until(r.t, "the rows are returned", func() (done bool) {
		r.inside(func() { done = c.batches[task.ID] == nil || c.batches[task.ID].stage > returning })
		if !done {
			r.pass(time.Second)
		}
		return done
	})
	for r.world.count(wire.StatusCrawled) < 8 {
		r.finish(r.submitted(), 0, 4)
	}
	r.empty()
	if _, most := r.env.counts(); most != 1 {
		t.Errorf("%d concurrent tasks", most)
	}
}

func TestSuspended(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 12))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 1, 4 })
	task := r.submitted()
	r.inside(func() { c.Suspend(true) })
	r.finish(task, 0, 4) // running tasks are handled to their end
	r.empty()
	r.work()
	r.clock.pass(2 * time.Hour)
	r.settled()
	if n := len(r.world.requests(wire.URLFetch)); n != 1 {
		t.Errorf("%d selections", n)
	}
	r.inside(func() { c.Suspend(false) })
	task = r.submitted()
	r.inside(func() { c.cfg.Mode = false }) // before the end of the batch, which would select the next one
	r.finish(task, 0, 4)
	r.empty()
	if n := r.world.count(wire.StatusNew); n != 4 {
		t.Errorf("%d New URLs after the mode was turned off", n)
	}
}

// A batch that waits for slow sites selects more for minutes. A suspended manager ends it, and its
// URLs are due again without an attempt.
func TestSuspendedBatchIsCut(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 4))
	c := r.crawl(func(cfg *CrawlConfig) { cfg.QueuePeriod = 10 * time.Second })
	task := r.submitted()
	testwait.Until(t, "the task is accepted", func() (ok bool) {
		r.inside(func() { ok = c.batches[task.ID].stage == running })
		return ok
	})
	r.env.set(func() {
		result := r.env.results[task.ID]
		result.Started = r.clock.now()
		r.env.results[task.ID] = result
	})
	r.inside(func() { c.Suspend(true) })
	r.clock.pass(10 * time.Second)
	r.settled()
	r.inside(func() {
		if len(c.batches) != 1 {
			t.Error("the task was ended before its time")
		}
	})
	r.clock.pass(10 * time.Second)
	r.empty()
	if n := r.world.count(wire.StatusNew); n != 4 {
		t.Errorf("%d New URLs", n)
	}
}

// A stop at any moment loses nothing: the next start recovers.
func TestStopInTheMiddle(t *testing.T) {
	moments := map[string]func(r *rig){
		"a selection under way":    selectsUnheard,
		"tasks running":            func(*rig) {},
		"rows cannot be returned":  func(r *rig) { r.world.set(func() { r.world.broken[wire.URLReturn] = true }) },
		"the end is not yet known": func(r *rig) { r.env.set(func() { r.env.deaf = true }) },
	}
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newWorld(1, 3, 12))
			r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 3, 4 })
			first, second := r.submitted(), r.submitted()
			moment(r)
			r.finish(first, 0, 3)
			r.settled()
			r.stop()
			r.env.end(second.ID, executor.Lost, "") // the executor ends with the daemon
			for id, task := range r.env.tasks {
				if r.env.results[id].State == executor.Running {
					r.env.end(task.ID, executor.Lost, "")
				}
			}
			r.world.set(func() { r.world.broken, r.world.faults = map[wire.Op]bool{}, map[wire.Op][]fault{} })
			r.env.set(func() { r.env.deaf, r.env.watchers = false, nil })
			for len(r.env.submitted) > 0 {
				<-r.env.submitted
			}
			r = r.restarted()
			r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 1, 12 })
			for r.world.count(wire.StatusCrawled) < 12 {
				select {
				case id := <-r.env.submitted:
					r.finish(r.env.task(id), 0, 12)
				case <-time.After(time.Millisecond):
					r.pass(time.Minute)
				}
			}
			r.drained()
		})
	}
}

// selectsUnheard drops the answer of the next selection.
func selectsUnheard(r *rig) {
	r.world.set(func() { r.world.faults[wire.URLFetch] = []fault{silent} })
	r.work()
}

func TestUnreadableSelection(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	c := r.crawl(nil)
	testwait.Until(r.t, "a selection", func() bool { return len(r.world.requests(wire.URLFetch)) == 1 })
	good := `{"siteId":"s","urlMd5":"` + wire.Md5("a") + `","url":"http://a.test/"}`
	for name, test := range map[string]struct {
		node  nodeAnswer
		items int
	}{
		"no list":         {nodeAnswer{object: json.RawMessage(`{"a":1}`)}, 0},
		"a hostile id":    {nodeAnswer{object: json.RawMessage(`[{"siteId":"../x","urlMd5":"` + wire.Md5("b") + `"},` + good + `]`)}, 1},
		"a hostile key":   {nodeAnswer{object: json.RawMessage(`[{"siteId":"s","urlMd5":"' OR '1'='1"}]`)}, 0},
		"a row is a text": {nodeAnswer{object: json.RawMessage(`["x",` + good + `]`)}, 1},
		"node has failed": {nodeAnswer{err: errors.New("down")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			id := frontier.NewBatchID()
			r.inside(func() { c.startBatch(round{id: id}, []nodeAnswer{test.node}) })
			if test.items > 0 {
				task := r.submitted()
				if got := items(t, task.Stdin); len(got) != test.items {
					t.Errorf("items %v", got)
				}
				r.finish(task, 0, test.items)
			}
			testwait.Until(r.t, "the rows are returned", func() bool { return len(r.world.returns(t, id)) == 1 })
			if sites := r.world.returns(t, id)[0].Sites; len(sites) != 0 {
				t.Errorf("rows are returned in %v only", sites)
			}
			r.empty()
		})
	}
}

// The end of a task whose id has no batch id returns no rows: id 0 would mean all batches.
func TestBatchOf(t *testing.T) {
	for text, want := range map[string]int64{"crawl-7": 7, "process-4294967295": 1<<32 - 1, "crawl-4294967296": 0, "crawl--1": 0, "crawl-": 0, "crawl-x": 0, "age-7": 0, "": 0} {
		if got := batchOf(text); got != want {
			t.Errorf("batchOf(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestVariablesAndStatistics(t *testing.T) {
	c := NewCrawl(manager.Config{Log: managertest.Quiet()}, CrawlConfig{Common: Common{MaxURLs: 5}})
	if c.MaxURLs != 5 || c.cfg.MaxURLs != 5 {
		t.Fatal("the limits are missing")
	}
	c.MaxURLs = 9
	if c.cfg.MaxURLs != 9 {
		t.Error("a variable has two copies")
	}
	if !strings.HasPrefix(taskID(CrawlTask, 12), "crawl-12") {
		t.Error(taskID(CrawlTask, 12))
	}
}
