package executor

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/daemon/load"
)

// shortage is why a task cannot start now; an empty reason means that it can.
type shortage struct {
	reason    string
	measuring bool // only because there is no measurement yet; it does not count as a look
}

// findShortage compares f with the conditions. An unknown figure passes: a machine without /proc
// can still crawl.
func (c Conditions) findShortage(f load.Figures) shortage {
	var lacks []string
	if c.MinRAM > 0 && f.FreeRAM != load.Unknown && f.FreeRAM < c.MinRAM {
		lacks = append(lacks, fmt.Sprintf("%s of memory are free, at least %s", bytesText(f.FreeRAM), bytesText(c.MinRAM)))
	}
	if c.MaxCPU > 0 && f.CPU != load.Unknown && f.CPU >= float64(c.MaxCPU) {
		lacks = append(lacks, fmt.Sprintf("%s of the processors are in use, at most %d%%", percentText(f.CPU), c.MaxCPU))
	}
	if c.MaxIOWait > 0 && f.IOWait != load.Unknown && f.IOWait > float64(c.MaxIOWait) {
		lacks = append(lacks, fmt.Sprintf("%s of the time is spent waiting for disks, at most %d%%", percentText(f.IOWait), c.MaxIOWait))
	}
	switch {
	case len(lacks) > 0:
		return shortage{reason: strings.Join(lacks, "; ")}
	case f.Measuring && (c.MaxCPU > 0 || c.MaxIOWait > 0):
		return shortage{reason: "the use of the processors is being measured", measuring: true}
	}
	return shortage{}
}

// Shortage returns why a task may not start on a machine with those figures, "" if it may, and the
// time until the next look. measuring: only because there is no measurement yet, which does not
// count as a look. An unknown figure passes.
func (c Conditions) Shortage(f load.Figures) (reason string, pause time.Duration, measuring bool) {
	h := c.findShortage(f)
	return h.reason, c.pauseAfter(h), h.measuring
}

// pauseAfter returns the time until the next look after a look with result h.
func (c Conditions) pauseAfter(h shortage) time.Duration {
	if h.measuring {
		return load.Interval
	}
	return cmp.Or(c.RetryDelay, time.Second)
}

// percentText formats a percentage with at most one decimal.
func percentText(share float64) string {
	return strconv.FormatFloat(math.Round(share*10)/10, 'f', -1, 64) + "%"
}

// bytesText formats an amount of memory in MB (10^6 bytes), or in bytes below 1 MB.
func bytesText(n int64) string {
	const mega = 1e6
	if n < mega {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%s MB", strconv.FormatFloat(math.Floor(float64(n)/mega*10)/10, 'f', -1, 64))
}

// checkStarts reports whether j, for which a slot is free, may start. Otherwise j has left the lane:
// it waits for its next look, or is refused. Call it with l.mu held and the pool open.
func (l *Local) checkStarts(j *job) bool {
	start := j.task.Start
	if start.MinRAM > 0 || start.MaxCPU > 0 || start.MaxIOWait > 0 {
		l.wantLoad(time.Now())
	}
	h := start.findShortage(l.cfg.Load.Figures())
	if h.reason == "" {
		return true
	}
	j.wait = nil
	if !h.measuring {
		j.looks++
	}
	st := j.status
	if start.Retries == 0 || j.looks < start.Retries {
		j.parked = l.cfg.Now().Add(start.pauseAfter(h))
		st.State, st.Reason = Waiting, "waits for resources: "+h.reason
		l.publishStatus(j, st)
		return false
	}
	st.State, st.Ended = Refused, l.cfg.Now()
	st.Reason = fmt.Sprintf("schedule tries exceeded: %d looks, at the last one %s", j.looks, h.reason)
	l.work.Go(func() { l.finishJob(j, st, nil, nil) }) // this goroutine owns j now
	return false
}

// restAfter is how long after the last look at a task with start conditions the machine is
// sampled often, and restInterval how often it is sampled then.
const (
	restAfter    = 10 * time.Second
	restInterval = 30 * time.Second
)

// wantLoad makes measure sample the machine once per interval again. Call it with l.mu held.
func (l *Local) wantLoad(now time.Time) {
	resting := now.Sub(l.looked) > restAfter
	l.looked = now
	if !resting {
		return
	}
	_ = l.cfg.Load.Sample() // the last one is old; measure logs errors
	select {
	case l.needLoad <- struct{}{}:
	default:
	}
}

// measureLoad samples the machine once per interval until the pool closes, and rarely while no
// task asks for the load. failed is the result of the previous sample: a failure is logged
// once, until a sample succeeds.
func (l *Local) measureLoad(failed bool) {
	timer := time.NewTimer(load.Interval)
	defer timer.Stop()
	for ; ; failed = l.sampleLoad(failed) {
		select {
		case <-l.ctx.Done():
			return
		case <-l.needLoad:
		case <-timer.C:
		}
		l.mu.Lock()
		wait := load.Interval
		if time.Since(l.looked) > restAfter {
			wait = restInterval
		}
		l.mu.Unlock()
		timer.Reset(wait)
	}
}

// sampleLoad takes one sample, logs its first failure and reports whether it failed.
func (l *Local) sampleLoad(failedBefore bool) (failed bool) {
	err := l.cfg.Load.Sample()
	if err != nil && !failedBefore {
		l.log.Warn("cannot read the load of this machine; start conditions without a figure pass", "op", "executor.measure", "error", err)
	}
	return err != nil
}
