package executor

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/testkit/testwait"
)

// The tests of reuse count process ids.
func TestProcessesStayWarm(t *testing.T) {
	pids := func(t *testing.T, l *Local, n int, a request) map[int]bool {
		seen := map[int]bool{}
		for range n {
			seen[answer(t, run(t, l, worker("t", a))).Pid] = true
		}
		return seen
	}
	t.Run("one process for all", func(t *testing.T) {
		l := open(t, LocalConfig{})
		if n := len(pids(t, l, 50, request{Do: "echo"})); n != 1 {
			t.Errorf("%d processes", n)
		}
		other := worker("t", request{Do: "echo"})
		other.Stages[0].Args = []string{"other"}
		answer(t, run(t, l, other))
		if n := len(children(t)); n != 2 {
			t.Errorf("%d children for two commands", n)
		}
	})
	t.Run("replaced after requests", func(t *testing.T) {
		l := open(t, LocalConfig{MaxRequests: 10})
		if n := len(pids(t, l, 50, request{Do: "echo"})); n != 5 {
			t.Errorf("%d processes", n)
		}
	})
	t.Run("replaced above memory", func(t *testing.T) {
		l := open(t, LocalConfig{MaxRSS: 60 << 20})
		if n := len(pids(t, l, 3, request{Do: "grow", N: 80 << 20})); n != 3 {
			t.Errorf("%d processes", n)
		}
		if n := len(pids(t, l, 3, request{Do: "echo"})); n != 1 {
			t.Errorf("%d small processes", n)
		}
	})
	t.Run("ended when idle", func(t *testing.T) {
		var now atomic.Int64
		now.Store(1e18)
		l := open(t, LocalConfig{IdleTimeout: time.Hour, Now: func() time.Time { return time.Unix(0, now.Load()) }})
		pids(t, l, 1, request{Do: "echo"})
		l.warm.retireIdle(l.cfg.Now())
		if len(children(t)) != 1 {
			t.Error("ended too early")
		}
		l.warm.retireIdle(l.cfg.Now().Add(time.Hour))
		testwait.Until(t, "the idle process ends", func() bool { return len(children(t)) == 0 })
	})
	t.Run("replaced when it ended by itself", func(t *testing.T) {
		l := open(t, LocalConfig{})
		first := answer(t, run(t, l, worker("t", request{Do: "exit later"}))).Pid
		testwait.Until(t, "the process exits", func() bool { return len(children(t)) == 0 })
		if answer(t, run(t, l, worker("t", request{Do: "echo"}))).Pid == first {
			t.Error("same process")
		}
	})
}

// A line without a request must not become the answer of the next task.
func TestUnrequestedLine(t *testing.T) {
	l := open(t, LocalConfig{})
	file := filepath.Join(t.TempDir(), "f")
	first := answer(t, run(t, l, worker("t", request{Do: "late line", Text: file})))
	os.WriteFile(file+".go", nil, 0o600)
	announced(t, file) // the late line is written
	if got := answer(t, run(t, l, worker("t", request{Do: "echo", Text: "mine"}))); got.Pid == first.Pid || got.Text != "mine" {
		t.Errorf("%+v after %+v", got, first)
	}
}

func TestUsage(t *testing.T) {
	l := open(t, LocalConfig{})
	if r := run(t, l, worker("t", request{Do: "burn", N: 100})); r.CPU < 20*time.Millisecond || r.MaxRSS < 1<<20 {
		t.Errorf("cpu %v, rss %d", r.CPU, r.MaxRSS)
	}
	if r := run(t, l, worker("t", request{Do: "exit"})); r.MaxRSS < 1<<20 {
		t.Errorf("ended process: rss %d", r.MaxRSS)
	}
}

func BenchmarkRunWarm(b *testing.B) {
	l := open(b, LocalConfig{MaxRequests: -1, DefaultSlots: 1})
	task := worker("t", request{Do: "echo"})
	answer(b, run(b, l, task))
	b.ReportAllocs()
	for b.Loop() {
		run(b, l, task)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// Programs of a type with a nice value have it in all their threads. Programs of other types
// do not.
func TestNice(t *testing.T) {
	l := open(t, LocalConfig{Nice: map[string]int{"later": 19}})
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the kernel returns 20 - nice
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"later": 19, "now": 20 - own} {
		task := worker(kind, request{Do: "echo"})
		task.Type = kind
		pid := answer(t, run(t, l, task)).Pid
		threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil || len(threads) == 0 {
			t.Fatal(err)
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil {
				t.Fatal(err)
			}
			got, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
			if err == nil && 20-got != want {
				t.Errorf("%s: nice %d, want %d", kind, 20-got, want)
			}
		}
	}
	if _, err := (LocalConfig{Dir: t.TempDir(), Nice: map[string]int{"x": 20}}).withDefaults(); err == nil {
		t.Error("a nice value of 20 is accepted")
	}
}
