package hostgate

import (
	"hash/fnv"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// clock tells the time of this process without the jumps of the wall clock: the wall clock when it
// began, and the monotonic clock of the machine since then, which all processes share. So a gap is as
// long as it should be, even if the clock is set meanwhile.
//
// Only the monotonic clock is ever read afterwards: what passed between two readings of different
// clocks, 6 ms when the process lost its processor there, would shorten the gaps of all hosts.
//
// The zero clock is the wall clock.
type clock struct {
	wall time.Time     // the wall clock at the begin, without a monotonic reading
	up   time.Duration // the monotonic clock of the machine at the begin
	boot uint64        // which start of the machine up counts from; 0: unknown
}

// machine is the clock of this process.
var machine = sync.OnceValue(newClock)

const bootFile = "/proc/sys/kernel/random/boot_id"

// newClock returns the wall clock if the system does not tell its starts apart.
func newClock() clock {
	id, err := os.ReadFile(bootFile)
	if err != nil {
		return clock{}
	}
	up, err := readUptime()
	if err != nil {
		return clock{}
	}
	h := fnv.New64a()
	h.Write(id)
	return clock{wall: time.Now().Round(0), up: up, boot: max(h.Sum64(), 1)}
}

func (c clock) currentTime() time.Time {
	if c.boot == 0 {
		return time.Now()
	}
	up, _ := readUptime() // it worked before
	return c.wall.Add(up - c.up)
}

// readUptime reads the monotonic clock of the machine.
func readUptime() (time.Duration, error) {
	var up unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &up)
	return time.Duration(up.Nano()), err
}

// stamp is a time in a record: of the wall clock, and of the monotonic one.
type stamp struct{ Wall, Up int64 } // nanoseconds; Wall 0: never

func (c clock) stampOf(t time.Time) stamp {
	if t.IsZero() {
		return stamp{}
	}
	return stamp{t.UnixNano(), int64(c.up + t.Sub(c.wall))}
}

// timeOf returns the time of a stamp of the same start of the machine, as this process tells it, or
// that of the wall clock.
func (c clock) timeOf(s stamp, boot uint64) time.Time {
	switch {
	case s.Wall == 0:
		return time.Time{}
	case boot == 0 || boot != c.boot:
		return time.Unix(0, s.Wall)
	}
	return c.wall.Add(time.Duration(s.Up) - c.up)
}
