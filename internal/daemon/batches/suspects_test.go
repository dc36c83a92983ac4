package batches

import (
	"fmt"
	"slices"
	"testing"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// play runs tasks until all URLs have an end: a task with a guilty URL dies, and does first the
// items before it. It returns the number of tasks.
func (r *rig) play(guilty []key, death func(task executor.Task)) (tasks int) {
	r.t.Helper()
	done := func() bool {
		r.world.mu.Lock()
		defer r.world.mu.Unlock()
		for _, row := range r.world.nodes[0] {
			if row.state == 0 && row.crawled == 0 {
				return false
			}
		}
		return true
	}
	testwait.Until(r.t, "every URL has an end", func() bool {
		select {
		case id := <-r.env.submitted:
			tasks++
			task := r.env.task(id)
			list := items(r.t, task.Stdin)
			at := slices.IndexFunc(list, func(k key) bool { return slices.Contains(guilty, k) })
			if at < 0 {
				r.finish(task, 0, len(list))
				break
			}
			r.world.work(task.Stdin, 0, at)
			death(task)
		default:
			r.pass(longestRest / 10)
		}
		return done()
	})
	return tasks
}

// A batch that dies is halved until the guilty URL stands alone. Only that URL is given up; every
// other one is crawled, and none of them gets an attempt.
func TestGuiltyURLIsFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		guilty []int
		most   int // tasks
		death  func(r *rig, task executor.Task)
	}{
		{"killed", []int{37}, 24, func(r *rig, task executor.Task) { r.env.exit(task.ID, 137, "") }},
		{"crash of the program", []int{0}, 24, func(r *rig, task executor.Task) { r.env.exit(task.ID, 2, "panic: hostile\n\ngoroutine 1") }},
		{"values that cannot be stored", []int{99}, 24, func(r *rig, task executor.Task) { r.env.exit(task.ID, 3, "") }},
		{"time limit", []int{50}, 24, func(r *rig, task executor.Task) { r.env.end(task.ID, executor.TimedOut, "") }},
		{"answer that is not a batch", []int{63}, 24, func(r *rig, task executor.Task) { r.env.end(task.ID, executor.Finished, `{"errorCode":1}`) }},
		{"three guilty URLs", []int{3, 4, 80}, 60, func(r *rig, task executor.Task) { r.env.exit(task.ID, 139, "") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(1, 5, 100)
			var guilty []key
			for _, i := range test.guilty {
				guilty = append(guilty, w.order[i])
			}
			r := newRig(t, w)
			c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 1, 100 })
			n := r.play(guilty, func(task executor.Task) { test.death(r, task) })
			r.drained()
			if n > test.most {
				t.Errorf("%d tasks, at most %d are needed", n, test.most)
			}
			for i, k := range w.order {
				row := w.nodes[0][k]
				switch slices.Contains(test.guilty, i) {
				case true:
					if row.state != wire.URLError || row.crawled != 0 {
						t.Errorf("guilty URL %d: %+v", i, row)
					}
				default:
					if row.attempts != 0 || row.crawled != 1 {
						t.Errorf("innocent URL %d: %+v", i, row)
					}
				}
			}
			r.inside(func() {
				if c.rested != 0 {
					t.Errorf("the queue paused %d times: %s", c.rested, c.fault)
				}
			})
		})
	}
}

// While a batch is halved, batches of other sites go on: it takes no slot, and its sites keep
// their rows in flight.
func TestHalvedBatchTakesNoSlot(t *testing.T) {
	w := newWorld(1, 2, 20)
	r := newRig(t, w)
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxURLs = 1, 10 })
	first := r.submitted()
	r.env.exit(first.ID, 137, "")
	ids := []string{r.submitted().ID, r.submitted().ID}
	if !slices.Contains(ids, first.ID) || ids[0] == ids[1] {
		t.Errorf("tasks %v after the death of %s: its half and another batch are wanted", ids, first.ID)
	}
	r.stats(map[string]int{"batches_crawl_halved": 1, "batches_crawl_queue": 2})
	r.inside(func() {
		if c.usedSlots() != 1 {
			t.Errorf("%d slots are used", c.usedSlots())
		}
	})
}

// A program that dies of every item is broken: no URL is given up, and the queue pauses.
func TestProgramDiesOfEveryItem(t *testing.T) {
	w := newWorld(1, 1, 8)
	r := newRig(t, w)
	c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks, cfg.MaxAttempts = 1, 1000 })
	testwait.Until(t, "the queue pauses", func() (rests bool) {
		select {
		case id := <-r.env.submitted:
			r.world.work(r.env.task(id).Stdin, 0, 0)
			r.env.exit(id, 139, "")
		default:
			r.pass(longestRest / 10)
		}
		r.inside(func() { rests = c.rested > 3 })
		return rests
	})
	w.set(func() {
		for k, row := range w.nodes[0] {
			if row.attempts > 1 || row.state != 0 { // the first one that died alone
				t.Errorf("%v: %+v", k, row)
			}
		}
	})
	r.play(nil, func(executor.Task) {})
}

// The only URL that there is has no mates that could show that the program works. The run
// without items shows it.
func TestGuiltyURLWithoutMates(t *testing.T) {
	w := newWorld(1, 1, 1)
	r := newRig(t, w)
	r.crawl(nil)
	n := r.play(w.order, func(task executor.Task) { r.env.exit(task.ID, 137, "") })
	w.set(func() {
		if row := w.nodes[0][w.order[0]]; row.state != wire.URLError || n != 4 {
			t.Errorf("%+v after %d tasks", row, n) // the batch and three attempts
		}
	})
	r.env.mu.Lock()
	defer r.env.mu.Unlock()
	if r.env.controls != n {
		t.Errorf("%d runs without items for %d deaths", r.env.controls, n)
	}
}

// A batch that is halved survives the faults of each of its steps, a stop on request, and a
// suspended manager, which returns its rows without an attempt.
func TestHalvingMeetsFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(r *rig, q *queue)
		later bool // in the first half
	}{
		{"rows cannot be read", func(r *rig, _ *queue) {
			r.world.set(func() { r.world.faults[wire.URLReturn] = []fault{down, down} })
		}, false},
		{"task cannot be deleted", func(r *rig, _ *queue) { r.env.set(func() { r.env.noDelete = fmt.Errorf("disk") }) }, false},
		{"suspended", func(r *rig, q *queue) {
			half := r.submitted()
			r.inside(func() { q.Suspend(true) })
			r.env.exit(half.ID, 137, "")
			r.drained()
			r.inside(func() { q.Suspend(false) })
			r.work()
		}, true},
		{"stopped on request", func(r *rig, _ *queue) { r.env.end(r.submitted().ID, executor.Cancelled, "") }, true},
		{"disk full in the middle", func(r *rig, _ *queue) { r.env.exit(r.submitted().ID, 1, "") }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(1, 1, 10)
			r := newRig(t, w)
			c := r.crawl(func(cfg *CrawlConfig) { cfg.MaxTasks = 1 })
			task := r.submitted()
			r.world.work(task.Stdin, 0, 0)
			if !test.later {
				test.fault(r, &c.queue)
			}
			r.env.exit(task.ID, 137, "")
			if test.later {
				test.fault(r, &c.queue)
			}
			r.play([]key{w.order[5]}, func(task executor.Task) { r.env.exit(task.ID, 137, "") })
			w.set(func() {
				for i, k := range w.order {
					if row := w.nodes[0][k]; i != 5 && (row.crawled != 1 || row.attempts != 0) || i == 5 && row.state != wire.URLError {
						t.Errorf("URL %d: %+v", i, row)
					}
				}
			})
		})
	}
}

// A processing task selects its rows by itself. When it dies, the rows that it holds are halved.
func TestGuiltyPageIsFound(t *testing.T) {
	w := newWorld(1, 3, 30)
	for _, k := range w.order {
		w.nodes[0][k].status = wire.StatusCrawled
	}
	r := newRig(t, w)
	r.process(func(cfg *ProcessConfig) { cfg.MaxTasks = 1 })
	guilty := w.order[11]
	testwait.Until(t, "every page has an end", func() bool {
		select {
		case id := <-r.env.submitted:
			r.processAll(id, guilty)
		default:
			r.pass(longestRest / 10)
		}
		var state int64
		w.set(func() { state = w.nodes[0][guilty].state })
		return state == wire.URLError && w.count(wire.StatusProcessed) == 29
	})
	w.set(func() {
		for k, row := range w.nodes[0] {
			if k != guilty && row.attempts != 0 {
				t.Errorf("innocent page: %+v", row)
			}
		}
	})
}

// processAll acts as processor-task, which dies when it takes the guilty page.
func (r *rig) processAll(id string, guilty key) {
	task := r.env.task(id)
	list := items(r.t, task.Stdin)
	taken, dies := 0, false
	r.world.set(func() {
		if len(list) == 0 { // it selects
			for _, k := range r.world.order {
				if row := r.world.nodes[0][k]; row.status == wire.StatusCrawled && row.state == 0 {
					list = append(list, k)
				}
			}
		}
		for _, k := range list {
			row := r.world.nodes[0][k]
			row.status, row.batch = wire.StatusProcessing, batchOf(id)
			dies = dies || k == guilty
			taken++
		}
		for _, k := range list {
			if !dies {
				r.world.nodes[0][k].status, r.world.nodes[0][k].batch = wire.StatusProcessed, 0
			}
		}
	})
	if dies {
		r.env.exit(id, 137, "")
		return
	}
	r.env.end(id, executor.Finished, fmt.Sprintf(`{"items":[],"refilled":%d}`, taken))
}
