package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is the resource usage of a process tree.
type Usage struct {
	CPU       time.Duration // user and system, with ended children
	RSS       int64         // bytes now; shared pages count twice
	Processes int
}

// process is one line of /proc/<pid>/stat, in kernel units.
type process struct {
	parent int
	ticks  int64 // with children that were waited for
	pages  int64
}

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for all programs.
const ticksPerSecond = 100

// TreeUsage sums up the process pid and its descendants from /proc. It fails without /proc
// and if pid has ended.
func TreeUsage(pid int) (Usage, error) {
	all, err := readProcesses()
	if err != nil {
		return Usage{}, fmt.Errorf("read process tree: %w", err)
	}
	if _, ok := all[pid]; !ok {
		return Usage{}, fmt.Errorf("read process tree: process %d: %w", pid, os.ErrNotExist)
	}
	var sum Usage
	for _, member := range append(collectDescendants(all, pid), pid) {
		p := all[member]
		sum.CPU += time.Duration(p.ticks) * time.Second / ticksPerSecond
		sum.RSS += p.pages * int64(os.Getpagesize())
		sum.Processes++
	}
	return sum, nil
}

// descendantsOf lists the processes below pid, nil without /proc.
func descendantsOf(pid int) []int {
	all, err := readProcesses()
	if err != nil {
		return nil
	}
	return collectDescendants(all, pid)
}

func collectDescendants(all map[int]process, pid int) []int {
	var found []int
	for child, p := range all {
		if p.parent == pid {
			found = append(append(found, child), collectDescendants(all, child)...)
		}
	}
	return found
}

// readProcesses reads the state of every visible process.
func readProcesses() (map[int]process, error) {
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New("/proc has no processes")
	}
	all := make(map[int]process, len(entries))
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil {
			continue
		}
		if p, ok := parseStat(string(text)); ok {
			all[pid] = p
		}
	}
	return all, nil
}

// parseStat parses a line of proc(5) stat. The program name is in parentheses and may
// contain spaces and parentheses.
func parseStat(line string) (process, bool) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return process{}, false
	}
	fields := strings.Fields(line[end+1:])
	const first = 3 // number of fields[0] in proc(5)
	number := func(n int) int64 {
		if n-first >= len(fields) {
			return 0
		}
		value, _ := strconv.ParseInt(fields[n-first], 10, 64)
		return value
	}
	if len(fields) <= 24-first {
		return process{}, false
	}
	return process{
		parent: int(number(4)),
		ticks:  number(14) + number(15) + number(16) + number(17),
		pages:  number(24),
	}, true
}

// WatchPeak calls TreeUsage at each step until ctx ends and returns the highest RSS, 0 if
// TreeUsage fails.
func WatchPeak(ctx context.Context, pid int, step time.Duration) int64 {
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	var peak int64
	for {
		if usage, err := TreeUsage(pid); err == nil {
			peak = max(peak, usage.RSS)
		}
		select {
		case <-ctx.Done():
			return peak
		case <-ticker.C:
		}
	}
}
