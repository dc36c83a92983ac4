package executor

import "time"

// State is where a task stands.
type State string

// States of a task. Source: docs/spec/daemon.md 5.3.
const (
	Queued    State = "queued"    // accepted, waits for a slot
	Waiting   State = "waiting"   // waits for its next attempt, or until its start conditions hold
	Running   State = "running"   // holds a slot
	Finished  State = "finished"  // every stage answered
	Failed    State = "failed"    // a stage ended, or broke the rules, instead of answering
	TimedOut  State = "timed out" // killed at its time limit
	Cancelled State = "cancelled" // stopped on request
	Lost      State = "lost"      // the environment ended while the task ran
	Refused   State = "refused"   // accepted, but not begun within its QueueTTL or its looks
	Unknown   State = "unknown"   // no such task
)

// Over tells whether a task in state s will never change again. Unknown is
// not over: it is the state of no task.
func (s State) Over() bool {
	switch s {
	case Finished, Failed, TimedOut, Cancelled, Lost, Refused:
		return true
	}
	return false
}

// stored tells whether a task in the spool may be in state s.
func (s State) stored() bool {
	return s.Over() || s == Queued || s == Waiting || s == Running
}

// Status is what is known of a task at one moment. Times are zero until the
// moment has come; Started is that of the latest attempt.
type Status struct {
	ID, Name, Type string
	State          State
	Node           string // that runs or ran it; empty before
	Attempt        int    // 1 for the first run; 0 before it
	ExitStatus     int    // of the process that failed; 128 + n when signal n killed it, ours included
	Reason         string // why it is in this state; empty where that is plain
	Queued         time.Time
	Started        time.Time
	Ended          time.Time

	// MaxRSS is the largest resident set of a stage in bytes, taken when it
	// had answered or, of a process that ended, its peak. CPU is user and
	// system time spent on the latest attempt, in steps of 10 ms. What helper
	// processes used counts only once they have ended.
	MaxRSS int64
	CPU    time.Duration

	Labels map[string]string
}

// Result is the end of a task.
type Result struct {
	Status
	Stdout []byte // the last stage's answer without its newline; nil when there is none
	Stderr []byte // of all stages in order, the last 64 KiB of each
}
