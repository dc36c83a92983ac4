package browser

import (
	"os"
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
		total, largest, size := memoryUsage(c.cmd.Process.Pid)
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

// memoryUsage returns the memory of all processes in the session of leader, in bytes, and the
// process that has most of it. It leaves out mapped files, such as the program itself,
// which the processes share.
func memoryUsage(leader int) (total int64, largest int, size int64) {
	for _, pid := range listProcesses() {
		if session, err := unix.Getsid(pid); err != nil || session != leader {
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

// listProcesses returns the ids of all processes of the machine.
func listProcesses() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memoryOf returns the anonymous and shared memory of a process in bytes, 0 if it has ended.
func memoryOf(pid int) (sum int64) {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "RssAnon:" && fields[0] != "RssShmem:" {
			continue
		}
		if kB, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			sum += kB << 10
		}
	}
	return sum
}
