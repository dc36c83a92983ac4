package process

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/testwait"
)

// startWords starts a program that ends with the test.
func startWords(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	ended, err := childprocess.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return cmd
}

// The clock of a page goes on while its worker waits. It stands while the worker works, waits for a processor that
// others use, or is stopped, and while this process stood still.
func TestWaitClock(t *testing.T) {
	sleeping := startWords(t, "sleep", "600").Process
	testwait.Until(t, "it sleeps", func() bool { return isWaiting(sleeping.Pid) })
	working := startWords(t, "nice", "-n", "19", "sh", "-c", "while :; do :; done").Process
	testwait.Until(t, "it works", func() bool { return !isWaiting(working.Pid) })
	for range 2 * runtime.NumCPU() { // the processors are busy, so the one with the lowest priority waits
		startWords(t, "sh", "-c", "while :; do :; done")
	}
	start := time.Now()
	clocks := map[string]*waitClock{"sleeping": {pid: sleeping.Pid, last: start}, "working": {pid: working.Pid, last: start}}
	look := func(after time.Duration) {
		for _, c := range clocks {
			c.tickTime(start.Add(after))
		}
	}
	for i := range 10 {
		look(time.Duration(i+1) * tick)
	}
	if got := clocks["sleeping"].waited; got != 10*tick {
		t.Errorf("a sleeping worker has waited %v", got)
	}
	look(time.Hour) // this process was frozen
	if got := clocks["sleeping"].waited; got != 12*tick {
		t.Errorf("after an hour without a look it has waited %v", got)
	}
	if got := clocks["working"].waited; got > 2*tick {
		t.Errorf("a worker without a processor has waited %v", got)
	}
	if err := sleeping.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "it is stopped", func() bool { return !isWaiting(sleeping.Pid) })
	look(time.Hour + tick)
	if got := clocks["sleeping"].waited; got != 12*tick {
		t.Errorf("a stopped worker has waited %v", got)
	}
	if err := sleeping.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "it sleeps again", func() bool { return isWaiting(sleeping.Pid) })
}
