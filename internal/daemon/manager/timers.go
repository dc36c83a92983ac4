package manager

import (
	"fmt"
	"time"
)

// timer is one periodic job of the loop.
type timer struct {
	name   string
	period func() time.Duration
	do     func(now time.Time)
	last   time.Time // zero: due as soon as the period is above 0
	began  time.Time // of the last run; zero before the first
	always bool      // runs also while suspended
}

// timers are the timers of a loop.
type timers []*timer

// Every declares a periodic job that starts new work. do runs at the start of the loop and
// then once per period, from start to start, regardless of traffic. The period is read at
// every turn; 0 or less turns the job off. The job pauses while the manager is suspended.
func (l *Loop) Every(name string, period func() time.Duration, do func(now time.Time)) {
	l.addTimer(&timer{name: name, period: period, do: do})
}

// Maintain is Every for a job that handles running work. It continues while the manager is
// suspended.
func (l *Loop) Maintain(name string, period func() time.Duration, do func(now time.Time)) {
	l.addTimer(&timer{name: name, period: period, do: do, always: true})
}

func (l *Loop) addTimer(t *timer) {
	if l.timers.findTimer(t.name) != nil {
		panic(fmt.Sprintf("manager %s: timer %s is declared twice", l.cfg.Name, t.name))
	}
	l.timers = append(l.timers, t)
}

// Kick makes a timer due now, unless it is off or paused. Its next period starts then.
func (l *Loop) Kick(name string) {
	if t := l.timers.findTimer(name); t != nil {
		t.last = time.Time{}
	}
}

func (ts timers) findTimer(name string) *timer {
	for _, t := range ts {
		if t.name == name {
			return t
		}
	}
	return nil
}

// timeUntilDue returns the time until t runs; false if it is off or paused.
func (t *timer) timeUntilDue(now time.Time, suspended bool) (time.Duration, bool) {
	period := t.period()
	switch {
	case period <= 0, suspended && !t.always:
		return 0, false
	case t.last.IsZero():
		return 0, true
	}
	// A clock that is set back must not delay the timer by more than a period.
	return min(period, period-now.Sub(t.last)), true
}

func (l *Loop) runTimers(now time.Time) {
	for _, t := range l.timers {
		if left, on := t.timeUntilDue(now, l.Suspended()); on && left <= 0 {
			t.last, t.began = now, now
			l.guardPanic(t.name, func() { t.do(now) })
		}
	}
}

// Schedule is the entry of an Every timer under "schedules" in STAT. Times are UTC, in the
// layout of START_DATE; next is null if the job is off or paused.
type Schedule struct {
	PeriodSeconds float64 `json:"periodSeconds"`
	Last          *string `json:"last"`
	Next          *string `json:"next"`
}

// listSchedules returns the Every timers by name.
func (ts timers) listSchedules(now time.Time, suspended bool) map[string]Schedule {
	text := func(t time.Time) *string {
		s := t.UTC().Format(startDateLayout)
		return &s
	}
	all := map[string]Schedule{}
	for _, t := range ts {
		if t.always {
			continue
		}
		s := Schedule{PeriodSeconds: max(0, t.period().Seconds())}
		if !t.began.IsZero() {
			s.Last = text(t.began)
		}
		if left, on := t.timeUntilDue(now, suspended); on {
			s.Next = text(now.Add(max(0, left)))
		}
		all[t.name] = s
	}
	return all
}

// untilTimer returns the time until the next timer is due, at most maxWait.
func (ts timers) untilTimer(now time.Time, suspended bool) time.Duration {
	wait := maxWait
	for _, t := range ts {
		if left, on := t.timeUntilDue(now, suspended); on {
			wait = min(wait, left)
		}
	}
	return wait
}
