// Package executortest is the conformance suite of executor.Executor.
//
//	func TestMain(m *testing.M) {
//		fakeworker.Main()
//		os.Exit(m.Run())
//	}
//
//	func TestConformance(t *testing.T) {
//		executortest.Run(t, func(t testing.TB, o executortest.Options) executortest.Harness {
//			pool := ...
//			return executortest.Harness{Executor: pool, Nodes: []string{"local"}, Close: close}
//		})
//	}
//
// The tasks run the fake worker. An executor that maps programs to those of its nodes must accept
// the arguments First and Second.
package executortest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

// Arguments of stages.
const (
	First  = "--first"
	Second = "--second"
)

// Options are what a test needs of its executor. A value of 0 is the default.
type Options struct {
	Slots    int // of each node, for each type
	MaxQueue int // submitted tasks that wait
}

// Harness is an executor to test, new and without tasks. The one who opens it ends it after the
// test and fails the test if processes are left.
type Harness struct {
	Executor executor.Executor
	Nodes    []string            // names of all known nodes, ordered; all are ready
	Close    func() error        // closes the executor before the end of the test
	Advance  func(time.Duration) // moves the clock of QueueTTL and ResultTTL
}

var bg = context.Background()

// Run runs the suite. open is called once for each test.
func Run(t *testing.T, open func(testing.TB, Options) Harness) {
	for _, test := range []struct {
		name    string
		options Options
		run     func(*testing.T, Harness)
	}{
		{"Run/outcomes", Options{}, runOutcomes},
		{"Run/arguments", Options{}, runArguments},
		{"Run/pipeline", Options{}, runPipeline},
		{"Run/large", Options{}, runLarge},
		{"Run/targets", Options{}, runTargets},
		{"Run/end of its context", Options{}, runIsKilledWithItsContext},
		{"Run/waits for a slot", Options{Slots: 1}, runWaitsForASlot},
		{"Run/not seen by other calls", Options{}, runIsNotSeen},
		{"refused", Options{}, testRefusals},
		{"Submit/idempotent", Options{}, submitIsIdempotent},
		{"Submit/named node", Options{}, submitToANode},
		{"Submit/large", Options{}, submitLarge},
		{"Submit/outcomes", Options{}, submitOutcomes},
		{"Submit/full queue", Options{Slots: 1, MaxQueue: 2}, fullQueue},
		{"Status", Options{}, statusOfMany},
		{"Watch", Options{}, testWatch},
		{"Cancel/whole process group", Options{}, cancelKillsTheGroup},
		{"Cancel/keeps the answer", Options{}, cancelKeepsTheAnswer},
		{"Cancel/task in the queue", Options{Slots: 1}, cancelInTheQueue},
		{"Delete", Options{Slots: 1}, deleteInEveryState},
		{"times to live", Options{Slots: 1}, timesToLive},
		{"Nodes", Options{Slots: 2}, testNodes},
		{"Close", Options{}, testClose},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, test.options)) })
	}
}

// fakeStage returns a stage that runs the fake worker.
func fakeStage(args ...string) executor.Stage {
	program, env := fakeworker.Command()
	return executor.Stage{Program: program, Args: args, Env: env}
}

// Task returns a task with one request to the fake worker.
func Task(id string, a fakeworker.Request) executor.Task {
	return executor.Task{ID: id, Type: "test", Stages: []executor.Stage{fakeStage()}, Stdin: fakeworker.JSON(a)}
}

func echoTask(id string) executor.Task { return Task(id, fakeworker.Request{Do: "echo"}) }

// runTask runs a task on one node.
func runTask(t testing.TB, h Harness, task executor.Task) executor.Result {
	t.Helper()
	rs, err := h.Executor.Run(bg, task)
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 1 {
		t.Fatalf("%d results", len(rs))
	}
	return rs[0]
}

// Answer decodes the answer of a task that must have finished.
func Answer(t testing.TB, r executor.Result) fakeworker.Reply {
	t.Helper()
	var v fakeworker.Reply
	if err := json.Unmarshal(r.Stdout, &v); err != nil || r.State != executor.Finished {
		t.Fatalf("%s (%s), answer %.200q: %v", r.State, r.Reason, r.Stdout, err)
	}
	return v
}

// Submit submits a task that must be accepted.
func Submit(t testing.TB, e executor.Executor, task executor.Task) {
	t.Helper()
	if err := e.Submit(bg, task); err != nil {
		t.Fatal(err)
	}
}

// Status returns the status of one task.
func Status(t testing.TB, e executor.Executor, id string) executor.Status {
	t.Helper()
	all, err := e.Status(bg, id)
	if err != nil || len(all) != 1 || all[0].ID != id {
		t.Fatalf("status of %s: %v, %v", id, all, err)
	}
	return all[0]
}

// Over waits for the end of a task and returns its result.
func Over(t testing.TB, e executor.Executor, id string) executor.Result {
	t.Helper()
	testwait.Until(t, id+" is over", func() bool { return Status(t, e, id).State.Over() })
	r, err := e.Result(bg, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Gate returns a task that waits until a file is removed, and the file.
func Gate(t testing.TB, id string) (executor.Task, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), id)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return Task(id, fakeworker.Request{Do: "gate", Text: name}), name
}

// Begun waits until a task of Gate runs.
func Begun(t testing.TB, gate string) {
	t.Helper()
	testwait.Until(t, "task begins", func() bool { return fakeworker.Exists(gate + ".begun") })
}

// holdSlot occupies one slot of the node and returns the function that frees it.
func holdSlot(t testing.TB, h Harness, id, node string) (free func()) {
	t.Helper()
	task, file := Gate(t, id)
	task.Target.Nodes = []string{node}
	Submit(t, h.Executor, task)
	Begun(t, file)
	return func() { os.Remove(file) }
}

// Clock is a clock that tests move forward. Its zero value shows the time of the machine.
type Clock struct{ offset atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Add moves the clock.
func (c *Clock) Add(d time.Duration) { c.offset.Add(int64(d)) }

// NoChildren fails the test if this process has running children.
func NoChildren(t testing.TB) {
	t.Helper()
	if left := fakeworker.Children(t); len(left) > 0 {
		t.Errorf("processes left after Close: %v", left)
	}
}
