package executor

import (
	"fmt"
	"time"
)

// runClock ends jobs whose time is up and queues waiting jobs that are due. It returns when the
// pool closes.
func (l *Local) runClock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
		now := l.cfg.Now()
		next := earlierTime(l.processDueJobs(now), l.warm.retireIdle(now))
		// At most a minute, because the clock may be set meanwhile. Processes that become
		// idle do not wake this loop, so they may live twice their IdleTimeout.
		wait := min(time.Minute, l.cfg.IdleTimeout)
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(l.cfg.Now()), time.Millisecond))
		}
		timer.Reset(wait)
	}
}

// earlierTime returns the earlier of two times; zero means never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// processDueJobs does what is due for jobs at now and returns the time of the next job; zero for never.
func (l *Local) processDueJobs(now time.Time) (next time.Time) {
	var expired, stale []*job
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return next
	}
	// Close waits for the files written below.
	l.work.Add(1)
	defer l.work.Done()
	for _, j := range l.jobs {
		if ttl := j.task.QueueTTL; ttl > 0 && (j.wait != nil || !j.parked.IsZero()) {
			if end := j.status.Queued.Add(ttl); end.After(now) {
				next = earlierTime(next, end)
			} else if l.claimWaitingJob(j) {
				expired = append(expired, j)
				continue
			}
		}
		switch {
		case j.parked.After(now):
			next = earlierTime(next, j.parked)
		case !j.parked.IsZero():
			j.parked = time.Time{}
			st := j.status
			st.State, st.Reason = Queued, "" // its start conditions are checked again
			l.publishStatus(j, st)
			l.enqueueJob(j)
			l.startWaiters(j.task.Type)
		case j.status.State.Over() && j.gone == nil && j.task.ResultTTL > 0:
			if end := j.status.Ended.Add(j.task.ResultTTL); end.After(now) {
				next = earlierTime(next, end)
			} else {
				j.gone = make(chan struct{})
				stale = append(stale, j)
			}
		}
	}
	l.mu.Unlock()
	for _, j := range expired {
		l.mu.Lock()
		st, why := j.status, ""
		if st.State == Waiting {
			why = ", it " + st.Reason
		}
		l.mu.Unlock()
		st.State, st.Ended = Refused, now
		st.Reason = fmt.Sprintf("expired: no start within %v%s", j.task.QueueTTL, why)
		l.finishJob(j, st, nil, nil)
	}
	for _, j := range stale {
		if err := l.forgetJob(j); err != nil {
			l.log.Error("cannot remove an expired result", "op", "executor.sweep", "task", j.task.ID, "error", err)
		}
	}
	return next
}
