package batches

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// processed returns the answer of a processing task that selected n URLs.
func processed(n int) string {
	list := []map[string]string{}
	for i := range n {
		list = append(list, map[string]string{"siteId": "s", "urlId": wire.Md5(fmt.Sprint(i))})
	}
	raw, err := json.Marshal(map[string]any{"id": 1, "items": list})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestProcessingTask(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	p := r.process(func(cfg *ProcessConfig) {
		cfg.MaxURLs, cfg.SitesCriterion.Where, cfg.URLsCriterion.Where = 30, "`State`=1", "`Status`=4"
		cfg.RefillTime = 5 * time.Second
	})
	task := r.submitted()
	if task.Type != ProcessTask || len(task.Stages) != 1 || task.Stages[0].Program != "processor-task" {
		t.Errorf("task %+v", task)
	}
	var notes lenient.Notes
	b, err := wire.ReadBatch(task.Stdin, &notes)
	if err != nil || len(notes.Unknown) > 0 {
		t.Fatalf("%v, unknown %v: %s", err, notes.Unknown, task.Stdin)
	}
	if b.ID != batchOf(task.ID) || len(b.Items) != 0 || len(b.Refill) != 1 || b.RefillTime != 5000 {
		t.Fatalf("batch %+v", b)
	}
	q := b.Refill[0]
	if q.AsBatch != batchOf(task.ID) || q.MaxURLs != 30 || q.Algorithm != 1 || q.SkipBusySites ||
		q.SitesCriterion.Where != "`State`=1" || q.URLsCriterion.Where != wire.ProcessingDelayOver+" AND (`Status`=4)" ||
		q.URLUpdate["Status"] != int64(wire.StatusSelectedProcessing) || q.URLUpdate["Batch_Id"] != q.AsBatch {
		t.Errorf("selection %+v", q)
	}
	if _, ok := q.SiteUpdate["TcDateProcess"]; !ok {
		t.Errorf("siteUpdate %v", q.SiteUpdate)
	}
	r.env.end(task.ID, executor.Finished, `{"items":[],"refilled":31}`)
	r.nothingLeft()
	r.inside(func() {
		if p.items != 31 || p.filled != 1 {
			t.Errorf("%d URLs of %d batches", p.items, p.filled)
		}
	})
	if n := len(r.world.returns(t, b.ID)); n != 1 {
		t.Errorf("%d returns of the batch", n)
	}
}

// While there is work all slots are used. A task that took nothing is followed by none until the period or a hint.
func TestProcessingContinues(t *testing.T) {
	w := newWorld(1, 1, 0)
	due := func(n int) { w.set(func() { w.due = n }) }
	r := newRig(t, w)
	p := r.process(func(cfg *ProcessConfig) { cfg.MaxTasks = 3 })
	tasks := []executor.Task{r.submitted(), r.submitted(), r.submitted()}
	r.settled()
	if n := r.env.left(); n != 3 {
		t.Fatalf("%d tasks in 3 slots", n)
	}
	r.env.end(tasks[0].ID, executor.Finished, processed(10))
	tasks[0] = r.submitted()
	r.settled()
	due(0)
	r.env.end(tasks[0].ID, executor.Finished, processed(4))
	r.env.end(tasks[1].ID, executor.Finished, processed(0))
	r.env.end(tasks[2].ID, executor.Finished, processed(0))
	r.nothingLeft()
	r.settled()
	if submits, most := r.env.counts(); most != 3 || submits != 4 {
		t.Errorf("%d tasks, at most %d concurrent", submits, most)
	}
	r.inside(func() {
		if p.total != 4 || p.filled != 2 || p.items != 14 || p.faults != 0 {
			t.Errorf("total %d filled %d items %d faults %d", p.total, p.filled, p.items, p.faults)
		}
	})
	if n := len(r.world.requests(wire.URLReturn)); n != 3 { // the recovery, and two batches with rows
		t.Errorf("%d returns", n)
	}
	due(1)
	r.work() // as after a crawl batch
	last := r.submitted()
	due(0)
	r.env.end(last.ID, executor.Finished, processed(0))
	r.nothingLeft()
	due(1)
	r.clock.pass(time.Hour)
	last = r.submitted()
	due(0)
	r.env.end(last.ID, executor.Finished, processed(0))
	r.nothingLeft()
}

// An idle manager reads whether there is work. It starts no task, also after a hint that came
// during a look, until a look finds a URL or fails.
func TestProcessingLooks(t *testing.T) {
	w := newWorld(1, 1, 0)
	w.due = 0
	r := newRig(t, w)
	p := r.process(func(cfg *ProcessConfig) { cfg.MaxTasks, cfg.URLsCriterion.Where = 3, "`Status`=4" })
	looks := func() int { return len(w.requests(wire.URLFetch)) }
	testwait.Until(t, "the first look", func() bool { return looks() == 1 })
	for n := 2; n < 6; n++ {
		r.settled() // a period that begins before the answer has no look
		r.clock.pass(time.Hour)
		testwait.Until(t, "a look in the next period", func() bool { return looks() >= n })
	}
	r.settled()
	if submits, _ := r.env.counts(); submits != 0 || len(w.requests(wire.URLReturn)) != 1 {
		t.Errorf("%d tasks, %d returns", submits, len(w.requests(wire.URLReturn)))
	}
	list, err := wire.ReadURLFetch(w.requests(wire.URLFetch)[0], &lenient.Notes{})
	if err != nil || list[0].MaxURLs != 1 || list[0].URLsCriterion.Where != wire.ProcessingDelayOver+" AND (`Status`=4)" || len(list[0].URLUpdate)+len(list[0].SiteUpdate) > 0 || list[0].AsBatch != 0 {
		t.Errorf("look %+v, %v", list, err)
	}
	w.set(func() { w.due = 1 })
	r.work()
	r.env.end(r.submitted().ID, executor.Finished, processed(0))
	r.nothingLeft()
	w.set(func() { w.broken[wire.URLFetch] = true })
	r.clock.pass(time.Hour)
	testwait.Until(t, "a pause after a look that failed", func() (pauses bool) {
		r.inside(func() { pauses = p.rested == 1 })
		return pauses
	})
	w.set(func() { w.broken[wire.URLFetch] = false })
	r.clock.pass(shortestRest)
	r.env.end(r.submitted().ID, executor.Finished, processed(0))
	r.nothingLeft()
}

// nothingLeft answers that there is no work until no task is left.
func (r *rig) nothingLeft() {
	r.t.Helper()
	testwait.Until(r.t, "nothing is under way", func() bool {
		for len(r.env.submitted) > 0 {
			r.env.end(<-r.env.submitted, executor.Finished, processed(0))
		}
		left := 0
		r.inside(func() { left = len(r.queue.batches) })
		return left == 0 && r.env.left() == 0
	})
}

func TestProcessingFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		state executor.State
		exit  int
		rests bool
	}{
		{"fault of the machine", executor.Failed, 1, true},
		{"no program", executor.Failed, 127, true},
		{"lost", executor.Lost, 0, false},
		{"expired", executor.Refused, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(1, 1, 6)
			r := newRig(t, w)
			p := r.process(func(cfg *ProcessConfig) { cfg.MaxTasks = 1 })
			task := r.submitted()
			id := batchOf(task.ID)
			w.set(func() { // the first stage selected rows, then the task ended
				for i, k := range w.order {
					w.nodes[0][k].status, w.nodes[0][k].batch = int64(5+i%2), id
				}
			})
			w.set(func() { w.due = 0 })
			if test.state == executor.Failed {
				r.env.exit(task.ID, test.exit, "")
			} else {
				r.env.end(task.ID, test.state, "")
			}
			r.empty()
			if n := w.count(wire.StatusCrawled); n != 6 {
				t.Errorf("%d rows to be processed again, want 6", n)
			}
			got := w.returns(t, id)
			if len(got) != 1 || got[0].Fault || len(got[0].Sites) != 0 || len(got[0].Statuses) != 2 {
				t.Errorf("URL_RETURN %+v", got)
			}
			r.settled()
			if submits, _ := r.env.counts(); submits != 1 {
				t.Errorf("%d tasks: a fault must not repeat at once", submits)
			}
			r.inside(func() {
				if p.faults != 1 || p.urlsFault != 6 || p.Now().Before(p.awake) != test.rests {
					t.Errorf("faults %d of %d URLs", p.faults, p.urlsFault)
				}
			})
			w.set(func() { w.due = 1 })
			r.clock.pass(time.Hour)
			r.env.end(r.submitted().ID, executor.Finished, processed(0))
			r.empty()
		})
	}
}

func TestProcessingSuspended(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	p := r.process(nil)
	task := r.submitted()
	r.inside(func() { p.Suspend(true) })
	r.env.end(task.ID, executor.Finished, processed(10))
	r.empty()
	r.work()
	r.settled()
	if submits, _ := r.env.counts(); submits != 1 {
		t.Errorf("%d tasks", submits)
	}
	r.inside(func() { p.Suspend(false) })
	r.env.end(r.submitted().ID, executor.Finished, processed(0))
	r.nothingLeft()
	r.inside(func() { p.cfg.Period = 0 })
	before, _ := r.env.counts()
	r.work()
	r.settled()
	if submits, _ := r.env.counts(); submits != before {
		t.Error("a task started with period 0")
	}
}

func TestProcessingRefused(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	r.env.refuse = executor.ErrRefused
	p := r.process(func(cfg *ProcessConfig) { cfg.MaxTasks = 4 })
	testwait.Until(r.t, "the refusal is counted", func() (counted bool) {
		r.inside(func() { counted = p.faults == 1 })
		return counted
	})
	r.empty()
	r.work()
	r.settled()
	if submits, _ := r.env.counts(); submits != 1 {
		t.Errorf("%d attempts", submits)
	}
}
