package batches

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// In any order of events no URL is lost or in two batches at once, and the number of concurrent
// tasks stays within the limit.
func TestRandomOrders(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomOrder(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

const (
	randomTasks  = 3
	randomURLs   = 60
	randomEvents = 120
)

func randomOrder(t *testing.T, rnd *rand.Rand) {
	w := newWorld(1, 5, randomURLs)
	r := newRig(t, w)
	setup := func(cfg *CrawlConfig) {
		cfg.MaxTasks, cfg.MaxURLs, cfg.QueuePeriod, cfg.MaxAttempts = randomTasks, 7, 3*time.Second, 0
	}
	r.crawl(setup)
	alive := map[string]executor.Task{}
	// see records new tasks and checks that they share no URL with others.
	see := func() {
		for {
			select {
			case id := <-r.env.submitted:
				task := r.env.task(id)
				for _, k := range items(t, task.Stdin) {
					for other, o := range alive {
						for _, theirs := range items(t, o.Stdin) {
							if theirs == k {
								t.Fatalf("%v is in %s and %s", k, id, other)
							}
						}
					}
				}
				alive[id] = task
				if len(alive) > randomTasks+1 { // and one part of a halved batch
					t.Fatalf("%d active tasks", len(alive))
				}
			default:
				return
			}
		}
	}
	pick := func() (executor.Task, bool) {
		for _, task := range alive { // in random order
			delete(alive, task.ID)
			return task, true
		}
		return executor.Task{}, false
	}
	finish := func() {
		if task, ok := pick(); ok {
			r.finish(task, 0, rnd.IntN(8))
		}
	}
	ends := []executor.State{executor.Failed, executor.TimedOut, executor.Lost, executor.Cancelled, executor.Refused}
	ops := []wire.Op{wire.URLFetch, wire.URLReturn}
	faults := []fault{silent, deafen, down, partial}
	for range randomEvents {
		see()
		switch n := rnd.IntN(20); {
		case n < 6:
			finish()
		case n < 9:
			if task, ok := pick(); ok {
				w.work(task.Stdin, 0, rnd.IntN(8))
				r.env.end(task.ID, ends[rnd.IntN(len(ends))], "")
			}
		case n < 10:
			if task, ok := pick(); ok {
				r.inside(func() {}) // the answer of Submit is in
				r.env.lose(task.ID)
			}
		case n < 12:
			w.set(func() {
				op := ops[rnd.IntN(len(ops))]
				w.faults[op] = append(w.faults[op], faults[rnd.IntN(len(faults))])
			})
		case n < 13:
			r.env.set(func() { r.env.deaf = !r.env.deaf })
		case n < 14:
			r.env.set(func() {
				if r.env.refuse = nil; rnd.IntN(2) == 0 {
					r.env.refuse = executor.ErrRefused
				}
			})
		case n < 15:
			r.stop()
			see() // what was submitted with the last breath
			for id := range alive {
				if rnd.IntN(2) == 0 { // otherwise it continues
					r.env.end(id, executor.Lost, "")
					delete(alive, id)
				}
			}
			r.env.set(func() { r.env.watchers = nil })
			r = r.restarted()
			r.crawl(setup)
		case n < 18:
			r.work()
		default:
			r.clock.pass(time.Duration(rnd.IntN(60)) * time.Second)
		}
		r.inside(func() {})
	}
	// All faults end here: everything must finish.
	r.env.set(func() { r.env.deaf, r.env.refuse = false, nil })
	w.set(func() { w.faults = map[wire.Op][]fault{} })
	for end := time.Now().Add(managertest.Patience); w.count(wire.StatusCrawled) < randomURLs; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d URLs are crawled; New %d, selected %d, crawling %d", w.count(wire.StatusCrawled), randomURLs,
				w.count(wire.StatusNew), w.count(wire.StatusSelectedCrawling), w.count(wire.StatusCrawling))
		}
		see()
		if task, ok := pick(); ok {
			r.finish(task, 0, 7)
		}
		r.clock.pass(2 * time.Second) // less than the timeout of requests
		r.work()
		r.inside(func() {})
	}
	r.drainedBy(func() {
		see()
		for task, ok := pick(); ok; task, ok = pick() { // one that found nothing to take
			r.finish(task, 0, 7)
		}
	})
	if _, most := r.env.counts(); most > randomTasks+1 {
		t.Errorf("%d concurrent tasks, want at most %d", most, randomTasks+1)
	}
}
