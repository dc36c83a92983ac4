package manager

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processUsage returns the usage of this process (docs/spec/daemon.md 4.4): memory RAMV and
// RAMR in bytes, processor time CPUU (user) and CPUS (system) in seconds, THREADS. Values
// that the system does not provide are 0.
func processUsage() map[string]any {
	var virtual, resident int64
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages := bytes.Fields(b)
		if len(pages) > 1 {
			virtual, _ = strconv.ParseInt(string(pages[0]), 10, 64)
			resident, _ = strconv.ParseInt(string(pages[1]), 10, 64)
		}
	}
	threads := 0
	if tasks, err := os.ReadDir("/proc/self/task"); err == nil {
		threads = len(tasks)
	}
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	seconds := func(t syscall.Timeval) float64 {
		return time.Duration(t.Nano()).Round(time.Millisecond).Seconds()
	}
	page := int64(os.Getpagesize())
	return map[string]any{
		"RAMV": virtual * page, "RAMR": resident * page,
		"CPUU": seconds(used.Utime), "CPUS": seconds(used.Stime),
		"THREADS": threads,
	}
}
