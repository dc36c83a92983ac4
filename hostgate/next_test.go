package hostgate

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	gates, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer gates.Close()
	look := func(delay time.Duration) (time.Duration, bool) {
		t.Helper()
		now := time.Now()
		at, inFlight, err := gates.Next("Host.", delay, 1, now)
		if err != nil {
			t.Fatal(err)
		}
		return at.Sub(now), inFlight
	}
	if wait, inFlight := look(time.Hour); wait != 0 || inFlight {
		t.Errorf("before the first request: %v %t", wait, inFlight)
	}
	pass, err := gates.Acquire(t.Context(), "host", time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	if wait, inFlight := look(time.Second); wait != time.Minute || !inFlight {
		t.Errorf("in flight: %v %t", wait, inFlight)
	}
	if err := pass.Release(time.Hour); err != nil {
		t.Fatal(err)
	}
	if wait, inFlight := look(time.Second); wait <= 50*time.Minute || wait > time.Hour || inFlight {
		t.Errorf("ended: %v %t", wait, inFlight)
	}
}
