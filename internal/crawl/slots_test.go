package crawl

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Ten slow hosts do not keep a quick one from its next request; new hosts leave it a slot.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(4, 8)
		var turned []string
		s.turned = func(host string) { turned = append(turned, host) }
		acquire := func(host string) *slot {
			t.Helper()
			got, err := s.acquireSlot(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		full := func(host string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), slowAfter/4)
			defer cancel()
			if got, err := s.acquireSlot(ctx, host); err == nil {
				t.Errorf("%s got a slot of kind %v", host, got.kind)
			}
		}
		acquire("quick").releaseSlot()
		var slow []*slot
		for _, host := range []string{"a", "b", "c"} {
			slow = append(slow, acquire(host))
		}
		full("d") // new hosts have three of four slots
		acquire("quick").releaseSlot()
		time.Sleep(slowAfter)
		synctest.Wait()
		if len(turned) != 3 || s.paceOf("a") != paceSlow || !s.hasSlow() {
			t.Errorf("slow hosts %v", turned)
		}
		for _, host := range []string{"d", "e", "f", "a", "b"} { // a second request of a and b
			slow = append(slow, acquire(host))
		}
		time.Sleep(slowAfter)
		synctest.Wait()
		for _, host := range []string{"g", "h", "i"} { // with these the slow slots are too few
			slow = append(slow, acquire(host))
		}
		time.Sleep(slowAfter)
		synctest.Wait()
		full("j")
		full("a")
		acquire("quick").releaseSlot()
		slow[0].endRequest()
		slow[0].releaseSlot() // i becomes slow, a new host has its place
		acquire("j").releaseSlot()
		for _, one := range slow[1:] {
			one.releaseSlot()
		}
		if s.hasSlow() || s.running != [3]int{} || len(s.overdue) > 0 || len(s.waiting[paceNew]) > 0 {
			t.Errorf("at the end %+v", s)
		}
		if len(turned) != 9 {
			t.Errorf("slow hosts %v", turned)
		}
	})
}
