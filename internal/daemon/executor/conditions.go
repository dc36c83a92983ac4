package executor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/daemon/load"
)

// held is why a task may not begin now; without a reason it may.
type held struct {
	reason    string
	measuring bool // only because the node has not been measured yet: it is no look
}

const (
	waitsFor      = "waits for resources: "
	triesExceeded = "schedule tries exceeded: "
)

// hold tells what c finds too little of in f. A figure that the system does not
// tell is enough: a machine without /proc still crawls.
func (c Conditions) hold(f load.Figures) held {
	var lacks []string
	if c.MinRAM > 0 && f.FreeRAM != load.Unknown && f.FreeRAM < c.MinRAM {
		lacks = append(lacks, fmt.Sprintf("%s of memory are free, at least %s", bytesText(f.FreeRAM), bytesText(c.MinRAM)))
	}
	if c.MaxCPU > 0 && f.CPU != load.Unknown && f.CPU >= c.MaxCPU {
		lacks = append(lacks, fmt.Sprintf("%s of the processors are in use, at most %s", percentText(f.CPU), percentText(c.MaxCPU)))
	}
	if c.MaxIOWait > 0 && f.IOWait != load.Unknown && f.IOWait > c.MaxIOWait {
		lacks = append(lacks, fmt.Sprintf("%s of the time is spent waiting for disks, at most %s", percentText(f.IOWait), percentText(c.MaxIOWait)))
	}
	switch {
	case len(lacks) > 0:
		return held{reason: strings.Join(lacks, "; ")}
	case f.Measuring && (c.MaxCPU > 0 || c.MaxIOWait > 0):
		return held{reason: "the use of the processors is being measured", measuring: true}
	}
	return held{}
}

// pause is the time from a look with outcome h to the next.
func (c Conditions) pause(h held) time.Duration {
	if h.measuring {
		return load.Interval
	}
	if c.RetryDelay > 0 {
		return c.RetryDelay
	}
	return time.Second
}

// exceeded tells whether so many looks were the last.
func (c Conditions) exceeded(looks int) bool { return c.Retries > 0 && looks >= c.Retries }

// givenUp is the reason of a refusal after the last look.
func (h held) givenUp(looks int) string {
	return fmt.Sprintf("%s%d looks, at the last one %s", triesExceeded, looks, h.reason)
}

// percentText shows a share with one decimal at most.
func percentText(share float64) string {
	return strconv.FormatFloat(math.Round(share*10)/10, 'f', -1, 64) + "%"
}

// bytesText shows an amount of memory in MB (10^6 bytes), a small one in bytes.
func bytesText(n int64) string {
	const mega = 1e6
	if n < mega {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%s MB", strconv.FormatFloat(math.Floor(float64(n)/mega*10)/10, 'f', -1, 64))
}

// look tells whether j, for which a slot is free, may begin. If not, j leaves
// the lane with it: it waits for the next look without a slot, or is refused.
// l.mu is held, the pool is not closing.
func (l *Local) look(j *job) bool {
	start := j.task.Start
	h := start.hold(l.cfg.Load.Figures())
	if h.reason == "" {
		return true
	}
	j.wait = nil
	if !h.measuring {
		j.looks++
	}
	st := j.status
	if !start.exceeded(j.looks) {
		j.parked = l.cfg.Now().Add(start.pause(h))
		st.State, st.Reason = Waiting, waitsFor+h.reason
		l.publish(j, st)
		return false
	}
	st.State, st.Reason, st.Ended = Refused, h.givenUp(j.looks), l.cfg.Now()
	l.work.Add(1)
	go func() { // the owner of j from here on
		defer l.work.Done()
		l.finish(j, st, nil, nil)
	}()
	return false
}

// measure samples the machine until the pool closes, once per interval for all
// tasks. What cannot be read is told once, until it can be read again.
func (l *Local) measure(told bool) {
	ticker := time.NewTicker(load.Interval)
	defer ticker.Stop()
	for ; ; told = l.sample(told) {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sample takes one sample and tells whether something is unreadable now.
func (l *Local) sample(told bool) (unreadable bool) {
	err := l.cfg.Load.Sample()
	if err != nil && !told {
		l.log.Warn("this machine's load cannot be read: start conditions that need it hold", "op", "env.measure", "error", err)
	}
	return err != nil
}
