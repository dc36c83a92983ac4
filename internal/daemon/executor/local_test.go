package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
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

// An unsaved task runs, is watched and has a result as others, but the spool stays as it was, and the
// end of the pool forgets it.
func TestUnsavedTask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir})
	files := func() string {
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		return fmt.Sprint(list, err)
	}
	empty := files()
	task, file := gate(t, "u")
	task.Unsaved = true
	submit(t, l, task)
	begun(t, file)
	if s := status(t, l, "u"); s.State != Running || files() != empty {
		t.Errorf("%+v, files %s", s, files())
	}
	os.Remove(file)
	if r := over(t, l, "u"); r.State != Finished || len(r.Stdout) == 0 || files() != empty {
		t.Errorf("%+v, files %s", r, files())
	}
	if err := l.Delete(bg, "u"); err != nil || status(t, l, "u").State != Unknown {
		t.Errorf("after Delete: %v, %+v", err, status(t, l, "u"))
	}
	submit(t, l, func() Task { x := worker("v", request{Do: "echo"}); x.Unsaved = true; return x }())
	over(t, l, "v")
	l.Close(bg)
	if again := open(t, LocalConfig{Dir: dir}); status(t, again, "v").State != Unknown || files() != empty {
		t.Errorf("after a restart: %+v, files %s", status(t, again, "v"), files())
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
