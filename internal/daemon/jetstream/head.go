package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/load"
)

// Config configures the executor of the head. All values have defaults.
type Config struct {
	// Known returns the names of the known nodes, which stay known while they are away. Nil: the nodes
	// of the table "nodes".
	Known func() []string

	MaxQueue int           // submitted tasks that wait; default 1000
	Attempts int           // starts of a task whose node dies, for tasks without Attempts; default 3
	AckWait  time.Duration // of the consumers (broker.ProvisionConfig); default broker.DefaultAckWait
	Silence  time.Duration // a node without a sign of life is silent after it; default 15 s
	Grace    time.Duration // how long a stopped Run waits for the node's answer; default 10 s

	Now func() time.Time // for shown times and lifetimes; default time.Now
	Log *slog.Logger     // default: discard
}

func (c Config) withDefaults() Config {
	c.MaxQueue = cmp.Or(c.MaxQueue, 1000)
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.AckWait = orDefault(c.AckWait, broker.DefaultAckWait)
	c.Silence = orDefault(c.Silence, 15*time.Second)
	c.Grace = orDefault(c.Grace, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Executor runs tasks on the nodes of a cluster. There must be one in a cluster: that of the head.
type Executor struct {
	cfg   Config
	log   *slog.Logger
	conn  *broker.Conn
	tasks *broker.Table
	nodes *broker.Table

	ctx    context.Context // ends when Close begins
	end    context.CancelFunc
	stops  []func()
	work   sync.WaitGroup // calls, and goroutines of this executor
	feed   executor.Feed
	ids    locks
	closed chan struct{}
	writer chan struct{} // holds a value while an order is written to the journal

	mu      sync.Mutex
	closing bool
	entries map[string]*entry
	members map[string]*member
	orders  map[string][]byte            // inputs of running Runs, by Key
	journal map[string]chan<- nodeAnswer // waiting Runs of the journal, by Key
	turn    int
}

// entry is a submitted task. Executor.mu guards it. Its id's lock is held while its state
// changes, except by the end that its node reports.
type entry struct {
	rec     record
	st      executor.Status
	attempt int           // 0: never started
	looks   int64         // how often its start conditions failed
	leased  time.Time     // when its node last said that it runs
	sent    time.Time     // when its notice was published; zero: it was not
	stop    *stopping     // its node must stop it
	tried   []string      // nodes that may have a key of it
	over    chan struct{} // closed when the state is final
}

// member is a node that has sent a sign of life.
type member struct {
	node     executor.Node
	heard    time.Time
	changed  time.Time // by the clock of the broker
	instance string    // differs after a restart
}

var _ executor.Executor = (*Executor)(nil)

// callTimeout bounds one call of the broker.
const callTimeout = 10 * time.Second

// New returns the executor of the head. It reads the tasks of the table "tasks" and continues them.
// The caller must have called Provision, and closes conn after Close.
func New(conn *broker.Conn, cfg Config) (*Executor, error) {
	e := &Executor{cfg: cfg.withDefaults(), conn: conn, closed: make(chan struct{}), writer: make(chan struct{}, 1), entries: map[string]*entry{}, members: map[string]*member{},
		orders: map[string][]byte{}, journal: map[string]chan<- nodeAnswer{}}
	e.log = e.cfg.Log
	e.ctx, e.end = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	if err := e.openExecutor(ctx); err != nil {
		e.end()
		for _, stop := range e.stops {
			stop()
		}
		return nil, fmt.Errorf("open the cluster's executor: %w", err)
	}
	return e, nil
}

func (e *Executor) openExecutor(ctx context.Context) (err error) {
	if e.tasks, err = e.conn.Table(ctx, broker.TableTasks, broker.TableConfig{}); err != nil {
		return err
	}
	if e.nodes, err = e.conn.Table(ctx, broker.TableNodes, broker.TableConfig{}); err != nil {
		return err
	}
	if err := e.loadTasks(ctx); err != nil {
		return err
	}
	members, err := e.nodes.All(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		e.recordHeartbeat(m)
	}
	stop, err := e.conn.Serve(broker.HeadSubject("*", "task.*"), "", e.answerQuestion)
	if err != nil {
		return err
	}
	e.stops = append(e.stops, stop)
	e.work.Go(func() { e.followTable(e.tasks, "*.*", e.recordOutcome) })
	e.work.Go(func() { e.followTable(e.nodes, "*", e.recordHeartbeat) })
	e.work.Go(e.runClock)
	return nil
}

// followTable watches a table until Close.
func (e *Executor) followTable(table *broker.Table, keys string, handler func(broker.Entry)) {
	for e.ctx.Err() == nil {
		if err := table.Watch(e.ctx, keys, handler); e.ctx.Err() == nil {
			e.log.Warn("cannot watch a table; trying again", "op", "jetstream.follow", "error", err)
			e.pauseFor(time.Second)
		}
	}
}

func (e *Executor) pauseFor(d time.Duration) {
	select {
	case <-e.ctx.Done():
	case <-time.After(d):
	}
}

// Close accepts no new work. Submitted tasks continue on their nodes; the next New sees them.
// Waiting Runs end. The nodes kill their tasks within the ack wait.
func (e *Executor) Close() error {
	e.mu.Lock()
	first := !e.closing
	e.closing = true
	e.mu.Unlock()
	if !first {
		<-e.closed
		return nil
	}
	defer close(e.closed)
	e.end()
	for _, stop := range e.stops {
		stop()
	}
	e.work.Wait()
	e.feed.Wait()
	return nil
}

// beginWork registers work that Close must wait for. After nil the caller calls e.work.Done.
func (e *Executor) beginWork() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return executor.ErrClosed
	}
	e.work.Add(1)
	return nil
}

// loadTasks reads the tasks before e is shared. A key of a node without the head's key is a rest of
// a Delete that was interrupted.
func (e *Executor) loadTasks(ctx context.Context) error {
	keys, err := e.tasks.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if owner, id, _ := strings.Cut(key, "."); owner == broker.Head && !strings.Contains(id, ".") {
			if err := e.adoptTask(ctx, id); err != nil {
				e.log.Error("cannot read a task; delete its key to get rid of it", "op", "jetstream.New", "key", key, "error", err)
			}
		}
	}
	for _, key := range keys {
		owner, id, _ := strings.Cut(key, ".")
		id, _, _ = strings.Cut(id, ".")
		if e.entries[id] == nil && !strings.HasPrefix(id, journalPrefix) {
			if err := e.tasks.Delete(ctx, key); err != nil {
				return err
			}
		} else if owner != broker.Head {
			entry, err := e.tasks.Get(ctx, key)
			if err != nil {
				return err
			}
			e.recordOutcome(entry)
		}
	}
	return nil
}

// adoptTask creates the entry of a stored task.
func (e *Executor) adoptTask(ctx context.Context, id string) error {
	stored, err := e.tasks.Get(ctx, taskKey(id))
	if err != nil {
		return err
	}
	var rec record
	if err := json.Unmarshal(stored.Value, &rec); err != nil {
		return err
	}
	t := &entry{rec: rec, st: executor.Status{ID: id, Type: rec.Task.Type, State: executor.Queued, Queued: rec.Queued}, over: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.entries[id] = t
	if rec.End != nil {
		e.publishStatus(t, *rec.End)
	}
	return nil
}

// publishStatus sets the status of a task. Call it with e.mu held.
func (e *Executor) publishStatus(t *entry, st executor.Status) {
	if t.st.State.Over() {
		return
	}
	t.st = st
	e.feed.Publish(st)
	if st.State.Over() {
		close(t.over)
	}
}

// recordOutcome takes what a node stored about a task. What an earlier attempt stored has no effect.
func (e *Executor) recordOutcome(stored broker.Entry) {
	node, id, _ := strings.Cut(stored.Key, ".")
	if node == broker.Head || stored.Value == nil {
		return
	}
	var o outcome
	if err := json.Unmarshal(stored.Value, &o); err != nil {
		e.log.Error("cannot read what a node stored about a task", "op", "jetstream.report", "key", stored.Key, "error", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.entries[id]
	if t == nil || t.rec.Gen != o.Gen || o.Attempt < t.attempt || t.st.State.Over() {
		return
	}
	if !slices.Contains(t.tried, node) {
		t.tried = append(t.tried, node)
	}
	if o.Attempt > t.attempt { // it started before this executor did
		t.attempt, t.leased = o.Attempt, time.Now()
	}
	st := o.Status
	st.ID, st.Type, st.Node, st.Queued = id, t.rec.Task.Type, node, t.rec.Queued
	switch {
	case st.State.Over():
		e.publishStatus(t, st)
	case st.State == executor.Running && t.st.State != executor.Running && t.sent.IsZero():
		e.publishStatus(t, st)
	}
}

// recordHeartbeat takes a node's sign of life.
func (e *Executor) recordHeartbeat(stored broker.Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stored.Value == nil {
		delete(e.members, stored.Key)
		return
	}
	var n sign
	if err := json.Unmarshal(stored.Value, &n); err != nil {
		e.log.Error("cannot read a node's sign of life", "op", "jetstream.hear", "node", stored.Key, "error", err)
		return
	}
	n.Name = stored.Key
	heard := time.Now()
	switch before := e.members[n.Name]; {
	case before != nil && before.changed.Equal(stored.Changed): // a watch that began again
		heard = before.heard
	case before == nil && heard.Sub(stored.Changed) > e.cfg.Silence:
		// Old, as the broker's clock tells. The next one counts from now, whatever that clock says.
		heard = stored.Changed
	}
	e.members[n.Name] = &member{n.Node, heard, stored.Changed, n.Instance}
}

// Nodes implements executor.Executor.
func (e *Executor) Nodes(context.Context) ([]executor.Node, error) {
	if err := e.beginWork(); err != nil {
		return nil, err
	}
	defer e.work.Done()
	return e.knownNodes(), nil
}

// knownNodes returns the known nodes in the order of their names.
func (e *Executor) knownNodes() []executor.Node {
	var names []string
	if e.cfg.Known != nil {
		names = slices.Clone(e.cfg.Known())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cfg.Known == nil {
		names = slices.Collect(maps.Keys(e.members))
	}
	slices.Sort(names)
	list := []executor.Node{}
	for _, name := range slices.Compact(names) {
		m := e.members[name]
		if m == nil {
			list = append(list, executor.Node{Name: name, State: executor.NodeSilent, Load: load.Unknown})
			continue
		}
		n := m.node
		n.Seen = m.heard.UTC()
		if time.Since(m.heard) > e.cfg.Silence {
			n.State = executor.NodeSilent
		}
		list = append(list, n)
	}
	return list
}

// Status implements executor.Executor.
func (e *Executor) Status(_ context.Context, ids ...string) ([]executor.Status, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return nil, executor.ErrClosed
	}
	all := []executor.Status{}
	for _, id := range ids {
		if t := e.entries[id]; t != nil {
			all = append(all, t.st)
		} else {
			all = append(all, executor.Status{ID: id, State: executor.Unknown})
		}
	}
	if len(ids) > 0 {
		return all, nil
	}
	for _, t := range e.entries {
		all = append(all, t.st)
	}
	slices.SortFunc(all, func(a, b executor.Status) int {
		return cmp.Or(a.Queued.Compare(b.Queued), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Watch implements executor.Executor.
func (e *Executor) Watch(ctx context.Context, kind string) (<-chan executor.Status, error) {
	if err := e.beginWork(); err != nil {
		return nil, err
	}
	defer e.work.Done()
	return e.feed.Watch(ctx, e.ctx, kind), nil
}

// locks are mutexes by id. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lockID waits until no other caller holds the id, or ctx ends.
func (l *locks) lockID(ctx context.Context, id string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		other := l.held[id]
		if other == nil {
			if l.held == nil {
				l.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			l.held[id] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, id)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
