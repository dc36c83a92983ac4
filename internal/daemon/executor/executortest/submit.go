package executortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

func submitIsIdempotent(t *testing.T, h Harness) {
	e := h.Executor
	file := filepath.Join(t.TempDir(), "count")
	count := Task("count", fakeworker.Request{Do: "fail until", Text: file, N: 1})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := e.Submit(bg, count); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := Over(t, e, "count")
	Submit(t, e, count) // over: it does not run again
	Answer(t, runTask(t, h, echoTask("t")))
	if b, _ := os.ReadFile(file); len(b) != 1 || r.State != executor.Finished {
		t.Errorf("%d runs, %+v", len(b), r.Status)
	}
	if err := e.Cancel(bg, "count", 0); err != nil || Status(t, e, "count").State != executor.Finished {
		t.Errorf("cancel of a finished task: %v", err)
	}
	if err := e.Delete(bg, "count"); err != nil {
		t.Fatal(err)
	}
	Submit(t, e, count) // a deleted id can be used again
	Over(t, e, "count")
	if b, _ := os.ReadFile(file); len(b) != 2 {
		t.Errorf("%d runs", len(b))
	}
}

func submitToANode(t *testing.T, h Harness) {
	for i, name := range h.Nodes {
		task := echoTask(fmt.Sprint("t", i))
		task.Target.Nodes = []string{name}
		Submit(t, h.Executor, task)
		if r := Over(t, h.Executor, task.ID); r.Node != name || r.State != executor.Finished {
			t.Errorf("%+v, want node %s", r.Status, name)
		}
	}
}

func submitLarge(t *testing.T, h Harness) {
	text := strings.Repeat("x", large)
	Submit(t, h.Executor, Task("t", fakeworker.Request{Do: "echo", Text: text}))
	if got := Answer(t, Over(t, h.Executor, "t")); got.Text != text {
		t.Errorf("%d bytes", len(got.Text))
	}
	if err := h.Executor.Delete(bg, "t"); err != nil {
		t.Error(err)
	}
}

func submitOutcomes(t *testing.T, h Harness) {
	for _, o := range outcomes {
		task := Task(o.name, o.ask)
		task.TimeLimit = o.limit
		Submit(t, h.Executor, task)
	}
	for _, o := range outcomes {
		checkOutcome(t, h, Over(t, h.Executor, o.name), o.state, o.exit, o.reason, o.stderr)
	}
}

func fullQueue(t *testing.T, h Harness) {
	free := holdSlot(t, h, "hold", h.Nodes[0])
	toNode := func(id string) executor.Task {
		task := echoTask(id)
		task.Target.Nodes = h.Nodes[:1]
		return task
	}
	for _, id := range []string{"q1", "q2"} {
		Submit(t, h.Executor, toNode(id))
	}
	if err := h.Executor.Submit(bg, toNode("q3")); !errors.Is(err, executor.ErrRefused) {
		t.Errorf("full queue: %v", err)
	}
	Submit(t, h.Executor, toNode("q1")) // already known
	free()
	for _, id := range []string{"hold", "q1", "q2"} {
		Over(t, h.Executor, id)
	}
	if s := Status(t, h.Executor, "q3").State; s != executor.Unknown {
		t.Errorf("the refused task is %s", s)
	}
}

func statusOfMany(t *testing.T, h Harness) {
	for i := range 5 {
		Submit(t, h.Executor, echoTask(fmt.Sprint("t", i)))
		Over(t, h.Executor, fmt.Sprint("t", i))
	}
	all, err := h.Executor.Status(bg)
	if err != nil {
		t.Fatal(err)
	}
	if got := listIDs(all); !slices.Equal(got, []string{"t0", "t1", "t2", "t3", "t4"}) {
		t.Errorf("all: %v", got)
	}
	some, err := h.Executor.Status(bg, "t3", "nobody", "t1")
	if err != nil || !slices.Equal(listIDs(some), []string{"t3", "nobody", "t1"}) || some[1].State != executor.Unknown || some[1].State.Over() {
		t.Errorf("some: %+v, %v", some, err)
	}
}

func listIDs(all []executor.Status) (list []string) {
	for _, st := range all {
		list = append(list, st.ID)
	}
	return list
}

// Each task has its states in order; tasks of other types are not seen.
func testWatch(t *testing.T, h Harness) {
	changes, err := h.Executor.Watch(bg, "test")
	if err != nil {
		t.Fatal(err)
	}
	other := echoTask("other")
	other.Type = "other"
	Submit(t, h.Executor, other)
	const tasks = 6
	for i := range tasks {
		Submit(t, h.Executor, echoTask(fmt.Sprint("t", i)))
	}
	seen := map[string][]executor.State{}
	for finished := 0; finished < tasks; {
		select {
		case st := <-changes:
			if st.Type != "test" {
				t.Errorf("a change of type %q", st.Type)
			}
			seen[st.ID] = append(seen[st.ID], st.State)
			if st.State.Over() {
				finished++
			}
		case <-time.After(testwait.Deadline):
			t.Fatalf("seen: %v", seen)
		}
	}
	for id, states := range seen {
		if !slices.Equal(states, []executor.State{executor.Queued, executor.Running, executor.Finished}) {
			t.Errorf("%s: %v", id, states)
		}
	}
}

func cancelKillsTheGroup(t *testing.T, h Harness) {
	file := filepath.Join(t.TempDir(), "f")
	Submit(t, h.Executor, Task("t", fakeworker.Request{Do: "stubborn", Text: file}))
	p := fakeworker.Announced(t, file)
	if !fakeworker.Alive(p.Pid) || !fakeworker.Alive(p.Child) {
		t.Fatal("not running")
	}
	if _, err := h.Executor.Result(bg, "t"); !errors.Is(err, executor.ErrNotOver) {
		t.Errorf("result while running: %v", err)
	}
	if err := h.Executor.Cancel(bg, "t", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if fakeworker.Alive(p.Pid) {
		t.Error("the process is still running")
	}
	testwait.Until(t, "the child exits", func() bool { return !fakeworker.Alive(p.Child) })
	if r := Over(t, h.Executor, "t"); r.State != executor.Cancelled || r.ExitStatus != 137 {
		t.Errorf("%+v", r.Status)
	}
}

// The grace is long, so only the answer ends the task.
func cancelKeepsTheAnswer(t *testing.T, h Harness) {
	file := filepath.Join(t.TempDir(), "f")
	Submit(t, h.Executor, Task("t", fakeworker.Request{Do: "hand back", Text: file}))
	p := fakeworker.Announced(t, file)
	if err := h.Executor.Cancel(bg, "t", 20*time.Second); err != nil {
		t.Fatal(err)
	}
	r := Over(t, h.Executor, "t")
	var got fakeworker.Reply
	if err := json.Unmarshal(r.Stdout, &got); err != nil || r.State != executor.Cancelled || got.Pid != p.Pid {
		t.Errorf("%+v, %q", r.Status, r.Stdout)
	}
}

func cancelInTheQueue(t *testing.T, h Harness) {
	free := holdSlot(t, h, "hold", h.Nodes[0])
	defer free()
	queued := echoTask("queued")
	queued.Target.Nodes = h.Nodes[:1]
	Submit(t, h.Executor, queued)
	for range 2 {
		if err := h.Executor.Cancel(bg, "queued", 0); err != nil {
			t.Error(err)
		}
	}
	if r := Over(t, h.Executor, "queued"); r.State != executor.Cancelled || r.Stdout != nil || !r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
	free()
	Over(t, h.Executor, "hold")
	if s := Status(t, h.Executor, "queued").State; s != executor.Cancelled {
		t.Errorf("state %s", s)
	}
}

// Delete works in every state and twice.
func deleteInEveryState(t *testing.T, h Harness) {
	Submit(t, h.Executor, echoTask("over"))
	Over(t, h.Executor, "over")
	defer holdSlot(t, h, "runs", h.Nodes[0])()
	queued := echoTask("queued")
	queued.Target.Nodes = h.Nodes[:1]
	Submit(t, h.Executor, queued)
	for _, id := range []string{"over", "queued", "runs", "runs", "nobody"} {
		if err := h.Executor.Delete(bg, id); err != nil {
			t.Errorf("delete %s: %v", id, err)
		}
		if s := Status(t, h.Executor, id).State; s != executor.Unknown {
			t.Errorf("%s after delete: %s", id, s)
		}
		if _, err := h.Executor.Result(bg, id); !errors.Is(err, executor.ErrUnknown) {
			t.Errorf("result after delete: %v", err)
		}
		if err := h.Executor.Cancel(bg, id, 0); !errors.Is(err, executor.ErrUnknown) {
			t.Errorf("cancel after delete: %v", err)
		}
	}
	if all, err := h.Executor.Status(bg); err != nil || len(all) != 0 {
		t.Errorf("known tasks: %v, %v", all, err)
	}
}

func timesToLive(t *testing.T, h Harness) {
	free := holdSlot(t, h, "hold", h.Nodes[0])
	short := echoTask("short")
	short.Target.Nodes = h.Nodes[:1]
	short.QueueTTL, short.ResultTTL = time.Hour, 3*time.Hour
	Submit(t, h.Executor, short)
	if s := Status(t, h.Executor, "short").State; s != executor.Queued {
		t.Errorf("before: %s", s)
	}
	h.Advance(2 * time.Hour)
	testwait.Until(t, "the task expires", func() bool { h.Advance(0); return Status(t, h.Executor, "short").State.Over() })
	if st := Status(t, h.Executor, "short"); st.State != executor.Refused || !strings.Contains(st.Reason, "expired: no start within 1h0m0s") {
		t.Errorf("after: %+v", st)
	}
	h.Advance(4 * time.Hour)
	testwait.Until(t, "the result is removed", func() bool { h.Advance(0); return Status(t, h.Executor, "short").State == executor.Unknown })
	free()
	if r := Over(t, h.Executor, "hold"); r.State != executor.Finished {
		t.Errorf("%+v", r.Status)
	}
}

func testNodes(t *testing.T, h Harness) {
	free := holdSlot(t, h, "hold", h.Nodes[0])
	busy := func() executor.Node {
		all, err := h.Executor.Nodes(bg)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range all {
			names = append(names, n.Name)
			if n.State != executor.NodeReady || n.Slots["test"] != 2 && n.Slots[""] != 2 {
				t.Errorf("%+v", n)
			}
		}
		if !slices.Equal(names, h.Nodes) {
			t.Fatalf("nodes %v, want %v", names, h.Nodes)
		}
		return all[0]
	}
	testwait.Until(t, "the node is busy", func() bool { return busy().Busy["test"] == 1 })
	free()
	Over(t, h.Executor, "hold")
	testwait.Until(t, "the node is free", func() bool { return busy().Busy["test"] == 0 })
}

func testClose(t *testing.T, h Harness) {
	changes, err := h.Executor.Watch(bg, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for range changes { // must end
	}
	if err := h.Executor.Submit(bg, echoTask("t")); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("submit: %v", err)
	}
	if _, err := h.Executor.Run(bg, echoTask("t")); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("run: %v", err)
	}
	if _, err := h.Executor.Status(bg); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("status: %v", err)
	}
	if _, err := h.Executor.Nodes(bg); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("nodes: %v", err)
	}
}
