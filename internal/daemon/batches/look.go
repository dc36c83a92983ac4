package batches

import (
	"encoding/json"
	"errors"
	"time"

	"hce/dc/internal/wire"
)

// A queue looks for a due row, and starts a task if it finds one. The task takes this row and others by itself
// (package frontier), so no row waits in a message. A look marks nothing: an idle daemon starts no task, takes no lock and
// syncs nothing.

// moreAfter is the time from the submission of a task to the next look: by then it has usually taken its first rows. If not,
// the next task takes what it finds, perhaps nothing.
const moreAfter = 250 * time.Millisecond

// looks is the state of a queue's looks for due rows.
type looks struct {
	looking bool // a look has no answer yet
	hinted  bool // a hint arrived meanwhile, or during a selection: it may have been too early
	// more: the last look found a row, for which a task was started. Others may be due; the next look is at moreAt, not
	// before: it would find the row again.
	more      bool
	moreAt    time.Time
	selecting bool // rows of all nodes are being selected for a slot
	// vain: the last task took no row. The next look waits for its period or a hint, or tasks would start in an endless
	// loop for a row that none of them can take.
	vain bool
}

// noteHint notes a hint that there may be work.
func (q *queue) noteHint() {
	if q.adopted {
		q.recoverRows() // it may have been held
	}
	q.hinted, q.found = q.looking || q.selecting, q.Now()
	q.Kick(q.timer)
}

// lookSoon looks again at once if a slot is free.
func (q *queue) lookSoon() {
	if len(q.statuses) > 0 && !q.vain && q.usedSlots() < q.limits.MaxTasks {
		q.Kick(q.timer)
	}
}

// lookForMore looks again after the start of a task.
func (q *queue) lookForMore(time.Time) {
	if !q.isStarting() {
		q.more = false
		q.Kick(q.timer)
	}
}

// isStarting reports whether the last task may not have taken its rows yet.
func (q *queue) isStarting() bool {
	if q.selecting || q.more && q.Now().Before(q.moreAt) {
		return true
	}
	for _, b := range q.batches {
		if b.stage == submitting {
			return true
		}
	}
	return false
}

// morePeriod is how often lookForMore runs.
func (q *queue) morePeriod() time.Duration {
	if q.more {
		return moreAfter / 5
	}
	return 0
}

// lookPeriod returns the period of the looks; 0 while they are off. Most work comes with a hint. A look finds what has
// become due by time, or what a program wrote without the daemon.
func (q *queue) lookPeriod(mode *bool, period *time.Duration) func() time.Duration {
	regular := periodFunc(mode, period)
	return func() time.Duration {
		d := regular()
		if d > 0 && q.ready && len(q.batches) == 0 {
			d = max(d, idleFor(q.Now().Sub(q.found)))
		}
		return d
	}
}

// mayLook reports whether work may start and a slot is free. Only one look runs at a time, and its task fills the slot, so
// the slots never exceed the limit (docs/spec/daemon.md F18).
func (q *queue) mayLook(period time.Duration, mode bool) bool {
	switch {
	case !q.mayStart(period, mode) || q.looking || q.isStarting():
		return false
	case q.usedSlots() >= q.limits.MaxTasks:
		q.more = false
		q.cancelled++
		return false
	}
	return true
}

// look looks for a due row in the name of the queue, and calls done with the number of nodes, 0 if no row is due.
func (q *queue) look(selection map[string]any, done func(nodes int)) {
	q.looking, q.hinted, q.more = true, false, false
	q.findDue(selection, func(nodes int, err error) {
		q.looking = false
		if q.hinted {
			q.Kick(q.timer)
		}
		switch {
		case err != nil:
			return
		case nodes == 0:
			q.nothingDue()
		default:
			q.found, q.more = q.Now(), true
			q.moreAt = q.found.Add(moreAfter)
		}
		done(nodes)
	})
}

// findDue asks all nodes for a due row by a URL_FETCH that marks nothing. Then it calls done with the number of nodes, 0 if no
// row is due. After an error the queue pauses.
func (q *queue) findDue(selection map[string]any, done func(nodes int, err error)) {
	q.askNodes(wire.URLFetch, []any{selection}, func(nodes []nodeAnswer, err error) {
		found, fault := readLook(nodes)
		if err = errors.Join(err, fault); err != nil && !found {
			q.Log().Warn("cannot look for URLs", "error", err)
			q.pauseAfterFault("cannot look for URLs: " + err.Error())
			done(0, err)
			return
		}
		if !found {
			nodes = nil
		}
		done(len(nodes), nil)
	})
}

// readLook reports whether a node has found a row, and the first error of a node.
func readLook(nodes []nodeAnswer) (found bool, fault error) {
	for _, node := range nodes {
		var rows []json.RawMessage
		err := node.err
		if err == nil {
			err = json.Unmarshal(node.object, &rows)
		}
		if fault == nil {
			fault = err
		}
		found = found || len(rows) > 0
	}
	return found, fault
}

// countTaken counts the rows that the task of a batch took, and returns their number.
func (q *queue) countTaken(b *batch) int {
	n := b.end.Items + b.end.More
	q.vain = b.end.isGood() && n == 0
	if !q.vain {
		q.more = false // lookSoon looks at once
	}
	if n > 0 {
		b.urls = n
		q.found = q.Now()
		q.filled++
		q.items += int64(n)
		q.Log().Info("batch", "batch", b.id, "urls", n)
	}
	return n
}
