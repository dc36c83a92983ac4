package hostgate

import (
	"net/netip"
	"testing"
	"time"
)

// Hosts that may not be asked yet keep their pause on another machine: those of a finished, of a killed
// and of a shared request, but no host whose gap is over, and no address.
func TestWaiting(t *testing.T) {
	from, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	ask := func(host string, after time.Duration) *Pass {
		p, err := from.Acquire(t.Context(), host, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if after >= 0 {
			if err := p.Release(after); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	ask("paused.example:8080", time.Hour)
	ask("free.example", 0)
	killed, err := from.Acquire(t.Context(), "killed.example", time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := from.AcquireAddress(t.Context(), "paused.example:8080", netip.MustParseAddr("192.0.2.1"), 0, time.Hour, 1); err != nil {
		t.Fatal(err)
	} else if p != nil {
		_ = p.Release(time.Hour)
	}
	list, err := from.Waiting()
	if err != nil {
		t.Fatal(err)
	}
	byHost := map[string]Waiting{}
	for _, w := range list {
		byHost[w.Host] = w
	}
	paused, dead := byHost["paused.example:8080"], byHost["killed.example"]
	if len(list) != 2 || paused.Wait > time.Hour || paused.Wait < 59*time.Minute || paused.Delay != time.Hour || dead.Wait != time.Minute {
		t.Fatalf("%+v", list)
	}
	if err := killed.Release(0); err != nil {
		t.Fatal(err)
	}

	to, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for range 2 { // it may be repeated
		for _, w := range list {
			if err := to.Wait(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, w := range list {
		now := time.Now()
		if at, inFlight, err := to.Next(w.Host, 0, 1, now); err != nil || inFlight || at.Sub(now) > w.Wait || at.Sub(now) < w.Wait-10*time.Second {
			t.Errorf("%s may be asked in %v, want %v: %v", w.Host, at.Sub(now), w.Wait, err)
		}
	}
	// A longer pause stays.
	if err := to.Wait(t.Context(), Waiting{Host: "paused.example:8080", Wait: time.Second}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if at, _, err := to.Next("paused.example:8080", 0, 1, now); err != nil || at.Sub(now) < 59*time.Minute {
		t.Errorf("paused.example may be asked in %v: %v", at.Sub(now), err)
	}
}
