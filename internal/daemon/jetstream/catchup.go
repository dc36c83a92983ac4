package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// journalTries is how often a node runs a task of the journal that may itself be the cause of its
// failures, before it goes on. A fault of the machine, such as a full disk, has no such limit: a
// change that one node leaves out is missing there for good.
const journalTries = 3

// brokenExits are the exit statuses of a program that reports a fault of its machine
// (docs/spec/DECISIONS.md 1.5), or that cannot be started.
var brokenExits = map[int]bool{1: true, 126: true, 127: true}

// followJournal runs the tasks of the journal in order, one at a time. It calls caughtUp once, when
// there are no more that it missed.
func (n *Node) followJournal(caughtUp func()) {
	durable := broker.NodeDurable(n.cfg.Name)
	p, err := n.conn.Pull(n.ctx, broker.StreamJournal, durable)
	if err != nil {
		return // the node closes
	}
	for behind := true; n.ctx.Err() == nil; {
		if behind && n.journalEmpty(durable) {
			behind = false
			caughtUp()
		}
		ctx, cancel := context.WithCancel(n.ctx)
		if behind { // look again whether anything is missing
			ctx, cancel = context.WithTimeout(n.ctx, 2*time.Second)
		}
		d, err := p.Next(ctx)
		cancel()
		if err != nil {
			if n.ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
				n.log.Warn("cannot read the journal; trying again", "op", "jetstream.followJournal", "error", err)
				n.pauseFor(time.Second)
			}
			continue
		}
		n.applyTask(p.AckWait, d)
	}
}

// journalEmpty reports whether no task of the journal waits for this node.
func (n *Node) journalEmpty(durable string) bool {
	ctx, cancel := context.WithTimeout(n.ctx, callTimeout)
	defer cancel()
	state, err := n.conn.ConsumerState(ctx, broker.StreamJournal, durable)
	if err != nil && n.ctx.Err() == nil {
		n.log.Warn("cannot read the state of the journal; trying again", "op", "jetstream.followJournal", "error", err)
	}
	return err == nil && state.Pending == 0
}

// applyTask runs one task of the journal, sends its result, and acknowledges it. Until then the next
// one does not come. After a kill it comes again: such tasks are idempotent.
func (n *Node) applyTask(ackWait time.Duration, d broker.Delivery) {
	var o order
	if err := json.Unmarshal(d.Data, &o); err != nil {
		n.log.Error("dropped an unreadable entry of the journal", "op", "jetstream.apply", "sequence", d.Sequence, "error", err)
		_ = d.Term("unreadable")
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(ackWait / 3):
				_ = d.InProgress() // otherwise it comes again, to this node
			}
		}
	}()
	r := n.applyUntil(&o)
	if r == nil {
		return // the node closes
	}
	a := n.answerOf(n.ctx, *r)
	if _, err := n.askDecision(n.ctx, askDone, question{ID: o.Key, Result: &a}); err != nil {
		n.log.Debug("the head does not wait for the result of the journal", "op", "jetstream.apply", "task", o.Task.ID, "error", err)
	}
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, callTimeout)
		err := d.Ack(ctx)
		cancel()
		if err == nil {
			n.position.Store(int64(d.Sequence))
			break
		}
		n.log.Warn("cannot acknowledge an entry of the journal; trying again", "op", "jetstream.apply", "sequence", d.Sequence, "error", err)
		n.pauseFor(time.Second)
	}
	n.cfg.Done(o.Task, *r)
}

// handleOrder lets the agent run a task until it succeeds; nil: the node closes.
func (n *Node) handleOrder(o *order) *executor.Result {
	o.Task.Stdin = o.Stdin
	for pause := agentPause; ; pause = min(2*pause, maxAgentPause) {
		err := n.cfg.Handle(n.ctx, o.Task)
		if n.ctx.Err() != nil {
			return nil
		}
		if err == nil {
			return n.failedResult(o, executor.Finished, "")
		}
		n.log.Warn("a task of the agent failed; trying again", "op", "jetstream.handle", "task", o.Task.ID, "pause", pause, "error", err)
		n.pauseFor(pause)
	}
}

const agentPause, maxAgentPause = time.Second, 30 * time.Second

// applyUntil runs a task until it finishes, or has failed journalTries times by its own fault; nil:
// the node closes.
func (n *Node) applyUntil(o *order) *executor.Result {
	stdin, ok := n.journalInput(o)
	if !ok {
		return nil
	}
	o.Stdin, o.Parts = stdin, 0
	if o.Task.Agent {
		return n.handleOrder(o)
	}
	if n.cfg.Skip() {
		return n.failedResult(o, executor.Refused, "node "+n.cfg.Name+" is no member")
	}
	if reason := n.prepareTask(n.ctx, o); reason != "" {
		return n.failedResult(o, executor.Refused, reason)
	}
	n.cfg.Before(n.ctx, o.Task)
	for try, pause := 1, firstPause; ; {
		rs, err := n.cfg.Pool.Run(n.ctx, o.Task)
		if n.ctx.Err() != nil || errors.Is(err, executor.ErrClosed) {
			return nil
		}
		if err != nil {
			return n.failedResult(o, executor.Refused, err.Error())
		}
		r := &rs[0]
		switch {
		case r.State == executor.Finished:
			return r
		case r.State == executor.Failed && brokenExits[r.ExitStatus]:
			n.log.Error("a task of the journal failed by a fault of this machine; trying again", "op", "jetstream.apply", "task", o.Task.ID, "pause", pause, "reason", reasonOf(r))
			n.pauseFor(pause)
			pause = min(2*pause, maxAgentPause)
			continue
		}
		n.log.Error("a task of the journal failed", "op", "jetstream.apply", "task", o.Task.ID, "try", try, "of", journalTries, "reason", reasonOf(r))
		if try == journalTries {
			return r
		}
		try++
		n.pauseFor(time.Second)
	}
}

const firstPause = 200 * time.Millisecond

// reasonOf says why a task failed: the last line of what the program wrote, if any.
func reasonOf(r *executor.Result) string {
	if said := bytes.TrimSpace(r.Stderr); len(said) > 0 {
		return r.Reason + ": " + string(bytes.ToValidUTF8(said[bytes.LastIndexByte(said, '\n')+1:], nil))
	}
	return r.Reason
}

// journalInput reads a large input, as long as that takes.
func (n *Node) journalInput(o *order) (stdin []byte, ok bool) {
	for n.ctx.Err() == nil {
		stdin, err := n.fetchInput(n.ctx, o.Key, o.Stdin, o.Parts)
		if err == nil {
			return stdin, true
		}
		if n.ctx.Err() == nil {
			n.log.Warn("cannot read an input of the journal; trying again", "op", "jetstream.apply", "task", o.Task.ID, "error", err)
		}
		n.pauseFor(time.Second)
	}
	return nil, false
}
