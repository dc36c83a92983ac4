package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// answerQuestion answers a node's request. The name of the node is in the subject, which the broker
// checks: dc.head.NAME.task.WHAT.
func (e *Executor) answerQuestion(m broker.Message) {
	tokens := strings.Split(m.Subject, ".")
	var q question
	if err := json.Unmarshal(m.Data, &q); err != nil || len(tokens) != 5 {
		e.log.Warn("ignored an unreadable request of a node", "op", "jetstream.question", "subject", m.Subject, "error", err)
		return
	}
	if e.beginWork() != nil {
		return
	}
	e.work.Add(1) // enter's is for this goroutine
	node, what := tokens[2], tokens[4]
	go func() {
		defer e.work.Done()
		ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
		defer cancel()
		reply, err := e.decideQuestion(ctx, node, what, q)
		if err == nil {
			err = m.Respond(reply)
		}
		if err != nil && e.ctx.Err() == nil {
			e.log.Warn("cannot answer a node", "op", "jetstream.question", "node", node, "what", what, "task", q.ID, "error", err)
		}
	}()
	e.work.Done()
}

func (e *Executor) decideQuestion(ctx context.Context, node, what string, q question) ([]byte, error) {
	switch what {
	case askStart:
		return e.decideWithLock(ctx, q, func(t *entry) (decision, error) { return e.decideStart(ctx, node, t) })
	case askWait:
		return e.decideWithLock(ctx, q, func(t *entry) (decision, error) { return e.noteWaiting(ctx, t, q) })
	case askBack:
		return e.decideWithLock(ctx, q, func(t *entry) (decision, error) { return e.takeBack(ctx, node, t, q) })
	case askLease:
		return encodeJSON(e.renewLease(node, q)), nil
	case askInput:
		return e.readInput(ctx, q)
	case askDone:
		e.mu.Lock()
		to := e.journal[q.ID]
		e.mu.Unlock()
		if to != nil && q.Result != nil {
			select {
			case to <- nodeAnswer{node, *q.Result}:
			default: // a second answer of this node
			}
		}
		return encodeJSON(decision{Do: doRun}), nil
	}
	return nil, fmt.Errorf("unknown request %.40q", what)
}

// decideWithLock runs a decision about a submitted task with the lock of its id. A task that is not
// known, or over, is dropped.
func (e *Executor) decideWithLock(ctx context.Context, q question, decide func(*entry) (decision, error)) ([]byte, error) {
	unlock, err := e.ids.lockID(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e.mu.Lock()
	t := e.entries[q.ID]
	gone := t == nil || t.rec.Gen != q.Gen || t.st.State.Over()
	e.mu.Unlock()
	if gone {
		return encodeJSON(decision{Do: doDrop}), nil
	}
	d, err := decide(t)
	return encodeJSON(d), err
}

// decideStart decides whether a node may run a task. A task that another node runs moves only if that
// one has not confirmed its lease for the whole ack wait; it has then killed its processes. So no
// two nodes run a task at the same time, whatever the broker delivers.
func (e *Executor) decideStart(ctx context.Context, node string, t *entry) (decision, error) {
	e.mu.Lock()
	st, attempt, leased := t.st, t.attempt, t.leased
	e.mu.Unlock()
	if e.isExpired(t) {
		return decision{Do: doDrop}, e.expireTask(ctx, t)
	}
	if st.State == executor.Running {
		if left := e.cfg.AckWait - time.Since(leased); left > 0 {
			return decision{Do: doLater}, nil
		}
		if over, err := e.settleAttempt(ctx, t); over || err != nil {
			return decision{Do: doDrop}, err
		}
	}
	task := t.rec.Task
	if attempt >= e.maxAttempts(&task) {
		return decision{Do: doDrop}, e.finishTask(ctx, t, executor.Lost, fmt.Sprintf("node %s ended or lost its connection while the task ran; attempt %d of %d", st.Node, attempt, e.maxAttempts(&task)))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.attempt++
	if !slices.Contains(t.tried, node) {
		t.tried = append(t.tried, node)
	}
	t.leased, t.stop = time.Now(), nil
	st.State, st.Node, st.Reason, st.Started = executor.Running, node, "", e.cfg.Now().UTC()
	e.publishStatus(t, st)
	return decision{Do: doRun, Order: &order{Key: task.ID, Task: task, Parts: t.rec.Parts, Gen: t.rec.Gen, Attempt: t.attempt}}, nil
}

// maxAttempts returns how often a task may start.
func (e *Executor) maxAttempts(t *executor.Task) int {
	switch {
	case len(t.Target.Nodes) > 0:
		return 1
	case t.Attempts > 0:
		return t.Attempts
	}
	return e.cfg.Attempts
}

// settleAttempt looks at what the last node of a task stored, before the task moves or is lost.
func (e *Executor) settleAttempt(ctx context.Context, t *entry) (over bool, err error) {
	e.mu.Lock()
	key := nodeKey(t.st.Node, t.st.ID)
	e.mu.Unlock()
	stored, err := e.tasks.Get(ctx, key)
	if errors.Is(err, broker.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.recordOutcome(stored)
	e.mu.Lock()
	defer e.mu.Unlock()
	return t.st.State.Over(), nil
}

// noteWaiting notes that the start conditions of a task fail on a node.
func (e *Executor) noteWaiting(ctx context.Context, t *entry, q question) (decision, error) {
	if e.isExpired(t) {
		return decision{Do: doDrop}, e.expireTask(ctx, t)
	}
	e.mu.Lock()
	st := t.st
	if st.State == executor.Running {
		e.mu.Unlock()
		return decision{Do: doLater}, nil
	}
	if !q.Measuring {
		t.looks++
	}
	looks := t.looks
	start := t.rec.Task.Start
	if start.Retries == 0 || looks < int64(start.Retries) {
		reason := "waits for resources: " + q.Reason
		if st.State != executor.Waiting || st.Reason != reason {
			st.State, st.Reason = executor.Waiting, reason
			e.publishStatus(t, st)
		}
		e.mu.Unlock()
		return decision{Do: doLater}, nil
	}
	e.mu.Unlock()
	return decision{Do: doDrop}, e.finishTask(ctx, t, executor.Refused, fmt.Sprintf("schedule tries exceeded: %d looks, at the last one %s", looks, q.Reason))
}

// takeBack takes a task from a node that closes or cannot run it.
func (e *Executor) takeBack(ctx context.Context, node string, t *entry, q question) (decision, error) {
	e.mu.Lock()
	st, task := t.st, t.rec.Task
	mine := st.State == executor.Running && st.Node == node && t.attempt == q.Attempt
	e.mu.Unlock()
	if !mine {
		return decision{Do: doDrop}, nil
	}
	if q.Attempt >= e.maxAttempts(&task) {
		return decision{Do: doDrop}, e.finishTask(ctx, t, executor.Lost, q.Reason)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	st.State, st.Node, st.Started, st.Reason = executor.Queued, "", time.Time{}, q.Reason
	e.publishStatus(t, st)
	return decision{Do: doLater}, nil
}

// renewLease notes that a node still runs a task, or tells it to stop.
func (e *Executor) renewLease(node string, q question) decision {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.Gen == 0 { // an order of Run
		if _, running := e.orders[q.ID]; running {
			return decision{Do: doRun}
		}
		return decision{Do: doDrop}
	}
	t := e.entries[q.ID]
	if t == nil || t.rec.Gen != q.Gen || t.attempt != q.Attempt || t.st.Node != node || t.st.State != executor.Running {
		return decision{Do: doDrop}
	}
	t.leased = time.Now()
	if t.stop != nil {
		return decision{Do: doDrop, Stop: t.stop}
	}
	return decision{Do: doRun}
}

// readInput returns a part of the input of an order, or of a stored task.
func (e *Executor) readInput(ctx context.Context, q question) ([]byte, error) {
	e.mu.Lock()
	data := e.orders[q.ID]
	e.mu.Unlock()
	if data != nil {
		return partOf(data, q.Part), nil
	}
	stored, err := e.tasks.Get(ctx, partKey(q.ID, q.Part))
	return stored.Value, err
}

func (e *Executor) isExpired(t *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	ttl := t.rec.Task.QueueTTL
	waits := t.st.State == executor.Queued || t.st.State == executor.Waiting
	return waits && ttl > 0 && !t.rec.Queued.Add(ttl).After(e.cfg.Now())
}

// expireTask refuses a task whose QueueTTL is over. The caller holds the lock of its id.
func (e *Executor) expireTask(ctx context.Context, t *entry) error {
	e.mu.Lock()
	reason := fmt.Sprintf("expired: no start within %v", t.rec.Task.QueueTTL)
	if t.st.State == executor.Waiting {
		reason += ", it " + t.st.Reason
	}
	e.mu.Unlock()
	return e.finishTask(ctx, t, executor.Refused, reason)
}

// sweepInterval is how often the clock looks at the tasks in memory.
const sweepInterval = time.Second

// runClock ends tasks whose time is up, repairs lost notices and removes old results.
func (e *Executor) runClock() {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for n := 0; ; n++ {
		e.sweepTasks()
		if n%60 == 59 {
			e.sweepJournal(partLife)
		}
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepTasks does what is due.
func (e *Executor) sweepTasks() {
	e.mu.Lock()
	due := map[string]func(context.Context, *entry) error{}
	now := e.cfg.Now()
	for id, t := range e.entries {
		waits := t.st.State == executor.Queued || t.st.State == executor.Waiting
		ttl := t.rec.Task
		switch silent := time.Since(t.leased); {
		case waits && ttl.QueueTTL > 0 && !t.rec.Queued.Add(ttl.QueueTTL).After(now):
			due[id] = e.expireTask
		case waits && t.sent.IsZero():
			due[id] = func(ctx context.Context, t *entry) error { e.announceTask(ctx, t); return nil }
		case t.st.State == executor.Running && silent > e.cfg.AckWait && (t.stop != nil || t.attempt >= e.maxAttempts(&ttl)):
			due[id] = e.endLostTask
		case t.st.State == executor.Running && silent > 2*e.cfg.AckWait && time.Since(t.sent) > 2*e.cfg.AckWait:
			due[id] = func(ctx context.Context, t *entry) error { e.announceTask(ctx, t); return nil }
		case t.st.State.Over() && ttl.ResultTTL > 0 && !t.st.Ended.Add(ttl.ResultTTL).After(now):
			due[id] = nil
		}
	}
	e.mu.Unlock()
	for id, act := range due {
		if err := e.actWithLock(id, act); err != nil && e.ctx.Err() == nil {
			e.log.Error("cannot do what is due for a task; trying again", "op", "jetstream.sweep", "task", id, "error", err)
		}
	}
}

// actWithLock runs one action of sweep with the lock of the id; nil deletes the task.
func (e *Executor) actWithLock(id string, act func(context.Context, *entry) error) error {
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	if act == nil {
		_, err := e.forgetTask(ctx, id)
		return err
	}
	unlock, err := e.ids.lockID(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	t := e.findEntry(id)
	if t == nil {
		return nil
	}
	return act(ctx, t)
}

// endLostTask ends a task whose node has not confirmed its lease for the whole ack wait.
func (e *Executor) endLostTask(ctx context.Context, t *entry) error {
	e.mu.Lock()
	st, again, attempt := t.st, time.Since(t.leased) <= e.cfg.AckWait, t.attempt
	stop, most := t.stop, e.maxAttempts(&t.rec.Task)
	e.mu.Unlock()
	if again || st.State != executor.Running {
		return nil
	}
	if over, err := e.settleAttempt(ctx, t); over || err != nil {
		return err
	}
	if stop != nil {
		return e.finishTask(ctx, t, executor.Cancelled, stop.Reason+"; node "+st.Node+" does not answer and has ended the task")
	}
	return e.finishTask(ctx, t, executor.Lost, fmt.Sprintf("node %s ended or lost its connection while the task ran; attempt %d of %d", st.Node, attempt, most))
}
