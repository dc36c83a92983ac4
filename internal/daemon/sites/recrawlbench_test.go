package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/storage"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// recrawls is the configuration at the start of tests: the shipped one with one thread, so that
// the order of requests is fixed.
func recrawls() RecrawlConfig {
	return RecrawlConfig{
		Mode: true, Period: time.Minute, Max: 1, MaxThreads: 1, Timeout: time.Hour, Optimize: true,
		Criterion:      wire.Criterion{Where: "`State`=1 AND `RecrawlDate` IS NOT NULL AND `RecrawlDate`<=NOW()", OrderBy: "`RecrawlDate` ASC"},
		DateExpression: "DATE_ADD(NOW(), INTERVAL `RecrawlPeriod` MINUTE)",
		Renew:          "`ParentMd5`=''", DeleteWhere: "`ParentMd5`<>'' AND `Status`=7 AND `TagsCount`=0",
		PeriodMin: 15, PeriodMax: 1440, PeriodStep: 15,
	}
}

// rig is a manager with recrawls and a fake executor.
type rig struct {
	*testing.T
	bus    *bus.Bus
	caller *managertest.Caller
	hints  *bus.Socket // of the manager that crawls
	stop   func()
	ahead  atomic.Int64 // of the manager's clock

	mu    sync.Mutex
	calls []string // what db-task was asked, in order
	tasks []executor.Task
}

// named names a call: the operation or step, and the site.
func named(c wire.Call) string {
	switch c.Op {
	case wire.SiteRecrawl:
		var r wire.SiteRecrawlRequest
		if err := json.Unmarshal(c.Object, &r); err != nil {
			return err.Error()
		}
		return strings.Join(append([]string{r.Step}, r.Sites...), " ")
	case wire.URLUpdate, wire.URLDelete:
		var list []struct{ SiteID string }
		if err := json.Unmarshal(c.Object, &list); err != nil || len(list) != 1 {
			return string(c.Object)
		}
		return map[wire.Op]string{wire.URLUpdate: "renew ", wire.URLDelete: "delete "}[c.Op] + list[0].SiteID
	}
	return c.Op.String()
}

// newRig starts the manager; answer acts as db-task.
func newRig(t *testing.T, cfg RecrawlConfig, answer runFunc) *rig {
	t.Helper()
	r := &rig{T: t, bus: managertest.Bus(t)}
	var err error
	if r.hints, err = r.bus.Bind(bus.Inproc("BatchTasksManager"), bus.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.hints.Close)
	r.start(Config{Recrawl: cfg, Workers: 2}, answer)
	return r
}

func (r *rig) start(cfg Config, answer runFunc) {
	r.Helper()
	if cfg.Executor == nil {
		cfg.Executor = managertest.Executor{RunFunc: func(ctx context.Context, task executor.Task) ([]executor.Result, error) {
			r.mu.Lock()
			r.calls, r.tasks = append(r.calls, named(call(task))), append(r.tasks, task)
			r.mu.Unlock()
			return answer(ctx, task)
		}}
	}
	if cfg.DBTask.Program == "" {
		cfg.DBTask.Program = "db-task"
	}
	ready := make(chan struct{})
	m := New(manager.Config{Bus: r.bus, Log: managertest.Quiet(), Ready: func() { close(ready) },
		PollTimeout: 20 * time.Millisecond, Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }}, cfg)
	m.Handle(Name, wire.ClassAdmin, wire.AdminStat, m.AnswerStat)
	m.Handle(Name, wire.ClassAdmin, wire.AdminGet, m.AnswerGet)
	m.Handle(Name, wire.ClassAdmin, wire.AdminSet, m.AnswerSet)
	m.Handle(Name, wire.ClassAdmin, wire.AdminSuspend, func(from manager.Peer, e wire.Event) {
		s, _ := manager.ReadSuspension(e.Object)
		m.Suspend(s.SuspendType == 0)
		m.Reply(from, e, wire.AdminSuspendAns, nil)
	})
	r.stop = managertest.Run(r.T, m, ready)
	r.caller = managertest.Call(r.T, r.bus, bus.Inproc(Name))
}

func (r *rig) pass(d time.Duration) { r.ahead.Add(int64(d)) }

// asked returns the calls so far as one text.
func (r *rig) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.calls, ", ")
}

func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.tasks = nil, nil
}

func (r *rig) stat(name string) int {
	r.Helper()
	e := r.caller.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{Fields: map[string]any{name: nil}})
	n, ok := managertest.Object[wire.AdminFields](r.T, e).Fields[name].(float64)
	if !ok {
		r.Fatalf("%s: %s", name, e.Object)
	}
	return int(n)
}

func (r *rig) set(name string, value any) wire.AdminFields {
	r.Helper()
	e := r.caller.Ask(wire.ClassAdmin, wire.AdminSet, wire.AdminFields{Fields: map[string]any{name: value}})
	return managertest.Object[wire.AdminFields](r.T, e)
}

// await waits for a condition. A failure logs the requests so far.
func (r *rig) await(what string, holds func() bool) {
	r.Helper()
	defer func() {
		if r.Failed() {
			r.Log(r.asked())
		}
	}()
	testwait.Until(r.T, what, holds)
}

func (r *rig) awaitCalls(want string) {
	r.Helper()
	r.await(want, func() bool { return r.asked() == want })
}

// settle waits until the manager is idle.
func (r *rig) settle() {
	r.Helper()
	r.await("rest", func() bool { return r.stat("recrawl_sites_queue") == 0 && r.stat("recrawl_threads") == 0 })
}

// world holds the sites of a fake db-task: due sites and locked sites.
type world struct {
	mu          sync.Mutex
	due, locked []string
	always      bool // what was picked is due again
	renewed     []string
	sites       map[string]wire.RecrawlSite // what is not as usual
	begins      []wire.SiteRecrawlRequest
	fail        func(name string) (executor.Result, bool) // of calls by name, before they are done
}

func (w *world) answer(ctx context.Context, task executor.Task) ([]executor.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := call(task)
	if w.fail != nil {
		if result, failed := w.fail(named(c)); failed {
			return []executor.Result{result}, nil
		}
	}
	list := func(ids []string) ([]executor.Result, error) {
		sites := []wire.RecrawlSite{}
		for _, id := range ids {
			s, own := w.sites[id]
			if !own {
				s = wire.RecrawlSite{ID: id, Period: 60, Next: "2030-01-01 00:00:00", Since: "2026-01-05 10:00:00"}
			}
			sites = append(sites, s)
		}
		raw, err := json.Marshal(sites)
		if err != nil {
			return nil, err
		}
		return one(task, string(raw))
	}
	switch c.Op {
	case wire.URLUpdate:
		w.renewed = append(w.renewed, strings.TrimPrefix(named(c), "renew "))
		return one(task, `{"errorCode":0,"statuses":[true]}`)
	case wire.URLDelete:
		return one(task, `{"errorCode":0,"statuses":[true]}`)
	case wire.SiteRecrawl:
	default:
		return one(task, `{}`)
	}
	r, err := wire.ReadSiteRecrawl(c.Object, nil)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	switch r.Step {
	case wire.RecrawlBegin:
		w.begins = append(w.begins, r)
		var taken []string
		for _, id := range slices.Clone(w.due) {
			if int64(len(taken)) < r.Max && !slices.Contains(r.Except, id) {
				taken = append(taken, id)
				if !w.always {
					w.due = slices.DeleteFunc(w.due, func(other string) bool { return other == id })
				}
			}
		}
		w.locked = append(w.locked, taken...)
		return list(taken)
	case wire.RecrawlResume:
		return list(slices.DeleteFunc(slices.Clone(w.locked), func(id string) bool { return slices.Contains(r.Except, id) }))
	case wire.RecrawlEnd:
		w.locked = slices.DeleteFunc(w.locked, func(id string) bool { return id == r.Sites[0] })
	}
	return one(task, `{"errorCode":0,"statuses":[0]}`)
}

func (w *world) with(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// data is a db-task with its own database, for tests of stored rows.
type data struct {
	*testing.T
	jobs map[string]storage.Job
}

func newData(t *testing.T, nodes ...string) *data {
	d := &data{T: t, jobs: map[string]storage.Job{}}
	for _, node := range nodes {
		d.jobs[node] = newNode(t)
	}
	return d
}

func (d *data) answer(ctx context.Context, task executor.Task) ([]executor.Result, error) {
	var results []executor.Result
	for _, node := range slices.Sorted(func(yield func(string) bool) {
		for name := range d.jobs {
			if !yield(name) {
				return
			}
		}
	}) {
		if len(task.Target.Nodes) > 0 && !slices.Contains(task.Target.Nodes, node) {
			continue
		}
		results = append(results, managertest.Finished(node, d.ask(ctx, node, string(task.Stdin))))
	}
	return results, nil
}

func (d *data) ask(ctx context.Context, node, request string) string {
	answer, err := d.jobs[node].Run(ctx, []byte(request))
	if err != nil {
		d.Errorf("%s: %v", request, err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		d.Error(err)
	}
	return string(raw)
}

// site reads a site from a node.
func (d *data) site(node, id string) wire.Site {
	d.Helper()
	var pair [2]json.RawMessage
	var s wire.Site
	if err := json.Unmarshal([]byte(d.ask(context.Background(), node, `["SITE_STATUS",{"id":"`+id+`"}]`)), &pair); err != nil {
		d.Fatal(err)
	}
	if err := json.Unmarshal(pair[1], &s); err != nil {
		d.Fatal(err)
	}
	return s
}

// statuses returns Status and State of the URLs of site s by name.
func (d *data) statuses(node string, names ...string) string {
	d.Helper()
	var texts []string
	for _, name := range names {
		var pair [2]json.RawMessage
		var list []wire.URL
		request := `["URL_STATUS",[{"siteId":"s","url":"` + pages + name + `","urlType":0}]]`
		if err := json.Unmarshal([]byte(d.ask(context.Background(), node, request)), &pair); err != nil {
			d.Fatal(err)
		}
		if err := json.Unmarshal(pair[1], &list); err != nil {
			d.Fatal(err)
		}
		text := name + " gone"
		if len(list) == 1 {
			text = fmt.Sprintf("%s %d/%d", name, list[0].Status, list[0].State)
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return strings.Join(texts, ", ")
}

// pages is the root URL of site s.
const pages = "http://s.example.test/"

// fill creates due site s with a failed root, a page without tags, and a page that is being
// crawled.
func (d *data) fill(node, more string, properties ...string) {
	d.Helper()
	var list []string
	for i := 0; i+1 < len(properties); i += 2 {
		list = append(list, fmt.Sprintf(`{"name":%q,"value":%q}`, properties[i], properties[i+1]))
	}
	ctx := context.Background()
	page := func(name string, status, state int) string {
		return fmt.Sprintf(`{"siteId":"s","url":%q,"parentMd5":"%s","status":%d,"state":%d,"crawled":1,"depth":1,"batchId":5,"contentType":"text/html","size":9}`,
			pages+name, wire.Md5(pages), status, state)
	}
	for _, request := range []string{
		`["SITE_NEW",{"id":"s","urls":["` + pages + `"],"recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00","properties":[` + strings.Join(list, ",") + `]` + more + `}]`,
		`["URL_UPDATE",[{"siteId":"s","url":"` + pages + `","status":4,"state":2,"crawled":1}]]`,
		`["URL_NEW",[` + page("plain", 7, 0) + `,` + page("busy", 3, 0) + `]]`,
	} {
		if answer := d.ask(ctx, node, request); strings.Contains(answer, "refused") {
			d.Fatal(answer)
		}
	}
}
