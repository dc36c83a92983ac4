package hostgate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hce/dc/internal/crawl/politeness"
)

var testAddress = netip.MustParseAddr("192.0.2.1")

// A request holds the gate of its address if many names have used it, or a name is new there.
func TestAddressIsShared(t *testing.T) {
	const limit = 4
	names := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("host", i, ".test"))
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		earlier []string // names that used the address
		ago     time.Duration
		asks    string
		want    bool
	}{
		{"first name: others may follow at once", nil, 0, "host0.test", true},
		{"a number alone", nil, 0, "192.0.2.1", false},
		{"a number in brackets alone", nil, 0, "[2001:db8::1]", false},
		{"a number besides a name that is new", names(1), time.Second, "192.0.2.1", true},
		{"the only name, later", names(1), time.Minute, "host0.test", false},
		{"as many names as the limit", names(limit), time.Minute, "host0.test", false},
		{"a name in other letters, with a final dot", names(limit), time.Minute, "HOST1.test.", false},
		{"one name more", names(limit), time.Minute, "another.test", true},
		{"more names than the limit", names(limit + 1), time.Minute, "host0.test", true},
		{"more names, a number", names(limit + 1), time.Minute, "192.0.2.1", true},
		{"more names than places", names(3 * maxNames), time.Minute, "host0.test", true},
		{"more names, at the end of the day", names(limit + 1), nameAge - time.Minute, "host0.test", true},
		{"names of yesterday, a new one", names(limit + 1), nameAge + time.Minute, "host0.test", true}, // it is new again
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				ours, theirs := open(t, dir), open(t, dir)
				for _, name := range tt.earlier {
					releaseShared(t, acquireAddress(t, theirs, name, limit))
				}
				time.Sleep(tt.ago)
				p := acquireAddress(t, ours, tt.asks, limit)
				if (p != nil) != tt.want {
					t.Errorf("shared: %t", p != nil)
				}
				releaseShared(t, p)
			})
		})
	}
}

func acquireAddress(t *testing.T, gs *Gates, name string, limit int) *Pass {
	t.Helper()
	p, err := gs.AcquireAddress(t.Context(), name, testAddress, limit, time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func releaseShared(t *testing.T, p *Pass) {
	t.Helper()
	if p != nil {
		release(t, p, time.Millisecond)
	}
}

// Names of yesterday do not count: an address that had many and has few now is not shared.
func TestNamesAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gs := open(t, t.TempDir())
		for i := range 10 {
			releaseShared(t, acquireAddress(t, gs, fmt.Sprint("old", i), 4))
		}
		time.Sleep(nameAge)
		releaseShared(t, acquireAddress(t, gs, "new", 4))
		time.Sleep(nameSettle)
		if p := acquireAddress(t, gs, "new", 4); p != nil {
			t.Error("names of yesterday share the address")
		}
		// A name that is used all the time stays one of them.
		for range 30 {
			time.Sleep(nameRefresh + time.Second)
			releaseShared(t, acquireAddress(t, gs, "new", 0))
		}
		if p := acquireAddress(t, gs, "new", 0); p == nil {
			t.Error("a name in use does not count")
		}
	})
}

// Requests to twenty names of one address do not overlap and are a delay apart, from the first one
// on, whichever process sends them.
func TestManyNamesOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		dir := t.TempDir()
		processes := []*Gates{open(t, dir), open(t, dir), open(t, dir)}
		var mu sync.Mutex
		var last time.Time
		busy, total := false, 0
		var group sync.WaitGroup
		for i := range 20 {
			gs, name := processes[i%3], fmt.Sprint("host", i)
			group.Go(func() {
				for range 3 {
					host := acquire(t, gs, name, delay, 1)
					p, err := gs.AcquireAddress(context.Background(), name, testAddress, 4, delay, 1)
					if err != nil || p == nil {
						t.Errorf("no pass: %v", err)
						return
					}
					mu.Lock()
					if gap := time.Since(last); busy || total > 0 && gap < delay {
						t.Errorf("%s comes %v after the last request (still running: %t)", name, gap, busy)
					}
					busy = true
					total++
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					busy, last = false, time.Now()
					mu.Unlock()
					release(t, p, delay)
					release(t, host, delay)
				}
			})
		}
		group.Wait()
		if total != 60 {
			t.Errorf("%d requests", total)
		}
	})
}

// A caller that stops waiting has no Pass, and a swept file is made again with its names.
func TestAddressGateOfAnEndedCaller(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir), open(t, dir)
	p := acquireAddress(t, ours, "a", 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := theirs.AcquireAddress(ctx, "b", testAddress, 0, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	releaseShared(t, p)
	if removed, err := sweepFile(filepath.Join(dir, fileName("address 192.0.2.1")), time.Now().Add(politeness.MaxDelay)); !removed || err != nil {
		t.Fatalf("removed %t, %v", removed, err)
	}
	q := acquireAddress(t, theirs, "b", 0)
	if q == nil {
		t.Fatal("no pass after a sweep")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ours.AcquireAddress(ctx, "a", testAddress, 0, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a removed file is in use: %v", err)
	}
	releaseShared(t, q)
	ours.Close()
	if _, err := ours.AcquireAddress(t.Context(), "a", testAddress, 0, 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

// Processes of six names are killed at random moments. The server sees one request at a time, and
// each gap; a request whose process died ends when the next one looks, a moment before the server
// notices.
func TestKilledNames(t *testing.T) {
	const (
		delay = 100 * time.Millisecond
		lag   = 60 * time.Millisecond // of a request that a process sent right before its end
	)
	w := &witness{shortest: time.Hour}
	srv := httptest.NewServer(w)
	defer srv.Close()
	dir := t.TempDir()
	spawn := func(i int) *exec.Cmd { return childOf(t, fmt.Sprint("host", i), dir, srv.URL, delay, 1000, 1) }
	var all []*exec.Cmd
	for i := range 6 {
		all = append(all, spawn(i))
	}
	for kill := range 12 {
		time.Sleep(rand.N(2 * delay)) // any moment will do
		i := kill % len(all)
		all[i].Process.Kill()
		all[i].Wait()
		all[i] = spawn(i)
	}
	for _, cmd := range all {
		cmd.Process.Kill()
		cmd.Wait()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.max != 1 || w.shortest < delay-lag || w.total < 3 {
		t.Errorf("%d requests, %d at once, shortest gap %v, want %v", w.total, w.max, w.shortest, delay)
	}
	t.Logf("%d requests, shortest gap %v", w.total, w.shortest)
}
