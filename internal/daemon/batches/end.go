package batches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
)

// Pauses before a failed step of a batch's end is retried.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// lostLimit is how long after its deadline a selection may still mark rows. SitesManager needs
// that long to kill a program.
const lostLimit = 2 * time.Minute

// commitLimit is how long after the kill of a selection's program the database server may
// still commit.
const commitLimit = 5 * time.Second

// taskOver starts the end of a batch whose task has ended.
func (q *queue) taskOver(task string) {
	if b := q.batches[task]; b != nil && b.stage < over {
		q.advanceStage(b, over)
	}
}

// advanceStage moves a batch to the next stage of its end.
func (q *queue) advanceStage(b *batch, to stage) {
	b.stage, b.busy, b.pause, b.due = to, false, 0, time.Time{}
	q.runStage(b)
}

// runStage starts the step of a batch's stage.
func (q *queue) runStage(b *batch) {
	b.busy = true
	switch b.stage {
	case over:
		q.readResult(b)
	case isolating:
		q.isolateStep(b)
	case returning:
		q.returnRows(b)
	case forgetting:
		q.forgetTask(b)
	}
}

// postponeStep schedules a retry of the step after a pause.
func (q *queue) postponeStep(b *batch) {
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.busy, b.due = false, q.Now().Add(b.pause)
}

// readResult reads the result of the task in a worker, because it may have megabytes.
func (q *queue) readResult(b *batch) {
	keys := b.nodes > 1
	manager.Work(q.Loop, func(ctx context.Context) (outcome, error) {
		res, err := q.Executor.Result(ctx, b.task)
		switch {
		case errors.Is(err, executor.ErrUnknown):
			return lost, nil
		case err != nil:
			return outcome{}, err
		}
		return q.read(res, keys), nil
	}, func(o outcome, err error) {
		if err != nil {
			q.checkFaults++
			q.Log().Warn("cannot read the result", "batch", b.id, "error", err)
			q.postponeStep(b)
		} else if b.stage == over {
			q.concludeBatch(b, o)
		}
	})
}

// lost is the outcome of a task that the executor does not know.
var lost = outcome{State: executor.Lost, Reason: "the executor does not know the task"}

// outcomeOf returns the end of a task. The last line of standard error, if any, is the reason of a
// program that failed.
func outcomeOf(res executor.Result) outcome {
	o := outcome{State: res.State, Reason: res.Reason, Exit: res.ExitStatus}
	if talk := bytes.TrimSpace(res.Stderr); o.State == executor.Failed && len(talk) > 0 && o.Exit != 2 && o.Exit < 128 { // 2 is a crash with its stack
		o.Reason = clipText(bytes.ToValidUTF8(talk[bytes.LastIndexByte(talk, '\n')+1:], nil))
	}
	return o
}

// readBatch summarises a Batch, so that only the used fields are sent to the loop.
func readBatch(res executor.Result, keys bool) outcome {
	o := outcomeOf(res)
	if o.State != executor.Finished {
		return o
	}
	var answer struct {
		Refilled int
		Tally    counting.Tally
		Items    []struct {
			SiteID string `json:"siteId"`
			URLID  string `json:"urlId"`
			URL    struct {
				Status int64 `json:"status"`
			} `json:"urlObj"`
		} `json:"items"`
	}
	if err := json.Unmarshal(res.Stdout, &answer); err != nil || answer.Items == nil {
		o.Reason = "the answer is not a batch: " + clipText(res.Stdout)
		return o
	}
	o.Batch, o.Items, o.More, o.Tally = true, len(answer.Items), answer.Refilled, answer.Tally
	for _, it := range answer.Items {
		if keys && it.URL.Status == wire.StatusCrawled {
			o.Crawled = append(o.Crawled, key{it.SiteID, it.URLID})
		}
	}
	return o
}

func clipText(b []byte) string { return string(b[:min(len(b), 300)]) }

// concludeBatch handles the outcome of a batch in stage over. If its task died, the failing item is
// searched. Then its rows are returned and its task is deleted.
func (q *queue) concludeBatch(b *batch, o outcome) {
	b.busy = true
	b.end = o
	c := o.endCause()
	q.tally = q.tally.Plus(o.Tally)
	if !o.isGood() {
		q.faults++
		q.urlsFault += int64(b.urls)
		if o.isExpired() {
			q.expired++
		}
		if o.Unsubmitted {
			q.unsubmitted++
		}
		level, what := slog.LevelWarn, "task failed"
		if o.State == executor.Cancelled && q.Held() { // a step of moving hosts, or a lost lease
			level, what = slog.LevelInfo, "task stopped"
		}
		q.Log().Log(context.Background(), level, what, "task", b.task, "batch", b.id, "state", o.State, "exit", o.Exit, "reason", o.Reason)
	}
	next := returning
	switch {
	case c == worked:
		q.endPauses(q.kind != ProcessTask || o.Items+o.More > 0)
	case c == broken:
		q.pauseAfterFault(o.Reason)
	}
	switch {
	case c == stopped:
	case b.suspects != nil, c == died && q.canHalve(b):
		q.suspectBatch(b, c)
		next = isolating
	case c == died:
		b.attempt = b.nodes > 1 // with copies on other nodes nothing is halved
		q.pauseAfterFault(o.Reason)
	}
	q.ended(b, func() {
		q.advanceStage(b, next)
		if next == returning {
			q.lookSoon()
		}
	})
}

// returnRows returns the rows that the batch still holds, so that they can be selected again.
func (q *queue) returnRows(b *batch) {
	// Without an id the request would mean the rows of all batches. A processing task
	// without URLs has selected nothing.
	if b.id == 0 || len(q.statuses) == 0 || q.kind == ProcessTask && b.suspects == nil && b.end.isGood() && b.end.Items+b.end.More == 0 {
		q.advanceStage(b, forgetting)
		return
	}
	q.tellNodes(wire.URLReturn, q.returnRequest(b), func(nodes []nodeAnswer, err error) {
		b.late = err != nil
		switch {
		case err != nil:
			q.Log().Error("cannot return the rows of a batch", "batch", b.id, "error", err)
			q.postponeStep(b)
			return
		case q.Now().Before(b.mayMarkUntil):
			q.postponeStep(b)
			return
		}
		n := countReturned(nodes)
		if n > 0 {
			q.Log().Info("rows returned", "batch", b.id, "urls", n)
		}
		b.keys = nil
		q.advanceStage(b, forgetting)
		if b.stray {
			return // a new selection at once would probably fail, too
		}
		if !b.end.isGood() && b.urls == 0 {
			q.urlsFault += int64(n) // of a task that selects its own rows
		}
		q.lookSoon() // its sites can be selected again
	})
}

// forgetTask deletes the task from the executor.
func (q *queue) forgetTask(b *batch) {
	q.clearTask(b, func() { delete(q.batches, b.task) })
}

// clearTask deletes the task of a batch from the executor, then calls next.
func (q *queue) clearTask(b *batch, next func()) {
	q.Go(func(ctx context.Context) error { return q.Executor.Delete(ctx, b.task) }, func(err error) {
		if err != nil {
			q.deleteFaults++
			q.Log().Warn("cannot delete the task", "batch", b.id, "error", err)
			q.postponeStep(b)
			return
		}
		next()
	})
}

// selectionLost returns the rows of a selection without an answer. After a timeout the
// selection may continue to mark rows until its program is killed, so the return is repeated
// until that time has passed.
func (q *queue) selectionLost(id int64, err error) {
	b := &batch{id: id, task: taskID(q.kind, id), stray: true}
	switch {
	case err == nil: // a node answered that its program failed
		b.mayMarkUntil = q.Now().Add(commitLimit)
	case errors.Is(err, manager.ErrNoAnswer):
		b.mayMarkUntil = q.Now().Add(lostLimit)
	}
	if errors.Is(err, bus.ErrBusy) || errors.Is(err, bus.ErrGone) {
		return // the request was not sent
	}
	q.batches[b.task] = b
	q.advanceStage(b, returning)
}
