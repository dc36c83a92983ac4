package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ticks are the times of all processors since boot, in the unit of the kernel. Only their
// ratios are used.
type ticks struct {
	total, idle, iowait uint64 // idle without iowait
}

// parseStat parses the first line of /proc/stat. Guest time is part of user time, so fields
// after the eighth are ignored.
func parseStat(text string) (ticks, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return ticks{}, fmt.Errorf("/proc/stat begins with %.80q", line)
	}
	var t ticks
	for i, field := range fields[1:min(len(fields), 9)] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil || n > math.MaxInt64/8 {
			return ticks{}, fmt.Errorf("/proc/stat: %.80q is not a time", field)
		}
		t.total += n
		switch i {
		case 3:
			t.idle = n
		case 4:
			t.iowait = n
		}
	}
	return t, nil
}

// sharesSince returns the percentages of the time since an earlier reading in which the processors
// were used and waited for disks; ok is false if no time has passed. The kernel may decrease
// idle and iowait a little.
func (t ticks) sharesSince(since ticks) (used, iowait float64, ok bool) {
	if t.total <= since.total {
		return 0, 0, false
	}
	whole := float64(t.total - since.total)
	part := func(now, was uint64) float64 {
		if now <= was {
			return 0
		}
		return min(float64(now-was)/whole, 1) * 100
	}
	iowait = part(t.iowait, since.iowait)
	return max(100-iowait-part(t.idle, since.idle), 0), iowait, true
}

// parseMeminfo returns MemAvailable of /proc/meminfo in bytes.
func parseMeminfo(text string) (int64, error) { return parseMemory(text, "MemAvailable") }

// parseTotal returns MemTotal of /proc/meminfo in bytes.
func parseTotal(text string) (int64, error) { return parseMemory(text, "MemTotal") }

func parseMemory(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name+":")
		if !found {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) != 2 || fields[1] != "kB" {
			return 0, fmt.Errorf("/proc/meminfo: %.80q", line)
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/1024 {
			return 0, fmt.Errorf("/proc/meminfo: %.80q", line)
		}
		return n * 1024, nil
	}
	return 0, errors.New("/proc/meminfo has no " + name)
}

// parseAverage returns the load average over one minute of /proc/loadavg.
func parseAverage(text string) (float64, error) {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("/proc/loadavg begins with %.80q", first)
	}
	return n, nil
}
