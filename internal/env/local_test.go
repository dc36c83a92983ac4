package env

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var bg = context.Background()

// open makes a pool that the test closes, with a grace that a loaded machine
// does not overrun.
func open(t testing.TB, cfg LocalConfig) *Local {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "spool")
	}
	if cfg.KillGrace == 0 {
		cfg.KillGrace = 2 * time.Second
	}
	l, err := OpenLocal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close(bg)
		if left := children(t); len(left) > 0 {
			t.Errorf("processes left after Close: %v", left)
		}
	})
	return l
}

// children lists the living children of this process.
func children(t testing.TB) []int {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
		if fields[1] == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func run(t testing.TB, l *Local, task Task) Result {
	t.Helper()
	rs, err := l.Run(bg, task)
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 1 {
		t.Fatalf("%d results", len(rs))
	}
	return rs[0]
}

func answer(t testing.TB, r Result) told {
	t.Helper()
	var v told
	if err := json.Unmarshal(r.Stdout, &v); err != nil || r.State != Finished {
		t.Fatalf("%s (%s), answer %q: %v", r.State, r.Reason, r.Stdout, err)
	}
	return v
}

func submit(t testing.TB, l *Local, task Task) {
	t.Helper()
	if err := l.Submit(bg, task); err != nil {
		t.Fatal(err)
	}
}

func status(t testing.TB, l *Local, id string) Status {
	t.Helper()
	all, err := l.Status(bg, id)
	if err != nil || len(all) != 1 || all[0].ID != id {
		t.Fatalf("status of %s: %v, %v", id, all, err)
	}
	return all[0]
}

func over(t testing.TB, l *Local, id string) Result {
	t.Helper()
	eventually(t, id+" is over", func() bool { return status(t, l, id).State.Over() })
	r, err := l.Result(bg, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunOutcomes(t *testing.T) {
	l := open(t, LocalConfig{MaxOutput: 300_000})
	one := func(a ask) Task { return worker("t", a) }
	limited := func(a ask) Task { x := one(a); x.TimeLimit = 300 * time.Millisecond; return x }
	tests := []struct {
		name   string
		task   Task
		state  State
		exit   int
		reason string // part of it
		stderr string
	}{
		{name: "echo", task: one(ask{Do: "echo"}), state: Finished},
		{name: "long request", task: one(ask{Do: "echo", Text: strings.Repeat("x", 250_000)}), state: Finished},
		{name: "stderr before the answer", task: one(ask{Do: "stderr", Text: "warning"}), state: Finished, stderr: "warning"},
		{name: "stderr beyond the tail", task: one(ask{Do: "stderr", N: 500_000, Text: "end"}), state: Finished,
			stderr: strings.Repeat("x", stderrTail-3) + "end"},
		{name: "exit status and stderr", task: one(ask{Do: "exit", N: 1, Text: "no database"}), state: Failed, exit: 1,
			reason: "exited with status 1 instead of answering", stderr: "no database"},
		{name: "exit 0 is no answer", task: one(ask{Do: "exit"}), state: Failed, reason: "exited with status 0 instead of answering"},
		{name: "crash in the middle", task: one(ask{Do: "half"}), state: Failed, exit: 3, reason: "exited with status 3 in the middle of its answer"},
		{name: "killed", task: one(ask{Do: "kill self"}), state: Failed, exit: 137, reason: "killed by signal 9"},
		{name: "garbage", task: one(ask{Do: "garbage"}), state: Failed, exit: 137, reason: "answer is not JSON"},
		{name: "empty line", task: one(ask{Do: "empty line"}), state: Failed, exit: 137, reason: "answer is not JSON"},
		{name: "two lines", task: one(ask{Do: "two lines"}), state: Failed, exit: 137, reason: "more than one line"},
		{name: "largest answer", task: one(ask{Do: "huge", N: 299_998}), state: Finished},
		{name: "huge answer", task: one(ask{Do: "huge", N: 300_000}), state: Failed, exit: 137, reason: "larger than the limit"},
		{name: "endless answer", task: one(ask{Do: "flood"}), state: Failed, exit: 137, reason: "larger than the limit"},
		{name: "closed stdout", task: one(ask{Do: "close stdout"}), state: Failed, exit: 137, reason: "killed by signal 9"},
		{name: "time limit", task: limited(ask{Do: "sleep"}), state: TimedOut, exit: 143, reason: "time limit of 300ms"},
		{name: "no such program", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "/no/such/program"}}}, state: Failed, exit: 127, reason: "cannot start"},
		{name: "no such folder", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "cat", Dir: "/no/such/folder"}}}, state: Failed, exit: 127, reason: "cannot start"},
		{name: "not a task binary", task: Task{ID: "t", Stdin: []byte("1"), Stages: []Stage{{Program: "true"}}}, state: Failed, reason: "exited with status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, l, tt.task)
			if r.State != tt.state || r.ExitStatus != tt.exit || !strings.Contains(r.Reason, tt.reason) {
				t.Errorf("%s, exit %d, %q; want %s, %d, %q", r.State, r.ExitStatus, r.Reason, tt.state, tt.exit, tt.reason)
			}
			if (r.State == Finished) != (len(r.Stdout) > 0) || slices.Contains(r.Stdout, '\n') {
				t.Errorf("stdout %.100q", r.Stdout)
			}
			if string(r.Stderr) != tt.stderr {
				t.Errorf("stderr %.100q, want %.100q", r.Stderr, tt.stderr)
			}
			if r.Node != "local" || r.Queued.IsZero() || r.Started.IsZero() || r.Ended.IsZero() || r.Attempt != 1 {
				t.Errorf("status %+v", r.Status)
			}
		})
	}
}

func TestRunPassesTheCommand(t *testing.T) {
	l := open(t, LocalConfig{})
	dir := t.TempDir()
	s := stage("--config", "a b; rm *")
	s.Dir, s.Env = dir, append(s.Env, "FAKE_VAR=x y")
	got := answer(t, run(t, l, Task{ID: "t", Stages: []Stage{s}, Stdin: []byte("{\n\"do\": \"echo\"\n}")}))
	if !slices.Equal(got.Args, s.Args) || got.Dir != dir || got.Var != "x y" {
		t.Errorf("%+v", got)
	}
}

func TestPipeline(t *testing.T) {
	l := open(t, LocalConfig{})
	// The second stage gets the answer of the first: it knows its text.
	two := Task{ID: "t", Stages: []Stage{stage("first"), stage("second")}, Stdin: mustJSON(ask{Do: "stderr", Text: "hello"})}
	r := run(t, l, two)
	if got := answer(t, r); got.Text != "hello" || got.Args[0] != "second" || string(r.Stderr) != "hello" {
		t.Errorf("%+v, stderr %q", got, r.Stderr)
	}
	two.Stages[1] = Stage{Program: "false"}
	if r := run(t, l, two); r.State != Failed || r.ExitStatus != 1 || !strings.HasPrefix(r.Reason, "stage 2 of 2, false: ") || r.Stdout != nil {
		t.Errorf("%+v", r)
	}
}

func TestRefused(t *testing.T) {
	l := open(t, LocalConfig{MaxQueue: 1})
	good := worker("good", ask{Do: "echo"})
	tests := []struct {
		name string
		task func(*Task)
		want error
	}{
		{"no id", func(t *Task) { t.ID = "" }, ErrRefused},
		{"id with a path", func(t *Task) { t.ID = "../x" }, ErrRefused},
		{"id too long", func(t *Task) { t.ID = strings.Repeat("a", 65) }, ErrRefused},
		{"no stage", func(t *Task) { t.Stages = nil }, ErrRefused},
		{"no program", func(t *Task) { t.Stages = []Stage{{}} }, ErrRefused},
		{"zero byte", func(t *Task) { t.Stages = []Stage{{Program: "a", Args: []string{"b\x00"}}} }, ErrRefused},
		{"no input", func(t *Task) { t.Stdin = nil }, ErrRefused},
		{"two values", func(t *Task) { t.Stdin = []byte("1 2") }, ErrRefused},
		{"negative limit", func(t *Task) { t.TimeLimit = -1 }, ErrRefused},
		{"policy", func(t *Task) { t.Target.Policy = "best" }, ErrRefused},
		{"other node", func(t *Task) { t.Target.Nodes = []string{"local", "n2"} }, ErrNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := good
			tt.task(&bad)
			if err := l.Submit(bg, bad); !errors.Is(err, tt.want) {
				t.Errorf("Submit: %v", err)
			}
			if _, err := l.Run(bg, bad); !errors.Is(err, tt.want) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	for _, target := range []Target{{}, {All: true}, {Nodes: []string{"local"}}, {Policy: Random}} {
		good.Target = target
		answer(t, run(t, l, good))
	}
	if all, err := l.Status(bg); err != nil || len(all) != 0 {
		t.Errorf("known tasks: %v, %v", all, err)
	}
	if got := status(t, l, "nobody").State; got != Unknown || got.Over() {
		t.Errorf("state %s", got)
	}
}

// All tests of reuse look at pids: one process or several.
func TestProcessesStayWarm(t *testing.T) {
	pids := func(t *testing.T, l *Local, n int, a ask) map[int]bool {
		seen := map[int]bool{}
		for range n {
			seen[answer(t, run(t, l, worker("t", a))).Pid] = true
		}
		return seen
	}
	t.Run("one process for all", func(t *testing.T) {
		l := open(t, LocalConfig{})
		if n := len(pids(t, l, 50, ask{Do: "echo"})); n != 1 {
			t.Errorf("%d processes", n)
		}
		other := worker("t", ask{Do: "echo"})
		other.Stages[0].Args = []string{"other"}
		answer(t, run(t, l, other))
		if n := len(children(t)); n != 2 {
			t.Errorf("%d children for two commands", n)
		}
	})
	t.Run("replaced after requests", func(t *testing.T) {
		l := open(t, LocalConfig{MaxRequests: 10})
		if n := len(pids(t, l, 50, ask{Do: "echo"})); n != 5 {
			t.Errorf("%d processes", n)
		}
	})
	t.Run("replaced above memory", func(t *testing.T) {
		l := open(t, LocalConfig{MaxRSS: 60 << 20})
		if n := len(pids(t, l, 3, ask{Do: "grow", N: 80 << 20})); n != 3 {
			t.Errorf("%d processes", n)
		}
		if n := len(pids(t, l, 3, ask{Do: "echo"})); n != 1 {
			t.Errorf("%d small processes", n)
		}
	})
	t.Run("ended when idle", func(t *testing.T) {
		var now atomic.Int64
		now.Store(1e18)
		l := open(t, LocalConfig{IdleTimeout: time.Hour, Now: func() time.Time { return time.Unix(0, now.Load()) }})
		pids(t, l, 1, ask{Do: "echo"})
		l.warm.sweep(l.cfg.Now())
		if len(children(t)) != 1 {
			t.Error("ended too early")
		}
		l.warm.sweep(l.cfg.Now().Add(time.Hour))
		eventually(t, "the idle process ends", func() bool { return len(children(t)) == 0 })
	})
	t.Run("replaced when it ended by itself", func(t *testing.T) {
		l := open(t, LocalConfig{})
		first := answer(t, run(t, l, worker("t", ask{Do: "exit later"}))).Pid
		eventually(t, "it ends", func() bool { return len(children(t)) == 0 })
		if answer(t, run(t, l, worker("t", ask{Do: "echo"}))).Pid == first {
			t.Error("same process")
		}
	})
}

// A line nobody asked for must not become the next task's answer.
func TestUnaskedLine(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	first := answer(t, run(t, l, worker("t", ask{Do: "late line", Text: file})))
	announced(t, file) // it has been written
	if got := answer(t, run(t, l, worker("t", ask{Do: "echo", Text: "mine"}))); got.Pid == first.Pid || got.Text != "mine" {
		t.Errorf("%+v after %+v", got, first)
	}
}

// gate returns a task that waits until the file is removed, and the file.
func gate(t *testing.T, id string) (Task, string) {
	name := filepath.Join(t.TempDir(), id)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return worker(id, ask{Do: "gate", Text: name}), name
}

func begun(t *testing.T, gate string) {
	eventually(t, "task begins", func() bool { return fileExists(gate + ".begun") })
}

func TestSlotsPriorityAndNodes(t *testing.T) {
	l := open(t, LocalConfig{NodeName: "n1", Slots: map[string]int{"test": 2}, DefaultSlots: 1})
	changes, err := l.Watch(bg, Filter{Types: []string{"test"}})
	if err != nil {
		t.Fatal(err)
	}
	var gates []string
	for _, id := range []string{"a", "b", "low", "old", "new", "high"} {
		task, file := gate(t, id)
		task.Priority = map[string]int{"low": -1, "high": 5}[id]
		gates = append(gates, file)
		submit(t, l, task)
	}
	begun(t, gates[0])
	begun(t, gates[1])
	nodes, err := l.Nodes(bg)
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	if n := nodes[0]; n.Name != "n1" || n.State != NodeReady || n.Slots["test"] != 2 || n.Busy["test"] != 2 || n.Queued != 4 || n.LastSeen.IsZero() {
		t.Errorf("%+v", n)
	}
	answer(t, run(t, l, func() Task { x := worker("t", ask{Do: "echo"}); x.Type = "free"; return x }()))
	for _, g := range gates[1:] { // one slot stays taken by a
		os.Remove(g)
	}
	var order []string
	running := map[string]bool{}
	for finished := 0; finished < 5; {
		st := <-changes
		switch st.State {
		case Running:
			order = append(order, st.ID)
			running[st.ID] = true
			if len(running) > 2 {
				t.Errorf("at once: %v", running)
			}
		case Finished:
			finished++
			delete(running, st.ID)
		}
	}
	if want := []string{"a", "b", "high", "old", "new", "low"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	os.Remove(gates[0])
	over(t, l, "a")
}

func TestRunWaitsForASlotUntilItsContextEnds(t *testing.T) {
	l := open(t, LocalConfig{DefaultSlots: 1})
	task, file := gate(t, "holder")
	submit(t, l, task)
	begun(t, file)
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error, 1)
	go func() {
		_, err := l.Run(ctx, worker("t", ask{Do: "echo"}))
		done <- err
	}()
	eventually(t, "it queues", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.lanes["test"].queue) == 1
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	os.Remove(file)
	over(t, l, "holder")
	answer(t, run(t, l, worker("t", ask{Do: "echo"})))
}

func TestRunIsKilledWithItsContext(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	ctx, cancel := context.WithCancel(bg)
	go func() {
		announced(t, file)
		cancel()
	}()
	rs, err := l.Run(ctx, worker("t", ask{Do: "sleep", Text: file}))
	if err != nil || rs[0].State != Cancelled {
		t.Errorf("%+v, %v", rs, err)
	}
}

func TestTheWholeGroupIsKilled(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", ask{Do: "stubborn", Text: file}))
	p := announced(t, file)
	if !alive(p.Pid) || !alive(p.Child) {
		t.Fatal("not running")
	}
	if err := l.Cancel(bg, "t", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if alive(p.Pid) {
		t.Error("the process lives")
	}
	eventually(t, "its child is gone", func() bool { return !alive(p.Child) })
	r := over(t, l, "t")
	if r.State != Cancelled || r.ExitStatus != 137 {
		t.Errorf("%+v", r.Status)
	}
}

func TestLeftoversOfAnEndedProcess(t *testing.T) {
	l := open(t, LocalConfig{})
	t.Run("in its group", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		if r := run(t, l, worker("t", ask{Do: "leave a child", Text: file})); r.State != Failed || r.ExitStatus != 5 {
			t.Errorf("%+v", r.Status)
		}
		child := announced(t, file).Child
		eventually(t, "it is killed", func() bool { return !alive(child) })
	})
	// It cannot be found, but must not hold up the answer.
	t.Run("outside its group, holding the pipes", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		if r := run(t, l, worker("t", ask{Do: "leave a child", Text: file, N: 1})); r.State != Failed || r.ExitStatus != 5 {
			t.Errorf("%+v", r.Status)
		}
		child := announced(t, file).Child
		if !alive(child) {
			t.Error("the test tests nothing")
		}
		unix.Kill(child, unix.SIGKILL)
	})
}

func TestCancelKeepsWhatIsHandedBack(t *testing.T) {
	l := open(t, LocalConfig{KillGrace: 20 * time.Second})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", ask{Do: "hand back", Text: file}))
	p := announced(t, file)
	if err := l.Cancel(bg, "t", 0); err != nil {
		t.Fatal(err)
	}
	r := over(t, l, "t")
	var got told
	if err := json.Unmarshal(r.Stdout, &got); err != nil || r.State != Cancelled || got.Pid != p.Pid {
		t.Errorf("%+v, %q", r.Status, r.Stdout)
	}
}

func TestSubmitCancelDeleteAreIdempotent(t *testing.T) {
	l := open(t, LocalConfig{DefaultSlots: 1, MaxQueue: 2})
	file := filepath.Join(t.TempDir(), "count")
	count := worker("count", ask{Do: "fail until", Text: file, N: 1})
	count.Labels = map[string]string{"kind": "crawl"}
	count.Name = "Crawl"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := l.Submit(bg, count); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := over(t, l, "count")
	submit(t, l, count) // over: still no second run
	if b, _ := os.ReadFile(file); len(b) != 1 || r.State != Finished || r.Labels["kind"] != "crawl" || r.Name != "Crawl" {
		t.Errorf("%d runs, %+v", len(b), r.Status)
	}
	if err := l.Cancel(bg, "count", 0); err != nil || status(t, l, "count").State != Finished {
		t.Errorf("cancel of a finished task: %v", err)
	}

	hold, holdFile := gate(t, "hold")
	submit(t, l, hold)
	begun(t, holdFile)
	if _, err := l.Result(bg, "hold"); !errors.Is(err, ErrNotOver) {
		t.Errorf("result while running: %v", err)
	}
	for _, id := range []string{"q1", "q2"} {
		submit(t, l, worker(id, ask{Do: "echo"}))
	}
	if err := l.Submit(bg, worker("q3", ask{Do: "echo"})); !errors.Is(err, ErrRefused) {
		t.Errorf("full queue: %v", err)
	}
	for range 2 {
		if err := l.Cancel(bg, "q1", 0); err != nil {
			t.Error(err)
		}
	}
	if r := over(t, l, "q1"); r.State != Cancelled || r.Attempt != 0 || r.Stdout != nil {
		t.Errorf("%+v", r)
	}
	// Delete works on every state, and once more.
	for _, id := range []string{"count", "q1", "q2", "hold", "hold", "nobody"} {
		if err := l.Delete(bg, id); err != nil {
			t.Errorf("delete %s: %v", id, err)
		}
		if s := status(t, l, id).State; s != Unknown {
			t.Errorf("%s after delete: %s", id, s)
		}
		if _, err := l.Result(bg, id); !errors.Is(err, ErrUnknown) {
			t.Errorf("result after delete: %v", err)
		}
		if err := l.Cancel(bg, id, 0); !errors.Is(err, ErrUnknown) {
			t.Errorf("cancel after delete: %v", err)
		}
	}
	if left, _ := filepath.Glob(l.cfg.Dir + "/[^.]*"); len(left) > 0 {
		t.Errorf("left in the spool: %v", left)
	}
	submit(t, l, count) // a deleted id is free again
	over(t, l, "count")
	if b, _ := os.ReadFile(file); len(b) != 2 {
		t.Errorf("%d runs", len(b))
	}
}

func TestAttempts(t *testing.T) {
	l := open(t, LocalConfig{})
	changes, err := l.Watch(bg, Filter{IDs: []string{"twice"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	twice := worker("twice", ask{Do: "fail until", Text: dir + "/twice", N: 2})
	twice.Attempts = 3
	submit(t, l, twice)
	var states []State
	var st Status
	for !st.State.Over() {
		st = <-changes
		states = append(states, st.State)
	}
	if want := []State{Queued, Running, Waiting, Queued, Running, Finished}; !slices.Equal(states, want) || st.Attempt != 2 {
		t.Errorf("%v, attempt %d", states, st.Attempt)
	}
	never := worker("never", ask{Do: "exit", N: 7})
	never.Attempts = 2
	submit(t, l, never)
	if r := over(t, l, "never"); r.State != Failed || r.Attempt != 2 || r.ExitStatus != 7 {
		t.Errorf("%+v", r.Status)
	}
	// A task that waits for its next attempt can be cancelled.
	later := worker("later", ask{Do: "exit", N: 7})
	later.Attempts, later.RetryDelay = 2, time.Hour
	submit(t, l, later)
	eventually(t, "it waits", func() bool { return status(t, l, "later").State == Waiting })
	if st := status(t, l, "later"); !strings.Contains(st.Reason, "attempt 1 of 2") || st.ExitStatus != 7 {
		t.Errorf("%+v", st)
	}
	if err := l.Cancel(bg, "later", 0); err != nil || status(t, l, "later").State != Cancelled {
		t.Error(err)
	}
}

func TestTimesToLive(t *testing.T) {
	var offset atomic.Int64
	l := open(t, LocalConfig{DefaultSlots: 1, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
	hold, file := gate(t, "hold")
	submit(t, l, hold)
	begun(t, file)
	short := worker("short", ask{Do: "echo"})
	short.QueueTTL, short.ResultTTL = time.Hour, 3*time.Hour
	submit(t, l, short)
	l.sweep(l.cfg.Now())
	if s := status(t, l, "short").State; s != Queued {
		t.Errorf("before: %s", s)
	}
	offset.Store(int64(2 * time.Hour))
	l.sweep(l.cfg.Now())
	if st := status(t, l, "short"); st.State != Refused || !strings.Contains(st.Reason, "expired") {
		t.Errorf("after: %+v", st)
	}
	offset.Store(int64(6 * time.Hour))
	l.sweep(l.cfg.Now())
	eventually(t, "the result goes", func() bool { return status(t, l, "short").State == Unknown })
	os.Remove(file)
	if r := over(t, l, "hold"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
}

func TestUsage(t *testing.T) {
	l := open(t, LocalConfig{})
	if r := run(t, l, worker("t", ask{Do: "burn", N: 100})); r.CPU < 20*time.Millisecond || r.MaxRSS < 1<<20 {
		t.Errorf("cpu %v, rss %d", r.CPU, r.MaxRSS)
	}
	if r := run(t, l, worker("t", ask{Do: "exit"})); r.MaxRSS < 1<<20 {
		t.Errorf("of an ended process: rss %d", r.MaxRSS)
	}
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir, DefaultSlots: 1})
	submit(t, l, worker("done", ask{Do: "stderr", Text: "<said>"}))
	before := over(t, l, "done")
	hold, file := gate(t, "runs")
	submit(t, l, hold)
	begun(t, file)
	queued := worker("queued", ask{Do: "echo", Text: "a<b\u2028"})
	queued.Labels = map[string]string{"k": "v"}
	submit(t, l, queued)
	waitingRun := make(chan error, 1)
	go func() {
		_, err := l.Run(bg, worker("t", ask{Do: "echo"}))
		waitingRun <- err
	}()
	eventually(t, "the run waits", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.lanes["test"].queue) == 2
	})
	changes, err := l.Watch(bg, Filter{})
	if err != nil {
		t.Fatal(err)
	}

	_, err = OpenLocal(LocalConfig{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second pool: %v", err)
	}
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	for range changes { // must end
	}
	if err := <-waitingRun; !errors.Is(err, ErrClosed) {
		t.Errorf("waiting run: %v", err)
	}
	if err := l.Submit(bg, queued); !errors.Is(err, ErrClosed) {
		t.Errorf("submit: %v", err)
	}
	// What an interrupted create and remove leave, and a folder that rotted.
	os.Mkdir(filepath.Join(dir, newPrefix+"x"), 0o700)
	os.Mkdir(filepath.Join(dir, oldPrefix+"y"), 0o700)
	os.Mkdir(filepath.Join(dir, "rotten"), 0o700)

	l = open(t, LocalConfig{Dir: dir, DefaultSlots: 1})
	if r := over(t, l, "done"); string(r.Stdout) != string(before.Stdout) || string(r.Stderr) != "<said>" || !r.Ended.Equal(before.Ended) {
		t.Errorf("%+v", r)
	}
	if st := status(t, l, "runs"); st.State != Lost || st.Reason == "" || st.Attempt != 1 || st.Ended.IsZero() {
		t.Errorf("%+v", st)
	}
	if st := status(t, l, "rotten"); st.State != Lost {
		t.Errorf("%+v", st)
	}
	r := over(t, l, "queued")
	if got := answer(t, r); got.Text != "a<b\u2028" || r.Labels["k"] != "v" {
		t.Errorf("%+v", r)
	}
	for _, id := range []string{"runs", "rotten"} {
		if err := l.Delete(bg, id); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(dir + "/.[no]*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// startPool starts a pool in another process.
func startPool(t *testing.T, dir string, env ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, asFake+"=pool", "FAKE_DIR="+dir)...)
	return cmd
}

func TestKilledPool(t *testing.T) {
	dir := t.TempDir()
	cmd := startPool(t, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runs, again := announced(t, dir+"/runs"), announced(t, dir+"/again")
	eventually(t, "all are stored", func() bool { return fileExists(dir + "/spool/queued/task.json") })
	if _, err := OpenLocal(LocalConfig{Dir: dir + "/spool"}); !errors.Is(err, ErrLocked) {
		t.Errorf("open beside: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the children die with the pool", func() bool { return !alive(runs.Pid) && !alive(again.Pid) })
	os.Remove(dir + "/again")

	l := open(t, LocalConfig{Dir: dir + "/spool", DefaultSlots: 1})
	if st := status(t, l, "runs"); st.State != Lost {
		t.Errorf("%+v", st)
	}
	if got := answer(t, over(t, l, "queued")); got.Text != "later" {
		t.Errorf("%+v", got)
	}
	announced(t, dir+"/again") // has an attempt left
	if st := status(t, l, "again"); st.Attempt != 2 || st.State != Running {
		t.Errorf("%+v", st)
	}
}

func TestFullDisk(t *testing.T) {
	out, err := startPool(t, t.TempDir(), "FAKE_FILE_LIMIT=1").CombinedOutput()
	if want := "big: true\nstate: unknown\nfiles: 1\nsmall: <nil>\n"; string(out) != want || err != nil {
		t.Errorf("%s%v", out, err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", ask{Do: "stubborn", Text: file}))
	p := announced(t, file)
	for i := range 20 {
		submit(t, l, worker(fmt.Sprint("e", i), ask{Do: "echo"}))
	}
	for range 3 {
		if _, err := l.Watch(bg, Filter{}); err != nil { // nobody reads
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel() // no grace
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := l.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if alive(p.Pid) || len(children(t)) > 0 {
		t.Errorf("children live: %v", children(t))
	}
	eventually(t, "its grandchild is gone", func() bool { return !alive(p.Child) })
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestWatcherBacklog(t *testing.T) {
	w := newWatcher(Filter{})
	for i := range 3 * watchBacklog {
		w.add(Status{ID: fmt.Sprint(i % 10), Attempt: i})
	}
	if n := len(w.backlog); n > watchBacklog+10 {
		t.Errorf("backlog of %d", n)
	}
	ctx, cancel := context.WithCancel(bg)
	waiting := len(w.backlog)
	go w.deliver(ctx, bg)
	last := map[string]int{}
	for range waiting {
		st := <-w.to
		if st.Attempt < last[st.ID] {
			t.Fatalf("task %s: %d after %d", st.ID, st.Attempt, last[st.ID])
		}
		last[st.ID] = st.Attempt
	}
	for i := range 10 {
		if want := 3*watchBacklog - 10 + i; last[fmt.Sprint(want%10)] != want {
			t.Errorf("task %d: last change %d, want %d", want%10, last[fmt.Sprint(want%10)], want)
		}
	}
	cancel()
	if _, open := <-w.to; open {
		t.Error("open after the end")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1234 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) { parseStat([]byte(s)) })
}

func BenchmarkRunWarm(b *testing.B) {
	l := open(b, LocalConfig{MaxRequests: -1, DefaultSlots: 1})
	task := worker("t", ask{Do: "echo"})
	answer(b, run(b, l, task))
	b.ReportAllocs()
	for b.Loop() {
		run(b, l, task)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

func BenchmarkSubmitDurable(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := open(b, LocalConfig{MaxQueue: 1 << 30, DefaultSlots: 1})
			submit(b, l, worker("hold", ask{Do: "sleep"}))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := l.Submit(bg, worker(fmt.Sprint(i), ask{Do: "echo"})); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "submits/s")
		})
	}
}
