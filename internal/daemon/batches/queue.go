package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Task types in the executor; each has its own slots.
const (
	CrawlTask   = "crawl"
	ProcessTask = "process"
	AgeTask     = "age"
	PurgeTask   = "purge"
)

// Timers that start work; STAT shows them under these names.
const (
	crawlTimer       = "crawl"
	returnTimer      = "return"
	incrementalTimer = "incremental"
	agingTimer       = "aging"
	purgingTimer     = "purging"
	processTimer     = "process"
)

// Reports of a queue's workers, relative to the first report of the queue.
const (
	knownReport   = iota // the tasks that existed when the watcher started
	stateReport          // a task is over or unknown
	outcomeReport        // the outcome of a task

	firstReport = wire.InternalWork + 100
	reports     = 10 // of one queue
)

// batchesReport lists the active batches.
const batchesReport = firstReport - 1

// queue submits, watches and ends the batches of one type. It belongs to the manager's loop,
// which may have several queues.
type queue struct {
	*manager.Loop
	*Common
	limits   *Limits
	name     *TaskName
	kind     string  // task type
	timer    string  // that starts its work
	statuses []int64 // of the rows that its batches hold; empty: they hold no rows
	number   int     // among the loop's queues
	// read summarises a result, in a worker; keys: set outcome.Crawled.
	read func(id string, res executor.Result, keys bool) outcome

	batches map[string]*batch // by task id
	// After a start, the tasks of the last run are adopted; then the rows of its other
	// batches are returned. Nothing starts before ready.
	adopted, recovering, ready bool
	recoverDue                 time.Time

	// ended runs when the task of a batch is over, and calls next before the rows are returned.
	ended func(b *batch, next func())
	// free runs when a slot may be free and there may be work.
	free func()
	// whenReady, if not nil, runs once when the rows of the last run are returned.
	whenReady func()

	// After a task that would probably fail again, nothing starts until awake.
	rest  time.Duration
	awake time.Time

	faults, urlsFault, expired, deleteFaults, checkFaults int64
	unsubmitted                                           int64 // faults of tasks that the executor refused
}

func (q *queue) report(n int) int { return firstReport + q.number*reports + n }

// Limits of the rest after consecutive faults.
const (
	shortestRest = 5 * time.Second
	longestRest  = 5 * time.Minute
)

// watch declares the queue's timers and reports. Call it before Run.
func (q *queue) watch() {
	q.batches = map[string]*batch{}
	q.HandleReport(q.report(knownReport), q.known)
	q.HandleReport(q.report(stateReport), q.state)
	q.HandleReport(q.report(outcomeReport), q.outcome)
	q.Maintain("queue "+q.kind, func() time.Duration { return q.QueuePeriod }, func(time.Time) { q.check() })
	q.Maintain("watch "+q.kind, func() time.Duration { return time.Second }, q.startWatcher())
	q.Maintain("ends "+q.kind, func() time.Duration { return time.Second }, q.retry)
}

// startWatcher returns the timer function that keeps one watcher running. A watcher reports
// the known tasks, then each end of a task.
func (q *queue) startWatcher() func(time.Time) {
	watching := false
	return func(time.Time) {
		if watching {
			return
		}
		_, err := q.Go(func(ctx context.Context, r *manager.Reporter) error {
			changes, err := q.Executor.Watch(ctx, executor.Filter{Types: []string{q.kind}})
			if err != nil {
				return err
			}
			all, err := q.Executor.Status(ctx)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(s executor.Status) bool { return s.Type != q.kind })
			if err := r.Send(q.report(knownReport), all); err != nil {
				return err
			}
			for s := range changes {
				if s.State.Over() {
					if err := r.Send(q.report(stateReport), s); err != nil {
						return err
					}
				}
			}
			return nil
		}, func(err error) {
			watching = false
			if err != nil {
				q.Log().Error("cannot watch the executor", "error", err)
			}
		})
		watching = err == nil
	}
}

// known adopts the tasks of the last run. A later watcher only reports what the former one may
// have missed: then every task is ours, and an unknown one is deleted already.
func (q *queue) known(_ string, object json.RawMessage) {
	var all []executor.Status
	if err := json.Unmarshal(object, &all); err != nil {
		q.Log().Error("cannot read the report of the watcher", "error", err)
		return
	}
	for _, s := range all {
		if !q.adopted {
			id := batchOf(s.Labels)
			q.batches[s.ID] = &batch{id: id, task: s.ID, stage: running}
			q.Log().Info("adopted a task of the last run", "batch", id, "state", s.State)
		}
		if s.State.Over() {
			q.taskOver(s.ID)
		}
	}
	if !q.adopted {
		q.adopted = true
		q.recover()
	}
}

// recover returns the rows of all batches that were not adopted (docs/spec/DECISIONS.md 3.7).
// Nothing starts before it succeeds.
func (q *queue) recover() {
	if q.ready || q.recovering {
		return
	}
	if len(q.statuses) == 0 {
		q.ready = true
		q.Kick(q.timer)
		return
	}
	q.recovering = true
	except := []int64{}
	for _, b := range q.batches {
		if b.id != 0 {
			except = append(except, b.id)
		}
	}
	slices.Sort(except)
	q.tell(wire.URLReturn, wire.URLReturnRequest{Except: except, Statuses: q.statuses}, func(nodes []nodeAnswer, err error) {
		q.recovering = false
		if err != nil {
			q.Log().Error("cannot return the rows of the last run", "error", err)
			q.recoverDue = q.Now().Add(firstPause)
			return
		}
		if n := returned(nodes); n > 0 {
			q.Log().Info("returned rows of the last run", "urls", n)
		}
		q.ready = true
		q.Kick(q.timer)
		if q.whenReady != nil {
			q.whenReady()
		}
	})
}

// mayStart reports whether a schedule may start new work.
func (q *queue) mayStart(period time.Duration, mode bool) bool {
	return q.ready && mode && period > 0 && !q.Suspended() && !q.Now().Before(q.awake)
}

// slots returns the number of used slots.
func (q *queue) slots() int64 {
	var n int64
	for _, b := range q.batches {
		if b.takesSlot() {
			n++
		}
	}
	return n
}

// submit passes a batch to the executor. A refusal ends it as a fault. Time limits that t does
// not set are those of the queue.
func (q *queue) submit(b *batch, t executor.Task) {
	t.ID, t.Type, t.Name = b.task, q.kind, q.name.Name
	t.Labels = map[string]string{typeLabel: labelOf(q.name.Type)}
	if b.id != 0 {
		t.Labels[label] = labelOf(b.id)
	}
	t.TimeLimit = cmp.Or(t.TimeLimit, q.limits.TaskTime)
	t.QueueTTL = cmp.Or(t.QueueTTL, q.limits.TaskTTL)
	t.Attempts, t.Start, t.ResultTTL = 1, q.Start.conditions(), max(q.ResultTTL, 0)
	q.batches[b.task] = b
	_, err := q.Go(func(ctx context.Context, _ *manager.Reporter) error {
		return q.Executor.Submit(ctx, t)
	}, func(err error) {
		if err != nil {
			q.refused(b, err)
			return
		}
		b.stage = max(b.stage, running) // the watcher may have reported its end first
		q.free()                        // there may be more work and another slot
	})
	if err != nil {
		q.refused(b, err)
	}
}

func (q *queue) refused(b *batch, err error) {
	b.stage = over
	q.conclude(b, outcome{Task: b.task, State: executor.Refused, Reason: err.Error(), Unsubmitted: true})
}

// state handles a change of state from the watcher or the check.
func (q *queue) state(_ string, object json.RawMessage) {
	var s executor.Status
	if err := json.Unmarshal(object, &s); err != nil {
		q.Log().Error("cannot read the report of the watcher", "error", err)
		return
	}
	if s.State == executor.Unknown {
		if b := q.batches[s.ID]; b != nil && b.stage == running {
			b.stage = over
			q.conclude(b, lost(s.ID))
		}
		return
	}
	q.taskOver(s.ID)
}

// check reads the states of running tasks in case the watcher missed a change
// (docs/spec/daemon.md 2.6). A task that the executor does not know is lost.
func (q *queue) check() {
	var ids []string
	for id, b := range q.batches {
		if b.stage == running {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	_, err := q.Go(func(ctx context.Context, r *manager.Reporter) error {
		states, err := q.Executor.Status(ctx, ids...)
		if err != nil {
			return err
		}
		for _, s := range states {
			if s.State.Over() || s.State == executor.Unknown {
				if err := r.Send(q.report(stateReport), s); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(err error) {
		if err != nil {
			q.checkFaults++
			q.Log().Warn("cannot read the states of tasks", "error", err)
		}
	})
	if err != nil {
		q.checkFaults++
	}
}

// retry repeats the failed steps that are due.
func (q *queue) retry(now time.Time) {
	if q.adopted && !now.Before(q.recoverDue) {
		q.recover()
	}
	for _, b := range slices.Collect(maps.Values(q.batches)) {
		if b.stage >= over && !b.busy && !now.Before(b.due) {
			q.proceed(b)
		}
	}
}
