// Package testwait waits for events in tests.
//
//	testwait.Until(t, "the batch ends", func() bool { return job.Done() })
package testwait

import (
	"testing"
	"time"
)

// Deadline is how long Until waits. It only bounds a test that hangs: no test may depend
// on its value.
const Deadline = 30 * time.Second

// Until returns as soon as condition holds. It calls condition every few milliseconds,
// from the goroutine of the test, and ends the test if condition still fails after
// Deadline. The message names the event.
func Until(t testing.TB, event string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > Deadline {
			t.Fatalf("after %v this has not happened: %s", Deadline, event)
		}
	}
}
