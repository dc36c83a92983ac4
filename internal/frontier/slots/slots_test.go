package slots

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Ten slow hosts do not keep a quick one from its next request; new hosts leave it a slot.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(4, 8)
		var turned []string
		s.Turned = func(host string) { turned = append(turned, host) }
		acquire := func(host string) *Slot {
			t.Helper()
			got, err := s.AcquireSlot(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		full := func(host string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), SlowAfter/4)
			defer cancel()
			if got, err := s.AcquireSlot(ctx, host); err == nil {
				t.Errorf("%s got a slot of kind %v", host, got.kind)
			}
		}
		acquire("quick").ReleaseSlot()
		var slow []*Slot
		for _, host := range []string{"a", "b", "c"} {
			slow = append(slow, acquire(host))
		}
		full("d") // new hosts have three of four slots
		acquire("quick").ReleaseSlot()
		time.Sleep(SlowAfter)
		synctest.Wait()
		if len(turned) != 3 || s.PaceOf("a") != PaceSlow || !s.HasSlow() {
			t.Errorf("slow hosts %v", turned)
		}
		for _, host := range []string{"d", "e", "f", "a", "b"} { // a second request of a and b
			slow = append(slow, acquire(host))
		}
		time.Sleep(SlowAfter)
		synctest.Wait()
		for _, host := range []string{"g", "h", "i"} { // with these the slow slots are too few
			slow = append(slow, acquire(host))
		}
		time.Sleep(SlowAfter)
		synctest.Wait()
		full("j")
		full("a")
		acquire("quick").ReleaseSlot()
		slow[0].EndRequest()
		slow[0].ReleaseSlot() // i becomes slow, a new host has its place
		acquire("j").ReleaseSlot()
		for _, one := range slow[1:] {
			one.ReleaseSlot()
		}
		if s.HasSlow() || s.running != [3]int{} || len(s.overdue) > 0 || len(s.waiting[PaceNew]) > 0 {
			t.Errorf("at the end %+v", s)
		}
		if len(turned) != 9 {
			t.Errorf("slow hosts %v", turned)
		}
	})
}
