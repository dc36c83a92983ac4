package executor

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// job is a submitted task in a pool. Local.mu guards its fields but task, which
// stays as it is until the job is over.
//
// A job has one owner at a time: a lane while it waits for a slot, the clock
// while it waits for its next attempt or look, else the goroutine that runs, finishes
// or forgets it. Who wants to end a waiting job claims it first. So the files
// of a task have one writer, and states follow one another in one order on
// disk, in memory and in watches.
type job struct {
	task   Task
	status Status // State is empty until the spool has the task
	age    uint64

	wait   *waiter                 // while in a lane's queue
	since  time.Time               // while it waits for its start, be it without what it asks for: QueueTTL counts from here
	parked time.Time               // when its next attempt, or look, is due; zero when not Waiting for the clock
	looks  int                     // how often its start conditions did not hold
	cancel context.CancelCauseFunc // while it runs

	saved chan struct{} // closed when Submit has its answer
	over  chan struct{} // closed when the state is over, or the pool let go of it
	gone  chan struct{} // while it is being deleted; closed afterwards
	kept  *Result       // the result, when the spool could not take it
}

// known finds a job that is in the spool and not about to leave it. l.mu is
// held.
func (l *Local) known(id string) *job {
	if j := l.jobs[id]; j != nil && j.unsettled() == nil {
		return j
	}
	return nil
}

// snapshot copies the status. l.mu is held.
func (j *job) snapshot() Status {
	st := j.status
	st.Labels = maps.Clone(st.Labels)
	return st
}

// publish makes st the job's status and tells the watchers. l.mu is held.
func (l *Local) publish(j *job, st Status) {
	waits := func(s State) bool { return s == Queued || s == Waiting }
	if was, is := waits(j.status.State) || j.status.State == "", waits(st.State); was && !is {
		l.queued--
	} else if !was && is {
		l.queued++
	}
	j.status = st
	if st.State.Over() {
		j.task.Stdin = nil // may be large, and is not needed again
	}
	for w := range l.watchers {
		w.add(j.snapshot())
	}
	if st.State.Over() {
		close(j.over)
	}
	if st.State == Waiting || st.State == Queued && j.task.QueueTTL > 0 || st.State.Over() && j.task.ResultTTL > 0 {
		select {
		case l.wake <- struct{}{}: // the clock has a deadline more
		default:
		}
	}
}

// Submit implements Executor.
func (l *Local) Submit(ctx context.Context, t Task) error {
	t, err := t.prepare()
	if err != nil {
		return err
	}
	if names := l.foreign(t.Target); len(names) > 0 {
		return fmt.Errorf("%w: task %s: %w: %q", ErrRefused, t.ID, ErrNode, names)
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.work.Done()
	j, err := l.reserve(ctx, t)
	if j == nil {
		return err
	}
	st := t.queued(l.cfg.Now())
	err = l.spool.create(&t, st.Queued)

	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(j.saved)
	if err != nil {
		l.queued--
		delete(l.jobs, t.ID)
		return fmt.Errorf("env.Submit: task %s: %w", t.ID, err)
	}
	l.publish(j, st)
	l.enqueue(j)
	if !l.closing {
		l.fill(t.Type)
	}
	return nil
}

// reserve makes a job for t that nobody sees yet. It returns nil without an
// error when the id is known already. An id on its way in or out is waited
// for: what is known afterwards decides.
func (l *Local) reserve(ctx context.Context, t Task) (*job, error) {
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
		settled := other.unsettled()
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

// unsettled is nil for a job that is plainly there, else the channel that is
// closed when its coming or going is settled. l.mu is held.
func (j *job) unsettled() <-chan struct{} {
	if j.gone != nil {
		return j.gone
	}
	if j.status.State == "" {
		return j.saved
	}
	return nil
}

// enqueue puts j into its lane. l.mu is held.
func (l *Local) enqueue(j *job) {
	if j.since.IsZero() {
		j.since = l.cfg.Now()
	}
	j.wait = &waiter{priority: j.task.Priority, age: j.age,
		look: func() bool { return l.look(j) }, begin: func() { l.begin(j) }}
	l.lane(j.task.Type).join(j.wait)
}

// begin starts an attempt in a slot of its own. l.mu is held, the pool is not
// closing.
func (l *Local) begin(j *job) {
	j.wait, j.since, j.looks = nil, time.Time{}, 0
	ctx, cancel := context.WithCancelCause(l.ctx)
	j.cancel = cancel
	st := j.status
	st.State, st.Node, st.Attempt, st.Started = Running, l.cfg.NodeName, st.Attempt+1, l.cfg.Now()
	st.Reason, st.ExitStatus = "", 0
	l.publish(j, st)
	l.work.Add(1)
	go func() {
		defer l.work.Done()
		defer cancel(nil)
		l.runAttempt(ctx, j, st)
	}()
}

// runAttempt runs j once, stores what came of it and gives the slot back.
func (l *Local) runAttempt(ctx context.Context, j *job, st Status) {
	if err := l.spool.saveStatus(&st); err != nil {
		// The task runs all the same: after a crash it would run again.
		l.log.Error("cannot store that a task runs", "op", "env.run", "task", st.ID, "error", err)
	}
	o := l.attempt(ctx, &j.task)
	st.settle(&o, l.cfg.Now())
	defer func() {
		l.mu.Lock()
		l.release(j.task.Type)
		l.mu.Unlock()
	}()
	if o.state == Lost {
		// The pool closes. In the spool the task runs on; the next pool
		// decides whether it has an attempt left.
		l.mu.Lock()
		l.publish(j, st)
		l.mu.Unlock()
		return
	}
	if o.state == Failed && st.Attempt < j.task.Attempts && ctx.Err() == nil {
		l.park(ctx, j, st)
		return
	}
	l.finish(j, st, o.stdout, o.stderr)
}

// park lets a failed job wait for its next attempt, unless ctx has ended.
func (l *Local) park(ctx context.Context, j *job, st Status) {
	failed := st
	st.State = Waiting
	st.Reason = fmt.Sprintf("attempt %d of %d: %s", st.Attempt, j.task.Attempts, st.Reason)
	st.Ended = time.Time{}
	if err := l.spool.saveStatus(&st); err != nil {
		l.log.Error("cannot store that a task waits", "op", "env.run", "task", st.ID, "error", err)
	}
	l.mu.Lock()
	if ctx.Err() == nil {
		defer l.mu.Unlock()
		j.cancel = nil
		j.parked = l.cfg.Now().Add(j.task.RetryDelay)
		l.publish(j, st)
		return
	}
	cause := causeOf(ctx, 0)
	failed.State, failed.Reason = cause.state, cause.reason
	if cause.state == Lost {
		defer l.mu.Unlock()
		l.publish(j, failed) // on disk it waits for the next pool
		return
	}
	l.mu.Unlock()
	l.finish(j, failed, nil, nil)
}

// finish stores the end of a job its caller owns, then makes it known. When
// the disk does not take it, the result is kept in memory and the error
// returned: after a crash the task would be lost, or run again.
func (l *Local) finish(j *job, st Status, stdout, stderr []byte) error {
	err := l.spool.saveResult(&st, stdout, stderr)
	if err != nil {
		err = fmt.Errorf("store the end of task %s: %w", st.ID, err)
		l.log.Error("cannot store the end of a task", "op", "env.finish", "task", st.ID, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		j.kept = &Result{Stdout: stdout, Stderr: stderr}
	}
	j.cancel = nil
	l.publish(j, st)
	return err
}

// claim takes a job that waits for a slot, an attempt or a look from whoever
// holds it, so that the caller may finish it. l.mu is held.
func (l *Local) claim(j *job) bool {
	if j.wait != nil {
		l.leave(j.task.Type, j.wait)
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
	if err := l.enter(); err != nil {
		return err
	}
	defer l.work.Done()
	l.mu.Lock()
	j := l.known(id)
	if j == nil {
		l.mu.Unlock()
		return fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	return l.cancelJob(ctx, j, grace) // unlocks
}

// cancelJob ends j and waits for it. l.mu is held at the call, not afterwards.
func (l *Local) cancelJob(ctx context.Context, j *job, grace time.Duration) error {
	const reason = "cancelled on request"
	if grace <= 0 {
		grace = l.cfg.KillGrace
	}
	if l.claim(j) {
		st := j.status
		l.mu.Unlock()
		st.State, st.Reason, st.Ended = Cancelled, reason, l.cfg.Now()
		return l.finish(j, st, nil, nil)
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
	if err := l.enter(); err != nil {
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
		if settled := j.unsettled(); settled != nil {
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
		return l.forget(j)
	}
}

// forget removes a job that is over and whose gone channel the caller has just
// made.
func (l *Local) forget(j *job) error {
	id := j.task.ID
	err := l.spool.remove(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(j.gone)
	if err != nil {
		j.gone = nil
		return fmt.Errorf("env.Delete: task %s: %w", id, err)
	}
	delete(l.jobs, id)
	return nil
}

// Result implements Executor.
func (l *Local) Result(_ context.Context, id string) (Result, error) {
	if err := l.enter(); err != nil {
		return Result{}, err
	}
	defer l.work.Done()
	l.mu.Lock()
	j := l.known(id)
	if j == nil {
		l.mu.Unlock()
		return Result{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	st, kept := j.snapshot(), j.kept
	l.mu.Unlock()
	if !st.State.Over() {
		return Result{}, fmt.Errorf("%w: %s is %s", ErrNotOver, id, st.State)
	}
	if kept != nil {
		return Result{st, kept.Stdout, kept.Stderr}, nil
	}
	stdout, stderr, err := l.spool.output(id)
	if err != nil {
		return Result{}, fmt.Errorf("env.Result: task %s: %w", id, err)
	}
	if stdout == nil && stderr == nil {
		// Deleted while we read, or a task that wrote nothing?
		l.mu.Lock()
		still := l.known(id) == j
		l.mu.Unlock()
		if !still {
			return Result{}, fmt.Errorf("%w: %q", ErrUnknown, id)
		}
	}
	return Result{st, stdout, stderr}, nil
}
