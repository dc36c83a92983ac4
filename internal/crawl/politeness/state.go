// Package politeness computes when the next request to a host may start.
//
// It is pure arithmetic: a State stores the last request to a host, and its methods return,
// for a given now, how long to wait and what to store next. The package has no clock, file
// or network. Package hostgate keeps one State per host on disk under a lock, for all
// goroutines, processes and restarts.
//
// The rule (docs/spec/crawling.md 7.2, docs/spec/DECISIONS.md 6.1): a request starts no
// sooner than one gap after the end of the last one. The gap is the longer of two delays:
// that of the starting request and that of the last finished one. Only the latter may know
// the host's Crawl-delay.
//
//	s := stored.Settle(now)               // the last holder is gone
//	time.Sleep(s.Wait(now, delay))
//	s = s.Begin(time.Now(), delay)        // store, then send the request
//	s = s.Finish(time.Now(), crawlDelay)  // store again
//
// A host that answers "later" gets a pause (Busy), which holds all its requests.
package politeness

import "time"

// MaxDelay is the longest gap. A State with a longer one is damaged, and a host that asks
// for more does not want to be crawled.
const MaxDelay = 24 * time.Hour

// KeptDelay bounds the gap of the last request that still holds if the next one has no end.
const KeptDelay = time.Minute

// State is what is stored for a host between two requests. The zero State is a host without
// requests. Times are wall clock times, since other processes read them.
type State struct {
	Start    time.Time     // start of the last request; zero if there was none
	End      time.Time     // end of the last request; zero if there was none
	Delay    time.Duration // gap after the last request, 0 to MaxDelay
	InFlight bool          // a request has started and its end is not recorded
	Until    time.Time     // end of the pause that the host asked for; zero: none
	Troubles uint32        // answers in a row that ask to come back later
}

// Settle returns the State for a new exclusive holder.
//
// A request in flight belongs to a holder that died. Its server may still be busy, so the
// request counts as ended now, and a whole gap follows. A time after now is from before the
// clock was set back. It counts as now too, so that no wait exceeds one gap. A pause ends within
// MaxDelay.
func (s State) Settle(now time.Time) State {
	if s.InFlight {
		s.End, s.InFlight = now, false
	}
	if s.Start.After(now) {
		s.Start = now
	}
	if s.End.After(now) {
		s.End = now
	}
	if last := now.Add(MaxDelay); s.Until.After(last) {
		s.Until = last
	}
	return s
}

// Wait returns how long after now a request may start that must not overlap another: the rest of one
// gap and of the host's pause. The State must be settled at now.
func (s State) Wait(now time.Time, delay time.Duration) time.Duration {
	return max(remainingGap(s.End, now, s.longerGap(delay)), s.Until.Sub(now))
}

// WaitStart is Wait for a host with concurrent requests: the gap counts from the start of
// the last one, ended or not.
func (s State) WaitStart(now time.Time, delay time.Duration) time.Duration {
	return max(remainingGap(s.Start, now, s.longerGap(delay)), s.Until.Sub(now))
}

// Begin returns the State to store before a request that starts at now. It contains delay, or what
// the host asked for last if that is longer, in case the end is never recorded. A pause longer than
// KeptDelay was obeyed once, and a kill does not repeat it.
func (s State) Begin(now time.Time, delay time.Duration) State {
	s.Start, s.Delay, s.InFlight = now, max(clampDelay(delay), min(clampDelay(s.Delay), KeptDelay)), true
	return s
}

// Finish returns the State to store after a request that ended at now. delay is the gap
// before the next request of any caller.
func (s State) Finish(now time.Time, delay time.Duration) State {
	s.End, s.Delay, s.InFlight = now, clampDelay(delay), false
	return s
}

// Busy returns the State after an answer at now that asks to come back after a pause, 0 for the usual
// gap. begun is the State that the request began with: answers to requests that ran side by side
// count as one.
func (s State) Busy(now time.Time, pause time.Duration, begun State) State {
	s.Troubles = max(s.Troubles, begun.Troubles+1)
	if until := now.Add(clampDelay(pause)); pause > 0 && until.After(s.Until) {
		s.Until = until
	}
	return s
}

// Answered returns the State after any other answer. It ends a row of troubles, unless one came after
// the request began.
func (s State) Answered(begun State) State {
	if s.Troubles == begun.Troubles {
		s.Troubles = 0
	}
	return s
}

// longerGap returns the longer of the stored delay and delay.
func (s State) longerGap(delay time.Duration) time.Duration {
	return max(clampDelay(s.Delay), clampDelay(delay))
}

// remainingGap returns the rest at now of a gap that started at from.
func remainingGap(from, now time.Time, gap time.Duration) time.Duration {
	if from.IsZero() {
		return 0
	}
	return min(max(gap-now.Sub(from), 0), gap)
}

func clampDelay(d time.Duration) time.Duration {
	return min(max(d, 0), MaxDelay)
}
