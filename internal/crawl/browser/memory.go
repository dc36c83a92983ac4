package browser

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchPeriod is the interval between two checks of the browser's memory.
const watchPeriod = 200 * time.Millisecond

// watchMemory kills the largest process of the browser when all of them together exceed
// limit bytes. Usually that is the renderer of one page, which then fails alone.
func (c *chromium) watchMemory(limit int64) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
		}
		total, largest, size := usage(c.cmd.Process.Pid)
		if total <= limit || largest == 0 {
			continue
		}
		c.mu.Lock()
		c.memory++
		if !c.reaped {
			unix.Kill(largest, unix.SIGKILL)
		}
		c.mu.Unlock()
		c.log.Warn("the browser exceeds its memory limit; its largest process is killed", "limit", limit, "all", total, "process", size)
	}
}

// usage returns the memory of all processes in the session of leader, in bytes, and the
// process that has most of it. It leaves out mapped files, such as the program itself,
// which the processes share.
func usage(leader int) (total int64, largest int, size int64) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0, 0
	}
	for _, path := range stats {
		if sessionOf(path) != leader {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		n := memoryOf(pid)
		total += n
		if n > size {
			largest, size = pid, n
		}
	}
	return total, largest, size
}

// sessionOf reads the session id from a stat file of /proc. It returns 0 on failure.
func sessionOf(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") ")) // after the name of the program
	fields := strings.Fields(string(rest))
	if !found || len(fields) < 4 {
		return 0
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return 0
	}
	return session
}

// memoryOf returns the anonymous and shared memory of a process, in bytes.
func memoryOf(pid int) int64 {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	var sum int64
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64); err == nil {
			sum += n << 10
		}
	}
	return sum
}
