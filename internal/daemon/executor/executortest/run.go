package executortest

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/fakeworker"
	"hce/dc/internal/testkit/testwait"
)

// stderrTail is how many bytes of standard error a result keeps.
const stderrTail = 64 << 10

// outcomes are the ways in which a task ends without the caller.
var outcomes = []struct {
	name   string
	ask    fakeworker.Request
	limit  time.Duration
	state  executor.State
	exit   int
	reason string // part of it
	stderr string
}{
	{name: "echo", ask: fakeworker.Request{Do: "echo"}, state: executor.Finished},
	{name: "stderr-before-the-answer", ask: fakeworker.Request{Do: "stderr", Text: "warning"}, state: executor.Finished, stderr: "warning"},
	{name: "stderr-beyond-the-tail", ask: fakeworker.Request{Do: "stderr", N: 500_000, Text: "end"}, state: executor.Finished,
		stderr: strings.Repeat("x", stderrTail-3) + "end"},
	{name: "exit-status-and-stderr", ask: fakeworker.Request{Do: "exit", N: 1, Text: "no database"}, state: executor.Failed, exit: 1,
		reason: "exited with status 1 instead of answering", stderr: "no database"},
	{name: "exit-0-without-an-answer", ask: fakeworker.Request{Do: "exit"}, state: executor.Failed, reason: "exited with status 0 instead of answering"},
	{name: "exit-within-the-answer", ask: fakeworker.Request{Do: "half"}, state: executor.Failed, exit: 3, reason: "exited with status 3 in the middle of its answer"},
	{name: "killed", ask: fakeworker.Request{Do: "kill self"}, state: executor.Failed, exit: 137, reason: "killed by signal 9"},
	{name: "garbage", ask: fakeworker.Request{Do: "garbage"}, state: executor.Failed, exit: 137, reason: "answer is not JSON"},
	{name: "empty-line", ask: fakeworker.Request{Do: "empty line"}, state: executor.Failed, exit: 137, reason: "answer is not JSON"},
	{name: "two-lines", ask: fakeworker.Request{Do: "two lines"}, state: executor.Failed, exit: 137, reason: "more than one line"},
	{name: "closed-stdout", ask: fakeworker.Request{Do: "close stdout"}, state: executor.Failed, exit: 137, reason: "killed by signal 9"},
	{name: "time-limit", ask: fakeworker.Request{Do: "sleep"}, limit: 300 * time.Millisecond, state: executor.TimedOut, exit: 143, reason: "time limit of 300ms"},
}

func runOutcomes(t *testing.T, h Harness) {
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			task := Task("t", o.ask)
			task.TimeLimit = o.limit
			checkOutcome(t, h, runTask(t, h, task), o.state, o.exit, o.reason, o.stderr)
		})
	}
}

func checkOutcome(t *testing.T, h Harness, r executor.Result, state executor.State, exit int, reason, stderr string) {
	t.Helper()
	if r.State != state || r.ExitStatus != exit || !strings.Contains(r.Reason, reason) {
		t.Errorf("%s, exit %d, %q; want %s, %d, %q", r.State, r.ExitStatus, r.Reason, state, exit, reason)
	}
	if (r.State == executor.Finished) != json.Valid(r.Stdout) && reason != "more than one line" || slices.Contains(r.Stdout, '\n') {
		t.Errorf("stdout %.100q", r.Stdout)
	}
	if string(r.Stderr) != stderr {
		t.Errorf("stderr %.100q, want %.100q", r.Stderr, stderr)
	}
	if !slices.Contains(h.Nodes, r.Node) || r.Queued.IsZero() || r.Started.IsZero() || r.Ended.IsZero() {
		t.Errorf("status %+v", r.Status)
	}
}

func runArguments(t *testing.T, h Harness) {
	got := Answer(t, runTask(t, h, executor.Task{ID: "t", Type: "test", Stages: []executor.Stage{fakeStage(First)}, Stdin: []byte("{\n\"do\": \"echo\"\n}")}))
	if !slices.Equal(got.Args, []string{First}) {
		t.Errorf("%+v", got)
	}
}

// The input of the second stage is the answer of the first, including its text.
func runPipeline(t *testing.T, h Harness) {
	two := executor.Task{ID: "t", Type: "test", Stages: []executor.Stage{fakeStage(First), fakeStage(Second)},
		Stdin: fakeworker.JSON(fakeworker.Request{Do: "stderr", Text: "hello"})}
	r := runTask(t, h, two)
	if got := Answer(t, r); got.Text != "hello" || got.Args[0] != Second || string(r.Stderr) != "hello" {
		t.Errorf("%+v, stderr %q", got, r.Stderr)
	}
	two.Stdin = fakeworker.JSON(fakeworker.Request{Do: "exit", N: 1})
	if r := runTask(t, h, two); r.State != executor.Failed || r.ExitStatus != 1 || !strings.HasPrefix(r.Reason, "stage 1 of 2, ") || r.Stdout != nil {
		t.Errorf("%+v", r)
	}
}

// large is more than a message of a broker may have by default.
const large = 1_500_000

func runLarge(t *testing.T, h Harness) {
	text := strings.Repeat("x", large)
	for i, r := range runAll(t, h, Task("t", fakeworker.Request{Do: "stderr", Text: text})) {
		if got := Answer(t, r); got.Text != text || len(r.Stderr) != stderrTail {
			t.Errorf("node %d: %d bytes of the answer, %d bytes of standard error", i, len(got.Text), len(r.Stderr))
		}
	}
}

// runAll runs a task on all nodes and checks the names of the results.
func runAll(t *testing.T, h Harness, task executor.Task) []executor.Result {
	t.Helper()
	task.Target = executor.Target{All: true}
	rs, err := h.Executor.Run(bg, task)
	if err != nil {
		t.Fatal(err)
	}
	if got := nodesOf(rs); !slices.Equal(got, h.Nodes) {
		t.Fatalf("results of %v, want %v", got, h.Nodes)
	}
	return rs
}

// nodesOf returns the names of the results' nodes, ordered.
func nodesOf(rs []executor.Result) (names []string) {
	for _, r := range rs {
		names = append(names, r.Node)
	}
	slices.Sort(names)
	return names
}

func runTargets(t *testing.T, h Harness) {
	last := h.Nodes[len(h.Nodes)-1]
	for _, tt := range []struct {
		name   string
		target executor.Target
		nodes  []string // nil: any one
	}{
		{"default", executor.Target{}, nil},
		{"all", executor.Target{All: true}, h.Nodes},
		{"one by name", executor.Target{Nodes: []string{last}}, []string{last}},
		{"all by name", executor.Target{Nodes: h.Nodes}, h.Nodes},
		{"twice by name", executor.Target{Nodes: []string{last, last}}, []string{last}},
		{"in turn", executor.Target{Policy: executor.RoundRobin}, nil},
		{"at random", executor.Target{Policy: executor.Random}, nil},
		{"by load", executor.Target{Policy: executor.LeastLoaded}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := echoTask("t")
			task.Target = tt.target
			rs, err := h.Executor.Run(bg, task)
			if err != nil {
				t.Fatal(err)
			}
			got := nodesOf(rs)
			if tt.nodes == nil && len(got) != 1 || tt.nodes != nil && !slices.Equal(got, tt.nodes) {
				t.Errorf("results of %v, want %v", got, tt.nodes)
			}
			for _, r := range rs {
				Answer(t, r)
			}
		})
	}
	turns := map[string]int{}
	for range 2 * len(h.Nodes) {
		task := echoTask("t")
		task.Target.Policy = executor.RoundRobin
		turns[runTask(t, h, task).Node]++
	}
	for _, name := range h.Nodes {
		if turns[name] != 2 {
			t.Errorf("turns %v", turns)
		}
	}
}

func runIsKilledWithItsContext(t *testing.T, h Harness) {
	file := filepath.Join(t.TempDir(), "f")
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	type outcome struct {
		rs  []executor.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		rs, err := h.Executor.Run(ctx, Task("t", fakeworker.Request{Do: "sleep", Text: file}))
		done <- outcome{rs, err}
	}()
	p := fakeworker.Announced(t, file)
	cancel()
	if o := <-done; o.err != nil || o.rs[0].State != executor.Cancelled {
		t.Errorf("%+v, %v", o.rs, o.err)
	}
	testwait.Until(t, "the process ends", func() bool { return !fakeworker.Alive(p.Pid) })
}

func runWaitsForASlot(t *testing.T, h Harness) {
	node := h.Nodes[0]
	free := holdSlot(t, h, "holder", node)
	ctx, cancel := context.WithTimeout(bg, 200*time.Millisecond)
	defer cancel()
	task := echoTask("t")
	task.Target.Nodes = []string{node}
	if _, err := h.Executor.Run(ctx, task); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	other := task
	other.Type = "other"
	Answer(t, runTask(t, h, other))
	free()
	Answer(t, runTask(t, h, task))
	Over(t, h.Executor, "holder")
}

func runIsNotSeen(t *testing.T, h Harness) {
	Answer(t, runTask(t, h, echoTask("t")))
	if all, err := h.Executor.Status(bg); err != nil || len(all) != 0 {
		t.Errorf("known tasks: %v, %v", all, err)
	}
	Answer(t, runTask(t, h, echoTask("t"))) // the id can be used again
}

func testRefusals(t *testing.T, h Harness) {
	for _, tt := range []struct {
		name string
		task func(*executor.Task)
		want error
	}{
		{"no id", func(t *executor.Task) { t.ID = "" }, executor.ErrRefused},
		{"id with a path", func(t *executor.Task) { t.ID = "../x" }, executor.ErrRefused},
		{"id too long", func(t *executor.Task) { t.ID = strings.Repeat("a", 65) }, executor.ErrRefused},
		{"no stage", func(t *executor.Task) { t.Stages = nil }, executor.ErrRefused},
		{"no program", func(t *executor.Task) { t.Stages = []executor.Stage{{}} }, executor.ErrRefused},
		{"zero byte", func(t *executor.Task) { t.Stages = []executor.Stage{{Program: "a", Args: []string{"b\x00"}}} }, executor.ErrRefused},
		{"no input", func(t *executor.Task) { t.Stdin = nil }, executor.ErrRefused},
		{"two values", func(t *executor.Task) { t.Stdin = []byte("1 2") }, executor.ErrRefused},
		{"negative limit", func(t *executor.Task) { t.TimeLimit = -1 }, executor.ErrRefused},
		{"negative attempts", func(t *executor.Task) { t.Attempts = -1 }, executor.ErrRefused},
		{"policy", func(t *executor.Task) { t.Target.Policy = "best" }, executor.ErrRefused},
		{"unknown node", func(t *executor.Task) { t.Target.Nodes = []string{h.Nodes[0], "nobody"} }, executor.ErrNode},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := echoTask("bad")
			tt.task(&bad)
			if err := h.Executor.Submit(bg, bad); !errors.Is(err, tt.want) {
				t.Errorf("Submit: %v", err)
			}
			if _, err := h.Executor.Run(bg, bad); !errors.Is(err, tt.want) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	if all, err := h.Executor.Status(bg); err != nil || len(all) != 0 {
		t.Errorf("known tasks: %v, %v", all, err)
	}
}
