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
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

type runFunc = func(context.Context, executor.Task) ([]executor.Result, error)

// start runs a manager with an executor that is a function.
func start(t *testing.T, b *bus.Bus, cfg Config, run runFunc) (stop func()) {
	t.Helper()
	cfg.Executor, cfg.DBTask = managertest.Executor{RunFunc: run}, executor.Stage{Program: "db-task", Args: []string{"--config", "x.ini"}}
	ready := make(chan struct{})
	m := New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }}, cfg)
	return managertest.Run(t, m, ready)
}

// call decodes the input of db-task.
func call(task executor.Task) wire.Call {
	var c wire.Call
	if err := json.Unmarshal(task.Stdin, &c); err != nil {
		panic(err)
	}
	return c
}

// one is the answer of a single node.
func one(task executor.Task, object string) ([]executor.Result, error) {
	return []executor.Result{managertest.Finished("n1", fmt.Sprintf("[%d,%s]", int(call(task).Op)+wire.ResponseOffset, object))}, nil
}

func TestRequestIsOneTask(t *testing.T) {
	b := managertest.Bus(t)
	tasks := make(chan executor.Task, 1)
	start(t, b, Config{}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		tasks <- task
		return one(task, `{"errorCode":0}`)
	})
	e := managertest.Call(t, b, bus.Inproc(Name)).Ask(wire.ClassClient, int(wire.URLReturn), map[string]int{"batchId": 7})
	if e.Type != int(wire.URLReturn)+100 {
		t.Errorf("answer of type %d", e.Type)
	}
	r := managertest.Object[wire.ClientResponse](t, e)
	if r.ErrorCode != 0 || len(r.ItemsList) != 1 || string(r.ItemsList[0].ItemObject) != `{"errorCode":0}` ||
		r.ItemsList[0].Node != "n1" || r.ItemsList[0].Time != 5.0 || r.ItemsList[0].ErrorCode != 0.0 {
		t.Errorf("answer %s", e.Object)
	}
	task := <-tasks
	if string(task.Stdin) != `[60,{"batchId":7}]` || !task.Target.All || task.Stages[0].Program != "db-task" ||
		strings.Join(task.Stages[0].Args, " ") != "--config x.ini" || task.TimeLimit <= 0 || task.TimeLimit > 90*time.Second {
		t.Errorf("task %+v", task)
	}
}

func TestAnswersOfNodes(t *testing.T) {
	failed := managertest.Finished("bad", "")
	failed.State, failed.ExitStatus, failed.Reason, failed.Stderr = executor.Failed, 3, "ended", []byte("\xffno database\n")
	late := managertest.Finished("late", "")
	late.State = executor.TimedOut
	good := managertest.Finished("good", `[101,{"errorCode":0}]`)
	cases := []struct {
		name      string
		results   []executor.Result
		err       error
		code      int
		items     []int // error codes
		inMessage string
	}{
		{"one node", []executor.Result{good}, nil, 0, []int{0}, ""},
		{"two nodes", []executor.Result{good, good}, nil, 0, []int{0, 0}, ""},
		{"one of two failed", []executor.Result{failed, good}, nil, 0, []int{2, 0}, "exit_status=3, stderror=no database"},
		{"not JSON", []executor.Result{managertest.Finished("n", "panic: x")}, nil, 0, []int{1}, "panic: x"},
		{"not a pair", []executor.Result{managertest.Finished("n", "[101]")}, nil, 0, []int{1}, "[101, object]"},
		{"answer of another operation", []executor.Result{managertest.Finished("n", "[102,{}]")}, nil, 0, []int{1}, "[102,{}]"},
		{"no output", []executor.Result{managertest.Finished("n", "")}, nil, 0, []int{1}, "[101, object]"},
		{"one of two timed out", []executor.Result{late, good}, nil, 0, []int{2, 0}, "timed out"},
		{"all timed out", []executor.Result{late, late}, nil, 1, nil, "no answer within"},
		{"timed out before the start", nil, fmt.Errorf("waiting: %w", context.DeadlineExceeded), 1, nil, "no answer within"},
		{"no nodes", nil, nil, 2, nil, "empty list"},
		{"no such node", nil, executor.ErrNode, 2, nil, "empty list"},
		{"executor closed", nil, executor.ErrClosed, 0, []int{2}, "closed"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := runner{
				executor: managertest.Executor{RunFunc: func(context.Context, executor.Task) ([]executor.Result, error) { return tc.results, tc.err }},
				program:  executor.Stage{Program: "db-task"}, limit: time.Minute,
			}
			got := r.runCall(context.Background(), wire.Call{Op: wire.SiteNew, Object: json.RawMessage("{}")})
			message := got.ErrorMessage
			var codes []int
			for _, i := range got.ItemsList {
				codes = append(codes, i.ErrorCode.(int))
				message += i.ErrorMessage
			}
			if got.ErrorCode != tc.code || fmt.Sprint(codes) != fmt.Sprint(tc.items) || !strings.Contains(message, tc.inMessage) {
				t.Errorf("got %+v", got)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	b := managertest.Bus(t)
	start(t, b, Config{}, func(_ context.Context, task executor.Task) ([]executor.Result, error) { return one(task, "{}") })
	c := managertest.Call(t, b, bus.Inproc(Name))
	for _, eventType := range []int{0, -5, 13, 14, int(wire.BatchRun), 101, 9999} {
		e := c.Ask(wire.ClassClient, eventType, nil)
		r := managertest.Object[wire.ClientResponse](t, e)
		if e.Type != eventType+100 || len(r.ItemsList) != 1 || r.ItemsList[0].ErrorCode != 2.0 {
			t.Errorf("answer to %d: %d %s", eventType, e.Type, e.Object)
		}
	}
}

// Slow requests of one client leave one worker free.
func TestSlowRequestsLeaveAWorker(t *testing.T) {
	b := managertest.Bus(t)
	release, running := make(chan struct{}), make(chan struct{}, 100)
	start(t, b, Config{Workers: 3, MaxQueue: 2}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		if call(task).Op == wire.SiteFind {
			running <- struct{}{}
			<-release
		}
		return one(task, "[]")
	})
	slow, other := managertest.Call(t, b, bus.Inproc(Name)), managertest.Call(t, b, bus.Inproc(Name))
	const sent = 6 // 2 run, 2 wait, 2 are too many
	uids := map[string]bool{}
	for range sent {
		e := managertest.Event(t, wire.ClassClient, int(wire.SiteFind), nil)
		uids[e.UID] = true
		slow.Send(e)
	}
	<-running
	<-running
	answers := 0
	count := func(want string) {
		t.Helper()
		e := slow.Recv()
		if !uids[e.UID] || !strings.Contains(string(e.Object), want) {
			t.Errorf("answer %s %s", e.UID, e.Object)
		}
		delete(uids, e.UID)
		answers++
	}
	count("busy")
	count("busy")
	if e := slow.Ask(wire.ClassClient, int(wire.SiteStatus), nil); !strings.Contains(string(e.Object), "busy") {
		t.Errorf("answer %s", e.Object)
	}
	close(release)
	for answers < sent {
		count(`"itemObject":[]`)
	}
	if len(running) != 2 {
		t.Errorf("%d more requests ran", len(running))
	}
	if e := other.Ask(wire.ClassClient, int(wire.SiteStatus), nil); !strings.Contains(string(e.Object), `"itemObject":[]`) {
		t.Errorf("answer %s", e.Object)
	}
}

func TestPeersTakeTurns(t *testing.T) {
	b := managertest.Bus(t)
	release, running := make(chan struct{}), make(chan struct{}, 100)
	start(t, b, Config{Workers: 2}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		if call(task).Op == wire.SiteFind {
			running <- struct{}{}
			<-release
		}
		return one(task, "[]")
	})
	greedy, modest := managertest.Call(t, b, bus.Inproc(Name)), managertest.Call(t, b, bus.Inproc(Name))
	for range 5 {
		greedy.Send(managertest.Event(t, wire.ClassClient, int(wire.SiteFind), nil))
	}
	<-running
	if e := modest.Ask(wire.ClassClient, int(wire.SiteStatus), nil); !strings.Contains(string(e.Object), `"itemObject":[]`) {
		t.Errorf("answer %s", e.Object)
	}
	close(release)
	for range 5 {
		greedy.Recv()
	}
}

func TestHints(t *testing.T) {
	b := managertest.Bus(t)
	crawler, err := b.Bind(bus.Inproc("BatchTasksManager"), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(crawler.Close)
	start(t, b, Config{}, func(_ context.Context, task executor.Task) ([]executor.Result, error) {
		return one(task, string(call(task).Object))
	})
	c := managertest.Call(t, b, bus.Inproc(Name))
	cases := []struct {
		op   wire.Op
		code int
		told bool
	}{
		{wire.SiteNew, 2020, false}, {wire.SiteStatus, 0, false}, {wire.URLDelete, 0, false},
		{wire.SiteNew, 0, true}, {wire.SiteUpdate, 0, true}, {wire.SiteCleanup, 0, true}, {wire.URLNew, 0, true},
	}
	told := 0
	for _, tc := range cases {
		c.Ask(wire.ClassClient, int(tc.op), wire.GeneralResponse{ErrorCode: tc.code})
		if tc.told {
			told++
		}
	}
	// Each hint follows its answer, so the last one may not have arrived.
	poll := bus.NewPoller(crawler)
	for end := time.Now().Add(managertest.Patience); told > 0; {
		m, err := crawler.Recv()
		switch {
		case err == nil && m.Event.Type == wire.InternalWork && m.Event.Class == wire.ClassInternal:
			told--
		case err == nil:
			t.Fatalf("message %+v", m.Event)
		case !errors.Is(err, bus.ErrNone) || time.Now().After(end):
			t.Fatal(err)
		default:
			if _, err := poll.Wait(100 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m, err := crawler.Recv(); !errors.Is(err, bus.ErrNone) {
		t.Errorf("unexpected hint: %+v, %v", m, err)
	}
}

func TestFaultInAWorkerIsAnswered(t *testing.T) {
	b := managertest.Bus(t)
	start(t, b, Config{}, func(context.Context, executor.Task) ([]executor.Result, error) { panic("a fault") })
	e := managertest.Call(t, b, bus.Inproc(Name)).Ask(wire.ClassClient, int(wire.SiteStatus), nil)
	if r := managertest.Object[wire.ClientResponse](t, e); len(r.ItemsList) != 1 || r.ItemsList[0].ErrorCode != 2.0 {
		t.Errorf("answer %s", e.Object)
	}
}

func TestStopAnswersOpenRequests(t *testing.T) {
	b := managertest.Bus(t)
	running := make(chan struct{}, 10)
	stop := start(t, b, Config{Workers: 1}, func(ctx context.Context, _ executor.Task) ([]executor.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := managertest.Call(t, b, bus.Inproc(Name))
	for range 3 {
		c.Send(managertest.Event(t, wire.ClassClient, int(wire.SiteStatus), nil))
	}
	<-running
	stop()
	for range 3 { // one runs, the others wait, or have not been seen yet
		if e := c.Recv(); !strings.Contains(string(e.Object), "stops") {
			t.Errorf("answer %s", e.Object)
		}
	}
}

func TestQueue(t *testing.T) {
	now := time.Unix(1000, 0)
	var q queue
	add := func(peer string, number, seconds int) {
		q.addJob(&job{
			from: manager.Peer{Route: bus.Route{[]byte(peer)}}, event: wire.Event{Type: number, Object: []byte("123")},
			deadline: now.Add(time.Duration(seconds) * time.Second),
		})
	}
	order := func(may func(stream) bool) string {
		var got []string
		for {
			j, ok := q.takeNext(may)
			if !ok {
				return strings.Join(got, " ")
			}
			got = append(got, fmt.Sprintf("%s%d", j.streamKey().peer, j.event.Type))
		}
	}
	all := func(stream) bool { return true }
	for i := range 3 {
		add("a", i, 10)
	}
	add("b", 0, 10)
	add("c", 0, 10)
	if q.bytes != 15 {
		t.Errorf("%d bytes wait", q.bytes)
	}
	if got := order(all); got != "a0 b0 c0 a1 a2" || q.len() != 0 || q.bytes != 0 {
		t.Errorf("turns %s, %d left, %d bytes", got, q.len(), q.bytes)
	}
	add("a", 0, 1)
	add("a", 1, 10)
	add("b", 0, 1)
	if n := len(q.takeExpired(now.Add(time.Second))); n != 2 || q.len() != 1 {
		t.Errorf("%d expired, %d left", n, q.len())
	}
	add("b", 1, 10)
	if got := order(func(s stream) bool { return s.peer == "b" }); got != "b1" || q.len() != 1 {
		t.Errorf("turns %s, %d left", got, q.len())
	}
	if n := len(q.takeAll()); n != 1 || q.len() != 0 || q.bytes != 0 {
		t.Errorf("%d taken, %d left, %d bytes", n, q.len(), q.bytes)
	}
}

// Clients with many requests delay the single request of another client by one turn each, and
// that of another manager not at all.
func TestClientsTakeTurns(t *testing.T) {
	m := &Manager{cfg: Config{Workers: 8}, running: map[*job]bool{}}
	add := func(peer, client string, number int) {
		route := bus.Route{[]byte(peer)}
		if client != "" {
			route = append(route, []byte(client))
		}
		m.queue.addJob(&job{from: manager.Peer{Route: route}, event: wire.Event{Type: int(wire.SiteStatus), UID: fmt.Sprint(client, number)}})
	}
	for i := range 1000 {
		add("gateway", "many", i)
		add("gateway", "more", i)
	}
	next := func() string {
		j, ok := m.queue.takeNext(m.mayRun)
		if !ok {
			return "none"
		}
		m.running[j] = true
		return j.event.UID
	}
	next()
	add("gateway", "single", 1)
	add("BatchTasksManager", "", 7)
	if got := []string{next(), next(), next(), next()}; !slices.Contains(got, "single1") || !slices.Contains(got, "7") {
		t.Errorf("the next turns are %v", got)
	}
	for range 3 {
		next()
	}
	if got := next(); got != "none" {
		t.Errorf("the gateway took the last worker for %s", got)
	}
	add("BatchTasksManager", "", 8)
	if got := next(); got != "8" {
		t.Errorf("the last worker runs %s", got)
	}
	alone := &Manager{cfg: Config{Workers: 8}, running: map[*job]bool{}}
	m = alone
	for i := range 10 {
		add("gateway", "many", i)
	}
	for range 6 {
		next()
	}
	if got := next(); got != "none" {
		t.Errorf("one client has seven workers, the last one with %s", got)
	}
	add("gateway", "single", 2)
	if got := next(); got != "single2" {
		t.Errorf("another client got %s", got)
	}
}

// Changes wait for each other in the database. Reads overtake them and use workers that changes
// may not use.
func TestReadsOvertakeChanges(t *testing.T) {
	status, change := int(wire.SiteStatus), int(wire.URLNew)
	m := &Manager{cfg: Config{Workers: 8}, running: map[*job]bool{}}
	run := func(peer string, op int) string {
		m.queue.addJob(&job{from: manager.Peer{Route: bus.Route{[]byte(peer)}}, event: wire.Event{Type: op}})
		j, ok := m.queue.takeNext(m.mayRun)
		if !ok {
			return "waits"
		}
		m.running[j] = true
		return fmt.Sprintf("%s %s", j.streamKey().peer, wire.Op(j.event.Type))
	}
	for i := range 5 {
		if got := run("client", change); got != "client URL_NEW" {
			t.Fatalf("change %d: %s", i, got)
		}
	}
	if got := run("client", change); got != "waits" {
		t.Errorf("the sixth change: %s", got)
	}
	for range 2 {
		if got := run("client", status); got != "client SITE_STATUS" {
			t.Errorf("status after the changes: %s", got)
		}
	}
	if got := run("client", status); got != "waits" {
		t.Errorf("the last worker: %s", got)
	}
	if got := run("BatchTasksManager", change); got != "BatchTasksManager URL_NEW" {
		t.Errorf("other manager: %s", got)
	}
	for _, workers := range []int{1, 2, 3} {
		few := &Manager{cfg: Config{Workers: workers}, running: map[*job]bool{}}
		if !few.mayRun(stream{"gateway", "client", false}) {
			t.Errorf("with %d workers no change can run", workers)
		}
	}
}
