package executor

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/daemon/load"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// box is a fake machine: files that the load sampler reads.
type box struct {
	t       testing.TB
	root    string
	sampler *load.Sampler
	counted [3]int // busy, idle, iowait
}

func newBox(t testing.TB) *box {
	b := &box{t: t, root: t.TempDir()}
	if err := os.Mkdir(filepath.Join(b.root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write("stat", "cpu 0 0 0 0 0 0 0 0\n")
	b.write("meminfo", "MemAvailable: 1000000 kB\n")
	b.write("loadavg", "1.5 1 1 1/1 1\n")
	b.sampler = load.New(load.Config{Files: os.DirFS(b.root)})
	return b
}

// write replaces a file atomically, because pools read it at any time.
func (b *box) write(name, text string) {
	b.t.Helper()
	full := filepath.Join(b.root, "proc", name)
	if err := errors.Join(os.WriteFile(full+".new", []byte(text), 0o600), os.Rename(full+".new", full)); err != nil {
		b.t.Fatal(err)
	}
}

// set changes the load for longer than the sampler's window.
func (b *box) set(cpu, iowait int, free int64) {
	b.t.Helper()
	b.write("meminfo", fmt.Sprintf("MemAvailable: %d kB\n", free/1024))
	for range 10 {
		b.counted[0] += cpu
		b.counted[1] += 100 - cpu - iowait
		b.counted[2] += iowait
		b.write("stat", fmt.Sprintf("cpu %d 0 0 %d %d 0 0 0\n", b.counted[0], b.counted[1], b.counted[2]))
		if err := b.sampler.Sample(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// choosy returns a task with start conditions.
func choosy(id string, c Conditions) Task {
	t := worker(id, request{Do: "echo"})
	t.Start = c
	return t
}

func waits(t testing.TB, l *Local, id, reason string) {
	t.Helper()
	testwait.Until(t, id+" waits", func() bool { return status(t, l, id).State == Waiting })
	if st := status(t, l, id); st.Reason != reason || st.Node != "" || !st.Ended.IsZero() {
		t.Errorf("%+v, want %q", st, reason)
	}
}

func TestShortage(t *testing.T) {
	all := Conditions{MaxCPU: 60, MaxIOWait: 30, MinRAM: 32e6}
	fine := load.Figures{CPU: 59.9, IOWait: 30, FreeRAM: 32e6}
	figures := func(change func(*load.Figures)) load.Figures { f := fine; change(&f); return f }
	tests := []struct {
		name string
		c    Conditions
		f    load.Figures
		want string
	}{
		{name: "all at the limit", c: all, f: fine},
		{name: "no conditions", f: load.Figures{CPU: 100, IOWait: 100}},
		{name: "not set", c: Conditions{MaxCPU: -1, MaxIOWait: -1, MinRAM: -1}, f: load.Figures{CPU: 100, IOWait: 100, Measuring: true}},
		{name: "processors", c: all, f: figures(func(f *load.Figures) { f.CPU = 91 }), want: "91% of the processors are in use, at most 60%"},
		{name: "processors at the limit", c: all, f: figures(func(f *load.Figures) { f.CPU = 60 }), want: "60% of the processors are in use, at most 60%"},
		{name: "disks", c: all, f: figures(func(f *load.Figures) { f.IOWait = 30.06 }), want: "30.1% of the time is spent waiting for disks, at most 30%"},
		{name: "memory", c: all, f: figures(func(f *load.Figures) { f.FreeRAM = 32e6 - 1 }), want: "31.9 MB of memory are free, at least 32 MB"},
		{name: "little memory", c: Conditions{MinRAM: 5000}, f: load.Figures{FreeRAM: 0}, want: "0 bytes of memory are free, at least 5000 bytes"},
		{name: "everything", c: all, f: load.Figures{CPU: 100, IOWait: 99, FreeRAM: 1e6},
			want: "1 MB of memory are free, at least 32 MB; 100% of the processors are in use, at most 60%; 99% of the time is spent waiting for disks, at most 30%"},
		{name: "unknown figures", c: all, f: load.Figures{CPU: load.Unknown, IOWait: load.Unknown, FreeRAM: load.Unknown}},
		{name: "not measured yet", c: all, f: load.Figures{CPU: load.Unknown, IOWait: load.Unknown, FreeRAM: 1e9, Measuring: true}, want: "the use of the processors is being measured"},
		{name: "memory needs no second sample", c: Conditions{MinRAM: 1}, f: load.Figures{CPU: load.Unknown, IOWait: load.Unknown, FreeRAM: 1, Measuring: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.c.findShortage(tt.f)
			if h.reason != tt.want || h.measuring != strings.Contains(tt.want, "measured") {
				t.Errorf("%+v, want %q", h, tt.want)
			}
		})
	}
}

// A waiting task holds no slot and lets less demanding tasks pass. When the conditions hold,
// it starts from its old place in the queue.
func TestWaitingTaskBlocksNoOther(t *testing.T) {
	b := newBox(t)
	l := open(t, LocalConfig{DefaultSlots: 1, Load: b.sampler})
	b.set(91, 5, 10e6)
	submit(t, l, choosy("cpu", Conditions{MaxCPU: 60, RetryDelay: time.Millisecond}))
	submit(t, l, choosy("disk", Conditions{MaxIOWait: 4, RetryDelay: time.Millisecond}))
	submit(t, l, choosy("ram", Conditions{MinRAM: 32e6, RetryDelay: time.Millisecond}))
	waits(t, l, "cpu", "waits for resources: 91% of the processors are in use, at most 60%")
	waits(t, l, "disk", "waits for resources: 5% of the time is spent waiting for disks, at most 4%")
	waits(t, l, "ram", "waits for resources: 9.9 MB of memory are free, at least 32 MB")
	submit(t, l, choosy("less", Conditions{MaxCPU: 95, MaxIOWait: 5, MinRAM: 5e6}))
	if r := over(t, l, "less"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
	var n Node
	testwait.Until(t, "no slot is held", func() bool {
		nodes, err := l.Nodes(bg)
		if err != nil {
			t.Fatal(err)
		}
		n = nodes[0]
		return n.Busy["test"] == 0
	})
	if n.Load != 1.5 {
		t.Errorf("%+v", n)
	}
	hold, file := gate(t, "hold")
	submit(t, l, hold)
	begun(t, file)
	b.set(10, 0, 1e9) // the conditions hold, but no slot is free
	for _, id := range []string{"cpu", "disk", "ram"} {
		testwait.Until(t, id+" is queued", func() bool { st := status(t, l, id); return st.State == Queued && st.Reason == "" })
	}
	changes, err := l.Watch(bg, "")
	if err != nil {
		t.Fatal(err)
	}
	submit(t, l, worker("young", request{Do: "echo"}))
	os.Remove(file)
	var order []string
	for len(order) < 4 {
		if st := <-changes; st.State == Running {
			order = append(order, st.ID)
		}
	}
	if got := strings.Join(order, " "); got != "cpu disk ram young" {
		t.Errorf("order %s", got)
	}
	for _, id := range order {
		if r := over(t, l, id); r.State != Finished || r.Reason != "" {
			t.Errorf("%+v", r.Status)
		}
	}
}

func TestLooksAreCounted(t *testing.T) {
	b := newBox(t)
	l := open(t, LocalConfig{Load: b.sampler})
	b.set(100, 0, 1e9)
	submit(t, l, choosy("thrice", Conditions{MaxCPU: 60, RetryDelay: time.Millisecond, Retries: 3}))
	r := over(t, l, "thrice")
	if want := "schedule tries exceeded: 3 looks, at the last one 100% of the processors are in use, at most 60%"; r.State != Refused || r.Reason != want || r.Ended.IsZero() {
		t.Errorf("%+v, want %q", r.Status, want)
	}
	// A second attempt has its own looks.
}

// A look before the second sample of the processors does not count.
func TestNotMeasuredYet(t *testing.T) {
	b := newBox(t)
	l := open(t, LocalConfig{Load: b.sampler})
	submit(t, l, choosy("t", Conditions{MaxCPU: 60, Retries: 1, RetryDelay: time.Hour}))
	waits(t, l, "t", "waits for resources: the use of the processors is being measured")
	b.set(10, 0, 1e9)
	if r := over(t, l, "t"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
}

// QueueTTL continues while a task waits for resources.
func TestWaitingTaskExpires(t *testing.T) {
	b := newBox(t)
	var offset atomic.Int64
	l := open(t, LocalConfig{Load: b.sampler, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
	b.set(100, 0, 1e9)
	task := choosy("t", Conditions{MaxCPU: 60, RetryDelay: 25 * time.Minute})
	task.QueueTTL = time.Hour
	submit(t, l, task)
	looks := func() int64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.jobs["t"].looks
	}
	for n := int64(1); n <= 3; n++ {
		testwait.Until(t, "the next look", func() bool { l.processDueJobs(l.cfg.Now()); return looks() == n })
		if st := status(t, l, "t"); st.State != Waiting {
			t.Fatalf("%+v", st)
		}
		if n < 3 {
			offset.Add(int64(25 * time.Minute))
		}
	}
	offset.Add(int64(15 * time.Minute))
	testwait.Until(t, "the task expires", func() bool { l.processDueJobs(l.cfg.Now()); return status(t, l, "t").State.Over() })
	st := status(t, l, "t")
	if want := "expired: no start within 1h0m0s, it waits for resources: 100% of the processors are in use, at most 60%"; st.State != Refused || st.Reason != want {
		t.Errorf("%+v, want %q", st, want)
	}
	if looks() != 3 {
		t.Errorf("%d looks", looks())
	}
}

// QueueTTL continues over restarts.
func TestQueueTTLContinuesAfterRestart(t *testing.T) {
	b := newBox(t)
	var offset atomic.Int64
	cfg := LocalConfig{Dir: filepath.Join(t.TempDir(), "spool"), Load: b.sampler, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
	l := open(t, cfg)
	b.set(100, 0, 1e9)
	task := choosy("t", Conditions{MaxCPU: 60, RetryDelay: time.Minute})
	task.QueueTTL = time.Hour
	submit(t, l, task)
	for range 2 {
		testwait.Until(t, "the task waits", func() bool { return status(t, l, "t").State == Waiting })
		if err := l.Close(bg); err != nil {
			t.Fatal(err)
		}
		offset.Add(int64(29 * time.Minute))
		l = open(t, cfg)
	}
	testwait.Until(t, "the task waits", func() bool { return status(t, l, "t").State == Waiting })
	offset.Add(int64(3 * time.Minute))
	testwait.Until(t, "the task expires", func() bool { l.processDueJobs(l.cfg.Now()); return status(t, l, "t").State.Over() })
	if st := status(t, l, "t"); st.State != Refused || !strings.HasPrefix(st.Reason, "expired: no start within 1h0m0s") {
		t.Errorf("%+v", st)
	}
}

func TestCancelOfWaitingTask(t *testing.T) {
	b := newBox(t)
	l := open(t, LocalConfig{Load: b.sampler})
	b.set(100, 0, 1e9)
	for _, id := range []string{"cancel", "delete"} {
		submit(t, l, choosy(id, Conditions{MaxCPU: 60, RetryDelay: time.Hour}))
		testwait.Until(t, "the task waits", func() bool { return status(t, l, id).State == Waiting })
	}
	if err := l.Cancel(bg, "cancel", 0); err != nil || status(t, l, "cancel").State != Cancelled {
		t.Errorf("%v, %+v", err, status(t, l, "cancel"))
	}
	if err := l.Delete(bg, "delete"); err != nil || status(t, l, "delete").State != Unknown {
		t.Errorf("%v, %+v", err, status(t, l, "delete"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queued != 0 || len(l.lanes) != 0 {
		t.Errorf("%d queued, %d lanes", l.queued, len(l.lanes))
	}
}

func TestWaitingTaskSurvivesRestart(t *testing.T) {
	b := newBox(t)
	dir := filepath.Join(t.TempDir(), "spool")
	l := open(t, LocalConfig{Dir: dir, Load: b.sampler})
	b.set(100, 0, 1e9)
	task := choosy("t", Conditions{MaxCPU: 60, RetryDelay: time.Hour, Retries: 2})
	submit(t, l, task)
	for range 3 { // each restart resets the looks
		testwait.Until(t, "the task waits", func() bool { return status(t, l, "t").State == Waiting })
		if err := l.Close(bg); err != nil {
			t.Fatal(err)
		}
		l = open(t, LocalConfig{Dir: dir, Load: b.sampler})
		submit(t, l, task) // already known
	}
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	b.set(0, 0, 1e9)
	l = open(t, LocalConfig{Dir: dir, Load: b.sampler})
	if r := over(t, l, "t"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
}

// Without /proc the conditions pass. A warning is logged once per outage.
func TestUnreadableLoad(t *testing.T) {
	b := newBox(t)
	b.write("stat", "")
	b.write("meminfo", "")
	var log testlog.Recorder
	l := open(t, LocalConfig{Load: b.sampler, Log: slog.New(slog.NewTextHandler(&log, nil))})
	submit(t, l, choosy("t", Conditions{MaxCPU: 1, MaxIOWait: 1, MinRAM: 1 << 50}))
	if r := over(t, l, "t"); r.State != Finished {
		t.Errorf("%+v", r.Status)
	}
	const warning = "cannot read the load"
	if n := log.Count(warning); n != 1 {
		t.Errorf("%d warnings at the start", n)
	}
	if !l.sampleLoad(true) || log.Count(warning) != 1 {
		t.Errorf("%d warnings later", log.Count(warning))
	}
	b.write("stat", "cpu 0 0 0 0 0 0 0 0\n")
	b.write("meminfo", "MemAvailable: 1 kB\n")
	if l.sampleLoad(true) {
		t.Error("sample reports a failure for readable files")
	}
}
