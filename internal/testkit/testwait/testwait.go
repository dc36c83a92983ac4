// Package testwait waits for events in tests.
//
//	testwait.Until(t, "the batch ends", func() bool { return job.Done() })
package testwait

import (
	"testing"
	"time"
)

// Deadline is how long Until waits. It only bounds a test that hangs: no test may depend
// on its value. A machine that runs all tests at once is slow, so it is long.
const Deadline = 2 * time.Minute

// Until is UntilWithin with Deadline.
func Until(t testing.TB, event string, condition func() bool) {
	t.Helper()
	UntilWithin(t, Deadline, event, condition)
}

// UntilWithin returns as soon as condition holds. It calls condition from the goroutine of
// the test, every 5 ms, or 1500 times in a deadline above Deadline. It ends the test if
// condition still fails after the deadline. The message names the event.
func UntilWithin(t testing.TB, deadline time.Duration, event string, condition func() bool) {
	t.Helper()
	pause := 5 * time.Millisecond
	if deadline > Deadline {
		pause = deadline / 1500
	}
	for start := time.Now(); !condition(); time.Sleep(pause) {
		if time.Since(start) > deadline {
			t.Fatalf("after %v this has not happened: %s", deadline, event)
		}
	}
}
