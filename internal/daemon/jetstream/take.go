package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

const (
	busyPause = 200 * time.Millisecond // until a message without a free slot comes again
	laterWait = time.Second            // until a message that the head postponed comes again
	maxHeld   = 64                     // tasks for this node that wait for a slot here
)

// takeAll takes tasks of all lanes and those for this node.
func (n *Node) takeAll() {
	for _, lane := range broker.TaskTypes {
		n.work.Go(func() { n.takeMessages(broker.AnyDurable(lane), lane) })
	}
	n.work.Go(func() { n.takeMessages(broker.NodeDurable(n.cfg.Name), "") })
}

// takeMessages takes messages of one consumer. A lane of one type pulls only while it has a slot. The lane
// of other types gives a message back if its type has none. Tasks for this node wait here.
func (n *Node) takeMessages(durable, lane string) {
	p, err := n.conn.Pull(n.ctx, broker.StreamTasks, durable)
	if err != nil {
		return // the node closes
	}
	held := make(chan struct{}, maxHeld)
	for n.ctx.Err() == nil {
		if n.heartbeatState() == executor.NodeDraining {
			n.pauseFor(time.Second)
			continue
		}
		exact := lane != "" && lane != otherTypes
		if exact && n.slots.awaitSlot(n.ctx, lane) != nil {
			return
		}
		d, err := p.Next(n.ctx)
		if err != nil {
			if exact {
				n.slots.releaseSlot(lane)
			}
			if n.ctx.Err() == nil {
				n.log.Warn("cannot take a task; trying again", "op", "jetstream.take", "consumer", durable, "error", err)
				n.pauseFor(time.Second)
			}
			continue
		}
		n.beginTask(p, d, lane, exact, held)
	}
}

// beginTask runs the task of a message in its own goroutine.
func (n *Node) beginTask(p *broker.Puller, d broker.Delivery, lane string, hasSlot bool, held chan struct{}) {
	var m notice
	if err := json.Unmarshal(d.Data, &m); err != nil {
		n.log.Error("dropped an unreadable message", "op", "jetstream.take", "subject", d.Subject, "error", err)
		_ = d.Term("unreadable")
		if hasSlot {
			n.slots.releaseSlot(lane)
		}
		return
	}
	kind := m.Type
	switch {
	case hasSlot:
		kind = lane
	case lane == otherTypes:
		if !n.slots.tryTake(kind) {
			n.giveBack(d, busyPause)
			return
		}
	default:
		held <- struct{}{} // the messages behind it wait in the stream
	}
	n.work.Go(func() {
		if lane == "" {
			defer func() { <-held }()
			if !n.awaitSlot(d, kind, p.AckWait) {
				return
			}
		}
		defer n.slots.releaseSlot(kind)
		n.executeTask(p.AckWait, d, m)
	})
}

// awaitSlot waits for a slot and prolongs the delivery meanwhile.
func (n *Node) awaitSlot(d broker.Delivery, kind string, ackWait time.Duration) bool {
	tick := time.NewTicker(ackWait / 3)
	defer tick.Stop()
	got := make(chan error, 1)
	go func() { got <- n.slots.awaitSlot(n.ctx, kind) }()
	for {
		select {
		case err := <-got:
			return err == nil
		case <-tick.C:
			_ = d.InProgress() // otherwise it comes again and is dropped
		}
	}
}

func (n *Node) giveBack(d broker.Delivery, delay time.Duration) {
	if err := d.Nak(delay); err != nil {
		n.log.Debug("cannot give a message back; it comes again after the ack wait", "op", "jetstream.take", "error", err)
	}
}

// dropMessage finishes a message whose task this node does not run.
func (n *Node) dropMessage(d broker.Delivery) {
	ctx, cancel := context.WithTimeout(n.ctx, callTimeout)
	defer cancel()
	if err := d.Ack(ctx); err != nil {
		n.log.Debug("cannot acknowledge a message; it comes again", "op", "jetstream.take", "error", err)
	}
}

// executeTask runs the task of a message: look at the start conditions, read the input, ask the head,
// store "running", run, store the result, acknowledge.
func (n *Node) executeTask(ackWait time.Duration, d broker.Delivery, m notice) {
	q := question{ID: m.ID, Gen: m.Gen}
	if !n.checkConditions(d, m, q) {
		return
	}
	ctx, done, ok := n.registerTask(m.ID, m.Gen)
	if !ok { // it runs here already
		n.giveBack(d, laterWait)
		return
	}
	defer done()
	stdin, err := n.fetchInput(ctx, m.ID, nil, m.Parts)
	if err != nil {
		n.postponeTask(d, m, "cannot read the input", err)
		return
	}
	begun, err := n.askDecision(ctx, askStart, q)
	switch {
	case err != nil:
		n.postponeTask(d, m, "the head does not answer", err)
		return
	case begun.Do == doDrop:
		n.dropMessage(d)
		return
	case begun.Do != doRun || begun.Order == nil:
		n.giveBack(d, laterWait)
		return
	}
	o := begun.Order
	o.Stdin, o.Parts = stdin, 0
	n.runAttempt(ctx, ackWait, d, o)
}

func (n *Node) postponeTask(d broker.Delivery, m notice, what string, err error) {
	if n.ctx.Err() == nil {
		n.log.Warn("postponed a task: "+what, "op", "jetstream.execute", "task", m.ID, "error", err)
	}
	n.giveBack(d, laterWait)
}

// checkConditions tests the start conditions on this machine. If they fail, the message goes back.
func (n *Node) checkConditions(d broker.Delivery, m notice, q question) bool {
	if m.Start.MinRAM <= 0 && m.Start.MaxCPU <= 0 && m.Start.MaxIOWait <= 0 {
		return true
	}
	if err := n.cfg.Load.Sample(); err != nil {
		n.log.Warn("cannot read the load of this machine; start conditions without a figure pass", "op", "jetstream.look", "error", err)
	}
	reason, pause, measuring := m.Start.Shortage(n.cfg.Load.Figures())
	if reason == "" {
		return true
	}
	q.Reason, q.Measuring = reason, measuring
	said, err := n.askDecision(n.ctx, askWait, q)
	if err == nil && said.Do == doDrop {
		n.dropMessage(d)
		return false
	}
	n.giveBack(d, pause)
	return false
}

// runAttempt runs a task that the head has given to this node.
func (n *Node) runAttempt(ctx context.Context, ackWait time.Duration, d broker.Delivery, o *order) {
	leased, end := n.keepLease(ctx, question{ID: o.Key, Gen: o.Gen, Attempt: o.Attempt}, ackWait, d.InProgress)
	defer end()
	st := executor.Status{ID: o.Task.ID, Type: o.Task.Type, State: executor.Running, Node: n.cfg.Name, Started: time.Now().UTC()}
	if err := n.saveOutcome(leased, outcome{Gen: o.Gen, Attempt: o.Attempt, Status: st}); err != nil {
		n.returnTask(d, o, "node "+n.cfg.Name+" could not store the start: "+err.Error())
		return
	}
	r := n.runTask(leased, o)
	switch cause := context.Cause(leased); {
	case r == nil || errors.Is(cause, errClosing):
		n.returnTask(d, o, "node "+n.cfg.Name+" was closed while the task ran")
		return
	case errors.Is(cause, errLease):
		return // the head decides; the message comes again
	}
	if r.Started.IsZero() && r.State != executor.Refused {
		r.Started = st.Started
	}
	if n.storeResult(leased, o, r) {
		n.dropMessage(d)
		n.cfg.Done(o.Task, *r)
	}
}

// runTask returns nil if the pool did not start the task.
func (n *Node) runTask(ctx context.Context, o *order) *executor.Result {
	if reason := n.prepareTask(ctx, o); reason != "" {
		return n.failedResult(o, executor.Refused, reason)
	}
	rs, err := n.cfg.Pool.Run(ctx, o.Task)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errLease) && !errors.Is(cause, errClosing) {
			return n.failedResult(o, executor.Cancelled, cause.Error())
		}
		return nil
	}
	return &rs[0]
}

// returnTask gives a task back to the head, which queues it again or ends it.
func (n *Node) returnTask(d broker.Delivery, o *order, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), callTimeout)
	defer cancel()
	said, err := n.askDecision(ctx, askBack, question{ID: o.Key, Gen: o.Gen, Attempt: o.Attempt, Reason: reason})
	if err == nil && said.Do == doDrop {
		_ = d.Ack(ctx)
		return
	}
	n.giveBack(d, 0)
}

// keepTrying is how long a node tries to store a result while the broker is away.
const keepTrying = 10 * time.Minute

// storeResult stores the result of a task. It reports false if that failed: the task then runs again.
func (n *Node) storeResult(ctx context.Context, o *order, r *executor.Result) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTrying)
	defer cancel()
	for {
		out, ref, err := n.packOutput(ctx, r)
		if err == nil {
			err = n.saveOutcome(ctx, outcome{Gen: o.Gen, Attempt: o.Attempt, Status: r.Status, output: out, Ref: ref})
		}
		if err == nil {
			return true
		}
		n.log.Warn("cannot store the result of a task; trying again", "op", "jetstream.keep", "task", o.Task.ID, "error", err)
		n.pauseFor(time.Second)
		if ctx.Err() != nil || n.ctx.Err() != nil {
			return false
		}
	}
}

// saveOutcome writes this node's key of a task.
func (n *Node) saveOutcome(ctx context.Context, o outcome) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := n.tasks.Put(ctx, nodeKey(n.cfg.Name, o.Status.ID), encodeJSON(o))
	return err
}
