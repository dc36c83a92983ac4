package hostgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hce/dc/internal/crawl/politeness"
)

func open(t testing.TB, dir string) *Gates {
	t.Helper()
	gs, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	gs.clock = clock{} // that of synctest
	t.Cleanup(func() { gs.Close() })
	return gs
}

// openAt opens the gates as a process does whose wall clock differs by jump.
func openAt(t *testing.T, dir string, jump time.Duration) *Gates {
	t.Helper()
	gs := open(t, dir)
	gs.clock = newClock()
	gs.clock.wall = gs.clock.wall.Add(jump)
	return gs
}

// The clock is set between two requests of different processes. The gap between them is a whole one,
// and no longer one.
func TestClockIsSet(t *testing.T) {
	const delay = 100 * time.Millisecond
	for _, jump := range []time.Duration{time.Hour, -time.Hour, 48 * time.Hour} {
		for _, n := range []int{1, 4} {
			dir := t.TempDir()
			before, after := openAt(t, dir, 0), openAt(t, dir, jump)
			begin := time.Now()
			p := acquire(t, before, "h", delay, n)
			if n == 1 {
				begin = time.Now()
			}
			release(t, p, delay)
			release(t, acquire(t, after, "h", delay, n), delay)
			if gap := time.Since(begin); gap < delay {
				t.Errorf("clock set by %v, concurrency %d: %v after the last request", jump, n, gap)
			}
			at, _, err := after.Next("h", delay, n, time.Now())
			if wait := time.Until(at); err != nil || wait > delay {
				t.Errorf("clock set by %v, concurrency %d: the next request in %v, %v", jump, n, wait, err)
			}
		}
	}
}

func acquire(t testing.TB, gs *Gates, host string, delay time.Duration, n int) *Pass {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := gs.Acquire(ctx, host, delay, n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func release(t testing.TB, p *Pass, delay time.Duration) {
	t.Helper()
	if err := p.Release(delay); err != nil {
		t.Fatal(err)
	}
}

// refused checks that no Pass is available now.
func refused(t testing.TB, gs *Gates, host string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	p, err := gs.Acquire(ctx, host, 0, n)
	if err == nil {
		p.Release(0)
		t.Fatal("Acquire returned a second Pass")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the deadline", err)
	}
}

func TestExclusivePass(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	p := acquire(t, ours, "Example.COM.", 0, 1)
	refused(t, ours, "example.com", 1)
	refused(t, ours, "example.com", 5)
	refused(t, theirs, "example.com", 1)
	refused(t, theirs, "example.com", 5)
	release(t, acquire(t, theirs, "example.org", 0, 1), 0)
	release(t, p, 0)
	release(t, acquire(t, theirs, "example.com", 0, 1), 0)
	release(t, acquire(t, ours, "example.com", 0, 2), 0)
}

func TestSharedUpToN(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	a := acquire(t, ours, "h", 0, 3)
	b := acquire(t, theirs, "h", 0, 3)
	c := acquire(t, ours, "h", 0, 3)
	refused(t, ours, "h", 3)
	refused(t, theirs, "h", 3)
	refused(t, theirs, "h", 1)
	release(t, b, 0)
	d := acquire(t, ours, "h", 0, 3)
	refused(t, theirs, "h", 3)
	release(t, a, 0)
	release(t, c, 0)
	refused(t, theirs, "h", 1)
	release(t, d, 0)
	release(t, acquire(t, theirs, "h", 0, 1), 0)
}

func TestGapFromEndToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 60 * time.Millisecond
		dir := t.TempDir()
		ours, theirs := open(t, dir), open(t, dir)
		p := acquire(t, ours, "h", delay, 1)
		for i := range 4 {
			time.Sleep(5 * time.Millisecond) // the request
			end := time.Now()
			release(t, p, delay)
			p = acquire(t, []*Gates{theirs, ours}[i%2], "h", delay, 1)
			if gap := time.Since(end); gap < delay {
				t.Errorf("pass %d came after %v, want %v", i, gap, delay)
			}
		}
		release(t, p, delay)
	})
}

func TestPromisedDelayBindsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const crawlDelay = 80 * time.Millisecond
		dir := t.TempDir()
		p := acquire(t, open(t, dir), "h", 0, 1)
		begin := time.Now()
		release(t, p, crawlDelay)
		release(t, acquire(t, open(t, dir), "h", 0, 1), 0)
		if gap := time.Since(begin); gap < crawlDelay {
			t.Errorf("pass after %v, want %v", gap, crawlDelay)
		}
	})
}

func TestSharedGapFromStartToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 20 * time.Millisecond
		dir := t.TempDir()
		all := []*Gates{open(t, dir), open(t, dir)}
		var (
			wg     sync.WaitGroup
			mu     sync.Mutex
			starts []time.Time
		)
		for i := range 8 {
			wg.Go(func() {
				p := acquire(t, all[i%2], "h", delay, 3)
				mu.Lock()
				starts = append(starts, p.state.Start)
				mu.Unlock()
				time.Sleep(delay / 2)
				release(t, p, delay)
			})
		}
		wg.Wait()
		for i, a := range starts {
			for _, b := range starts[:i] {
				if gap := a.Sub(b).Abs(); gap < delay {
					t.Errorf("two starts %v apart, want %v", gap, delay)
				}
			}
		}
	})
}

func TestFoundRecords(t *testing.T) {
	const delay = 60 * time.Millisecond
	write := func(t *testing.T, path string, s politeness.State) {
		b := clock{}.encodeState(s)
		if err := os.WriteFile(path, b[:], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		put   func(t *testing.T, path string)
		waits bool
	}{
		{"missing file", func(*testing.T, string) {}, false},
		{"empty file", func(t *testing.T, p string) { os.WriteFile(p, nil, 0o600) }, false},
		{"long ago", func(t *testing.T, p string) {
			write(t, p, politeness.State{Start: time.Unix(1, 0), End: time.Unix(2, 0), Delay: delay})
		}, false},
		{"still in flight", func(t *testing.T, p string) {
			write(t, p, politeness.State{Start: time.Unix(1, 0), End: time.Unix(2, 0), InFlight: true})
		}, true},
		{"clock set back an hour", func(t *testing.T, p string) {
			write(t, p, politeness.State{End: time.Now().Add(time.Hour)})
		}, true},
		{"cut short", func(t *testing.T, p string) { os.WriteFile(p, []byte(magic), 0o600) }, true},
		{"damaged", func(t *testing.T, p string) {
			b := clock{}.encodeState(politeness.State{End: time.Unix(2, 0)})
			b[20]++
			os.WriteFile(p, b[:], 0o600)
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, fileName("h"))
			tt.put(t, path)
			gs := open(t, dir)
			begin, gap := time.Now(), delay
			if !tt.waits {
				gap = time.Hour // acquire would fail before
			}
			p := acquire(t, gs, "h", gap, 1)
			if waited := time.Since(begin); tt.waits && waited < delay {
				t.Errorf("waited %v, want %v", waited, delay)
			}
			release(t, p, delay)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, fresh, err := clock{}.readState(f)
			if err != nil || fresh || s.InFlight || s.Delay != delay || s.End.Before(begin) {
				t.Errorf("record %+v, fresh %v, err %v", s, fresh, err)
			}
		})
	}
}

// The mark stays while another shared request runs and ends with the last one.
func TestInFlightMarkOfShared(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	marked := func() bool {
		f, err := os.Open(filepath.Join(dir, fileName("h")))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s, _, err := clock{}.readState(f)
		if err != nil {
			t.Fatal(err)
		}
		return s.InFlight
	}
	a, b := acquire(t, ours, "h", 0, 2), acquire(t, theirs, "h", 0, 2)
	release(t, a, 0)
	if !marked() {
		t.Error("no mark with a request in flight")
	}
	release(t, b, 0)
	if marked() {
		t.Error("the mark stays after the last request")
	}
}

func TestCancelledWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ours, theirs := open(t, dir), open(t, dir)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := ours.Acquire(ctx, "h", 0, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want Canceled", err)
		}
		// A wait that ends within the gap leaves no Pass and does not extend the gap.
		release(t, acquire(t, ours, "gap", 0, 1), time.Hour)
		for n := 1; n <= 2; n++ {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			if _, err := ours.Acquire(ctx, "gap", 0, n); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("concurrency %d: error %v, want the deadline", n, err)
			}
			cancel()
		}
		refused(t, theirs, "gap", 1) // because of the gap, not of a leaked lock
		if ok := lockable(t, filepath.Join(dir, fileName("gap"))); !ok {
			t.Error("a cancelled wait leaks a lock")
		}
		// Waits for another goroutine and for another process.
		p := acquire(t, ours, "h", 0, 1)
		for range 3 {
			refused(t, ours, "h", 1)
			refused(t, theirs, "h", 2)
		}
		release(t, p, 0)
		release(t, acquire(t, theirs, "h", 0, 2), 0)
		release(t, acquire(t, ours, "h", 0, 1), 0)
		if ok := lockable(t, filepath.Join(dir, fileName("h"))); !ok {
			t.Error("a lock is held after the last release")
		}
	})
}

// lockable reports whether no byte of the file is locked.
func lockable(t *testing.T, path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at := range int64(slots + MaxConcurrency) {
		if ok, err := tryLock(f, at, exclusive); err != nil || !ok {
			return false
		}
	}
	return true
}

// Goroutines of one process are served in order of arrival.
func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gs := open(t, t.TempDir())
		p := acquire(t, gs, "h", 0, 1)
		var (
			wg    sync.WaitGroup
			order []int
		)
		queue := func(i int) {
			wg.Go(func() {
				p := acquire(t, gs, "h", 0, 1)
				order = append(order, i) // guarded by the exclusive Pass
				release(t, p, 0)
			})
		}
		for i := range 10 {
			queue(i)
			synctest.Wait() // until it is blocked
		}
		release(t, p, 0)
		wg.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("order %v", order)
			}
		}
	})
}

// A process that acquires again at once must let a waiting one go first. Without the
// turnstile it enters thousands of times.
func TestForeignWaiterIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		greedy, patient := open(t, dir), open(t, dir)
		var passes atomic.Int32
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p := acquire(t, greedy, "h", 0, 1)
					time.Sleep(time.Millisecond)
					passes.Add(1)
					release(t, p, 0)
				}
			}
		})
		for range 5 {
			release(t, acquire(t, patient, "h", 0, 1), 0)
		}
		if n := passes.Load(); n > 500 {
			t.Errorf("%d passes of the greedy process for 5 of the patient one", n)
		}
		close(stop)
		wg.Wait()
	})
}

func TestReleaseTwice(t *testing.T) {
	gs := open(t, t.TempDir())
	p := acquire(t, gs, "h", 0, 1)
	release(t, p, 0)
	q := acquire(t, gs, "h", 0, 1)
	release(t, p, 0)
	refused(t, gs, "h", 1)
	release(t, q, 0)
}

func TestIdleFilesAreClosed(t *testing.T) {
	gs := open(t, t.TempDir())
	held := acquire(t, gs, "held", 0, 1)
	for i := range 2 * maxIdle {
		release(t, acquire(t, gs, fmt.Sprint("h", i), 0, 1), 0)
	}
	if n := len(gs.byHost); n != maxIdle+1 {
		t.Errorf("%d hosts open, want %d", n, maxIdle+1)
	}
	refused(t, gs, "held", 1)
	if err := gs.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gs.Acquire(context.Background(), "h", 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	release(t, held, 0)
	if n := len(gs.byHost); n != 0 {
		t.Errorf("%d hosts open after Close", n)
	}
}

func TestBadArguments(t *testing.T) {
	gs := open(t, t.TempDir())
	for _, host := range []string{"", "."} {
		if _, err := gs.Acquire(context.Background(), host, 0, 1); err == nil {
			t.Errorf("host %q accepted", host)
		}
	}
	for _, host := range []string{"../../etc/passwd", "a/b", "\x00", string(make([]byte, 100_000)), "日本"} {
		release(t, acquire(t, gs, host, -time.Hour, -5), -time.Hour)
		release(t, acquire(t, gs, host, 0, 1<<30), 0)
	}
	entries, err := os.ReadDir(gs.dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("%d files, err %v; want 5", len(entries), err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := Open(file); err == nil {
		t.Error("a file was accepted as the folder")
	}
}

// A missing folder is an error of Acquire, and the host stays free.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gates")
	gs := open(t, dir)
	os.RemoveAll(dir)
	for range 2 {
		if _, err := gs.Acquire(context.Background(), "h", 0, 1); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want ErrNotExist", err)
		}
	}
	os.Mkdir(dir, 0o700)
	release(t, acquire(t, gs, "h", 0, 1), 0)
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	for _, host := range []string{"old", "new", "held"} {
		release(t, acquire(t, ours, host, 0, 1), 0)
	}
	held := acquire(t, ours, "held", 0, 1)
	past := time.Now().Add(-2 * politeness.MaxDelay)
	for _, host := range []string{"old", "held"} {
		if err := os.Chtimes(filepath.Join(dir, fileName(host)), past, past); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)
	os.Chtimes(filepath.Join(dir, "other"), past, past)
	n, err := theirs.Sweep(context.Background(), 0)
	if n != 1 || err != nil {
		t.Fatalf("swept %d, %v; want 1", n, err)
	}
	// ours has the removed file open and must not use it.
	p := acquire(t, ours, "old", 0, 1)
	refused(t, theirs, "old", 1)
	release(t, p, 0)
	release(t, held, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ours.Sweep(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}

// Sweeps remove the file at least 20 times while it is in use. Two passes of one host never
// exist at once.
func TestSweepDuringUse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName("h"))
	stop := make(chan struct{})
	var sweeper, wg sync.WaitGroup
	var removed atomic.Int32
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if ok, _ := sweepFile(path, time.Now().Add(time.Hour)); ok {
					removed.Add(1)
				}
			}
		}
	})
	var mu sync.Mutex
	for range 3 {
		gs := open(t, dir)
		wg.Go(func() {
			for i := 0; i < 200 || removed.Load() < 20; i++ {
				p := acquire(t, gs, "h", 0, 1)
				if !mu.TryLock() {
					t.Error("two passes at once")
				} else {
					mu.Unlock()
				}
				release(t, p, 0)
			}
		})
	}
	wg.Wait()
	close(stop)
	sweeper.Wait()
}

func FuzzRecord(f *testing.F) {
	b := clock{}.encodeState(politeness.State{Start: time.Unix(1, 2), End: time.Unix(3, 4), Delay: 5, InFlight: true})
	f.Add(b[:])
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s, fresh, err := clock{}.readState(file)
		head := data[:min(len(data), recordSize)]
		if err != nil || fresh != (len(bytes.Trim(head, "\x00")) == 0) {
			t.Fatalf("fresh %v, err %v", fresh, err)
		}
		now := time.Now()
		if w := s.Settle(now).Wait(now, time.Second); w < 0 || w > politeness.MaxDelay {
			t.Fatalf("wait %v", w)
		}
	})
}

func BenchmarkAcquireRelease(b *testing.B) {
	gs := open(b, b.TempDir())
	ctx := context.Background()
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprint("concurrency=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := gs.Acquire(ctx, "example.com", 0, n)
				if err != nil {
					b.Fatal(err)
				}
				p.Release(0)
			}
		})
	}
	b.Run("many hosts", func(b *testing.B) { // more than maxIdle
		var hosts [4 * maxIdle]string
		for i := range hosts {
			hosts[i] = fmt.Sprint("h", i)
		}
		i := 0
		for b.Loop() {
			p, err := gs.Acquire(ctx, hosts[i%len(hosts)], 0, 1)
			if err != nil {
				b.Fatal(err)
			}
			p.Release(0)
			i++
		}
	})
}
