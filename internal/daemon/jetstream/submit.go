package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// Submit implements executor.Executor. A task for All is accepted if there is one node.
func (e *Executor) Submit(ctx context.Context, t executor.Task) error {
	t, err := t.Prepare()
	if err != nil {
		return err
	}
	if err := e.beginWork(); err != nil {
		return err
	}
	defer e.work.Done()
	if t.Target, err = e.oneNode(t); err != nil {
		return err
	}
	unlock, err := e.ids.lockID(ctx, t.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if known := e.findEntry(t.ID); known != nil {
		return nil
	}
	if n := e.countQueued(); n >= e.cfg.MaxQueue {
		return fmt.Errorf("%w: task %s: %d tasks wait in the queue", executor.ErrRefused, t.ID, n)
	}
	return e.acceptTask(ctx, t)
}

// oneNode checks that the target is one node.
func (e *Executor) oneNode(t executor.Task) (executor.Target, error) {
	if !t.Target.All && len(t.Target.Nodes) == 0 {
		return t.Target, nil
	}
	names, err := e.targetNames(t)
	if err != nil {
		return t.Target, err
	}
	if len(names) != 1 {
		return t.Target, fmt.Errorf("%w: task %s is for %d nodes; a submitted task is for one, Run is for several", executor.ErrRefused, t.ID, len(names))
	}
	return executor.Target{Nodes: names}, nil
}

func (e *Executor) findEntry(id string) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.entries[id]
}

// countQueued returns how many tasks wait.
func (e *Executor) countQueued() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.entries {
		if t.st.State == executor.Queued || t.st.State == executor.Waiting {
			n++
		}
	}
	return n
}

// acceptTask stores a task: its input, then its key, which accepts it, then the notice. If the notice
// cannot be published, the clock publishes it later.
func (e *Executor) acceptTask(ctx context.Context, t executor.Task) error {
	now := e.cfg.Now()
	rec := record{Task: onWire(t), Gen: time.Now().UnixNano(), Parts: partsOf(len(t.Stdin)), Queued: now.UTC()}
	fail := func(err error) error {
		e.eraseTask(t.ID, rec.Parts)
		return fmt.Errorf("store task %s: %w", t.ID, err)
	}
	if err := e.storeInput(ctx, t.ID, t.Stdin); err != nil {
		return fail(err)
	}
	_, err := e.tasks.Create(ctx, taskKey(t.ID), encodeJSON(rec))
	if errors.Is(err, broker.ErrConflict) {
		return e.adoptTask(ctx, t.ID) // an earlier Create got no acknowledgement
	}
	if err != nil {
		return fail(err)
	}
	one := &entry{rec: rec, over: make(chan struct{})}
	e.mu.Lock()
	e.entries[t.ID] = one
	e.publishStatus(one, executor.Status{ID: t.ID, Type: t.Type, State: executor.Queued, Queued: rec.Queued})
	e.mu.Unlock()
	e.announceTask(ctx, one)
	return nil
}

// storeInput writes the parts of an input.
func (e *Executor) storeInput(ctx context.Context, key string, data []byte) error {
	for part := range partsOf(len(data)) {
		if _, err := e.tasks.Put(ctx, partKey(key, part), partOf(data, part)); err != nil {
			return err
		}
	}
	return nil
}

// eraseTask removes the head's keys of a task, the accepting one first: the rest is then no task.
func (e *Executor) eraseTask(id string, parts int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := e.tasks.Delete(ctx, taskKey(id)); err != nil {
		return err
	}
	return e.eraseParts(ctx, id, parts)
}

func (e *Executor) eraseParts(ctx context.Context, key string, parts int) error {
	for part := range parts {
		if err := e.tasks.Delete(ctx, partKey(key, part)); err != nil {
			return err
		}
	}
	return nil
}

// announceTask publishes the notice of a task for its next attempt.
func (e *Executor) announceTask(ctx context.Context, t *entry) {
	e.mu.Lock()
	task, attempt := t.rec.Task, t.attempt
	e.mu.Unlock()
	text := encodeJSON(notice{ID: task.ID, Type: task.Type, Gen: t.rec.Gen, Parts: t.rec.Parts, Start: task.Start})
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := e.conn.Publish(ctx, subjectOf(&task), fmt.Sprintf("%s.%d.%d", task.ID, t.rec.Gen, attempt), text); err != nil {
		e.log.Warn("cannot publish an accepted task; trying again", "op", "jetstream.announce", "task", task.ID, "error", err)
		return
	}
	e.mu.Lock()
	t.sent = time.Now()
	e.mu.Unlock()
}

// finishTask ends a task that no node runs. The caller holds the lock of its id.
func (e *Executor) finishTask(ctx context.Context, t *entry, state executor.State, reason string) error {
	e.mu.Lock()
	st := t.st
	e.mu.Unlock()
	if st.State.Over() {
		return nil
	}
	st.State, st.Reason, st.Ended = state, reason, e.cfg.Now().UTC()
	rec := t.rec
	rec.End = &st
	if _, err := e.tasks.Put(ctx, taskKey(st.ID), encodeJSON(rec)); err != nil {
		return fmt.Errorf("store the end of task %s: %w", st.ID, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.rec = rec
	e.publishStatus(t, st)
	return nil
}

// Cancel implements executor.Executor.
func (e *Executor) Cancel(ctx context.Context, id string, grace time.Duration) error {
	if err := e.beginWork(); err != nil {
		return err
	}
	defer e.work.Done()
	t, err := e.stopTask(ctx, id, grace)
	if err != nil {
		return err
	}
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return executor.ErrClosed
	}
}

// stopTask begins to cancel a task.
func (e *Executor) stopTask(ctx context.Context, id string, grace time.Duration) (*entry, error) {
	const reason = "cancelled on request"
	unlock, err := e.ids.lockID(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e.mu.Lock()
	t := e.entries[id]
	if t == nil {
		e.mu.Unlock()
		return nil, fmt.Errorf("%w: %q", executor.ErrUnknown, id)
	}
	st := t.st
	if st.State == executor.Running {
		t.stop = &stopping{Key: id, Gen: t.rec.Gen, Grace: grace, Reason: reason}
	}
	order := t.stop
	e.mu.Unlock()
	if st.State != executor.Running {
		return t, e.finishTask(ctx, t, executor.Cancelled, reason)
	}
	// If the node does not get it, the answer to its next lease says the same.
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := e.conn.Request(short, broker.NodeSubject(st.Node, "task.stop"), encodeJSON(order), 1); err != nil {
		e.log.Warn("cannot tell a node to stop a task; it stops at its next lease", "op", "jetstream.Cancel", "task", id, "node", st.Node, "error", err)
	}
	return t, nil
}

// Delete implements executor.Executor.
func (e *Executor) Delete(ctx context.Context, id string) error {
	for {
		err := e.Cancel(ctx, id, 0)
		if errors.Is(err, executor.ErrUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := e.forgetTask(ctx, id); done || err != nil {
			return err
		}
	}
}

// forgetTask deletes a task that is over, and reports false if it is not.
func (e *Executor) forgetTask(ctx context.Context, id string) (done bool, err error) {
	if err := e.beginWork(); err != nil {
		return false, err
	}
	defer e.work.Done()
	unlock, err := e.ids.lockID(ctx, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	t := e.findEntry(id)
	if t == nil {
		return true, nil
	}
	e.mu.Lock()
	st := t.st
	e.mu.Unlock()
	if !st.State.Over() {
		return false, nil
	}
	var ref string
	if o, err := e.readOutcome(ctx, t); err == nil {
		ref = o.Ref
	}
	if err := e.eraseTask(id, t.rec.Parts); err != nil {
		return false, fmt.Errorf("delete task %s: %w", id, err)
	}
	e.mu.Lock()
	delete(e.entries, id)
	e.mu.Unlock()
	// The task is gone. What remains after an error or a kill is removed by the next New.
	for _, node := range t.tried {
		err = errors.Join(err, e.tasks.Delete(ctx, nodeKey(node, id)))
	}
	err = errors.Join(err, e.dropObject(ctx, ref))
	if err != nil {
		e.log.Warn("cannot delete all data of a task; the next start does", "op", "jetstream.Delete", "task", id, "error", err)
	}
	return true, nil
}

func (e *Executor) dropObject(ctx context.Context, ref string) error {
	if ref == "" {
		return nil
	}
	objects, err := e.conn.Objects(ctx, "large")
	if err != nil {
		return err
	}
	return objects.Delete(ctx, ref)
}

// readOutcome returns what the last node stored about a task; broker.ErrNotFound if it stored nothing
// of the last attempt.
func (e *Executor) readOutcome(ctx context.Context, t *entry) (o outcome, err error) {
	e.mu.Lock()
	st, gen, attempt := t.st, t.rec.Gen, t.attempt
	e.mu.Unlock()
	if st.Node == "" {
		return o, broker.ErrNotFound
	}
	stored, err := e.tasks.Get(ctx, nodeKey(st.Node, st.ID))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(stored.Value, &o); err != nil {
		return o, err
	}
	if o.Gen != gen || o.Attempt != attempt {
		return o, broker.ErrNotFound
	}
	return o, nil
}

// Reads of an outcome that is not there yet.
const (
	lagStep  = 20 * time.Millisecond
	lagLimit = 10 * time.Second
)

// awaitEnd reads the outcome of a task that is over. Any server of a cluster answers a read, also one that lags behind the server that
// has told the end: it has the outcome of the start, which has no output, or none.
func awaitEnd(ctx context.Context, read func(ctx context.Context) (outcome, error)) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, lagLimit)
	defer cancel()
	for {
		o, err := read(ctx)
		if err != nil || o.Status.State.Over() {
			return o, err
		}
		select {
		case <-ctx.Done():
			return o, fmt.Errorf("the servers of the cluster do not agree that it is over: %w", ctx.Err())
		case <-time.After(lagStep):
		}
	}
}

// Result implements executor.Executor.
func (e *Executor) Result(ctx context.Context, id string) (executor.Result, error) {
	if err := e.beginWork(); err != nil {
		return executor.Result{}, err
	}
	defer e.work.Done()
	t := e.findEntry(id)
	if t == nil {
		return executor.Result{}, fmt.Errorf("%w: %q", executor.ErrUnknown, id)
	}
	e.mu.Lock()
	st, headEnded := t.st, t.rec.End != nil
	e.mu.Unlock()
	if !st.State.Over() {
		return executor.Result{}, fmt.Errorf("%w: %s is %s", executor.ErrNotOver, id, st.State)
	}
	if headEnded {
		return executor.Result{Status: st}, nil
	}
	o, err := awaitEnd(ctx, func(ctx context.Context) (outcome, error) {
		o, err := e.readOutcome(ctx, t)
		if errors.Is(err, broker.ErrNotFound) && e.findEntry(id) == t {
			err = nil // it is over, so its outcome is on its way to this server
		}
		return o, err
	})
	if err == nil {
		o.output, err = e.readOutput(ctx, o.output, o.Ref)
	}
	if errors.Is(err, broker.ErrNotFound) && e.findEntry(id) != t {
		return executor.Result{}, fmt.Errorf("%w: %q", executor.ErrUnknown, id)
	}
	if err != nil {
		return executor.Result{}, fmt.Errorf("read result of task %s: %w", id, err)
	}
	return executor.Result{Status: st, Stdout: o.Stdout, Stderr: o.Stderr}, nil
}

// readOutput returns small, or the output in the object ref if that is set.
func (e *Executor) readOutput(ctx context.Context, small output, ref string) (output, error) {
	if ref == "" {
		return small, nil
	}
	objects, err := e.conn.Objects(ctx, "large")
	if err != nil {
		return small, err
	}
	data, err := objects.Get(ctx, ref)
	if err != nil {
		return small, err
	}
	err = json.Unmarshal(data, &small)
	return small, err
}
