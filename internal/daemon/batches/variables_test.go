package batches

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// A key is a variable with a valid value and invalid values, each with words of the refusal.
type keyCase struct {
	name  string
	value any
	bad   map[string]any // by a part of the reason
}

func number(name string, value int, allowed string, bad ...any) keyCase {
	k := keyCase{name, value, map[string]any{"whole number": "many"}}
	for _, b := range bad {
		k.bad[fmt.Sprintf("is %v, must be %s", b, allowed)] = b
	}
	return k
}

func toggle(name string, value int) keyCase {
	return keyCase{name, value, map[string]any{"must be 0 or 1": 2}}
}

func text(name, value string, bad any, reason string) keyCase {
	return keyCase{name, value, map[string]any{reason: bad}}
}

// commonKeys are the keys of both batch managers.
var commonKeys = []keyCase{
	number("DTMDTimeout", 20000, "1 to 86400000", 0),
	number("BatchQueueProcessingPeriod", 0, "0 to 3600", -1, 3601),
	number("BatchQueueTaskTTL", 55, "1 to 86400", 0),
	number("BatchDefaultMaxExecutionTime", 66, "1 to 86400", 0),
	number("BatchMaxExecutionTime", 44, "1 to 86400", 0, 86401),
	number("BatchDefaultMaxURLs", 3, "1 to 100000", 0, 100001),
	number("BatchDefaultMaxTasks", 1, "0 to 1000", -1, 1001),
	number("BatchDefaultMaxAttempts", 8, "0 to 1000", -1),
	toggle("RemoveUnprocessedBatchItems", 1),
	number("BatchTask_IO_WAIT_MAX", 30, "-1 to 100", -2, 101),
	number("BatchTask_CPU_LOAD_MAX", 60, "-1 to 100", 101),
	number("BatchTask_RAM_FREE_MIN", 32000000, "-1 to 1125899906842624", -2),
	number("BatchTask_RDELAY", 500, "1 to 3600000", 0),
	number("BatchTask_RETRY", 20, "0 to 1000000", -1),
	number("BatchTask_autocleanup_TTL", 1000, "-1 to 31536000", -2),
	text("BatchDefaultOrderByURLs", "`Depth` ASC", " ", "is empty"),
	number("POLL_TIMEOUT", 3, "1 to 3600000", 0),
	{"LOG_LEVEL", 30, map[string]any{"must be 10, 20, 30, 40, 50 or debug": 7, "is \"many\"": "many"}},
}

var crawlKeys = append([]keyCase{
	number("RegularCrawlingPeriod", 30, "0 to 86400", -1, 86401),
	toggle("RegularCrawlingMode", 1),
	toggle("RegularCrawlingPropagateURLs", 0),
	number("BatchMaxHostWait", 6, "0 to 3600", 3601),
	number("BatchRefillTime", 7, "0 to 3600", 3601),
	number("BatchDefaultPaceTime", 4, "0 to 3600", 3601),
	number("BatchMaxIterations", 2, "1 to 100", 0),
	toggle("BatchDefaultCheckURLsInActiveBatches", 0),
	number("CrawledURLStrategy", 1, "0 to 1", 2),
	{"BatchDefaultFetchTypeOptions", map[string]any{"splitter": 1.0, "dfetcher_BatchDefaultMaxURLs": 2.0, "dfetcher_BatchMaxExecutionTime": 0.0, "dfetcher_BatchQueueTaskTTL": 0.0},
		map[string]any{"must be 1 to 2": map[string]any{"splitter": 3}, "is not an object": 1.75}},
	number("IncrPeriod", 40, "0 to 86400", -1),
	toggle("IncrMode", 1),
	number("INCR_MAX_DEPTH", 9, "0 to 1000000", -1),
	number("INCR_MAX_URLS", 2, "1 to 100000", 0),
	toggle("ReturnURLsMode", 1),
	number("ReturnURLsPeriod", 50, "0 to 86400", -1),
	number("ReturnURLsTTL", 45, "1 to 525600", 0),
	number("ReturnURLsMaxNumber", 12, "1 to 1000000000", 0),
	number("AgingBatchDefaultMaxURLsTotal", 77, "1 to 1000000000", 0),
	number("AgingBatchDefaultMaxURLsSite", 6, "1 to 1000000000", 0),
	number("AgingBatchDefaultMaxSites", 5, "0 to 100000", -1),
	text("AgingBatchURLsCriterion", "`Depth`>4", "", "is empty"),
	text("AgingBatchSitesCriterion", "`State`=3", strings.Repeat("x", maxText+1), "must be 1 to 10000"),
	number("PurgeBatchDefaultMaxURLs", 15, "1 to 1000000000", 0),
}, append(sweepKeys("Aging", 13), sweepKeys("Purge", 14)...)...)

func sweepKeys(prefix string, code int) []keyCase {
	return []keyCase{
		toggle(prefix+"Mode", 1),
		number(prefix+"Period", 3, "0 to 525600", -1),
		number(prefix+"BatchDefaultMaxTasks", 1, "0 to 1000", -1),
		number(prefix+"BatchDefaultMaxExecutionTime", code*100, "1 to 86400", 0),
		number(prefix+"BatchQueueTaskTTL", code*101, "1 to 86400", 0),
	}
}

var processKeys = []keyCase{
	number("ProcessingPeriod", 30, "0 to 86400", -1),
	toggle("ProcessingMode", 1),
	number("BatchRefillTime", 7, "0 to 3600", 3601),
	text("BatchDefaultWhereURLs", "`Status`=4", "", "is empty"),
	text("BatchDefaultWhereSites", "`State`=1", "", "is empty"),
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// change sets each key. Before that it checks that invalid values are refused and change
// nothing. Every variable of the manager must be listed, and its programs, which cannot be
// changed.
func (r *rig) change(keys []keyCase, programs ...string) {
	r.t.Helper()
	all := map[string]bool{}
	for _, k := range keys {
		all[k.name] = true
		before := asJSON(r.get(k.name))
		for reason, bad := range k.bad {
			if got := r.set(k.name, bad); !strings.Contains(got, reason) || !strings.HasPrefix(got, k.name) {
				r.t.Errorf("%s = %v: %q, want %q", k.name, bad, got, reason)
			}
		}
		if after := asJSON(r.get(k.name)); after != before {
			r.t.Errorf("%s was %s and is %s after what was refused", k.name, before, after)
		}
		if reason := r.set(k.name, k.value); reason != "" {
			r.t.Errorf("%s = %v: %s", k.name, k.value, reason)
		}
		if got, want := asJSON(r.get(k.name)), asJSON(k.value); got != want {
			r.t.Errorf("%s = %s, want %s", k.name, got, want)
		}
	}
	for _, program := range programs {
		if r.get(program) == nil {
			r.t.Errorf("%s is not shown", program)
		}
		all[program] = true
		if reason := r.set(program, "/bin/true"); !strings.Contains(reason, "cannot be changed") {
			r.t.Errorf("%s is changed: %q", program, reason)
		}
	}
	for name := range r.operator(wire.AdminGet, "*", nil).Fields {
		if !all[name] && name != "*" {
			r.t.Errorf("variable %s has no case", name)
		}
	}
	if reason := r.set("BatchDefaultMaxURL", 1); !strings.Contains(reason, "not a variable") {
		r.t.Errorf("an unknown variable: %q", reason)
	}
}

// checkStart checks the effect of the common keys on a task.
func checkStart(t *testing.T, task executor.Task) {
	t.Helper()
	want := executor.Conditions{MaxCPU: 60, MaxIOWait: 30, MinRAM: 32000000, RetryDelay: 500 * time.Millisecond, Retries: 20}
	if task.Start != want || task.ResultTTL != 1000*time.Second {
		t.Errorf("task %s: %+v, result for %v", task.ID, task.Start, task.ResultTTL)
	}
}

// A variable has its effect on the next request or task.
func TestCrawlVariables(t *testing.T) {
	w := crawledWorld(1, 30)
	for _, k := range w.order[:20] {
		w.nodes[0][k].status = wire.StatusNew
	}
	r := newRig(t, w)
	c := r.crawl(func(cfg *CrawlConfig) {
		cfg.Mode, cfg.Random = false, func() float64 { return 0.5 }
		cfg.Incremental.URLsCriterion.Where = "1"
	})
	r.recovered()
	r.inside(func() { c.Suspend(true) })
	r.change(slices.Concat(commonKeys, crawlKeys), "DRCECrawlerAppName", "DRCEDBAppName")
	r.inside(func() { c.Suspend(false) })
	tasks, refills := map[string]executor.Task{}, map[string]wire.URLFetchRequest{}
	for len(tasks) < 4 {
		task := r.submitted()
		kind := task.Type
		if kind == CrawlTask {
			b, err := wire.ReadBatch(task.Stdin, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b.CrawlerType == wire.CrawlIncremental {
				kind = "incremental"
			}
			if b.MaxIterations != 2 || b.MaxHostWait != 6000 || !b.RemoveUnprocessed || b.MaxExecutionTime != 44 {
				t.Errorf("batch %+v", b)
			}
			refills[kind] = b.Refill[0]
		}
		tasks[kind] = task
		checkStart(t, task)
	}
	for kind, want := range map[string]struct {
		program    string
		limit, ttl time.Duration
		items      int
	}{
		CrawlTask:     {"crawler-task", 66 * time.Second, 55 * time.Second, 2},
		"incremental": {"crawler-task", 66 * time.Second, 55 * time.Second, 2},
		AgeTask:       {"db-task", 1300 * time.Second, 1313 * time.Second, 0},
		PurgeTask:     {"db-task", 1400 * time.Second, 1414 * time.Second, 0},
	} {
		task := tasks[kind]
		if task.ID == "" {
			t.Errorf("no task of %s", kind)
			continue
		}
		if task.Stages[0].Program != want.program ||
			task.TimeLimit != want.limit || task.QueueTTL != want.ttl {
			t.Errorf("%s: %+v", kind, task)
		}
		if want.items > 0 && len(items(t, task.Stdin)) != want.items {
			t.Errorf("%s: %d items, want %d", kind, len(items(t, task.Stdin)), want.items)
		}
	}
	for kind, parts := range map[string][]string{
		AgeTask:   {`"maxURLs":77`, `"LIMIT":"6"`, `"LIMIT":5`, "`Depth`\\u003e4", "`State`=3"},
		PurgeTask: {`"LIMIT":15`},
	} {
		for _, part := range parts {
			if !strings.Contains(string(tasks[kind].Stdin), part) {
				t.Errorf("%s: no %s in %s", kind, part, tasks[kind].Stdin)
			}
		}
	}
	regular, again := refills[CrawlTask], refills["incremental"]
	if regular.PaceTime != 4000 || regular.MaxURLs != 2 || regular.URLsCriterion.OrderBy != "`Depth` ASC" || regular.SitesCriterion.Where != "`FetchType`=2" {
		t.Errorf("selection %+v", regular)
	}
	if again.MaxURLs != 2 || again.URLsCriterion.Where != "(1) AND `Depth`<=9" {
		t.Errorf("incremental selection %+v", again)
	}
	testwait.Until(r.t, "a sweep for stuck rows", func() bool { return len(r.sweeps()) == 1 })
	if q := r.sweeps()[0]; q.Age != 45*60 || q.MaxURLs != 12 {
		t.Errorf("URL_RETURN %+v", q)
	}
	r.inside(func() {
		if c.SitesTimeout != 20*time.Second || c.QueuePeriod != 0 || c.MaxAttempts != 8 || c.cfg.CheckActive || c.cfg.Propagate || c.cfg.CrawledStrategy != 1 {
			t.Errorf("%+v", c.cfg)
		}
	})
	// STAT shows the period and the next time of each schedule.
	var stat struct{ Schedules map[string]manager.Schedule }
	raw, err := json.Marshal(r.operator(wire.AdminStat, "schedules", nil).Fields)
	if err == nil {
		err = json.Unmarshal(raw, &stat)
	}
	if err != nil {
		t.Fatal(err)
	}
	periods := map[string]float64{}
	for name, s := range stat.Schedules {
		periods[name] = s.PeriodSeconds
		if s.Next == nil || s.Last == nil {
			t.Errorf("schedule %s is not on: %+v", name, s)
		}
	}
	want := map[string]float64{crawlTimer: 30, returnTimer: 50, incrementalTimer: 40, agingTimer: 180, purgingTimer: 180}
	if !maps.Equal(periods, want) {
		t.Errorf("schedules %v, want %v", periods, want)
	}
}

func TestProcessVariables(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 0))
	p := r.process(func(cfg *ProcessConfig) { cfg.Mode = false })
	r.recovered()
	r.inside(func() { p.Suspend(true) })
	r.change(slices.Concat(commonKeys, processKeys), "DRCEProcessorAppName")
	r.inside(func() { p.Suspend(false) })
	task := r.submitted()
	checkStart(t, task)
	if len(task.Stages) != 1 || task.Stages[0].Program != "processor-task" ||
		task.TimeLimit != 66*time.Second || task.QueueTTL != 55*time.Second {
		t.Errorf("task %+v", task)
	}
	for _, part := range []string{`"maxURLs":3`, "`Status`=4", "`State`=1", "`Depth` ASC", `"refillTime":7000`} {
		if !strings.Contains(string(task.Stdin), part) {
			t.Errorf("no %s in %s", part, task.Stdin)
		}
	}
	r.stats(map[string]int{"batches_process_total": 1, "batches_process_queue": 1})
	r.clock.pass(30 * time.Second)
	r.stats(map[string]int{"batches_process_cancelled": 1})
	r.env.end(task.ID, executor.Finished, processed(4))
	second := r.submitted()
	r.stats(map[string]int{"batches_process_filled": 1, "batches_process_urls": 4, "batches_process_total": 2})
	w := r.world
	w.set(func() {
		for i := range 3 {
			w.nodes[0][key{"s", fmt.Sprint(i)}] = &row{status: wire.StatusProcessing, batch: batchOf(second.ID)}
		}
		w.faults[wire.URLReturn] = nil
	})
	r.env.set(func() { r.env.noResult, r.env.noDelete = executor.ErrClosed, executor.ErrClosed })
	r.env.end(second.ID, executor.Refused, "") // its TTL has passed
	r.stats(map[string]int{"batches_process_check_fault": 1})
	r.clock.pass(2 * time.Second)
	r.stats(map[string]int{"batches_process_delete_fault": 1})
	r.clock.pass(2 * time.Second)
	r.stats(map[string]int{
		"batches_process_fault": 1, "batches_process_fault_ttl": 1, "batches_process_urls_fault": 3, "batches_process_queue": 0,
	})
}
