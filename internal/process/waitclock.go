package process

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"hce/dc/internal/childprocess"
)

// waitClock counts the time that a worker spends waiting for something else than a processor. It stands while a
// thread of the worker runs or could run, is stopped (SIGSTOP, a debugger) or waits for a disk, and while this
// process stood still itself, such as in a frozen container or a suspended machine: on a busy machine a page loses nothing.
type waitClock struct {
	pid    int
	last   time.Time
	waited time.Duration
}

// tickTime is called each tick. It returns the time so far.
func (c *waitClock) tickTime(now time.Time) time.Duration {
	since := min(now.Sub(c.last), 2*tick) // a longer one: nothing was seen of it
	c.last = now
	if isWaiting(c.pid) {
		c.waited += since
	}
	return c.waited
}

// isWaiting reports whether all threads of a process sleep. It is true if this system does not tell.
func isWaiting(pid int) bool {
	stats, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if state := childprocess.StateOf(text); err == nil && state != 'S' && state != 'I' {
			return false
		}
	}
	return true
}
