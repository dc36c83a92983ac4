package executor

import (
	"bytes"
	"fmt"
	"time"
)

// State is the state of a task.
type State string

// States of a task. Source: docs/spec/daemon.md 5.3.
const (
	Queued    State = "queued"    // accepted, waits for a slot
	Waiting   State = "waiting"   // waits for its next attempt, or until its start conditions hold
	Running   State = "running"   // holds a slot
	Finished  State = "finished"  // every stage answered
	Failed    State = "failed"    // a stage exited or broke the protocol
	TimedOut  State = "timed out" // killed at its time limit
	Cancelled State = "cancelled" // stopped on request
	Lost      State = "lost"      // the executor ended while the task ran
	Refused   State = "refused"   // accepted, but not started within its QueueTTL or its looks
	Unknown   State = "unknown"   // no such task
)

// Over reports whether s is final. Unknown is not final: it is the state of a missing task.
func (s State) Over() bool {
	switch s {
	case Finished, Failed, TimedOut, Cancelled, Lost, Refused:
		return true
	}
	return false
}

// isStorable reports whether a task in the spool may have state s.
func (s State) isStorable() bool {
	return s.Over() || s == Queued || s == Waiting || s == Running
}

// Status describes a task at one moment. A time is zero until its event.
type Status struct {
	ID, Type   string
	State      State
	Node       string // that runs or ran it; empty before
	ExitStatus int    // of the failed process; 128 + n after signal n
	Reason     string // of the state; empty if obvious
	Queued     time.Time
	Started    time.Time // zero if it did not start
	Ended      time.Time

	// MaxRSS is the largest resident set of a stage in bytes, measured after its answer, or
	// the peak of a process that ended. CPU is the user and system time of all
	// stages in steps of 10 ms. Helper processes count only after they have ended.
	MaxRSS int64
	CPU    time.Duration
}

// Result is the final status and the output of a task.
type Result struct {
	Status
	Stdout []byte // the last stage's answer without its newline; nil without an answer
	Stderr []byte // of all stages in order, the last 64 KiB of each
}

// stderrShown is how many of the last bytes of standard error Failure includes.
const stderrShown = 2000

// Failure describes a task that did not finish, in the form of an item's errorMessage
// (docs/spec/objects.md 3.2). The text is valid UTF-8.
func (r Result) Failure() string {
	stderr := bytes.TrimSpace(r.Stderr)
	stderr = bytes.ToValidUTF8(stderr[max(0, len(stderr)-stderrShown):], nil)
	return fmt.Sprintf("Response item error error_message=%s, error_code=%s, exit_status=%d, stderror=%s",
		r.Reason, r.State, r.ExitStatus, stderr)
}
