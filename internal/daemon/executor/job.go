package executor

import (
	"context"
	"fmt"
	"time"
)

// job is a submitted task in a pool. Local.mu guards its fields except task, which does not
// change until the job is over.
//
// A job has one owner at a time: a lane while it waits for a slot, the clock while it waits
// for a look, otherwise the goroutine that runs, finishes or deletes it. Ending
// a waiting job requires claim. So the files of a task have one writer, and states have the
// same order on disk, in memory and in watches.
type job struct {
	task   Task
	status Status // State is empty until the spool has the task
	age    uint64

	wait   *waiter                 // while in a lane's queue
	parked time.Time               // when the next look is due; zero if not waiting for the clock
	looks  int64                   // how often the start conditions failed
	cancel context.CancelCauseFunc // while it runs

	saved chan struct{} // closed when the spool has accepted or refused the task
	over  chan struct{} // closed when the state is final
	gone  chan struct{} // not nil while the job is being deleted; closed afterwards
	kept  *Result       // the output, if the spool does not have it
}

// storedJob returns a job that is stored and not being deleted, or nil. Call it with l.mu held.
func (l *Local) storedJob(id string) *job {
	if j := l.jobs[id]; j != nil && j.pendingChange() == nil {
		return j
	}
	return nil
}

// publishStatus sets the job's status and notifies the watchers. Call it with l.mu held.
func (l *Local) publishStatus(j *job, st Status) {
	waits := func(s State) bool { return s == Queued || s == Waiting }
	if was, is := waits(j.status.State) || j.status.State == "", waits(st.State); was && !is {
		l.queued--
	} else if !was && is {
		l.queued++
	}
	j.status = st
	if st.State.Over() {
		j.task.Stdin = nil // may be large and is not needed any more
	}
	l.feed.Publish(st)
	if st.State.Over() {
		close(j.over)
	}
	if st.State == Waiting || st.State == Queued && j.task.QueueTTL > 0 || st.State.Over() && j.task.ResultTTL > 0 {
		select {
		case l.wake <- struct{}{}: // the clock has a new deadline
		default:
		}
	}
}

// Submit implements Executor.
func (l *Local) Submit(ctx context.Context, t Task) error {
	t, err := t.Prepare()
	if err != nil {
		return err
	}
	if names := l.foreignNodes(t.Target); len(names) > 0 {
		return fmt.Errorf("%w: task %s: %w: %q", ErrRefused, t.ID, ErrNode, names)
	}
	if err := l.beginWork(); err != nil {
		return err
	}
	defer l.work.Done()
	j, err := l.reserveJob(ctx, t)
	if j == nil {
		return err
	}
	st := t.queuedStatus(l.cfg.Now())
	if !t.Unsaved {
		err = l.spool.createTask(&t, st.Queued)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(j.saved)
	if err != nil {
		l.queued--
		delete(l.jobs, t.ID)
		return fmt.Errorf("store task %s: %w", t.ID, err)
	}
	l.publishStatus(j, st)
	l.enqueueJob(j)
	if !l.closing {
		l.startWaiters(t.Type)
	}
	return nil
}

// reserveJob creates a job for t that other calls do not see yet. It returns nil without an
// error if the id is known. If the id is being stored or deleted, it waits for the outcome.
func (l *Local) reserveJob(ctx context.Context, t Task) (*job, error) {
	for {
		l.mu.Lock()
		other := l.jobs[t.ID]
		if other == nil {
			defer l.mu.Unlock()
			if l.queued >= l.cfg.MaxQueue {
				return nil, fmt.Errorf("%w: task %s: %d tasks wait in the queue", ErrRefused, t.ID, l.queued)
			}
			l.queued++
			j := &job{task: t, age: l.nextAge(), saved: make(chan struct{}), over: make(chan struct{})}
			l.jobs[t.ID] = j
			return j, nil
		}
		settled := other.pendingChange()
		l.mu.Unlock()
		if settled == nil {
			return nil, nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pendingChange returns nil for a stored job. For a job being stored or deleted it returns the
// channel that closes at the end of that. Call it with l.mu held.
func (j *job) pendingChange() <-chan struct{} {
	if j.gone != nil {
		return j.gone
	}
	if j.status.State == "" {
		return j.saved
	}
	return nil
}

// enqueueJob puts j into its lane. Call it with l.mu held.
func (l *Local) enqueueJob(j *job) {
	j.wait = &waiter{age: j.age, look: func() bool { return l.checkStarts(j) }, begin: func() { l.startJob(j) }}
	l.laneFor(j.task.Type).addWaiter(j.wait)
}

// startJob starts j in the slot that it has. Call it with l.mu held and the pool open.
func (l *Local) startJob(j *job) {
	j.wait = nil
	ctx, cancel := context.WithCancelCause(l.ctx)
	j.cancel = cancel
	st := j.status
	st.State, st.Node, st.Started, st.Reason = Running, l.cfg.NodeName, l.cfg.Now(), ""
	l.publishStatus(j, st)
	l.work.Go(func() {
		defer cancel(nil)
		l.runJob(ctx, j, st)
	})
}

// runJob runs j, stores the outcome and releases the slot.
func (l *Local) runJob(ctx context.Context, j *job, st Status) {
	if !j.task.Unsaved {
		if err := l.spool.saveStatus(&st); err != nil {
			// The task runs anyway; after a crash it would run again.
			l.log.Error("cannot store the start of a task", "op", "executor.run", "task", st.ID, "error", err)
		}
	}
	o := l.runAttempt(ctx, &j.task)
	st.setOutcome(&o, l.cfg.Now())
	defer func() {
		l.mu.Lock()
		l.releaseSlot(j.task.Type)
		l.mu.Unlock()
	}()
	if o.state == Lost {
		// The pool closes. The task is still running in the spool; the next pool ends it.
		l.mu.Lock()
		l.publishStatus(j, st)
		l.mu.Unlock()
		return
	}
	l.finishJob(j, st, o.stdout, o.stderr)
}

// finishJob stores the end of a job that the caller owns, then publishes it. If the spool fails,
// the result stays in memory and finish returns the error. After a crash the task would then
// be lost or run again.
func (l *Local) finishJob(j *job, st Status, stdout, stderr []byte) error {
	var err error
	if !j.task.Unsaved {
		err = l.spool.saveResult(&st, stdout, stderr)
	}
	if err != nil {
		err = fmt.Errorf("store the end of task %s: %w", st.ID, err)
		l.log.Error("cannot store the end of a task", "op", "executor.finish", "task", st.ID, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || j.task.Unsaved {
		j.kept = &Result{Stdout: stdout, Stderr: stderr}
	}
	j.cancel = nil
	l.publishStatus(j, st)
	return err
}

// claimWaitingJob takes a job that waits for a slot or a look, so that the caller may finish
// it. It reports false for any other job. Call it with l.mu held.
func (l *Local) claimWaitingJob(j *job) bool {
	if j.wait != nil {
		l.leaveQueue(j.task.Type, j.wait)
		j.wait = nil
		return true
	}
	if !j.parked.IsZero() {
		j.parked = time.Time{}
		return true
	}
	return false
}

// Cancel implements Executor.
func (l *Local) Cancel(ctx context.Context, id string, grace time.Duration) error {
	if err := l.beginWork(); err != nil {
		return err
	}
	defer l.work.Done()
	l.mu.Lock()
	j := l.storedJob(id)
	if j == nil {
		l.mu.Unlock()
		return fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	return l.cancelJob(ctx, j, grace) // unlocks
}

// cancelJob ends j and waits for it. Call it with l.mu held; it unlocks.
func (l *Local) cancelJob(ctx context.Context, j *job, grace time.Duration) error {
	const reason = "cancelled on request"
	if grace <= 0 {
		grace = l.cfg.KillGrace
	}
	if l.claimWaitingJob(j) {
		st := j.status
		l.mu.Unlock()
		st.State, st.Reason, st.Ended = Cancelled, reason, l.cfg.Now()
		return l.finishJob(j, st, nil, nil)
	}
	if j.cancel != nil {
		j.cancel(&stopped{Cancelled, reason, grace})
	}
	l.mu.Unlock()
	select {
	case <-j.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delete implements Executor.
func (l *Local) Delete(ctx context.Context, id string) error {
	if err := l.beginWork(); err != nil {
		return err
	}
	defer l.work.Done()
	for {
		l.mu.Lock()
		j := l.jobs[id]
		if j == nil {
			l.mu.Unlock()
			return nil
		}
		if settled := j.pendingChange(); settled != nil {
			l.mu.Unlock()
			select {
			case <-settled:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if !j.status.State.Over() {
			if err := l.cancelJob(ctx, j, 0); err != nil && ctx.Err() != nil {
				return err
			}
			continue
		}
		j.gone = make(chan struct{})
		l.mu.Unlock()
		return l.forgetJob(j)
	}
}

// forgetJob removes a job that is over and whose gone channel the caller has just created.
func (l *Local) forgetJob(j *job) error {
	id := j.task.ID
	var err error
	if !j.task.Unsaved {
		err = l.spool.removeTask(id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(j.gone)
	if err != nil {
		j.gone = nil
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	delete(l.jobs, id)
	return nil
}

// Result implements Executor.
func (l *Local) Result(_ context.Context, id string) (Result, error) {
	if err := l.beginWork(); err != nil {
		return Result{}, err
	}
	defer l.work.Done()
	l.mu.Lock()
	j := l.storedJob(id)
	if j == nil {
		l.mu.Unlock()
		return Result{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	st, kept := j.status, j.kept
	l.mu.Unlock()
	if !st.State.Over() {
		return Result{}, fmt.Errorf("%w: %s is %s", ErrNotOver, id, st.State)
	}
	if kept != nil {
		return Result{st, kept.Stdout, kept.Stderr}, nil
	}
	stdout, stderr, err := l.spool.readOutput(id)
	if err != nil {
		return Result{}, fmt.Errorf("read result of task %s: %w", id, err)
	}
	if stdout == nil && stderr == nil {
		// Either the task wrote nothing, or it was deleted meanwhile.
		l.mu.Lock()
		still := l.storedJob(id) == j
		l.mu.Unlock()
		if !still {
			return Result{}, fmt.Errorf("%w: %q", ErrUnknown, id)
		}
	}
	return Result{st, stdout, stderr}, nil
}
