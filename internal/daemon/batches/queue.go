package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
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

// queue submits, watches and ends the batches of one type. It belongs to the manager's loop,
// which may have several queues.
type queue struct {
	*manager.Loop
	*Common
	limits   *Limits
	kind     string  // task type
	timer    string  // that starts its work
	statuses []int64 // of the rows that its batches hold; empty: they hold no rows
	// read summarises a result, in a worker; keys: set outcome.Crawled.
	read func(res executor.Result, keys bool) outcome

	batches  map[string]*batch // by task id
	watching bool              // a worker waits for changes of the executor
	// After a start, the tasks of the last run are adopted; then the rows of its other
	// batches are returned. Nothing starts before ready.
	adopted, recovering, ready bool
	recoverDue                 time.Time

	// ended runs when the task of a batch is over, and calls next before the rows are returned.
	ended func(b *batch, next func())
	// lingers: a task that waits for slow sites selects more for minutes. A suspended queue ends
	// such a task after suspendedLimit.
	lingers bool
	// whenReady, if not nil, runs once when the rows of the last run are returned.
	whenReady func()

	// again returns a task for some items of a batch, which selects no others; nil: tasks of the
	// queue are not halved. A batch without items is a test of the program.
	again func(b *batch, items []json.RawMessage) executor.Task

	// After a fault of the machine or of the program nothing starts until awake; then one batch at
	// a time, until one succeeds.
	fault  string // its reason; "" for none
	rest   time.Duration
	awake  time.Time
	rested int64                // faults so far
	goods  int64                // batches with items that succeeded
	alone  map[wire.URLKey]bool // items that died alone since the last success
	found  time.Time            // the last hint, or the last look that found work

	looks
	cancelled     int64 // looks that were left out, because no slot was free
	filled, items int64 // batches with rows, and their rows

	faults, urlsFault, expired, deleteFaults, checkFaults int64
	unsubmitted                                           int64 // faults of tasks that the executor refused

	tally counting.Tally // sum of the batches
}

// Limits of the rest after consecutive faults.
const (
	shortestRest = 5 * time.Second
	longestRest  = 30 * time.Second
)

// suspendedLimit is how long a task of a suspended queue may run that selects more by itself.
const suspendedLimit = 20 * time.Second

// A queue that found nothing for idleAfter looks for work once per idlePeriod at most. Twice the
// time doubles the period, up to longestIdle.
const (
	idleAfter   = time.Minute
	idlePeriod  = 4 * time.Second
	longestIdle = 16 * time.Second
)

// idleFor returns the shortest period of looks after that time without work.
func idleFor(idle time.Duration) (period time.Duration) {
	for after := idleAfter; idle > after && period < longestIdle; after *= 2 {
		period = max(idlePeriod, 2*period)
	}
	return period
}

// pauseAfterFault pauses the queue after a fault of the machine or of the program. Faults of batches that
// ran side by side count once.
func (q *queue) pauseAfterFault(reason string) {
	if q.fault != "" && q.Now().Before(q.awake) {
		return
	}
	q.rest = min(max(2*q.rest, shortestRest), longestRest)
	q.awake = q.Now().Add(q.rest)
	q.fault = cmp.Or(reason, "unknown")
	q.rested++
	q.Log().Error("the queue pauses after a fault; no URL loses an attempt", "queue", q.kind, "pause", q.rest, "reason", q.fault)
}

// endPauses ends the pauses. items is true if the batch that succeeded had items.
func (q *queue) endPauses(items bool) {
	if q.fault != "" {
		q.Log().Info("the queue goes on", "queue", q.kind)
	}
	q.fault, q.rest, q.awake = "", 0, time.Time{}
	if items {
		q.goods++
		clear(q.alone)
	}
}

// nothingDue ends the pauses if there is nothing to try.
func (q *queue) nothingDue() {
	if len(q.batches) == 0 && q.fault != "" {
		q.endPauses(false)
	}
}

// declareTimers declares the queue's timers. Call it before Run.
func (q *queue) declareTimers() {
	q.batches, q.alone = map[string]*batch{}, map[wire.URLKey]bool{}
	q.Maintain("queue "+q.kind, func() time.Duration {
		if len(q.batches) == 0 {
			return 0
		}
		return q.QueuePeriod
	}, func(time.Time) { q.checkTasks() })
	q.Maintain("more "+q.kind, q.morePeriod, q.lookForMore)
	q.Maintain("watch "+q.kind, q.eachSecond(func() bool { return !q.watching }), func(time.Time) { q.followNews(q.openWatch) })
	q.Maintain("ends "+q.kind, q.eachSecond(func() bool { return len(q.batches) > 0 || !q.ready || q.fault != "" }), q.retrySteps)
}

// eachSecond returns the period of a timer that is off while there is nothing to do: an idle
// manager does not wake up for it.
func (q *queue) eachSecond(needed func() bool) func() time.Duration {
	return func() time.Duration {
		if !needed() {
			return 0
		}
		return time.Second
	}
}

// news are tasks of the queue that a watch reports: first all known ones, then each one that
// ends. A watch that has ended has no changes.
type news struct {
	changes <-chan executor.Status
	tasks   []executor.Status
}

// openWatch starts a watch and lists the known tasks.
func (q *queue) openWatch(ctx context.Context) (news, error) {
	changes, err := q.Executor.Watch(ctx, q.kind)
	if err != nil {
		return news{}, err
	}
	all, err := q.Executor.Status(ctx)
	all = slices.DeleteFunc(all, func(s executor.Status) bool { return s.Type != q.kind })
	return news{changes, all}, err
}

// nextNews waits for the end of a task.
func (n news) nextNews(context.Context) (news, error) {
	for s := range n.changes {
		if s.State.Over() {
			return news{n.changes, []executor.Status{s}}, nil
		}
	}
	return news{}, nil
}

// followNews keeps one worker that waits for news, until the watch ends.
func (q *queue) followNews(wait func(context.Context) (news, error)) {
	q.watching = true
	manager.Work(q.Loop, wait, func(n news, err error) {
		q.watching = n.changes != nil
		switch {
		case err != nil:
			q.Log().Error("cannot watch the executor", "error", err)
		case q.watching:
			q.adoptKnown(n.tasks)
			q.followNews(n.nextNews)
		}
	})
}

// adoptKnown adopts the tasks of the last run. A later watch only reports what the former one may
// have missed: then every task is ours, and an unknown one is deleted already.
func (q *queue) adoptKnown(tasks []executor.Status) {
	for _, s := range tasks {
		if !q.adopted {
			id := batchOf(s.ID)
			q.batches[s.ID] = &batch{id: id, task: s.ID, stage: running}
			q.Log().Info("adopted a task of the last run", "batch", id, "state", s.State)
		}
		if s.State.Over() {
			q.taskOver(s.ID)
		}
	}
	if !q.adopted {
		q.adopted = true
		q.recoverRows()
	}
}

// recoverRows returns the rows of all batches that were not adopted (docs/spec/DECISIONS.md 3.7).
// Nothing starts before it succeeds. It waits while the queue is held: a data node that has never
// joined its cluster has no placement, without which its task programs refuse to work.
func (q *queue) recoverRows() {
	if q.ready || q.recovering || q.Held() {
		return
	}
	if len(q.statuses) == 0 {
		q.beginWork()
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
	q.tellNodes(wire.URLReturn, wire.URLReturnRequest{Except: except, Statuses: q.statuses}, func(nodes []nodeAnswer, err error) {
		q.recovering = false
		if err != nil {
			q.Log().Error("cannot return the rows of the last run", "error", err)
			q.recoverDue = q.Now().Add(firstPause)
			return
		}
		if n := countReturned(nodes); n > 0 {
			q.Log().Info("returned rows of the last run", "urls", n)
		}
		q.beginWork()
		if q.whenReady != nil {
			q.whenReady()
		}
	})
}

// beginWork lets the queue start work.
func (q *queue) beginWork() {
	q.ready, q.found = true, q.Now()
	q.Kick(q.timer)
}

// mayStart reports whether a schedule may start new work.
func (q *queue) mayStart(period time.Duration, mode bool) bool {
	return q.ready && mode && period > 0 && !q.Suspended() && (q.fault == "" || !q.Now().Before(q.awake) && q.usedSlots() == 0)
}

// usedSlots returns the number of used slots.
func (q *queue) usedSlots() int64 {
	var n int64
	for _, b := range q.batches {
		if b.takesSlot() {
			n++
		}
	}
	return n
}

// submitBatch passes a batch to the executor. A refusal ends it as a fault. Time limits that t does
// not set are those of the queue.
func (q *queue) submitBatch(b *batch, t executor.Task) {
	t.ID, t.Type = b.task, q.kind
	t.TimeLimit = cmp.Or(t.TimeLimit, q.limits.TaskTime)
	t.QueueTTL = cmp.Or(t.QueueTTL, q.limits.TaskTTL)
	t.Start, t.ResultTTL = q.Start, max(q.ResultTTL, 0)
	q.batches[b.task] = b
	q.Go(func(ctx context.Context) error { return q.Executor.Submit(ctx, t) }, func(err error) {
		if err != nil {
			q.concludeRefused(b, err)
			return
		}
		b.stage = max(b.stage, running) // the watch may have reported its end first
		q.moreAt = q.Now().Add(moreAfter)
		q.lookSoon() // there may be more work and another slot
	})
}

func (q *queue) concludeRefused(b *batch, err error) {
	b.stage = over
	q.concludeBatch(b, outcome{State: executor.Refused, Reason: err.Error(), Unsubmitted: true})
}

// checkTasks reads the states of running tasks in case the watch missed a change
// (docs/spec/daemon.md 2.6). A task that the executor does not know is lost.
func (q *queue) checkTasks() {
	var ids []string
	for id, b := range q.batches {
		if b.stage == running {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	manager.Work(q.Loop, func(ctx context.Context) ([]executor.Status, error) {
		return q.Executor.Status(ctx, ids...)
	}, func(states []executor.Status, err error) {
		if err != nil {
			q.checkFaults++
			q.Log().Warn("cannot read the states of tasks", "error", err)
		}
		for _, s := range states {
			switch b := q.batches[s.ID]; {
			case s.State.Over():
				q.taskOver(s.ID)
			case s.State == executor.Running && q.Suspended() && q.lingers && !s.Started.IsZero() && q.Now().Sub(s.Started) >= suspendedLimit:
				q.cutTask(s.ID)
			case s.State == executor.Unknown && b != nil && b.stage == running:
				b.stage = over
				q.concludeBatch(b, lost)
			}
		}
	})
}

// cutTask asks a task to end. It stores what it has and hands the rest back.
func (q *queue) cutTask(id string) {
	q.Log().Info("ends a batch that selects more by itself, because the manager is suspended", "task", id)
	q.Go(func(ctx context.Context) error { return q.Executor.Cancel(ctx, id, 0) }, func(err error) {
		if err != nil && !errors.Is(err, executor.ErrUnknown) {
			q.Log().Warn("cannot end a task", "task", id, "error", err)
		}
	})
}

// retrySteps repeats the failed steps that are due.
func (q *queue) retrySteps(now time.Time) {
	if q.adopted && !now.Before(q.recoverDue) {
		q.recoverRows()
	}
	if q.fault != "" && len(q.statuses) > 0 && !now.Before(q.awake) {
		q.Kick(q.timer) // goes on without waiting for the period
	}
	for _, b := range slices.Collect(maps.Values(q.batches)) {
		if b.stage >= over && !b.busy && !now.Before(b.due) {
			q.runStage(b)
		}
	}
}
