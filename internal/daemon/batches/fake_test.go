package batches

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
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// clock is the real clock plus an offset of the test.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// fakeExecutor is an executor whose tasks end when the test says so.
type fakeExecutor struct {
	executor.Executor // Nodes panics

	mu        sync.Mutex
	tasks     map[string]executor.Task
	results   map[string]executor.Result // by id: state and answer
	deleted   []string
	most      int // maximum of concurrent tasks
	submits   int
	refuse    error           // of Submit
	deaf      bool            // watches report nothing
	noResult  error           // of Result, once
	noDelete  error           // of Delete, once
	control   executor.Result // of a run without items
	controls  int
	watchers  []chan executor.Status
	submitted chan string
	begin     func(stdin []byte) []byte // acts as the start of a program and returns the batch with its items; may be nil
}

func newFakeEnv() *fakeExecutor {
	return &fakeExecutor{tasks: map[string]executor.Task{}, results: map[string]executor.Result{}, submitted: make(chan string, 10000),
		control: executor.Result{Status: executor.Status{State: executor.Finished}, Stdout: []byte(`{"items":[]}`)}}
}

// Run is a run of a program without items.
func (f *fakeExecutor) Run(_ context.Context, t executor.Task) ([]executor.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.Contains(string(t.Stdin), `"items":[]`) {
		return nil, executor.ErrRefused
	}
	f.controls++
	return []executor.Result{f.control}, nil
}

func (f *fakeExecutor) Submit(_ context.Context, t executor.Task) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submits++
	if f.refuse != nil {
		return f.refuse
	}
	if f.begin != nil {
		t.Stdin = f.begin(t.Stdin)
	}
	f.add(t, executor.Running)
	f.submitted <- t.ID
	return nil
}

func (f *fakeExecutor) add(t executor.Task, state executor.State) {
	f.tasks[t.ID] = t
	f.results[t.ID] = executor.Result{Status: executor.Status{ID: t.ID, Type: t.Type, State: state}}
	alive := 0
	for _, r := range f.results {
		if !r.State.Over() {
			alive++
		}
	}
	f.most = max(f.most, alive)
}

func (f *fakeExecutor) Status(_ context.Context, ids ...string) ([]executor.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(ids) == 0 {
		for id := range f.tasks {
			ids = append(ids, id)
		}
		slices.Sort(ids)
	}
	var all []executor.Status
	for _, id := range ids {
		r, ok := f.results[id]
		if !ok {
			r.Status = executor.Status{ID: id, State: executor.Unknown}
		}
		all = append(all, r.Status)
	}
	return all, nil
}

func (f *fakeExecutor) Watch(ctx context.Context, _ string) (<-chan executor.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in, out := make(chan executor.Status, 10000), make(chan executor.Status)
	f.watchers = append(f.watchers, in)
	go func() {
		defer close(out)
		for {
			select {
			case s := <-in:
				select {
				case out <- s:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (f *fakeExecutor) Result(_ context.Context, id string) (executor.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.noResult; err != nil {
		f.noResult = nil
		return executor.Result{}, err
	}
	r, ok := f.results[id]
	switch {
	case !ok:
		return executor.Result{}, executor.ErrUnknown
	case !r.State.Over():
		return executor.Result{}, executor.ErrNotOver
	}
	return r, nil
}

func (f *fakeExecutor) Cancel(_ context.Context, id string, _ time.Duration) error {
	f.end(id, executor.Cancelled, "")
	return nil
}

func (f *fakeExecutor) Delete(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.noDelete; err != nil {
		f.noDelete = nil
		return err
	}
	delete(f.tasks, id)
	delete(f.results, id)
	f.deleted = append(f.deleted, id)
	return nil
}

// end ends a task.
func (f *fakeExecutor) end(id string, state executor.State, stdout string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.results[id]
	r.State, r.Stdout = state, []byte(stdout)
	f.results[id] = r
	if f.deaf {
		return
	}
	for _, w := range f.watchers {
		w <- r.Status
	}
}

// exit ends a task whose program exits or is killed.
func (f *fakeExecutor) exit(id string, status int, stderr string) {
	f.mu.Lock()
	r := f.results[id]
	r.ExitStatus, r.Stderr = status, []byte(stderr)
	f.results[id] = r
	f.mu.Unlock()
	f.end(id, executor.Failed, "")
}

// lose forgets a task without a report.
func (f *fakeExecutor) lose(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tasks, id)
	delete(f.results, id)
}

func (f *fakeExecutor) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeExecutor) task(id string) executor.Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tasks[id]
}

// counts returns the calls of Submit so far and the maximum of concurrent tasks.
func (f *fakeExecutor) counts() (submits, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.submits, f.most
}

func (f *fakeExecutor) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tasks)
}

// row is a stored URL of a node.
type row struct {
	status, state, batch, attempts, crawled int64
	parent                                  string
	stuck                                   bool // it did not change for long
}

// fault is a failure of one request.
type fault int

const (
	fine    fault = iota
	silent        // done, and the answer is lost
	deafen        // neither done nor answered
	down          // no node answers
	partial       // the last node fails
	late          // the answer waits for the test
)

// world is a fake of SitesManager and its data nodes.
type world struct {
	mu     sync.Mutex
	nodes  []map[key]*row
	order  []key
	faults map[wire.Op][]fault // of the next requests, in order
	asked  []wire.Op
	objs   []json.RawMessage
	broken map[wire.Op]bool // down until the test mends it
	due    int              // URLs that a look for processing finds
	mute   int              // requests without an answer
	answer chan struct{}    // an answer that is late goes
}

func newWorld(nodes, sites, urls int) *world {
	w := &world{faults: map[wire.Op][]fault{}, broken: map[wire.Op]bool{}, due: 1, answer: make(chan struct{})}
	for range nodes {
		w.nodes = append(w.nodes, map[key]*row{})
	}
	for i := range urls {
		k := key{fmt.Sprintf("site%d", i%max(sites, 1)), wire.Md5(fmt.Sprint("url", i))}
		w.order = append(w.order, k)
		w.nodes[i%nodes][k] = &row{status: wire.StatusNew, parent: wire.Md5("root")}
	}
	return w
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// count returns the number of rows with a status on all nodes.
func (w *world) count(status int64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, node := range w.nodes {
		for _, r := range node {
			if r.status == status && r.state == 0 {
				n++
			}
		}
	}
	return n
}

// requests returns the objects of all requests of one operation so far.
func (w *world) requests(op wire.Op) []json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []json.RawMessage
	for i, o := range w.asked {
		if o == op {
			all = append(all, w.objs[i])
		}
	}
	return all
}

// ops returns the requested operations in order.
func (w *world) ops() []wire.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// returns returns the URL_RETURN requests for one batch, or those without a batch for 0.
func (w *world) returns(t *testing.T, id int64) []wire.URLReturnRequest {
	t.Helper()
	var all []wire.URLReturnRequest
	for _, raw := range w.requests(wire.URLReturn) {
		var r wire.URLReturnRequest
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if r.BatchID == id {
			all = append(all, r)
		}
	}
	return all
}

// serve answers one request; nil means no answer.
func (w *world) serve(op wire.Op, object json.RawMessage) *wire.ClientResponse {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.objs = append(w.asked, op), append(w.objs, object)
	f := fine
	if list := w.faults[op]; len(list) > 0 {
		f, w.faults[op] = list[0], list[1:]
	}
	if w.broken[op] {
		f = down
	}
	switch f {
	case deafen:
		w.mute++
		return nil
	case late:
		w.mu.Unlock()
		<-w.answer
		w.mu.Lock()
	case down:
		return &wire.ClientResponse{ErrorCode: wire.ResponseNoAnswer, ErrorMessage: "no answer"}
	}
	var response wire.ClientResponse
	for i, node := range w.nodes {
		item := wire.ClientResponseItem{ErrorCode: 0, Node: fmt.Sprint("n", i), Port: 0, ID: 0, Time: 0}
		if raw, err := json.Marshal(w.do(op, node, object)); err == nil {
			item.ItemObject = raw
		}
		if f == partial && i == len(w.nodes)-1 {
			item.ErrorCode, item.ErrorMessage, item.ItemObject = wire.ItemFailed, "out of order", json.RawMessage("null")
		}
		response.ItemsList = append(response.ItemsList, item)
	}
	if f == silent {
		w.mute++
		return nil
	}
	return &response
}

func (w *world) do(op wire.Op, node map[key]*row, object json.RawMessage) any {
	switch op {
	case wire.URLFetch:
		var list []struct {
			MaxURLs   int64
			URLUpdate struct{ Status, BatchID int64 }
		}
		if err := json.Unmarshal(object, &list); err != nil || len(list) != 1 {
			panic(fmt.Sprint("URL_FETCH: ", err, string(object)))
		}
		if list[0].URLUpdate.Status == 0 { // a look
			return w.findRows(node, object)
		}
		return w.selectRows(node, list[0].MaxURLs, list[0].URLUpdate.Status, list[0].URLUpdate.BatchID)
	case wire.URLReturn:
		var r wire.URLReturnRequest
		if err := json.Unmarshal(object, &r); err != nil {
			panic(err)
		}
		if r.Keep {
			return wire.GeneralResponse{Statuses: w.keepRows(node, r)}
		}
		return wire.GeneralResponse{Statuses: []any{w.returnRows(node, r)}}
	case wire.URLUpdate:
		var list []struct {
			SiteID, URLMd5 string
			Status         int64
			Criterions     struct{ WHERE string }
		}
		if err := json.Unmarshal(object, &list); err != nil {
			panic(err)
		}
		answer := wire.GeneralResponse{}
		for _, u := range list {
			r := node[key{u.SiteID, u.URLMd5}]
			if r != nil && r.matches(u.Criterions.WHERE) {
				r.status = u.Status
			}
			answer.Statuses = append(answer.Statuses, true)
		}
		return answer
	case wire.URLNew:
		var list []struct {
			SiteID, URLMd5, ParentMd5 string
			Status, BatchID           int64
		}
		if err := json.Unmarshal(object, &list); err != nil {
			panic(err)
		}
		for _, u := range list {
			if k := (key{u.SiteID, u.URLMd5}); node[k] == nil {
				node[k] = &row{status: u.Status, batch: u.BatchID, parent: u.ParentMd5}
			}
		}
		return wire.GeneralResponse{}
	}
	return wire.GeneralResponse{}
}

// matches implements the two conditions that the manager uses.
func (r *row) matches(where string) bool {
	var id int64
	if strings.HasPrefix(where, "((") {
		at := strings.Index(where, "`Batch_Id`<>")
		if _, err := fmt.Sscanf(where[at:], "`Batch_Id`<>%d)", &id); err != nil {
			panic(where)
		}
		return r.status == 1 && r.batch != id || (r.status == 2 || r.status == 8) && r.batch == id
	}
	if _, err := fmt.Sscanf(where, "`Status` IN (2,8) AND `Batch_Id`=%d", &id); err != nil {
		panic(where)
	}
	return (r.status == 2 || r.status == 8) && r.batch == id
}

// findRows answers a look.
func (w *world) findRows(node map[key]*row, look json.RawMessage) []any {
	var list []struct {
		SkipBusySites  bool
		URLsCriterions struct{ WHERE string }
	}
	if err := json.Unmarshal(look, &list); err != nil {
		panic(err)
	}
	if !list[0].SkipBusySites {
		return make([]any, w.due)
	}
	status := int64(wire.StatusSelectedCrawling)
	if strings.Contains(list[0].URLsCriterions.WHERE, "`Depth`<=") {
		status = wire.StatusSelectedIncremental
	}
	for _, k := range w.order {
		if r := node[k]; r != nil && r.isDue(status) {
			return make([]any, 1)
		}
	}
	return []any{}
}

// isDue reports whether a selection that sets status takes the row.
func (r *row) isDue(status int64) bool {
	if status == wire.StatusSelectedIncremental {
		return r.state == 0 && (r.status == wire.StatusCrawled || r.status == wire.StatusProcessed)
	}
	return r.state == 0 && r.status == wire.StatusNew
}

// begin acts as a crawler-task that gets a batch without items on the first node: it takes its rows once.
func (w *world) begin(stdin []byte) []byte {
	var batch map[string]any
	if json.Unmarshal(stdin, &batch) != nil {
		return stdin // of db-task
	}
	refill, is := batch["refill"].(map[string]any)
	if !is || batch["crawlerType"] == float64(wire.CrawlProcess) {
		return stdin
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	update := refill["urlUpdate"].(map[string]any)
	items := []any{}
	for _, r := range w.selectRows(w.nodes[0], int64(refill["maxURLs"].(float64)), int64(update["status"].(float64)), int64(batch["id"].(float64))) {
		items = append(items, map[string]any{"siteId": r["siteId"], "urlId": r["urlMd5"], "urlObj": r})
		w.nodes[0][key{r["siteId"].(string), r["urlMd5"].(string)}].status = wire.StatusCrawling
	}
	batch["items"] = items
	raw, err := json.Marshal(batch)
	if err != nil {
		panic(err)
	}
	return raw
}

func (w *world) selectRows(node map[key]*row, most, status, batch int64) []map[string]any {
	list := []map[string]any{}
	for _, k := range w.order {
		r := node[k]
		if r == nil || !r.isDue(status) || int64(len(list)) >= most {
			continue
		}
		list = append(list, map[string]any{"siteId": k.Site, "urlMd5": k.Md5, "url": "http://x.test/" + k.Md5, "parentMd5": r.parent, "batchId": r.batch, "status": status})
		r.status, r.batch = status, batch
	}
	return list
}

func (w *world) returnRows(node map[key]*row, q wire.URLReturnRequest) int {
	n := 0
	for k, r := range node {
		held := r.status == 2 || r.status == 3 || r.status == 5 || r.status == 6 || r.status == 8
		ours := held && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.status)) && (len(q.Sites) == 0 || slices.Contains(q.Sites, k.Site))
		if q.Age > 0 && !r.stuck || q.MaxURLs > 0 && int64(n) >= q.MaxURLs {
			continue
		}
		if !ours || q.BatchID != 0 && r.batch != q.BatchID || q.BatchID == 0 && slices.Contains(q.Except, r.batch) {
			continue
		}
		n++
		r.batch = 0
		if q.Fault {
			r.attempts++
		}
		switch {
		case q.MaxAttempts > 0 && q.Fault && r.attempts >= q.MaxAttempts:
			r.status, r.state = wire.StatusCrawled, wire.URLError
		case r.status >= wire.StatusSelectedProcessing && r.status != wire.StatusSelectedIncremental:
			r.status = wire.StatusCrawled
		default:
			r.status = wire.StatusNew
		}
	}
	return n
}

// keepRows is URL_RETURN with Keep.
func (w *world) keepRows(node map[key]*row, q wire.URLReturnRequest) []any {
	kept := []any{0}
	for _, k := range w.order {
		r := node[k]
		if r == nil || r.batch != q.BatchID || !slices.Contains(q.Statuses, r.status) ||
			len(q.URLs) > 0 && !slices.Contains(q.URLs, wire.URLKey{SiteID: k.Site, URLMd5: k.Md5}) {
			continue
		}
		if q.Fault {
			r.attempts++
		}
		if q.Fault && q.MaxAttempts > 0 && r.attempts >= q.MaxAttempts {
			r.status, r.state, r.batch = wire.StatusCrawled, wire.URLError, 0
			continue
		}
		kept = append(kept, map[string]any{"siteId": k.Site, "urlMd5": k.Md5, "status": r.status})
	}
	return kept
}

// work acts as crawler-task for a Batch on one node and returns its answer. Items beyond done
// stay in Status 3.
func (w *world) work(stdin []byte, node, done int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b struct {
		ID     int64           `json:"id"`
		Refill json.RawMessage `json:"refill"`
		Items  []struct {
			SiteID string          `json:"siteId"`
			URLID  string          `json:"urlId"`
			URLObj json.RawMessage `json:"urlObj"`
		} `json:"items"`
	}
	if err := json.Unmarshal(stdin, &b); err != nil {
		panic(err)
	}
	answer := []map[string]any{}
	for i, it := range b.Items {
		k := key{it.SiteID, it.URLID}
		r := w.nodes[node][k]
		if r == nil {
			r = &row{status: wire.StatusNew}
			w.nodes[node][k] = r
		}
		if (r.status == 2 || r.status == 3) && r.batch != b.ID && r.batch != 0 {
			continue // another batch holds it
		}
		r.status, r.batch = wire.StatusCrawling, b.ID
		if i < done {
			r.status = wire.StatusCrawled
			r.crawled++
		}
		answer = append(answer, map[string]any{"siteId": it.SiteID, "urlId": it.URLID, "urlObj": map[string]any{"status": r.status}})
	}
	object := map[string]any{"id": b.ID, "items": answer}
	if b.Refill != nil { // it took the rows by itself
		object["items"], object["refilled"] = []any{}, len(answer)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// run serves the inproc name of SitesManager until the test ends.
func (w *world) run(t *testing.T, b *bus.Bus) {
	t.Helper()
	managertest.Serve(t, b, bus.Inproc(SitesSocket), func(e wire.Event) []wire.Event {
		response := w.serve(wire.Op(e.Type), e.Object)
		if response == nil {
			return nil
		}
		answer, err := e.Answer(e.Type+wire.ResponseOffset, response)
		if err != nil {
			t.Error(err)
			return nil
		}
		return []wire.Event{answer}
	})
}

// rig is one manager with a fake executor and a fake SitesManager.
type rig struct {
	t     *testing.T
	bus   *bus.Bus
	env   *fakeExecutor
	world *world
	clock *clock

	queue *queue
	stop  func()
	do    chan func()
	hint  *managertest.Caller

	selecting func() bool // asked inside the loop
}

func newRig(t *testing.T, w *world) *rig {
	t.Helper()
	r := &rig{t: t, bus: managertest.Bus(t), env: newFakeEnv(), world: w, clock: &clock{}}
	r.env.begin = w.begin
	w.run(t, r.bus)
	return r
}

// restarted returns another daemon with the same executor and nodes.
func (r *rig) restarted() *rig {
	r.t.Helper()
	next := newRig(r.t, r.world)
	next.env = r.env
	return next
}

// base has a short poll, so that a change of the clock is seen soon.
func (r *rig) base(ready chan struct{}) manager.Config {
	return manager.Config{
		Bus: r.bus, Log: managertest.Quiet(), Now: r.clock.now, PollTimeout: 2 * time.Millisecond,
		Ready: func() { close(ready) },
	}
}

func (r *rig) common() Common {
	return Common{
		Executor: r.env, Sites: SitesSocket, SitesTimeout: 30 * time.Second, MaxAttempts: 3, QueuePeriod: time.Hour,
		Limits: Limits{TaskTTL: time.Minute, TaskTime: time.Minute, MaxTasks: 2}, BatchTime: 50 * time.Second, MaxURLs: 10,
	}
}

// start runs a manager. The period is an hour: only hints and ends start work unless the test
// changes the clock.
func (r *rig) run(name string, m managertest.Runner, q *queue, ready chan struct{}) {
	r.t.Helper()
	r.queue, r.do = q, make(chan func(), 1)
	q.Handle(name, wire.ClassInternal, insideLoop, func(from manager.Peer, e wire.Event) {
		(<-r.do)()
		q.Reply(from, e, insideLoop, nil)
	})
	q.Handle(name, wire.ClassAdmin, wire.AdminStat, q.AnswerStat)
	q.Handle(name, wire.ClassAdmin, wire.AdminGet, q.AnswerGet)
	q.Handle(name, wire.ClassAdmin, wire.AdminSet, q.AnswerSet)
	r.stop = managertest.Run(r.t, m, ready)
	r.hint = managertest.Call(r.t, r.bus, bus.Inproc(name))
}

// operator sends STAT, GET or SET for one name, like dc-admin.
func (r *rig) operator(eventType int, name string, value any) wire.AdminFields {
	r.t.Helper()
	return managertest.Object[wire.AdminFields](r.t, r.hint.Ask(wire.ClassAdmin, eventType, wire.AdminFields{Fields: map[string]any{name: value}}))
}

// set changes a variable and returns the reason of a refusal, or "".
func (r *rig) set(name string, value any) string {
	r.t.Helper()
	return r.operator(wire.AdminSet, name, value).Errors[name]
}

func (r *rig) get(name string) any { return r.operator(wire.AdminGet, name, nil).Fields[name] }

// stat returns a numeric statistic.
func (r *rig) stat(name string) int {
	r.t.Helper()
	n, ok := r.operator(wire.AdminStat, name, nil).Fields[name].(float64)
	if !ok {
		r.t.Fatalf("missing statistic %s", name)
	}
	return int(n)
}

// stats waits for values of statistics.
func (r *rig) stats(want map[string]int) {
	r.t.Helper()
	for name, n := range want {
		last := 0
		defer func() {
			if r.t.Failed() {
				r.t.Logf("%s is %d", name, last)
			}
		}()
		testwait.Until(r.t, fmt.Sprintf("%s is %d", name, n), func() bool { last = r.stat(name); return last == n })
	}
}

// insideLoop is an event type of the tests.
const insideLoop = 990

func (r *rig) crawl(change func(*CrawlConfig)) *Crawl {
	r.t.Helper()
	cfg := CrawlConfig{
		Common: r.common(), Crawler: executor.Stage{Program: "crawler-task"}, Period: time.Hour, Mode: true,
		DBTask: executor.Stage{Program: "db-task"}, Propagate: true, MaxIterations: 1, CheckActive: true,
	}
	if change != nil {
		change(&cfg)
	}
	ready := make(chan struct{})
	c := NewCrawl(r.base(ready), cfg)
	r.selecting = func() bool { return c.looking || len(c.open) > 0 }
	r.run(CrawlName, c, &c.queue, ready)
	return c
}

func (r *rig) process(change func(*ProcessConfig)) *Process {
	r.t.Helper()
	cfg := ProcessConfig{
		Common: r.common(), Processor: executor.Stage{Program: "processor-task"},
		Period: time.Hour, Mode: true,
	}
	if change != nil {
		change(&cfg)
	}
	ready := make(chan struct{})
	p := NewProcess(r.base(ready), cfg)
	r.selecting = func() bool { return false }
	r.run(ProcessName, p, &p.queue, ready)
	return p
}

// inside runs f in the manager's goroutine and waits for it.
func (r *rig) inside(f func()) {
	r.t.Helper()
	r.do <- f
	r.hint.Ask(wire.ClassInternal, insideLoop, nil)
}

// work sends the manager a hint.
func (r *rig) work() {
	r.t.Helper()
	r.hint.Send(managertest.Event(r.t, wire.ClassInternal, wire.InternalWork, nil))
}

// submitted waits for the next task.
func (r *rig) submitted() executor.Task {
	r.t.Helper()
	select {
	case id := <-r.env.submitted:
		return r.env.task(id)
	case <-time.After(managertest.Patience):
		r.t.Fatal("no task was submitted")
		return executor.Task{}
	}
}

// finish ends a crawl task with done items crawled on a node.
func (r *rig) finish(t executor.Task, node, done int) {
	r.env.end(t.ID, executor.Finished, r.world.work(t.Stdin, node, done))
}

// empty waits until the manager and the executor are idle.
func (r *rig) empty() {
	r.t.Helper()
	var under []batch
	defer func() {
		if r.t.Failed() {
			r.t.Logf("active: %+v, in the executor: %d", under, r.env.left())
		}
	}()
	testwait.Until(r.t, "nothing is under way", func() bool {
		selecting := false
		r.inside(func() {
			under, selecting = nil, r.selecting()
			for _, b := range r.queue.batches {
				under = append(under, *b)
			}
		})
		return len(under) == 0 && !selecting && r.env.left() == 0
	})
}

// recovered waits until the rows of the last run are returned.
func (r *rig) recovered() {
	r.t.Helper()
	testwait.Until(r.t, "the last run is in order", func() (ready bool) {
		r.inside(func() { ready = r.queue.ready })
		return ready
	})
}

// drained is empty while the clock advances, because failed steps are retried and lost
// selections are handled for minutes.
func (r *rig) drained() {
	r.t.Helper()
	r.drainedBy(func() {})
}

// drainedBy is drained while the test ends tasks.
func (r *rig) drainedBy(endTasks func()) {
	r.t.Helper()
	testwait.Until(r.t, "all is at its end", func() bool {
		endTasks()
		r.pass(time.Second)
		left := true
		r.inside(func() { left = len(r.queue.batches) > 0 || r.selecting() })
		return !left && r.env.left() == 0
	})
}

// settled waits until the manager has handled all earlier messages, answers and timers, so that a
// wrong reaction would show.
func (r *rig) settled() {
	r.t.Helper()
	testwait.Until(r.t, "every answer has arrived", r.answered)
	begin := r.stat("turns") // one turn may take many messages, and runs the timers after them
	testwait.Until(r.t, "turns have ended", func() bool { return r.stat("turns") >= begin+5 })
}

// answered reports whether the manager waits for no answer of the world but those that never come.
func (r *rig) answered() bool {
	waiting, mute := 0, 0
	r.inside(func() { waiting = r.queue.Waiting() })
	r.world.set(func() { mute = r.world.mute })
	return waiting <= mute
}

// pass advances the clock, but not while an answer is on its way: the manager would give it up.
func (r *rig) pass(d time.Duration) {
	if r.answered() {
		r.clock.pass(d)
	}
}

// items returns the keys of a Batch.
func items(t *testing.T, stdin []byte) []key {
	t.Helper()
	var b struct {
		Items []struct {
			SiteID string `json:"siteId"`
			URLID  string `json:"urlId"`
		} `json:"items"`
	}
	if err := json.Unmarshal(stdin, &b); err != nil {
		t.Fatal(err)
	}
	var keys []key
	for _, it := range b.Items {
		keys = append(keys, key{it.SiteID, it.URLID})
	}
	return keys
}
