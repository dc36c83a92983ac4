package hostgate

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// stored reads the record of host "h".
func stored(t *testing.T, dir string) politeness.State {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, fileName("h")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, _, err := clock{}.readState(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leased makes passes of host "h" until they no longer change its record.
func leased(t *testing.T, gs *Gates, n int) {
	t.Helper()
	for range leaseAfter + 1 {
		time.Sleep(time.Millisecond)
		release(t, acquire(t, gs, "h", 0, n), 0)
	}
	if !gs.isLeased("h") {
		t.Fatal("continuous use begins no lease")
	}
}

func TestLease(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint("concurrency ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				ours, theirs := open(t, dir), open(t, dir)
				leased(t, ours, n)
				before := stored(t, dir)
				for range 5 {
					time.Sleep(time.Millisecond)
					release(t, acquire(t, ours, "h", 0, n), 0)
				}
				if after := stored(t, dir); after != before || !after.InFlight {
					t.Errorf("record %+v, before %+v: a pass of a lease writes", after, before)
				}
				// A pause ends the lease and counts from now, also for other processes.
				p := acquire(t, ours, "h", 0, n)
				end := time.Now()
				release(t, p, time.Second)
				if ours.isLeased("h") {
					t.Error("the lease outlives a pause")
				}
				release(t, acquire(t, theirs, "h", 0, n), 0)
				if gap := time.Since(end); gap < time.Second {
					t.Errorf("a pass after %v, the host asked for a second", gap)
				}
				// Without use the locks are free after leaseTime, and the record has the last end.
				leased(t, ours, n)
				end = time.Now()
				time.Sleep(2 * leaseTime)
				synctest.Wait()
				if s := stored(t, dir); ours.isLeased("h") || s.InFlight || !s.End.Equal(end) || !lockable(t, filepath.Join(dir, fileName("h"))) {
					t.Errorf("an unused lease stays: record %+v, last end %v", s, end)
				}
				// The delay of a caller counts from the last end, not from the end of the lease.
				leased(t, ours, n)
				end = time.Now()
				release(t, acquire(t, theirs, "h", 100*time.Millisecond, 1), 0)
				if gap := time.Since(end); gap < 100*time.Millisecond || gap > 160*time.Millisecond {
					t.Errorf("a caller with a delay of 100ms came after %v", gap)
				}
				// So does a delay in the process of the lease.
				leased(t, ours, n)
				end = time.Now()
				release(t, acquire(t, ours, "h", 100*time.Millisecond, n), 0)
				if gap := time.Since(end); gap < 100*time.Millisecond-leaseTime {
					t.Errorf("a caller of the same process came after %v", gap)
				}
			})
		})
	}
}

// Another process gets its turn although a lease is in use without a pause, and nobody exceeds
// the concurrency.
func TestLeaseYields(t *testing.T) {
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint("concurrency ", n), func(t *testing.T) {
			dir := t.TempDir()
			ours, theirs := open(t, dir), open(t, dir)
			var mu sync.Mutex
			running := 0
			request := func(gs *Gates) {
				p := acquire(t, gs, "h", 0, n)
				mu.Lock()
				running++
				if running > n {
					t.Errorf("%d requests at once, want %d", running, n)
				}
				mu.Unlock()
				time.Sleep(100 * time.Microsecond)
				mu.Lock()
				running--
				mu.Unlock()
				release(t, p, 0)
			}
			done := make(chan struct{})
			var busy sync.WaitGroup
			for range n {
				busy.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							request(ours)
						}
					}
				})
			}
			for range 20 {
				request(theirs)
			}
			close(done)
			busy.Wait()
		})
	}
}

// BenchmarkPass takes and releases the pass of a host without a delay.
func BenchmarkPass(b *testing.B) {
	gs := open(b, b.TempDir())
	for b.Loop() {
		release(b, acquire(b, gs, "h", 0, 1), 0)
	}
}
