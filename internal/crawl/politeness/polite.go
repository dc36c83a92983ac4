// Package politeness says when the next request to a host may begin.
//
// It is arithmetic alone: a State remembers the last request to a host, and its
// methods answer, for a given now, how long to wait and what to remember next.
// There is no clock, file or network here. Package hostgate above it keeps one
// State per host on disk, with a lock around it, so that the answers hold
// between goroutines, processes and restarts.
//
// The law (docs/spec/crawling.md 7.2, docs/spec/DECISIONS.md 6.1): a request starts no sooner than the
// gap after the end of the one before it. The gap is the longer of the delay
// that the starter asks for and the delay that the last finisher promised,
// since only the latter may have read the host's Crawl-delay.
//
//	s := stored.Settle(now)               // whoever held it before is gone
//	time.Sleep(s.Wait(now, delay))
//	s = s.Begin(time.Now(), delay)        // store, then send the request
//	s = s.Finish(time.Now(), crawlDelay)  // store again
package politeness

import "time"

// MaxDelay is the longest gap kept. A host that asks for more is asking not to
// be crawled, and a State that claims more is damaged.
const MaxDelay = 24 * time.Hour

// State is what is known of a host between two requests. The zero State is a
// host never asked before. Times are wall clock, as other processes read them.
type State struct {
	Start    time.Time     // when the last request began; zero if none did
	End      time.Time     // when the last request ended; zero if none did
	Delay    time.Duration // the gap promised to follow it, 0 to MaxDelay
	InFlight bool          // a request began and its end has not been seen
}

// Settle returns the State as a new sole holder must read it.
//
// A request still in flight belongs to a holder that died. Its server may be
// busy with it, so it counts as ended now, and a whole gap follows. A time after
// now comes from a clock that was set back since; it counts as now too, so that
// nobody waits longer than one gap.
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
	return s
}

// Wait returns how long after now a request may begin that must not overlap
// another: never less than 0, never more than the gap. The State must be
// settled at now.
func (s State) Wait(now time.Time, delay time.Duration) time.Duration {
	return remaining(s.End, now, s.gap(delay))
}

// WaitStart is Wait for a host that bears several requests at once: the gap is
// counted from the start of the last one, ended or not.
func (s State) WaitStart(now time.Time, delay time.Duration) time.Duration {
	return remaining(s.Start, now, s.gap(delay))
}

// Begin returns the State to store before a request that starts at now. The
// delay is kept with it, for the case that its end is never seen.
func (s State) Begin(now time.Time, delay time.Duration) State {
	return State{Start: now, End: s.End, Delay: clamp(delay), InFlight: true}
}

// Finish returns the State to store once a request has ended at now. The delay
// is the gap that must follow, whoever comes next.
func (s State) Finish(now time.Time, delay time.Duration) State {
	return State{Start: s.Start, End: now, Delay: clamp(delay)}
}

// gap returns the longer of what was promised and what is asked for.
func (s State) gap(delay time.Duration) time.Duration {
	return max(clamp(s.Delay), clamp(delay))
}

// remaining returns what is left at now of a gap that began at from.
func remaining(from, now time.Time, gap time.Duration) time.Duration {
	if from.IsZero() {
		return 0
	}
	return min(max(gap-now.Sub(from), 0), gap)
}

func clamp(d time.Duration) time.Duration {
	return min(max(d, 0), MaxDelay)
}
