package batches

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// sweepCase holds the differences of aging and purging.
type sweepCase struct {
	kind, counters string
	policy         executor.Policy
	good, bad      string // answers of db-task
	on             func(cfg *CrawlConfig) *SweepConfig
	check          func(t *testing.T, object json.RawMessage)
}

var sweepCases = map[string]sweepCase{
	"aging": {
		kind: AgeTask, counters: "age", policy: executor.RoundRobin,
		good: `[121,{"errorCode":0,"statuses":[]}]`, bad: `[121,{"errorCode":2001,"errorMessage":"no"}]`,
		on: func(cfg *CrawlConfig) *SweepConfig {
			cfg.Aging = AgingConfig{MaxURLs: 50, MaxURLsSite: 7, MaxSites: 3,
				SitesCriterion: wire.Criterion{Where: "`State`=1"}, URLsCriterion: wire.Criterion{Where: "`Depth`>0"}}
			return &cfg.Aging.SweepConfig
		},
		check: func(t *testing.T, object json.RawMessage) {
			var notes lenient.Notes
			list, err := wire.ReadURLAge(object, &notes)
			if err != nil || len(list) != 1 || len(notes.Unknown) > 0 {
				t.Fatal(err, notes.Unknown)
			}
			r := list[0]
			if r.MaxURLs != 50 || r.URLsCriterion.Limit != "7" || r.SitesCriterion.Limit != "3" || r.DelayedType != wire.Delayed ||
				r.SitesCriterion.Where != "`State`=1" || r.URLsCriterion.Where != "`Depth`>0" || r.SitesCriterion.OrderBy == "" {
				t.Errorf("URL_AGE %+v", r)
			}
		},
	},
	"purging": {
		kind: PurgeTask, counters: "purge", policy: executor.Random,
		good: `[118,{"errorCode":0,"statuses":[["s",3]]}]`, bad: `[118,{"errorCode":1,"errorMessage":"no"}]`,
		on: func(cfg *CrawlConfig) *SweepConfig {
			cfg.Purge.MaxURLs = 9
			return &cfg.Purge.SweepConfig
		},
		check: func(t *testing.T, object json.RawMessage) {
			var notes lenient.Notes
			list, err := wire.ReadURLPurge(object, &notes)
			if err != nil || len(list) != 1 || len(notes.Unknown) > 0 {
				t.Fatal(err, notes.Unknown)
			}
			if r := list[0]; r.SiteID != "" || r.Criterion.Limit != "9" || !r.Limits || r.Offset != 0 || r.Count != -1 {
				t.Errorf("URL_PURGE %+v", r)
			}
		},
	},
}

// eachSweep runs a test for aging and purging, with a period of two minutes and one task at a
// time.
func eachSweep(t *testing.T, test func(t *testing.T, c sweepCase, r *rig, setup func(*CrawlConfig))) {
	for name, c := range sweepCases {
		t.Run(name, func(t *testing.T) {
			test(t, c, newRig(t, newWorld(1, 1, 0)), func(cfg *CrawlConfig) {
				cfg.DBTask = executor.Stage{Program: "db-task", Args: []string{"-c", "x"}}
				cfg.Mode = false // a jump of the clock would time out its selections
				s := c.on(cfg)
				s.Mode, s.Period, s.Limits = true, 2*time.Minute, Limits{TaskTTL: 70 * time.Second, TaskTime: 80 * time.Second, MaxTasks: 1}
			})
		})
	}
}

func TestSweep(t *testing.T) {
	eachSweep(t, func(t *testing.T, c sweepCase, r *rig, setup func(*CrawlConfig)) {
		r.crawl(setup)
		r.recovered()
		task := r.submitted()
		if task.Type != c.kind || batchOf(task.ID) != 0 ||
			task.TimeLimit != 80*time.Second || task.QueueTTL != 70*time.Second || task.Target.Policy != c.policy ||
			len(task.Stages) != 1 || task.Stages[0].Program != "db-task" || len(task.Stages[0].Args) != 2 {
			t.Errorf("task %+v", task)
		}
		var call wire.Call
		if err := json.Unmarshal(task.Stdin, &call); err != nil {
			t.Fatal(err)
		}
		c.check(t, call.Object)
		counter := func(name string) string { return c.counters + "_batches" + name }
		r.stats(map[string]int{counter("_total"): 1, counter(""): 1, "batches_crawl_queue": 0})
		r.clock.pass(2 * time.Minute) // the only slot is used
		r.stats(map[string]int{counter("_canceled"): 1, counter("_total"): 1})
		r.env.end(task.ID, executor.Finished, c.good)
		r.empty()
		r.stats(map[string]int{counter(""): 0, counter("_fault"): 0})

		end := func(state executor.State, stdout string) {
			t.Helper()
			r.clock.pass(5 * time.Minute) // longer than any rest after a fault
			r.env.end(r.submitted().ID, state, stdout)
			r.stats(map[string]int{counter(""): 0})
		}
		end(executor.Finished, c.bad)
		r.stats(map[string]int{counter("_fault"): 1})
		end(executor.Finished, `{"errorCode":0}`)
		r.stats(map[string]int{counter("_fault"): 2})
		for i, state := range []executor.State{executor.TimedOut, executor.Lost, executor.Failed, executor.Refused, executor.Cancelled} {
			end(state, "")
			r.stats(map[string]int{counter("_fault"): 3 + i})
		}
		r.env.set(func() { r.env.refuse = executor.ErrRefused })
		r.clock.pass(5 * time.Minute)
		r.stats(map[string]int{counter("_error"): 1, counter("_fault"): 8, counter(""): 0})
		r.env.set(func() { r.env.refuse, r.env.noResult, r.env.noDelete = nil, errors.New("disk"), errors.New("disk") })
		r.clock.pass(5 * time.Minute)
		r.env.end(r.submitted().ID, executor.Finished, c.good)
		r.stats(map[string]int{counter("_check_fault"): 1})
		r.clock.pass(2 * time.Second)
		r.stats(map[string]int{counter("_delete_fault"): 1})
		r.clock.pass(2 * time.Second)
		r.stats(map[string]int{counter(""): 0, counter("_fault"): 8, counter("_total"): 10})
		if n := len(r.world.requests(wire.URLReturn)); n != 1 { // the recovery of crawling
			t.Errorf("%d returns of rows", n)
		}
		r.stats(map[string]int{"batches_crawl_fault": 0, "batches_crawl_queue": 0})
	})
}

// Tasks of the last run are adopted: running ones keep their slot, finished ones are counted
// and deleted, and no second task starts meanwhile.
func TestSweepsOfTheLastRun(t *testing.T) {
	eachSweep(t, func(t *testing.T, c sweepCase, r *rig, setup func(*CrawlConfig)) {
		r.env.add(executor.Task{ID: c.kind + "-1", Type: c.kind}, executor.Running)
		r.env.add(executor.Task{ID: c.kind + "-2", Type: c.kind}, executor.Lost)
		r.crawl(setup)
		r.recovered()
		r.stats(map[string]int{c.counters + "_batches_fault": 1, c.counters + "_batches": 1, c.counters + "_batches_canceled": 1})
		r.env.end(c.kind+"-1", executor.Finished, c.good)
		r.empty()
		r.stats(map[string]int{c.counters + "_batches": 0, c.counters + "_batches_total": 0, c.counters + "_batches_fault": 1})
		r.clock.pass(2 * time.Minute)
		r.env.end(r.submitted().ID, executor.Finished, c.good)
		r.stats(map[string]int{c.counters + "_batches": 0, c.counters + "_batches_total": 1})
	})
}

// A sweep uses no slot of crawling, and pauses with the manager and its mode.
func TestSweepUsesNoCrawlSlots(t *testing.T) {
	eachSweep(t, func(t *testing.T, c sweepCase, r *rig, setup func(*CrawlConfig)) {
		m := r.crawl(setup)
		r.recovered()
		task := r.submitted()
		r.inside(func() {
			if m.usedSlots() != 0 {
				t.Errorf("%d used slots of crawling", m.usedSlots())
			}
			m.Suspend(true)
		})
		r.env.end(task.ID, executor.Finished, c.good) // running tasks are handled to their end
		r.empty()
		r.clock.pass(time.Hour)
		r.settled()
		r.stats(map[string]int{c.counters + "_batches_total": 1})
		r.inside(func() { m.Suspend(false) })
		r.env.end(r.submitted().ID, executor.Finished, c.good)
		r.stats(map[string]int{c.counters + "_batches": 0})
		prefix := map[string]string{AgeTask: "Aging", PurgeTask: "Purge"}[c.kind]
		total := 2
		for _, off := range []struct {
			key string
			on  int
		}{{"Mode", 1}, {"Period", 2}, {"BatchDefaultMaxTasks", 1}} {
			set := func(value int) {
				if reason := r.set(prefix+off.key, value); reason != "" {
					t.Fatal(reason)
				}
			}
			set(0)
			r.clock.pass(time.Hour)
			r.settled()
			r.stats(map[string]int{c.counters + "_batches_total": total})
			set(off.on)
			if off.key == "BatchDefaultMaxTasks" { // the other schedules are due, because they were off
				r.clock.pass(2 * time.Minute)
			}
			r.env.end(r.submitted().ID, executor.Finished, c.good)
			total++
			r.stats(map[string]int{c.counters + "_batches": 0, c.counters + "_batches_total": total})
		}
	})
}

// With a limit of sites, their order changes from task to task.
func TestAgingTakesTurns(t *testing.T) {
	cfg := AgingConfig{MaxSites: 2}
	seen := map[string]bool{}
	for n := range int64(5) {
		raw, err := json.Marshal(cfg.Request(n)["sitesCriterions"])
		if err != nil {
			t.Fatal(err)
		}
		seen[string(raw)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d orders in 5 tasks", len(seen))
	}
	cfg.MaxSites = 0
	if a, b := fmt.Sprint(cfg.Request(1)), fmt.Sprint(cfg.Request(2)); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}
