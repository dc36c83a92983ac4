package executor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of times in /proc/<pid>/stat: 1/100 s for every Linux program.
const clockTick = 10 * time.Millisecond

// usage is the memory of a process and the processor time it has used.
type usage struct {
	rss int64 // bytes
	cpu time.Duration
}

// meter reads the usage of a running process. Each read at the start of the open file returns
// current numbers.
type meter struct{ stat *os.File }

func newMeter(pid int) (*meter, error) {
	stat, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	return &meter{stat}, nil
}

// read fails after the process was reaped.
func (m *meter) read() (usage, error) {
	var buf [1024]byte
	n, err := m.stat.ReadAt(buf[:], 0)
	if n == 0 {
		return usage{}, err
	}
	return parseStat(buf[:n])
}

// parseStat parses proc_pid_stat(5). The second field is the program's name in parentheses,
// which may contain parentheses, so fields count from the last closing one.
func parseStat(stat []byte) (usage, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("process status of %d fields", len(fields))
	}
	number := func(field int) int64 { // numbered as in the manual page, from 1
		n, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return n
	}
	ticks := number(14) + number(15) + number(16) + number(17) // own and waited-for children, user and system
	return usage{
		rss: number(24) * int64(os.Getpagesize()),
		cpu: time.Duration(ticks) * clockTick,
	}, nil
}
