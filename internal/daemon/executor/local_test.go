package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testwait"
)

var bg = context.Background()

// open opens a pool for one test. The grace is long enough for a loaded machine.
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

// children returns the running children of this process.
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

func answer(t testing.TB, r Result) reply {
	t.Helper()
	var v reply
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
	testwait.Until(t, id+" is over", func() bool { return status(t, l, id).State.Over() })
	r, err := l.Result(bg, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRefused(t *testing.T) {
	l := open(t, LocalConfig{MaxQueue: 1})
	good := worker("good", request{Do: "echo"})
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

// gate returns a task that waits until a file is removed, and the file.
func gate(t *testing.T, id string) (Task, string) {
	name := filepath.Join(t.TempDir(), id)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return worker(id, request{Do: "gate", Text: name}), name
}

func begun(t *testing.T, gate string) {
	testwait.Until(t, "task begins", func() bool { return fileExists(gate + ".begun") })
}

func TestSlotsAndNodes(t *testing.T) {
	l := open(t, LocalConfig{NodeName: "n1", Slots: map[string]int{"test": 2}, DefaultSlots: 1})
	changes, err := l.Watch(bg, "test")
	if err != nil {
		t.Fatal(err)
	}
	var gates []string
	for _, id := range []string{"a", "b", "old", "new", "newer", "last"} {
		task, file := gate(t, id)
		gates = append(gates, file)
		submit(t, l, task)
	}
	begun(t, gates[0])
	begun(t, gates[1])
	nodes, err := l.Nodes(bg)
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	if n := nodes[0]; n.Name != "n1" || n.State != NodeReady || n.Busy["test"] != 2 {
		t.Errorf("%+v", n)
	}
	answer(t, run(t, l, func() Task { x := worker("t", request{Do: "echo"}); x.Type = "free"; return x }()))
	for _, g := range gates[1:] { // a keeps its slot
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
	if want := []string{"a", "b", "old", "new", "newer", "last"}; !slices.Equal(order, want) {
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
		_, err := l.Run(ctx, worker("t", request{Do: "echo"}))
		done <- err
	}()
	testwait.Until(t, "the run is queued", func() bool {
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
	answer(t, run(t, l, worker("t", request{Do: "echo"})))
}

func TestRunIsKilledWithItsContext(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	ctx, cancel := context.WithCancel(bg)
	go func() {
		announced(t, file)
		cancel()
	}()
	rs, err := l.Run(ctx, worker("t", request{Do: "sleep", Text: file}))
	if err != nil || rs[0].State != Cancelled {
		t.Errorf("%+v, %v", rs, err)
	}
}

func TestSubmitCancelDeleteAreIdempotent(t *testing.T) {
	l := open(t, LocalConfig{DefaultSlots: 1, MaxQueue: 2})
	file := filepath.Join(t.TempDir(), "count")
	count := worker("count", request{Do: "fail until", Text: file, N: 1})
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
	submit(t, l, count) // over: it does not run again
	if b, _ := os.ReadFile(file); len(b) != 1 || r.State != Finished {
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
		submit(t, l, worker(id, request{Do: "echo"}))
	}
	if err := l.Submit(bg, worker("q3", request{Do: "echo"})); !errors.Is(err, ErrRefused) {
		t.Errorf("full queue: %v", err)
	}
	for range 2 {
		if err := l.Cancel(bg, "q1", 0); err != nil {
			t.Error(err)
		}
	}
	if r := over(t, l, "q1"); r.State != Cancelled || r.Stdout != nil {
		t.Errorf("%+v", r)
	}
	// Delete works in every state and twice.
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
	submit(t, l, count) // a deleted id can be used again
	over(t, l, "count")
	if b, _ := os.ReadFile(file); len(b) != 2 {
		t.Errorf("%d runs", len(b))
	}
}

func TestTimesToLive(t *testing.T) {
	var offset atomic.Int64
	l := open(t, LocalConfig{DefaultSlots: 1, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
	hold, file := gate(t, "hold")
	submit(t, l, hold)
	begun(t, file)
	short := worker("short", request{Do: "echo"})
	short.QueueTTL, short.ResultTTL = time.Hour, 3*time.Hour
	submit(t, l, short)
	l.sweep(l.cfg.Now())
	if s := status(t, l, "short").State; s != Queued {
		t.Errorf("before: %s", s)
	}
	offset.Store(int64(2 * time.Hour))
	l.sweep(l.cfg.Now()) // the pool's own clock may be faster
	testwait.Until(t, "the task expires", func() bool { return status(t, l, "short").State.Over() })
	if st := status(t, l, "short"); st.State != Refused || !strings.Contains(st.Reason, "expired") {
		t.Errorf("after: %+v", st)
	}
	offset.Store(int64(6 * time.Hour))
	l.sweep(l.cfg.Now())
	testwait.Until(t, "the result is removed", func() bool { return status(t, l, "short").State == Unknown })
	os.Remove(file)
	if r := over(t, l, "hold"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	submit(t, l, worker("t", request{Do: "stubborn", Text: file}))
	p := announced(t, file)
	for i := range 20 {
		submit(t, l, worker(fmt.Sprint("e", i), request{Do: "echo"}))
	}
	for range 3 {
		if _, err := l.Watch(bg, ""); err != nil { // without a reader
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
		t.Errorf("running children: %v", children(t))
	}
	testwait.Until(t, "the grandchild exits", func() bool { return !alive(p.Child) })
	testwait.Until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}
