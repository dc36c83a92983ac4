package hostgate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// A host that asks for a pause gets it from every process, also if the asking one has died, and although
// requests that ran side by side end without one.
func TestPause(t *testing.T) {
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprint("concurrency ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const pause = time.Hour
				dir := t.TempDir()
				ours, theirs := open(t, dir), open(t, dir)
				leased(t, ours, n)
				var parallel *Pass
				if n > 1 {
					parallel = acquire(t, ours, "h", 0, n)
				}
				p := acquire(t, ours, "h", 0, n)
				p.Busy(pause)
				begin := time.Now()
				release(t, p, 0)
				if parallel != nil {
					parallel.Answered()
					release(t, parallel, 0)
				}
				refused(t, ours, "h", n)
				refused(t, theirs, "h", n)
				if at, _, err := theirs.Next("h", 0, n, begin); err != nil || at.Sub(begin) > pause || at.Sub(begin) < pause-time.Second {
					t.Errorf("Next says %v, %v", at.Sub(begin), err)
				}
				time.Sleep(pause - time.Since(begin))
				q := acquire(t, theirs, "h", 0, n)
				if q.Troubles() != 1 {
					t.Errorf("%d troubles, want 1", q.Troubles())
				}
				_ = q.gate.file.Close() // the process dies: nothing is recorded, the locks are free
				r := acquire(t, ours, "h", 0, n)
				if r.Troubles() != 1 || time.Since(begin) > pause+time.Minute {
					t.Errorf("after a kill: %d troubles, %v after the first answer", r.Troubles(), time.Since(begin))
				}
				r.Answered()
				release(t, r, 0)
				if s := stored(t, dir); s.Troubles != 0 {
					t.Errorf("%d troubles after a good answer", s.Troubles)
				}
			})
		})
	}
}

// Answers that came side by side count as one, and only an answer to a later request ends the row.
func TestTroublesCount(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var s politeness.State
	a, b := s.Begin(now, 0), s.Begin(now, 0)
	s = b.Busy(now, 2*time.Second, a).Busy(now, time.Second, b)
	if s.Troubles != 1 || !s.Until.Equal(now.Add(2*time.Second)) {
		t.Errorf("side by side: %d troubles, until %v", s.Troubles, s.Until)
	}
	if s = s.Answered(a); s.Troubles != 1 {
		t.Error("an answer to an earlier request ends the row")
	}
	c := s.Begin(now, 0)
	if s = c.Busy(now, 0, c); s.Troubles != 2 || !s.Until.Equal(now.Add(2*time.Second)) {
		t.Errorf("the next one: %d troubles, until %v", s.Troubles, s.Until)
	}
	if s = s.Answered(s); s.Troubles != 0 {
		t.Error("an answer does not end the row")
	}
	s.Until = now.Add(1000 * time.Hour) // a damaged record, or the clock was set
	if wait := s.Settle(now).Wait(now, 0); wait != politeness.MaxDelay {
		t.Errorf("waits for %v", wait)
	}
}
