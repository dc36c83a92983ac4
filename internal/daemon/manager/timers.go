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
	began  time.Time // of the last run; zero: none yet
	tend   bool      // goes on while suspended
}

// Every declares a job that starts new work: do runs first when the loop
// starts and then once per period, measured from start to start by the clock,
// busy or not. The period is asked at every turn, so that it may change; 0 or
// less means off. The job rests while the manager is suspended.
func (l *Loop) Every(name string, period func() time.Duration, do func(now time.Time)) {
	l.addTimer(&timer{name: name, period: period, do: do})
}

// Tend is Every for a job that looks after work that runs already; it goes on
// while the manager is suspended.
func (l *Loop) Tend(name string, period func() time.Duration, do func(now time.Time)) {
	l.addTimer(&timer{name: name, period: period, do: do, tend: true})
}

func (l *Loop) addTimer(t *timer) {
	if l.timer(t.name) != nil {
		panic(fmt.Sprintf("manager %s: timer %s is declared twice", l.cfg.Name, t.name))
	}
	l.timers = append(l.timers, t)
}

// Kick makes a timer due now; it runs in this turn or the next, unless it is
// off or rests. Its next period counts from then.
func (l *Loop) Kick(name string) {
	if t := l.timer(name); t != nil {
		t.last = time.Time{}
	}
}

func (l *Loop) timer(name string) *timer {
	for _, t := range l.timers {
		if t.name == name {
			return t
		}
	}
	return nil
}

// due is the time that is left until t runs; false when it is off.
func (l *Loop) due(t *timer, now time.Time) (time.Duration, bool) {
	period := t.period()
	switch {
	case period <= 0, l.suspended && !t.tend:
		return 0, false
	case t.last.IsZero():
		return 0, true
	}
	// A clock that was set back must not stop the timer for that long.
	return min(period, period-now.Sub(t.last)), true
}

func (l *Loop) runTimers(now time.Time) {
	for _, t := range l.timers {
		if left, on := l.due(t, now); on && left <= 0 {
			t.last, t.began = now, now
			l.guard(t.name, func() { t.do(now) })
		}
	}
}

// Schedule is what STAT tells of an Every timer under "schedules". Times are
// UTC, in the form of START_DATE; next is null when the job is off or rests.
type Schedule struct {
	PeriodSeconds float64 `json:"periodSeconds"`
	Last          *string `json:"last"`
	Next          *string `json:"next"`
}

// schedules are the Every timers by name.
func (l *Loop) schedules() map[string]Schedule {
	now := l.Now()
	text := func(t time.Time) *string {
		s := t.UTC().Format(startDateLayout)
		return &s
	}
	all := map[string]Schedule{}
	for _, t := range l.timers {
		if t.tend {
			continue
		}
		s := Schedule{PeriodSeconds: max(0, t.period().Seconds())}
		if !t.began.IsZero() {
			s.Last = text(t.began)
		}
		if left, on := l.due(t, now); on {
			s.Next = text(now.Add(max(0, left)))
		}
		all[t.name] = s
	}
	return all
}

// untilTimer is the time until the next timer is due, at most maxWait.
func (l *Loop) untilTimer(now time.Time) time.Duration {
	wait := maxWait
	for _, t := range l.timers {
		if left, on := l.due(t, now); on {
			wait = min(wait, left)
		}
	}
	return wait
}
