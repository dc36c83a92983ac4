package childprocess

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of times in /proc/<pid>/stat: 1/100 s for every Linux program.
const clockTick = 10 * time.Millisecond

// Usage is the memory of a process and the processor time that it has used.
type Usage struct {
	RSS int64 // bytes
	CPU time.Duration
}

// Meter reads the usage of a running process. Each read at the start of the open file returns
// current numbers. Only Linux has it.
type Meter struct{ stat *os.File }

// NewMeter opens the meter of a process; close it after use.
func NewMeter(pid int) (*Meter, error) {
	stat, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	return &Meter{stat}, nil
}

// Read fails after the process was reaped.
func (m *Meter) Read() (Usage, error) {
	var buf [1024]byte
	n, err := m.stat.ReadAt(buf[:], 0)
	if n == 0 {
		return Usage{}, err
	}
	return parseStat(buf[:n])
}

// Close closes the meter.
func (m *Meter) Close() error { return m.stat.Close() }

// parseStat parses proc_pid_stat(5). The second field is the program's name in parentheses,
// which may contain parentheses, so fields count from the last closing one.
func parseStat(stat []byte) (Usage, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return Usage{}, fmt.Errorf("process status of %d fields", len(fields))
	}
	number := func(field int) int64 { // numbered as in the manual page, from 1
		n, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return n
	}
	ticks := number(14) + number(15) + number(16) + number(17) // own and waited-for children, user and system
	return Usage{
		RSS: number(24) * int64(os.Getpagesize()),
		CPU: time.Duration(ticks) * clockTick,
	}, nil
}

// StateOf returns the state in a stat file of a process or a thread (proc_pid_stat(5)), 'S' if it has none. The name in
// parentheses before it may have parentheses.
func StateOf(stat []byte) byte {
	if end := bytes.LastIndexByte(stat, ')'); end >= 0 && end+2 < len(stat) {
		return stat[end+2]
	}
	return 'S'
}
