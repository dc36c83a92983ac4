package sites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// One recrawl from lock to unlock, with its requests and statistics.
func TestRecrawl(t *testing.T) {
	d := newData(t, "n")
	d.fill("n", "")
	cfg := recrawls()
	cfg.DeleteOld = true
	r := newRig(t, cfg, d.answer)
	r.await("the unlock", func() bool { return d.site("n", "s").Iterations == 1 && !d.site("n", "s").RecrawlLock })
	r.settle()
	r.awaitCalls("resume, begin, delete s, optimize s, renew s, end s, begin")
	if got := d.statuses("n", "", "plain", "busy"); got != "1/0, plain gone, busy 3/0" {
		t.Errorf("rows: %s", got)
	}
	s := d.site("n", "s")
	if s.State != wire.SiteActive || s.RecrawlDate <= schema.DateOf(time.Now()) || s.RecrawlPeriod != 60 || s.DeletedURLs != 1 {
		t.Errorf("site %+v", s)
	}
	for name, want := range map[string]int{
		"sites_recrawl_cnt": 1, "sites_recrawl_updated_cnt": 1, "sites_recrawl_deleted_cnt": 1, "sites_recrawl_drce_cnt": 7,
		"recrawl_threads": 0, "recrawl_threads_created": 1, "recrawl_sites_queue": 0, "sites_recrawl_fault_cnt": 0, "common_operations_cnt": 0,
	} {
		if got := r.stat(name); got != want {
			t.Errorf("%s = %d, want %d", name, got, want)
		}
	}
	for _, task := range r.tasks {
		if task.Type != RecrawlTask || task.TimeLimit != time.Hour || !task.Target.All {
			t.Errorf("task %+v", task)
		}
	}
	r.await("a hint", func() bool {
		m, err := r.hints.Recv()
		return err == nil && m.Event.Type == wire.InternalWork
	})
	r.caller.Ask(wire.ClassClient, int(wire.SiteStatus), map[string]string{"id": "s"})
	if got := r.stat("sites_recrawl_drce_cnt"); got != 8 {
		t.Errorf("%d requests in total", got)
	}
}

// The effect of each key and property on a recrawl.
func TestRecrawlKeys(t *testing.T) {
	long := func(s wire.Site) string { return fmt.Sprint(s.RecrawlPeriod) }
	inMinutes := func(s wire.Site) string {
		at, _ := s.RecrawlDate.Time()
		return fmt.Sprint(time.Until(at).Round(5 * time.Minute).Minutes())
	}
	mask := func(s wire.Site) string { return fmt.Sprint(s.ErrorMask.Names()) }
	cases := []struct {
		name       string
		change     func(c *RecrawlConfig)
		properties []string
		calls      string // between begin and end
		rows       string
		site       func(wire.Site) string
		want       string
	}{
		{"shipped configuration", nil, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", inMinutes, "60"},
		{"DefaultRecrawUpdatelCriterion", func(c *RecrawlConfig) { c.Renew = "Depth=1" }, nil, "optimize s, renew s", "4/2, plain 1/0, busy 3/0", nil, ""},
		{"RECRAWL_WHERE", nil, []string{"RECRAWL_WHERE", "Status=7 OR Status=4"}, "optimize s, renew s", "1/0, plain 1/0, busy 3/0", mask, "[]"},
		{"invalid RECRAWL_WHERE", nil, []string{"RECRAWL_WHERE", "Status="}, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", mask, "[CRAWLER_FATAL_INITIALIZATION_PROJECT_ERROR]"},
		{"DefaultRecrawDeleteOld", func(c *RecrawlConfig) { c.DeleteOld = true }, nil, "delete s, optimize s, renew s", "1/0, plain gone, busy 3/0",
			func(s wire.Site) string { return fmt.Sprint(s.DeletedURLs) }, "1"},
		{"PurgeMethod", func(c *RecrawlConfig) { c.DeleteOld, c.PurgeMethod = true, 1 }, nil, "delete s, optimize s, renew s", "1/0, plain gone, busy 3/0",
			func(s wire.Site) string { return fmt.Sprint(s.DeletedURLs) }, "0"},
		{"DefaultRecrawDeleteOldCriterion", func(c *RecrawlConfig) { c.DeleteOld, c.DeleteWhere = true, "`ParentMd5`=''" }, nil, "delete s, optimize s, renew s", "gone, plain 7/0, busy 3/0", nil, ""},
		{"RECRAWL_DELETE_WHERE", func(c *RecrawlConfig) { c.DeleteOld = true }, []string{"RECRAWL_DELETE_WHERE", "Status=4"}, "delete s, optimize s, renew s", "gone, plain 7/0, busy 3/0", nil, ""},
		{"RECRAWL_DELETE vetoes", func(c *RecrawlConfig) { c.DeleteOld = true }, []string{"RECRAWL_DELETE", "0"}, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", nil, ""},
		{"RECRAWL_DELETE alone", nil, []string{"RECRAWL_DELETE", "1"}, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", nil, ""},
		{"RecrawlSiteOptimize", func(c *RecrawlConfig) { c.Optimize = false }, nil, "renew s", "1/0, plain 7/0, busy 3/0", nil, ""},
		{"RECRAWL_OPTIMIZE 1", func(c *RecrawlConfig) { c.Optimize = false }, []string{"RECRAWL_OPTIMIZE", "1"}, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", nil, ""},
		{"RECRAWL_OPTIMIZE 0", nil, []string{"RECRAWL_OPTIMIZE", "0"}, "renew s", "1/0, plain 7/0, busy 3/0", nil, ""},
		{"RecrawlSitePeriodMode", func(c *RecrawlConfig) { c.PeriodMode = 1 }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", inMinutes, "45"},
		{"RecrawlSitePeriodStep", func(c *RecrawlConfig) { c.PeriodMode, c.PeriodStep = 1, 20 }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", long, "40"},
		{"RecrawlSitePeriodMin", func(c *RecrawlConfig) { c.PeriodMode, c.PeriodMin = 1, 55 }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", long, "55"},
		{"RecrawlSitePeriodMax", func(c *RecrawlConfig) { c.PeriodMode, c.PeriodMax = 1, 30 }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", long, "30"},
		{"RECRAWL_PERIOD_MODE", nil, []string{"RECRAWL_PERIOD_MODE", "1", "RECRAWL_PERIOD_STEP", "5"}, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", long, "55"},
		{"RecrawlSiteRecrawlDateExpression", func(c *RecrawlConfig) { c.DateExpression = "DATE_ADD(NOW(), INTERVAL 5 HOUR)" }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", inMinutes, "300"},
		{"no date", func(c *RecrawlConfig) { c.DateExpression = "" }, nil, "optimize s, renew s", "1/0, plain 7/0, busy 3/0", func(s wire.Site) string { return string(s.RecrawlDate) }, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			d := newData(t, "n")
			d.fill("n", "", tc.properties...)
			cfg := recrawls()
			if tc.change != nil {
				tc.change(&cfg)
			}
			r := newRig(t, cfg, d.answer)
			r.awaitCalls("resume, begin, " + tc.calls + ", end s, begin")
			r.settle()
			s := d.site("n", "s")
			if got := d.statuses("n", "", "plain", "busy"); got != tc.rows || s.RecrawlLock || s.Iterations != 1 {
				t.Errorf("rows %s, want %s; site %+v", got, tc.rows, s)
			}
			if tc.site != nil && tc.site(s) != tc.want {
				t.Errorf("site: %s, want %s", tc.site(s), tc.want)
			}
		})
	}
}

// Sites are selected in portions, at once while there are more, then once per period.
func TestRecrawlTurns(t *testing.T) {
	w := &world{due: []string{"a", "b", "c", "d", "e"}}
	cfg := recrawls()
	cfg.Max, cfg.MaxThreads, cfg.Optimize = 2, 1, false
	r := newRig(t, cfg, w.answer)
	r.awaitCalls("resume, begin, renew a, end a, renew b, end b, begin, renew c, end c, renew d, end d, begin, renew e, end e")
	r.settle()
	w.with(func() {
		b := w.begins[0]
		if b.Max != 2 || b.Criterion.Where != cfg.Criterion.Where || b.Criterion.OrderBy != cfg.Criterion.OrderBy || b.DateExpression != cfg.DateExpression ||
			len(b.Except) != 0 || !slices.Equal(w.begins[2].Except, []string{"a", "b", "c", "d"}) {
			t.Errorf("selections %+v", w.begins)
		}
		w.due = []string{"f"}
	})
	r.forget()
	r.pass(cfg.Period - 5*time.Second)
	r.stat("recrawl_threads") // two turns of the loop
	r.stat("recrawl_threads")
	if got := r.asked(); got != "" {
		t.Errorf("before the end of the period: %s", got)
	}
	r.pass(5 * time.Second)
	r.awaitCalls("begin, renew f, end f")
	w.with(func() {
		if last := w.begins[len(w.begins)-1]; len(last.Except) != 0 {
			t.Errorf("a new period excludes %v", last.Except)
		}
	})
	r.settle()

	// While suspended or off it selects nothing; afterwards it does.
	r.forget()
	w.with(func() { w.due = []string{"g"} })
	r.caller.Ask(wire.ClassAdmin, wire.AdminSuspend, map[string]int{"suspendType": 0})
	r.pass(2 * cfg.Period)
	r.stat("recrawl_threads")
	r.set("RecrawlSiteMode", 0)
	r.caller.Ask(wire.ClassAdmin, wire.AdminSuspend, map[string]int{"suspendType": 1})
	r.stat("recrawl_threads")
	if got := r.asked(); got != "" {
		t.Errorf("suspended or off: %s", got)
	}
	r.set("RecrawlSiteMode", 1)
	r.awaitCalls("begin, renew g, end g")
	r.settle()
	r.forget()
	r.set("RecrawlSiteIterationPeriod", 0)
	r.pass(2 * cfg.Period)
	r.stat("recrawl_threads")
	if got := r.asked(); got != "" {
		t.Errorf("without a period: %s", got)
	}
}

// A criterion that always selects the same sites recrawls each once per period.
func TestRecrawlWithoutEnd(t *testing.T) {
	w := &world{due: []string{"a", "b"}, always: true}
	cfg := recrawls()
	cfg.Optimize, cfg.MaxThreads = false, 1
	r := newRig(t, cfg, w.answer)
	r.awaitCalls("resume, begin, renew a, end a, begin, renew b, end b, begin")
	r.settle()
	r.forget()
	r.pass(cfg.Period)
	r.awaitCalls("begin, renew a, end a, begin, renew b, end b, begin")
}

// The number of threads is limited, and independent of the workers of requests.
func TestRecrawlThreads(t *testing.T) {
	w := &world{due: []string{"a", "b", "c", "d", "e"}}
	release, running := make(chan struct{}), make(chan string, 10)
	cfg := recrawls()
	cfg.Max, cfg.MaxThreads, cfg.Optimize = 5, 3, false
	r := newRig(t, cfg, func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		if name := named(call(task)); strings.HasPrefix(name, "renew") {
			running <- name
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return w.answer(ctx, task)
	})
	for range 3 {
		<-running
	}
	if got, queue := r.stat("recrawl_threads"), r.stat("recrawl_sites_queue"); got != 3 || queue != 5 || len(running) != 0 {
		t.Errorf("%d threads, %d sites, %d other requests run", got, queue, len(running))
	}
	for range 5 { // more than Workers
		r.caller.Ask(wire.ClassClient, int(wire.SiteStatus), nil)
	}
	r.pass(cfg.Period) // late: taken up when threads are free
	r.stat("recrawl_threads")
	close(release)
	r.settle()
	if got := r.stat("recrawl_threads_created"); got != 5 {
		t.Errorf("%d threads in total", got)
	}
	r.await("the turn that was late", func() bool { return strings.Count(r.asked(), "begin") == 2 })
}

// The delays use the manager's clock: no worker waits, and a stop is immediate.
func TestRecrawlDelays(t *testing.T) {
	w := &world{due: []string{"a", "b"}}
	cfg := recrawls()
	cfg.DelayBefore, cfg.DelayAfter, cfg.Max, cfg.MaxThreads, cfg.Optimize = 30*time.Minute, 20*time.Minute, 1, 1, false
	cfg.Period = 24 * time.Hour
	r := newRig(t, cfg, w.answer)
	r.awaitCalls("resume, begin")
	r.await("a thread", func() bool { return r.stat("recrawl_threads") == 1 })
	r.pass(29 * time.Minute)
	r.stat("recrawl_threads")
	r.awaitCalls("resume, begin")
	r.pass(2 * time.Minute)
	r.awaitCalls("resume, begin, renew a")
	r.await("the manager knows", func() bool { return r.stat("sites_recrawl_updated_cnt") == 1 }) // the delay begins there
	r.pass(18 * time.Minute)
	r.stat("recrawl_threads")
	r.awaitCalls("resume, begin, renew a")
	r.pass(3 * time.Minute)
	r.awaitCalls("resume, begin, renew a, end a, begin")
	before := time.Now()
	r.stop() // site b waits
	if took := time.Since(before); took > managertest.Patience {
		t.Errorf("the stop took %v", took)
	}
	w.with(func() {
		if !slices.Equal(w.locked, []string{"b"}) {
			t.Errorf("locked %v", w.locked)
		}
	})
	// The next start resumes it.
	cfg.DelayBefore, cfg.DelayAfter = 0, 0
	r.forget()
	r.bus = managertest.Bus(t)
	r.start(Config{Recrawl: cfg}, w.answer)
	r.awaitCalls("resume, renew b, end b, begin")
	w.with(func() {
		if len(w.locked) != 0 || !slices.Equal(w.renewed, []string{"a", "b"}) {
			t.Errorf("locked %v, renewed %v", w.locked, w.renewed)
		}
	})
}

// Whichever step fails, the site is unlocked at once or by the next turn, and the fault is
// counted.
func TestRecrawlFaults(t *testing.T) {
	broken := managertest.Finished("n1", "")
	broken.State, broken.Reason = executor.Failed, "killed"
	late := managertest.Finished("n1", "")
	late.State = executor.TimedOut
	refusal := func(op int) executor.Result {
		return managertest.Finished("n1", fmt.Sprintf(`[%d,{"errorCode":1,"errorMessage":"no","refused":true}]`, op+100))
	}
	undone := func(op int) executor.Result {
		return managertest.Finished("n1", fmt.Sprintf(`[%d,{"errorCode":0,"errorMessage":"WHERE","statuses":[false]}]`, op+100))
	}
	del, opt := "delete a, ", "optimize a, "
	cases := []struct {
		name   string
		step   string
		result executor.Result
		times  int // it fails
		calls  string
		faults int
	}{
		{"delete killed once", "delete a", broken, 1, del + del + opt + "renew a, end a", 0},
		{"delete killed always", "delete a", broken, 9, del + del + del + opt + "renew a, end a", 1},
		{"delete timed out", "delete a", late, 9, del + opt + "renew a, end a", 1},
		{"delete refused", "delete a", refusal(int(wire.URLDelete)), 9, del + opt + "renew a, end a", 1},
		{"delete not done", "delete a", undone(int(wire.URLDelete)), 9, del + opt + "renew a, end a", 1},
		{"optimize refused", "optimize a", refusal(int(wire.SiteRecrawl)), 9, del + opt + "renew a, end a", 1},
		{"renew killed twice", "renew a", broken, 2, del + opt + "renew a, renew a, renew a, end a", 0},
		{"renew refused", "renew a", refusal(int(wire.URLUpdate)), 9, del + opt + "renew a, end a", 1},
		{"renew not done", "renew a", undone(int(wire.URLUpdate)), 9, del + opt + "renew a, end a", 1},
		{"invalid answer", "renew a", managertest.Finished("n1", "oops"), 9, del + opt + "renew a, end a", 1},
		{"end killed once", "end a", broken, 1, del + opt + "renew a, end a, end a", 0},
		{"end killed always", "end a", broken, 3, del + opt + "renew a, end a, end a, end a", 1},
		{"begin killed always", "begin", broken, 3, "", 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			left := tc.times
			w := &world{due: []string{"a"}}
			w.fail = func(name string) (executor.Result, bool) {
				if name != tc.step || left == 0 {
					return executor.Result{}, false
				}
				left--
				return tc.result, true
			}
			cfg := recrawls()
			cfg.DeleteOld, cfg.Period, cfg.Max = true, 24*time.Hour, 2
			r := newRig(t, cfg, w.answer)
			r.await("the fault", func() bool {
				return r.stat("sites_recrawl_fault_cnt") == tc.faults && r.stat("sites_recrawl_drce_cnt") >= 4
			})
			r.settle()
			if tc.calls == "" {
				r.awaitCalls("resume, begin, begin, begin")
				w.with(func() { w.locked, w.due = []string{"a"}, nil }) // it had, and nobody heard
			} else {
				r.awaitCalls("resume, begin, " + tc.calls)
			}
			if tc.name == "end killed always" || tc.calls == "" {
				r.forget()
				r.pass(cfg.Period)
				r.awaitCalls("resume, " + del + opt + "renew a, end a, begin")
				r.settle()
			}
			if got := r.stat("sites_recrawl_fault_cnt"); got != tc.faults {
				t.Errorf("%d faults", got)
			}
			w.with(func() {
				if len(w.locked) > 0 {
					t.Errorf("locked: %v", w.locked)
				}
			})
		})
	}
	// An executor that fails, and a worker that panics.
	for name, run := range map[string]runFunc{
		"closed": func(context.Context, executor.Task) ([]executor.Result, error) { return nil, executor.ErrClosed },
		"empty":  func(context.Context, executor.Task) ([]executor.Result, error) { return nil, nil },
		"panic":  func(context.Context, executor.Task) ([]executor.Result, error) { panic("a fault") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, recrawls(), run)
			r.await("the fault", func() bool { return r.stat("sites_recrawl_fault_cnt") == 1 })
			r.pass(time.Minute)
			r.await("another turn", func() bool { return r.stat("sites_recrawl_fault_cnt") == 2 })
			if got := r.asked(); got != "resume, resume" {
				t.Errorf("requests %s", got)
			}
		})
	}
}

// A repeated step skips rows that changed since the lock: a row is renewed once and not crawled
// twice.
func TestRenewedOnce(t *testing.T) {
	d := newData(t, "n")
	d.fill("n", "")
	cfg := recrawls()
	cfg.Optimize = false
	first := true
	renewals := func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		results, err := d.answer(ctx, task)
		if named(call(task)) == "renew s" && first {
			first = false
			// It is crawled before the answer of the step is lost.
			d.ask(ctx, "n", `["URL_UPDATE",[{"siteId":"s","url":"`+pages+`","status":4,"tcDate":{"str":"DATE_ADD(NOW(), INTERVAL 1 SECOND)"}}]]`)
			results[0].State = executor.Failed
		}
		return results, err
	}
	r := newRig(t, cfg, renewals)
	r.awaitCalls("resume, begin, renew s, renew s, end s, begin")
	r.settle()
	if got := d.statuses("n", ""); got != "4/0" {
		t.Errorf("status of the root: %s", got)
	}
}

// With several nodes a site has one entry with summed counters, and each step runs on all
// nodes.
func TestRecrawlOnTwoNodes(t *testing.T) {
	d := newData(t, "a", "b")
	d.fill("a", "")
	d.fill("b", "")
	ctx := context.Background()
	// b would find it due later; its backlog counts, too.
	d.ask(ctx, "b", `["SITE_UPDATE",{"id":"s","recrawlDate":"2100-01-01 00:00:00"}]`)
	d.ask(ctx, "b", `["URL_NEW",[{"siteId":"s","url":"`+pages+`new","parentMd5":"`+wire.Md5(pages)+`"}]]`)
	cfg := recrawls()
	cfg.PeriodMode = 1
	r := newRig(t, cfg, d.answer)
	r.awaitCalls("resume, begin, begin s, optimize s, renew s, end s, begin")
	r.settle()
	for _, node := range []string{"a", "b"} {
		s := d.site(node, "s")
		if s.RecrawlPeriod != 75 || s.RecrawlLock || s.Iterations != 1 || s.RecrawlDate > "2099" || d.statuses(node, "") != "1/0" {
			t.Errorf("%s: %+v, %s", node, s, d.statuses(node, ""))
		}
	}
}

// A site deleted during its recrawl is not a fault.
func TestDeletedWhileRecrawled(t *testing.T) {
	d := newData(t, "n")
	d.fill("n", "")
	r := newRig(t, recrawls(), func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
		if named(call(task)) == "optimize s" {
			d.ask(ctx, "n", `["SITE_DELETE",{"id":"s"}]`)
		}
		return d.answer(ctx, task)
	})
	r.awaitCalls("resume, begin, optimize s, renew s, end s, begin")
	r.settle()
	if got := r.stat("sites_recrawl_fault_cnt"); got != 0 {
		t.Errorf("%d faults", got)
	}
}

func TestTuned(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	on := wire.RecrawlRules{PeriodMode: n(1)}
	cases := []struct {
		name                    string
		mode                    int64
		rules                   wire.RecrawlRules
		period, news, resources int64
		want                    int64
	}{
		{"off", 0, wire.RecrawlRules{}, 60, 5, 5, 60},
		{"off for the site", 1, wire.RecrawlRules{PeriodMode: n(0)}, 60, 5, 5, 60},
		{"new pages", 1, wire.RecrawlRules{}, 60, 1, 0, 75},
		{"not processed", 0, on, 60, 0, 1, 75},
		{"no backlog", 1, wire.RecrawlRules{}, 60, 0, 0, 45},
		{"at the maximum", 1, wire.RecrawlRules{}, 1440, 1, 0, 1440},
		{"below the maximum", 1, wire.RecrawlRules{}, 1430, 1, 0, 1440}, // the original went to 1445
		{"at the minimum", 1, wire.RecrawlRules{}, 15, 0, 0, 15},
		{"above the minimum", 1, wire.RecrawlRules{}, 20, 0, 0, 15},
		{"above the maximum", 1, wire.RecrawlRules{}, 5000, 1, 0, 1440},
		{"below the minimum", 1, wire.RecrawlRules{}, 1, 0, 0, 15},
		{"no period", 1, wire.RecrawlRules{}, 0, 1, 1, 0},
		{"minimum of the site", 1, wire.RecrawlRules{PeriodMin: n(50), PeriodStep: n(100)}, 60, 0, 0, 50},
		{"maximum of the site", 1, wire.RecrawlRules{PeriodMax: n(65)}, 60, 1, 0, 65},
	}
	for _, tc := range cases {
		c := recrawls()
		c.PeriodMode = tc.mode
		got, refused := c.tunePeriod(wire.RecrawlSite{Period: tc.period, NewURLs: tc.news, Resources: tc.resources, Rules: tc.rules})
		if got != tc.want || refused != "" {
			t.Errorf("%s: %d, %q, want %d", tc.name, got, refused, tc.want)
		}
	}
	c := recrawls()
	got, refused := c.tunePeriod(wire.RecrawlSite{Period: 60, Rules: wire.RecrawlRules{PeriodMode: n(1), PeriodMin: n(100), PeriodMax: n(50)}})
	if got != 60 || !strings.Contains(refused, "RECRAWL_PERIOD_MIN") {
		t.Errorf("minimum above maximum: %d, %q", got, refused)
	}
}

// What an operator can set at run time, and what is refused.
func TestRecrawlVariables(t *testing.T) {
	r := newRig(t, recrawls(), (&world{}).answer)
	cases := map[string]struct {
		good  any
		wrong []any
	}{
		"RecrawlSiteMode":                  {0.0, []any{2, "x", nil}},
		"RecrawlSiteIterationPeriod":       {30.0, []any{-1, 86401, "soon"}},
		"RecrawlSiteMax":                   {1000.0, []any{0, 1001, 1.5}},
		"RecrawlSiteMaxThreads":            {64.0, []any{0, 65}},
		"RecrawlSiteSelectCriterion":       {"`State`=1 AND `Priority`>5", []any{"", "SLEEP(1)", "`None`=1", 5}},
		"RecrawlSiteSelectOrder":           {"`Priority` DESC", []any{"`None`", "1; x"}},
		"RecrawlSiteRecrawlDateExpression": {"", []any{"NOW(", "LOAD_FILE('x')"}},
		"RecrawlSiteDRCETimeout":           {60.0, []any{0, 86401}},
		"RecrawlDelayBefore":               {60.0, []any{-1}},
		"RecrawlDelayAfter":                {60.0, []any{-1}},
		"DefaultRecrawUpdatelCriterion":    {"`Site_Id`='%SITE_ID%' AND `Depth`<2", []any{"", "(1"}},
		"DefaultRecrawDeleteOld":           {1.0, []any{2}},
		"DefaultRecrawDeleteOldCriterion":  {"`Depth`>2", []any{" ", "`None`=1"}},
		"PurgeMethod":                      {1.0, []any{2}},
		"RecrawlSiteOptimize":              {0.0, []any{2}},
		"RecrawlSitePeriodMode":            {1.0, []any{2}},
		"RecrawlSitePeriodMin":             {20.0, []any{0, 2001}},
		"RecrawlSitePeriodMax":             {2000.0, []any{14, 1e9}},
		"RecrawlSitePeriodStep":            {20.0, []any{0}},
		"DRCERoute":                        {`{"role":1}`, []any{"x", `{"role":9}`, `{"role":1} x`}},
		"DRCETimeout":                      {1000.0, []any{0}},
	}
	for name, tc := range cases {
		before := r.caller.Ask(wire.ClassAdmin, wire.AdminGet, wire.AdminFields{Fields: map[string]any{name: ""}})
		for _, wrong := range tc.wrong {
			if got := r.set(name, wrong); got.Fields[name] != nil || !strings.Contains(got.Errors[name], name) {
				t.Errorf("%s = %v: %+v", name, wrong, got)
			}
		}
		after := r.caller.Ask(wire.ClassAdmin, wire.AdminGet, wire.AdminFields{Fields: map[string]any{name: ""}})
		if string(before.Object) != string(after.Object) {
			t.Errorf("%s was %s, now %s", name, before.Object, after.Object)
		}
		if got := r.set(name, tc.good); got.Fields[name] != tc.good || got.Errors != nil {
			t.Errorf("%s = %v: %+v", name, tc.good, got)
		}
	}
	if got := r.set("DRCERoute", map[string]any{"role": 0, "nodes": []string{"x"}}); got.Errors != nil {
		t.Errorf("route as an object: %+v", got)
	}
}

func TestRoute(t *testing.T) {
	cases := map[string]executor.Target{
		"":                               {All: true},
		"{}":                             {All: true},
		`{"role": 0, "nodes": []}`:       {All: true},
		`{"role":0,"nodes":["a","b"]}`:   {Nodes: []string{"a", "b"}},
		`{"role": 1}`:                    {Policy: executor.RoundRobin},
		`{"role": 4, "nodes": []}`:       {Policy: executor.Random},
		` {"role": 5} `:                  {Policy: executor.LeastLoaded},
		`{"role": 5, "nodes": ["only"]}`: {Nodes: []string{"only"}},
	}
	for text, want := range cases {
		route, err := ParseRoute(text)
		if got := route.taskTarget(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "[]", "1", "null", `{"role":2}`, `{"role":"1"}`, `{"rule":1}`, `{"role":1,"nodes":["a","b"]}`, `{"nodes":[""]}`, `{"nodes":[1]}`, `{} {}`, `{`} {
		if _, err := ParseRoute(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	// Every request goes to the nodes of the route.
	tasks := make(chan executor.Task, 1)
	b := managertest.Bus(t)
	route, err := ParseRoute(`{"nodes":["n1"]}`)
	if err != nil {
		t.Fatal(err)
	}
	start(t, b, Config{Route: route}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		tasks <- task
		return one(task, "{}")
	})
	managertest.Call(t, b, bus.Inproc(Name)).Ask(wire.ClassClient, int(wire.SiteStatus), nil)
	if task := <-tasks; task.Target.All || !slices.Equal(task.Target.Nodes, []string{"n1"}) {
		t.Errorf("target %+v", task.Target)
	}
}

// Invalid answers of nodes are reported and do not affect other answers.
func TestTogether(t *testing.T) {
	sites, err := mergeSites([]json.RawMessage{
		json.RawMessage(`[{"id":"a","newURLs":1,"resources":2,"uDate":"2026-01-05 10:00:01","recrawlDate":"2026-01-06 00:00:00"},{"id":"../x"}]`),
		json.RawMessage(`[{"id":"b"},{"id":"a","newURLs":10,"resources":20,"uDate":"2026-01-05 10:00:00","recrawlDate":"2026-01-07 00:00:00"}]`),
		json.RawMessage(`{}`),
	})
	if err == nil || !strings.Contains(err.Error(), "../x") || !strings.Contains(err.Error(), "cannot read list") || errors.Is(err, executor.ErrNode) {
		t.Errorf("error %v", err)
	}
	if len(sites) != 2 || sites[0].NewURLs != 11 || sites[0].Resources != 22 || sites[0].Since != "2026-01-05 10:00:00" || sites[0].Nodes != 2 ||
		len(sites[0].Dates) != 2 || sites[1].Nodes != 1 || sites[1].Of != 3 {
		t.Errorf("sites %+v", sites)
	}
}
