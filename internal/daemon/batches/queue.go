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

// The types of the tasks given to the environment, each with slots of its own.
const (
	CrawlTask   = "crawl"
	ProcessTask = "process"
	AgeTask     = "age"
	PurgeTask   = "purge"
)

// The timers that start work, under which STAT shows them.
const (
	crawlTimer       = "crawl"
	returnTimer      = "return"
	incrementalTimer = "incremental"
	agingTimer       = "aging"
	purgingTimer     = "purging"
	processTimer     = "process"
)

// Reports of the workers that are of one queue: their types are counted from its
// first.
const (
	knownReport   = iota // of the watcher: all tasks there were when it began
	stateReport          // a task is over, or unknown
	outcomeReport        // what a task answered

	firstReport = wire.InternalWork + 100
	reports     = 10 // of one queue
)

// batchesReport is the report of the worker that asks which batches live.
const batchesReport = firstReport - 1

// queue is the batches of one kind: submitted, watched, brought to their end. It
// belongs to the manager's loop, as other queues may.
type queue struct {
	*manager.Loop
	*Common
	limits   *Limits
	name     *TaskName
	kind     string  // task type
	timer    string  // that looks for work
	statuses []int64 // rows that its batches hold; none: they hold no rows
	number   int     // among the loop's queues
	// read sums a result up, in a worker; keys asks for outcome.Crawled.
	read func(id string, res executor.Result, keys bool) outcome

	batches map[string]*batch // by task id
	// What the last run left is in order in two steps: its tasks are taken up,
	// then the rows of its other batches returned. Nothing starts before.
	adopted, recovering, ready bool
	recoverDue                 time.Time

	// ended is told of each batch whose task is over, before its rows go back,
	// and calls next when they may.
	ended func(b *batch, next func())
	// free is told that a slot may be free, and that there may be work for it.
	free func()

	// whenReady, when set, is told once that the last run's rows are in order.
	whenReady func()

	// After a task that would most likely fail again nothing starts for a while.
	rest  time.Duration
	awake time.Time

	faults, urlsFault, expired, deleteFaults, checkFaults int64
	unsubmitted                                           int64 // faults that the environment did not even take
}

func (q *queue) report(n int) int { return firstReport + q.number*reports + n }

// Bounds of the rest after faults in a row.
const (
	shortestRest = 5 * time.Second
	longestRest  = 5 * time.Minute
)

// watch declares what the queue needs of its loop. It must be called before Run.
func (q *queue) watch() {
	q.batches = map[string]*batch{}
	q.HandleReport(q.report(knownReport), q.known)
	q.HandleReport(q.report(stateReport), q.state)
	q.HandleReport(q.report(outcomeReport), q.outcome)
	q.Maintain("queue "+q.kind, func() time.Duration { return q.QueuePeriod }, func(time.Time) { q.check() })
	q.Maintain("watch "+q.kind, func() time.Duration { return time.Second }, q.startWatcher())
	q.Maintain("ends "+q.kind, func() time.Duration { return time.Second }, q.tend)
}

// startWatcher gives the timer that keeps one watcher running: the environment's
// changes of state, preceded by all it knows already.
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
				q.Log().Error("the environment cannot be watched", "error", err)
			}
		})
		watching = err == nil
	}
}

// known takes up the tasks that the environment knows from the last run.
// A watcher that had to begin again tells only what it may have missed: every
// task is ours then, and one that we do not know is gone already.
func (q *queue) known(_ string, object json.RawMessage) {
	var all []executor.Status
	if err := json.Unmarshal(object, &all); err != nil {
		q.Log().Error("report of the watcher is unreadable", "error", err)
		return
	}
	for _, s := range all {
		if !q.adopted {
			id := batchOf(s.Labels)
			q.batches[s.ID] = &batch{id: id, task: s.ID, stage: running}
			q.Log().Info("a batch of the last run is known", "batch", id, "state", s.State)
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

// recover returns the rows of all batches that are not among those taken up
// (docs/spec/DECISIONS.md 3.7). Until it succeeds nothing starts.
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
			q.Log().Error("rows of the last run are not returned yet", "error", err)
			q.recoverDue = q.Now().Add(firstPause)
			return
		}
		if n := returned(nodes); n > 0 {
			q.Log().Info("rows of the last run are returned", "urls", n)
		}
		q.ready = true
		q.Kick(q.timer)
		if q.whenReady != nil {
			q.whenReady()
		}
	})
}

// mayStart reports whether new work may begin at all.
func (q *queue) mayStart(period time.Duration, mode bool) bool {
	return q.ready && mode && period > 0 && !q.Suspended() && !q.Now().Before(q.awake)
}

// slots is the number of slots in use.
func (q *queue) slots() int64 {
	var n int64
	for _, b := range q.batches {
		if b.takesSlot() {
			n++
		}
	}
	return n
}

// submit hands a batch to the environment. A refusal ends it as a fault.
// The time limits are those of the queue where t has none.
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
		b.stage = max(b.stage, running) // its end may have been told before
		q.free()                        // there may be more, and another slot
	})
	if err != nil {
		q.refused(b, err)
	}
}

func (q *queue) refused(b *batch, err error) {
	b.stage = over
	q.conclude(b, outcome{Task: b.task, State: executor.Refused, Reason: err.Error(), Unsubmitted: true})
}

// state is a change of state, from the watcher or the check.
func (q *queue) state(_ string, object json.RawMessage) {
	var s executor.Status
	if err := json.Unmarshal(object, &s); err != nil {
		q.Log().Error("report of the watcher is unreadable", "error", err)
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

// check asks for the states of the tasks under way: the watch's safety net
// (docs/spec/daemon.md 2.6). An accepted task that the environment does not know is lost.
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
			q.Log().Warn("the tasks' states are not known", "error", err)
		}
	})
	if err != nil {
		q.checkFaults++
	}
}

// tend goes on with what failed and is due again.
func (q *queue) tend(now time.Time) {
	if q.adopted && !now.Before(q.recoverDue) {
		q.recover()
	}
	for _, b := range slices.Collect(maps.Values(q.batches)) {
		if b.stage >= over && !b.busy && !now.Before(b.due) {
			q.proceed(b)
		}
	}
}
