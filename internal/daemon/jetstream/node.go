package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/load"
)

// ServeConfig configures the node's side. Name, Pool and Programs are mandatory.
type ServeConfig struct {
	Name     string
	Pool     executor.Executor         // runs the tasks: this node's executor.Local
	Programs map[string]executor.Stage // by base name: the only programs that the head can start
	Extra    []string                  // arguments that the head may add to those of Programs

	Address, Version string        // shown to people
	Notice           func() string // shown to people; "" for nothing; default none
	State            func() string // overrides executor.NodeReady if it is not empty; NodeDraining: take no submitted tasks
	Heartbeat        time.Duration // between signs of life; default 5 s
	Load             *load.Sampler // figures for start conditions; default this machine's

	// Session names this connection in signs of life; default a random text.
	Session string
	// Confirm is called after each sign of life, with the time of the last one that counted, zero before the first.
	// An error means that this one does not count, and ErrReplaced that no other one will: the node stops at once.
	Confirm func(ctx context.Context, last time.Time) error

	// Before is called before a task of the journal runs. It returns when the node may run it
	// (Task.Epoch), or when ctx ends.
	Before func(context.Context, executor.Task)
	// Handle runs a task of the journal with Task.Agent. It is called again after an error, until ctx
	// ends. Nil: such tasks wait.
	Handle func(context.Context, executor.Task) error
	// Skip reports whether this node acknowledges tasks of the journal without running them, but for
	// those with Task.Agent. Nil: never.
	Skip func() bool
	// Done is called after the result of a submitted task, or of one of the journal, is stored or sent.
	// It must not block.
	Done func(executor.Task, executor.Result)
	Log  *slog.Logger // default: discard
}

func (c ServeConfig) withDefaults() (ServeConfig, error) {
	if err := broker.CheckName(c.Name); err != nil {
		return c, err
	}
	if c.Pool == nil || len(c.Programs) == 0 {
		return c, errors.New("no pool or no programs")
	}
	c.Heartbeat = orDefault(c.Heartbeat, 5*time.Second)
	if c.Load == nil {
		c.Load = load.New(load.Config{})
	}
	if c.Before == nil {
		c.Before = func(context.Context, executor.Task) {}
	}
	if c.Handle == nil {
		c.Handle = func(context.Context, executor.Task) error { return errors.New("this node has no agent") }
	}
	if c.Skip == nil {
		c.Skip = func() bool { return false }
	}
	if c.Done == nil {
		c.Done = func(executor.Task, executor.Result) {}
	}
	if c.Session == "" {
		c.Session = rand.Text()
	}
	if c.Confirm == nil {
		c.Confirm = func(context.Context, time.Time) error { return nil }
	}
	if c.State == nil {
		c.State = func() string { return "" }
	}
	if c.Notice == nil {
		c.Notice = func() string { return "" }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// sign is a node's key of the table "nodes".
type sign struct {
	executor.Node
	Instance string // of Serve: it differs after a restart
	Beat     int64  // the number of the sign
}

// Node is the node's side of the executor, from Serve to Close.
type Node struct {
	cfg      ServeConfig
	log      *slog.Logger
	conn     *broker.Conn
	tasks    *broker.Table
	nodes    *broker.Table
	slots    slots
	beats    atomic.Int64
	replaced atomic.Bool // by another process; see ErrReplaced

	ctx    context.Context // ends with a cause when Close begins
	end    context.CancelCauseFunc
	work   sync.WaitGroup
	stop   func() // of the requests
	caught chan struct{}
	closed chan struct{}
	close  sync.Once

	confirmed atomic.Pointer[time.Time] // see Confirmed
	position  atomic.Int64              // see Position

	mu   sync.Mutex
	runs map[string]*running
}

// running is a task that runs here.
type running struct {
	gen  int64
	stop context.CancelCauseFunc
}

// ErrReplaced means that another process may be the node now.
var ErrReplaced = errors.New("this process is not the node any more")

// errClosing stops the tasks of a node that closes.
var errClosing = executor.Stop(executor.Lost, "the node was closed", defaultGrace)

// Serve joins the cluster: it answers Runs, applies the journal, and then takes submitted tasks,
// until Close. ctx bounds the start.
func Serve(ctx context.Context, conn *broker.Conn, cfg ServeConfig) (*Node, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("serve the cluster: %w", err)
	}
	n := &Node{cfg: cfg, log: cfg.Log, conn: conn, caught: make(chan struct{}), closed: make(chan struct{}), runs: map[string]*running{}}
	n.ctx, n.end = context.WithCancelCause(context.Background())
	if err := n.openNode(ctx); err != nil {
		n.end(nil)
		return nil, fmt.Errorf("serve the cluster as node %s: %w", cfg.Name, err)
	}
	return n, nil
}

func (n *Node) openNode(ctx context.Context) (err error) {
	if n.tasks, err = n.conn.Table(ctx, broker.TableTasks, broker.TableConfig{}); err != nil {
		return err
	}
	if n.nodes, err = n.conn.Table(ctx, broker.TableNodes, broker.TableConfig{}); err != nil {
		return err
	}
	pool, err := n.cfg.Pool.Nodes(ctx)
	if err != nil {
		return err
	}
	n.slots.limits = pool[0].Slots
	if err := n.sendHeartbeat(ctx, max(n.cfg.Heartbeat, firstBeat)); err != nil {
		return err
	}
	if n.stop, err = n.conn.Serve(broker.NodeSubject(n.cfg.Name, "task.*"), "", n.serveRequest); err != nil {
		return err
	}
	n.work.Go(n.runHeartbeats)
	n.work.Go(func() {
		n.followJournal(func() {
			close(n.caught)
			n.log.Info("the node has applied the journal", "op", "jetstream.Serve", "node", n.cfg.Name)
			if err := n.sendHeartbeat(n.ctx, n.cfg.Heartbeat); err != nil {
				n.log.Warn("cannot send a sign of life", "op", "jetstream.Serve", "error", err)
			}
			n.takeAll()
		})
	})
	return nil
}

// CaughtUp is closed when the node has run all tasks of the journal that it missed.
func (n *Node) CaughtUp() <-chan struct{} { return n.caught }

// Confirmed is the time at which the last sign of life was sent that the broker has confirmed. It has
// a monotonic reading: a wall clock that is set must not prolong the membership.
func (n *Node) Confirmed() time.Time { return *n.confirmed.Load() }

// Position is the number of the last entry of the journal that was applied since Serve; 0 for none.
func (n *Node) Position() int64 { return n.position.Load() }

// Close takes no new tasks, ends the running ones and gives them back to the head. It returns when
// no task runs here; ctx bounds only the last sign of life. Close the pool and the
// connection afterwards.
func (n *Node) Close(ctx context.Context) {
	n.close.Do(func() {
		defer close(n.closed)
		n.stop()
		n.end(errClosing)
		n.work.Wait()
		if n.replaced.Load() {
			return // the key is that of the other process
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = n.sendHeartbeat(short, n.cfg.Heartbeat) // says that the node closes
	})
	<-n.closed
}

// heartbeatState is what the sign of life says.
func (n *Node) heartbeatState() string {
	if n.ctx.Err() != nil {
		return executor.NodeClosing
	}
	select {
	case <-n.caught:
	default:
		return executor.NodeCatching
	}
	if state := n.cfg.State(); state != "" {
		return state
	}
	return executor.NodeReady
}

// firstBeat is how long the broker may take to confirm the first sign of life. The node does not join without
// it; later ones are sent again.
const firstBeat = 10 * time.Second

// sendHeartbeat sends one sign of life, which the broker must confirm within limit.
func (n *Node) sendHeartbeat(ctx context.Context, limit time.Duration) error {
	s := sign{Node: executor.Node{Load: load.Unknown}, Instance: n.cfg.Session, Beat: n.beats.Add(1)}
	if pool, err := n.cfg.Pool.Nodes(ctx); err == nil && len(pool) == 1 {
		s.Node = pool[0]
	}
	sent := time.Now()
	s.Name, s.State, s.Address, s.Version, s.Seen = n.cfg.Name, n.heartbeatState(), n.cfg.Address, n.cfg.Version, sent.UTC()
	s.Notice = n.cfg.Notice()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last time.Time
	if t := n.confirmed.Load(); t != nil {
		last = *t
	}
	_, err := n.nodes.Put(ctx, n.cfg.Name, encodeJSON(s))
	if err == nil {
		err = n.cfg.Confirm(ctx, last)
	}
	switch {
	case err == nil:
		n.confirmed.Store(&sent)
	case errors.Is(err, ErrReplaced):
		n.replaced.Store(true)
	}
	return err
}

func (n *Node) runHeartbeats() {
	tick := time.NewTicker(n.cfg.Heartbeat)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		err := n.sendHeartbeat(n.ctx, n.cfg.Heartbeat)
		if err != nil && !failed && n.ctx.Err() == nil {
			n.log.Warn("cannot send a sign of life; trying again", "op", "jetstream.beat", "error", err)
		}
		failed = err != nil
	}
}

// serveRequest serves the orders and stops of the head.
func (n *Node) serveRequest(m broker.Message) {
	switch m.Subject {
	case broker.NodeSubject(n.cfg.Name, "task.run"):
		var o order
		if err := json.Unmarshal(m.Data, &o); err != nil {
			n.log.Warn("ignored an unreadable order", "op", "jetstream.request", "error", err)
			return
		}
		ctx, done, ok := n.registerTask(o.Key, 0)
		if !ok {
			return
		}
		n.work.Go(func() {
			defer done()
			n.sendReply(m, encodeJSON(n.runOrder(ctx, &o)))
		})
	case broker.NodeSubject(n.cfg.Name, "task.stop"):
		var s stopping
		if err := json.Unmarshal(m.Data, &s); err != nil {
			n.log.Warn("ignored an unreadable stop", "op", "jetstream.request", "error", err)
			return
		}
		n.stopRun(&s)
		n.sendReply(m, nil)
	}
}

// sendReply tries again while the connection is lost.
func (n *Node) sendReply(m broker.Message, data []byte) {
	var err error
	for range 30 {
		if err = m.Respond(data); err == nil || n.ctx.Err() != nil {
			return
		}
		n.pauseFor(time.Second)
	}
	n.log.Warn("cannot answer the head", "op", "jetstream.respond", "subject", m.Subject, "error", err)
}

func (n *Node) pauseFor(d time.Duration) {
	select {
	case <-n.ctx.Done():
	case <-time.After(d):
	}
}

// registerTask returns the context of a task that begins, or false if it runs here or the node closes.
func (n *Node) registerTask(key string, gen int64) (ctx context.Context, done func(), ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs[key] != nil || n.ctx.Err() != nil {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(n.ctx)
	n.runs[key] = &running{gen, cancel}
	return ctx, func() {
		n.mu.Lock()
		delete(n.runs, key)
		n.mu.Unlock()
		cancel(nil)
	}, true
}

// stopRun stops a task that runs here.
func (n *Node) stopRun(s *stopping) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.runs[s.Key]; r != nil && r.gen == s.Gen {
		state := executor.Cancelled
		if s.Reason == "deadline of the caller" {
			state = executor.TimedOut
		}
		r.stop(executor.Stop(state, s.Reason, orDefault(s.Grace, defaultGrace)))
	}
}

// defaultGrace is the time from SIGTERM to SIGKILL if the head names none.
const defaultGrace = 5 * time.Second

// runOrder runs a task of Run.
func (n *Node) runOrder(ctx context.Context, o *order) answer {
	select {
	case <-n.caught:
	default:
		return answer{Result: n.failedResult(o, executor.Lost, "node "+n.cfg.Name+" runs the tasks of the journal first; try again later")}
	}
	if o.Left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Left)
		defer cancel()
	}
	if reason := n.prepareTask(ctx, o); reason != "" {
		return answer{Result: n.failedResult(o, executor.Refused, reason)}
	}
	ctx, end := n.keepLease(ctx, question{ID: o.Key}, broker.DefaultAckWait, nil)
	defer end()
	rs, err := n.cfg.Pool.Run(ctx, o.Task)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return n.answerOf(ctx, rs[0])
}

// answerOf puts a large output into an object.
func (n *Node) answerOf(ctx context.Context, r executor.Result) answer {
	out, ref, err := n.packOutput(ctx, &r)
	if err != nil {
		r.State, r.Reason = executor.Lost, "cannot send the answer: "+err.Error()
	}
	r.Stdout, r.Stderr = out.Stdout, out.Stderr
	return answer{Result: &r, Ref: ref}
}

// packOutput returns the output of a result, or the reference of an object that has it.
func (n *Node) packOutput(ctx context.Context, r *executor.Result) (small output, ref string, err error) {
	all := output{r.Stdout, r.Stderr}
	if outputSize(r) <= inline {
		return all, "", nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	objects, err := n.conn.Objects(ctx, "large")
	if err == nil {
		ref, err = objects.Put(ctx, broker.Head, encodeJSON(all))
	}
	return output{}, ref, err
}

// failedResult is the Result of a task that this node does not run.
func (n *Node) failedResult(o *order, state executor.State, reason string) *executor.Result {
	now := time.Now().UTC()
	return &executor.Result{Status: executor.Status{ID: o.Task.ID, Type: o.Task.Type, State: state, Node: n.cfg.Name, Reason: reason, Queued: now, Ended: now}}
}

// prepareTask sets the stages and the input of a task and returns why that is impossible, or "".
func (n *Node) prepareTask(ctx context.Context, o *order) (reason string) {
	stages, err := n.mapStages(o.Task.Stages)
	if err != nil {
		n.log.Warn("refused a task of the head", "op", "jetstream.prepare", "task", o.Task.ID, "error", err)
		return err.Error()
	}
	if o.Task.Stdin, err = n.fetchInput(ctx, o.Key, o.Stdin, o.Parts); err != nil {
		return "cannot read the input: " + err.Error()
	}
	o.Task.Stages, o.Task.Target, o.Task.Journal = stages, executor.Target{}, false
	return ""
}

// fetchInput returns the input of a task, from the head if the order does not have it.
func (n *Node) fetchInput(ctx context.Context, key string, small json.RawMessage, parts int) ([]byte, error) {
	if parts == 0 {
		return small, nil
	}
	var data []byte
	for part := range parts {
		reply, err := n.requestHead(ctx, askInput, question{ID: key, Part: part})
		if err != nil {
			return nil, err
		}
		data = append(data, reply...)
	}
	return data, nil
}

// askTimeout bounds one request to the head.
const askTimeout = 3 * time.Second

// requestHead asks the head and returns its reply.
func (n *Node) requestHead(ctx context.Context, what string, q question) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	replies, err := n.conn.Request(ctx, broker.HeadSubject(n.cfg.Name, "task."+what), encodeJSON(q), 1)
	if err != nil {
		return nil, err
	}
	return replies[0].Data, nil
}

// askDecision asks the head for a decision.
func (n *Node) askDecision(ctx context.Context, what string, q question) (d decision, err error) {
	reply, err := n.requestHead(ctx, what, q)
	if err == nil {
		err = json.Unmarshal(reply, &d)
	}
	return d, err
}

// keepLease tells the head three times per ack wait that a task runs here. If the head does not
// confirm it for two thirds of the ack wait, or says that the task is not this node's, the context
// ends and the processes are killed at once: before the head lets another node start the task.
// progress, if not nil, prolongs the delivery.
func (n *Node) keepLease(parent context.Context, q question, ackWait time.Duration, progress func() error) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	var done sync.WaitGroup
	confirmed := time.Now()
	done.Go(func() {
		for pause := ackWait / 3; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(pause, max(time.Until(confirmed.Add(ackWait*2/3)), 0))):
			}
			asked := time.Now()
			short, stop := context.WithDeadline(ctx, confirmed.Add(ackWait*2/3))
			d, err := n.askDecision(short, askLease, q)
			stop()
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && d.Stop != nil:
				n.stopRun(d.Stop)
				confirmed, pause = asked, ackWait/3
			case err == nil && d.Do == doDrop:
				cancel(errLease)
				return
			case err == nil:
				confirmed, pause = asked, ackWait/3
			default:
				pause = ackWait / 30
			}
			if time.Since(confirmed) >= ackWait*2/3 {
				n.log.Warn("killed a task: the head did not confirm its lease", "op", "jetstream.keepLease", "task", q.ID, "error", err)
				cancel(errLease)
				return
			}
			if progress != nil && err == nil {
				_ = progress() // otherwise the message comes again, and the head refuses a second run
			}
		}
	})
	return ctx, func() { cancel(nil); done.Wait() }
}

// errLease stops a task whose lease is lost: SIGTERM and SIGKILL follow each other at once.
var errLease = executor.Stop(executor.Lost, "the lease of the task is lost", time.Nanosecond)
