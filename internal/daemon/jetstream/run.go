package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// journalPrefix begins the keys of inputs in the journal. No task has such an id: '-' is allowed
// there, but '=' is not.
const journalPrefix = "journal="

// nodeAnswer is a node's answer.
type nodeAnswer struct {
	node string
	answer
}

// targetNames returns the names of the nodes of a task for all or for named nodes. The error is
// ErrRefused with ErrNode.
func (e *Executor) targetNames(t executor.Task) (names []string, err error) {
	for _, n := range e.knownNodes() {
		names = append(names, n.Name)
	}
	if !t.Target.All {
		wanted := slices.Compact(slices.Sorted(slices.Values(t.Target.Nodes)))
		unknown := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(names, name) })
		if len(unknown) > 0 {
			return nil, fmt.Errorf("%w: task %s: %w: %q", executor.ErrRefused, t.ID, executor.ErrNode, unknown)
		}
		names = wanted
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: task %s: %w: no node is known", executor.ErrRefused, t.ID, executor.ErrNode)
	}
	return names, nil
}

// chooseNode returns one ready node.
func (e *Executor) chooseNode(t executor.Task) (string, error) {
	ready := slices.DeleteFunc(e.knownNodes(), func(n executor.Node) bool { return n.State != executor.NodeReady })
	if len(ready) == 0 {
		return "", fmt.Errorf("%w: task %s: %w: no node is ready", executor.ErrRefused, t.ID, executor.ErrNode)
	}
	switch t.Target.Policy {
	case executor.RoundRobin:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.turn++
		return ready[e.turn%len(ready)].Name, nil
	case executor.Random:
		return ready[mathrand.IntN(len(ready))].Name, nil
	}
	return slices.MinFunc(ready, func(a, b executor.Node) int { return cmp.Compare(a.Load, b.Load) }).Name, nil
}

// Run implements executor.Executor. A node whose answer does not come is a Result in state Lost.
func (e *Executor) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	t, err := t.Prepare()
	if err != nil {
		return nil, err
	}
	if err := e.beginWork(); err != nil {
		return nil, err
	}
	defer e.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	var names []string
	if t.Target.All || len(t.Target.Nodes) > 0 {
		names, err = e.targetNames(t)
	} else {
		var name string
		name, err = e.chooseNode(t)
		names = []string{name}
	}
	if err != nil {
		return nil, err
	}
	if t.Journal {
		return e.runJournal(ctx, t, names)
	}
	return e.runOn(ctx, t, names)
}

// runOn asks each node directly.
func (e *Executor) runOn(ctx context.Context, t executor.Task, names []string) ([]executor.Result, error) {
	o := order{Key: "run=" + rand.Text(), Task: onWire(t), Stdin: t.Stdin}
	if end, ok := ctx.Deadline(); ok {
		o.Left = max(time.Until(end), time.Millisecond)
	}
	if len(t.Stdin) > inline {
		o.Stdin, o.Parts = nil, partsOf(len(t.Stdin))
	}
	e.mu.Lock()
	e.orders[o.Key] = t.Stdin
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.orders, o.Key)
		e.mu.Unlock()
	}()
	begun := e.cfg.Now().UTC()
	answers := make(chan nodeAnswer, len(names))
	for _, name := range names {
		go func() { answers <- nodeAnswer{name, e.askNode(ctx, name, o)} }()
	}
	byNode := map[string]answer{}
	for range names {
		a := <-answers
		byNode[a.node] = a.answer
	}
	return e.makeResults(ctx, t, names, byNode, begun)
}

// makeResults makes one Result of each node's answer, in the order of names. The error is for a task
// that started nowhere.
func (e *Executor) makeResults(ctx context.Context, t executor.Task, names []string, answers map[string]answer, begun time.Time) ([]executor.Result, error) {
	var list []executor.Result
	started, idle := false, ""
	for _, name := range names {
		a := answers[name]
		if a.Result == nil && endOf(ctx) != nil { // no free slot before the end of ctx
			idle = a.Error
			list = append(list, e.unansweredResult(t, name, executor.Cancelled, a.Error, begun))
			continue
		}
		started = true
		if a.Result == nil {
			list = append(list, e.unansweredResult(t, name, executor.Lost, "node "+name+": "+a.Error, begun))
			continue
		}
		r := *a.Result
		if a.Ref != "" {
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
			out, err := e.readOutput(short, output{}, a.Ref)
			if err != nil {
				r.State, r.Reason = executor.Lost, "the answer cannot be read: "+err.Error()
			} else if err := e.dropObject(short, a.Ref); err != nil {
				e.log.Warn("cannot delete an answer; it expires", "op", "jetstream.Run", "task", t.ID, "node", name, "error", err)
			}
			cancel()
			r.Stdout, r.Stderr = out.Stdout, out.Stderr
		}
		r.ID, r.Type, r.Node = t.ID, t.Type, name
		list = append(list, r)
	}
	if started {
		return list, nil
	}
	if e.ctx.Err() != nil {
		return nil, executor.ErrClosed
	}
	return nil, fmt.Errorf("task %s did not start: %s: %w", t.ID, idle, endOf(ctx))
}

// endOf is the error of ctx. The node's deadline is that of ctx, and its answer can be here before ctx has
// noticed its end.
func endOf(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// unansweredResult is the Result of a node without an answer.
func (e *Executor) unansweredResult(t executor.Task, node string, state executor.State, reason string, begun time.Time) executor.Result {
	return executor.Result{Status: executor.Status{ID: t.ID, Type: t.Type, State: state, Node: node, Reason: reason, Queued: begun, Ended: e.cfg.Now().UTC()}}
}

// askNode sends an order to one node and waits for its answer. When ctx ends, it tells the node
// to stop and waits for the answer a little longer.
func (e *Executor) askNode(ctx context.Context, node string, o order) answer {
	begun := e.cfg.Now().UTC()
	lost := func(reason string) answer {
		r := e.unansweredResult(o.Task, node, executor.Lost, reason, begun)
		return answer{Result: &r}
	}
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		stop := stopping{Key: o.Key, Reason: "cancelled by the caller"}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			stop.Reason = "deadline of the caller"
		}
		short, end := context.WithTimeout(waiting, e.cfg.Grace)
		defer end()
		_, _ = e.conn.Request(short, broker.NodeSubject(node, "task.stop"), encodeJSON(stop), 1) // the node's lease ends too
		select {
		case <-time.After(e.cfg.Grace):
			cancel(errors.New("it did not answer before the deadline"))
		case <-waiting.Done():
		}
	})()
	go e.watchSilence(waiting, node, cancel)
	replies, err := e.conn.Request(waiting, broker.NodeSubject(node, "task.run"), encodeJSON(o), 1)
	if err != nil {
		if cause := context.Cause(waiting); cause != nil {
			err = cause
		} else if errors.Is(err, broker.ErrNoResponders) {
			err = errors.New("it is not connected")
		}
		return lost("node " + node + " gave no answer: " + err.Error())
	}
	var a answer
	if err := json.Unmarshal(replies[0].Data, &a); err != nil {
		return lost("node " + node + " gave an unreadable answer: " + err.Error())
	}
	return a
}

// watchSilence cancels when a node becomes silent or starts again, until ctx ends.
func (e *Executor) watchSilence(ctx context.Context, node string, cancel context.CancelCauseFunc) {
	begun := time.Now()
	e.mu.Lock()
	instance := ""
	if m := e.members[node]; m != nil {
		instance = m.instance
	}
	e.mu.Unlock()
	tick := time.NewTicker(max(e.cfg.Silence/10, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		e.mu.Lock()
		last, now := begun, ""
		if m := e.members[node]; m != nil {
			now = m.instance
			if m.heard.After(begun) {
				last = m.heard
			}
		}
		e.mu.Unlock()
		if instance == "" {
			instance = now
		} else if now != "" && now != instance {
			cancel(errors.New("it was restarted"))
			return
		}
		if time.Since(last) > e.cfg.Silence {
			cancel(fmt.Errorf("no sign of life for %v", e.cfg.Silence))
			return
		}
	}
}

// runJournal appends a task to the journal and waits for the nodes that are there.
func (e *Executor) runJournal(ctx context.Context, t executor.Task, names []string) ([]executor.Result, error) {
	begun := e.cfg.Now().UTC()
	o := order{Key: journalPrefix + rand.Text(), Task: onWire(t), Stdin: t.Stdin}
	if len(t.Stdin) > inline {
		o.Stdin, o.Parts = nil, partsOf(len(t.Stdin))
		if err := e.storeInput(ctx, o.Key, t.Stdin); err != nil {
			return nil, fmt.Errorf("store task %s for the journal: %w", t.ID, err)
		}
	}
	incoming := make(chan nodeAnswer, 4*len(names))
	e.mu.Lock()
	e.journal[o.Key] = incoming
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.journal, o.Key)
		e.mu.Unlock()
	}()
	if err := e.appendOrder(ctx, o); err != nil {
		return nil, fmt.Errorf("append task %s to the journal (the nodes may have it and run it): %w", t.ID, err)
	}
	answers := e.gatherAnswers(ctx, names, incoming)
	var list []executor.Result
	for _, name := range names {
		if a, ok := answers[name]; ok && a.Result != nil {
			one, err := e.makeResults(ctx, t, []string{name}, answers, begun)
			if err != nil {
				return nil, err
			}
			list = append(list, one...)
			continue
		}
		list = append(list, e.unansweredResult(t, name, executor.Lost, "node "+name+" gave no answer yet; it is in the journal, and the node runs it when it is back", begun))
	}
	if len(answers) == len(names) && o.Parts > 0 {
		if err := e.eraseParts(context.WithoutCancel(ctx), o.Key, o.Parts); err != nil {
			e.log.Warn("cannot delete an input of the journal; the sweep does", "op", "jetstream.Run", "task", t.ID, "error", err)
		}
	}
	return list, nil
}

// appendOrder publishes an order to the journal. It repeats until the stream has acknowledged it, because
// a publish that got no acknowledgement may be stored. One order is published at a time: if the stream
// takes an order twice, no other stands between, and running it twice is running it once.
func (e *Executor) appendOrder(ctx context.Context, o order) error {
	select {
	case e.writer <- struct{}{}:
		defer func() { <-e.writer }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		one, cancel := context.WithTimeout(ctx, callTimeout)
		err := e.conn.Publish(one, "journal.task", o.Key, encodeJSON(o))
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, broker.ErrTooLarge) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// gatherAnswers collects the answers of the nodes that are not silent until ctx ends.
func (e *Executor) gatherAnswers(ctx context.Context, names []string, incoming <-chan nodeAnswer) map[string]answer {
	answers := map[string]answer{}
	tick := time.NewTicker(max(e.cfg.Silence/10, 10*time.Millisecond))
	defer tick.Stop()
	for {
		waiting := false
		for _, n := range e.knownNodes() {
			_, answered := answers[n.Name]
			waiting = waiting || slices.Contains(names, n.Name) && !answered && n.State != executor.NodeSilent
		}
		if !waiting {
			return answers
		}
		select {
		case a := <-incoming:
			if _, again := answers[a.node]; !again { // a second run may say that the change is there
				answers[a.node] = a.answer
			}
		case <-ctx.Done():
			return answers
		case <-tick.C:
		}
	}
}

// partLife is how long an input of the journal stays at least: its entry follows within that time.
const partLife = 10 * time.Minute

// sweepJournal deletes inputs of the journal of that age when all nodes have run all of it.
func (e *Executor) sweepJournal(age time.Duration) {
	ctx, cancel := context.WithTimeout(e.ctx, callTimeout)
	defer cancel()
	keys, err := e.tasks.Keys(ctx)
	keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, broker.Head+"."+journalPrefix) })
	if err == nil && len(keys) > 0 {
		var state broker.StreamState
		if state, err = e.conn.StreamState(ctx, broker.StreamJournal); err == nil && state.Pending > 0 {
			return
		}
	}
	for _, key := range keys {
		stored, failed := e.tasks.Get(ctx, key)
		if failed == nil && time.Since(stored.Changed) > age {
			failed = e.tasks.Delete(ctx, key)
		}
		err = errors.Join(err, failed)
	}
	if err != nil && e.ctx.Err() == nil {
		e.log.Warn("cannot delete old inputs of the journal; trying again", "op", "jetstream.sweepJournal", "error", err)
	}
}
