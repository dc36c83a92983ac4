package hostgate

import (
	"hash/fnv"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// clock tells the time of this process without the jumps of the wall clock: it begins with the
// wall clock, and goes on with the monotonic clock of the machine, which all processes share. So a
// gap is as long as it should be although somebody sets the clock while it lasts.
//
// The zero clock is the wall clock.
type clock struct {
	wall  time.Time     // the wall clock at the begin, without a monotonic reading
	begin time.Time     // the same, with one
	up    time.Duration // the monotonic clock of the machine at the begin
	boot  uint64        // which start of the machine up counts from; 0: unknown
}

// machine is the clock of this process.
var machine = sync.OnceValue(newClock)

const bootFile = "/proc/sys/kernel/random/boot_id"

// newClock returns the wall clock if the system does not tell its starts apart.
func newClock() clock {
	id, err := os.ReadFile(bootFile)
	var up unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &up) != nil {
		return clock{}
	}
	h := fnv.New64a()
	h.Write(id)
	begin := time.Now()
	return clock{wall: begin.Round(0), begin: begin, up: time.Duration(up.Nano()), boot: max(h.Sum64(), 1)}
}

func (c clock) now() time.Time {
	if c.boot == 0 {
		return time.Now()
	}
	return c.wall.Add(time.Since(c.begin))
}

// stamp is a time in a record: of the wall clock, and of the monotonic one.
type stamp struct{ Wall, Up int64 } // nanoseconds; Wall 0: never

func (c clock) stamp(t time.Time) stamp {
	if t.IsZero() {
		return stamp{}
	}
	return stamp{t.UnixNano(), int64(c.up + t.Sub(c.wall))}
}

// time returns the time of a stamp of the same start of the machine, as this process tells it, or
// that of the wall clock.
func (c clock) time(s stamp, boot uint64) time.Time {
	switch {
	case s.Wall == 0:
		return time.Time{}
	case boot == 0 || boot != c.boot:
		return time.Unix(0, s.Wall)
	}
	return c.wall.Add(time.Duration(s.Up) - c.up)
}
