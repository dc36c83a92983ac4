package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/daemon/load"
)

// LocalConfig configures a pool on this machine. Only Dir is mandatory.
type LocalConfig struct {
	Dir          string         // the spool: a folder for this pool only; created if missing
	NodeName     string         // default "local"
	Slots        map[string]int // running tasks by type
	DefaultSlots int            // running tasks of each other type; default one per processor
	MaxQueue     int            // submitted tasks that wait, all types; default 1000
	Abandon      []string       // types whose queued tasks are Lost after a restart, like running ones
	MaxOutput    int64          // bytes of one answer; default 256 MiB

	MaxRequests int           // a process is replaced after so many; default 1000, < 0: never
	MaxRSS      int64         // a process that holds more bytes after a request is replaced; 0: no limit
	IdleTimeout time.Duration // an unused process ends after it; default 1 min
	// Nice are the nice values (1 to 19) of a task type's programs; default that of this
	// process.
	Nice      map[string]int
	KillGrace time.Duration // from SIGTERM or the end of input to SIGKILL; default 5 s

	Load *load.Sampler    // figures for start conditions; default this machine's
	Now  func() time.Time // for shown times and lifetimes; default time.Now
	Log  *slog.Logger     // default: discard
}

func (c LocalConfig) withDefaults() (LocalConfig, error) {
	if c.Dir == "" {
		return c, errors.New("no spool folder")
	}
	for kind, n := range c.Nice {
		if n < 0 || n > 19 {
			return c, fmt.Errorf("nice value %d of type %q is not 0 to 19", n, kind)
		}
	}
	c.Nice = maps.Clone(c.Nice)
	for kind, n := range c.Slots {
		if n <= 0 {
			return c, fmt.Errorf("%d slots for type %q", n, kind)
		}
	}
	if c.DefaultSlots < 0 || c.MaxQueue < 0 || c.MaxOutput < 0 || c.MaxRSS < 0 || c.IdleTimeout < 0 || c.KillGrace < 0 {
		return c, errors.New("negative limit")
	}
	c.NodeName = cmp.Or(c.NodeName, "local")
	c.DefaultSlots = cmp.Or(c.DefaultSlots, runtime.NumCPU())
	c.MaxQueue = cmp.Or(c.MaxQueue, 1000)
	c.MaxOutput = cmp.Or(c.MaxOutput, 256<<20)
	c.MaxRequests = cmp.Or(c.MaxRequests, 1000)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, time.Minute)
	c.KillGrace = cmp.Or(c.KillGrace, 5*time.Second)
	slots := map[string]int{"": c.DefaultSlots}
	maps.Copy(slots, c.Slots)
	c.Slots = slots
	if c.Load == nil {
		c.Load = load.New(load.Config{})
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Local is an Executor with one node, this machine. Each of its processes has its own process
// group, which Close ends. If this process is killed, the kernel kills the children; they must
// tie their own children to themselves in the same way.
type Local struct {
	cfg   LocalConfig
	log   *slog.Logger
	spool *spool
	warm  *warm

	ctx    context.Context // ends with a cause when Close begins
	end    context.CancelCauseFunc
	work   sync.WaitGroup // attempts, runs and everything that uses the spool
	feed   Feed
	pumps  sync.WaitGroup // the clock and the load sampler
	wake   chan struct{}  // holds a token if a deadline may have moved closer
	closed chan struct{}  // closed when Close is done

	needLoad chan struct{} // holds a token if the load must be sampled often again

	mu      sync.Mutex
	closing bool
	jobs    map[string]*job
	lanes   map[string]*lane
	age     uint64
	looked  time.Time // the last look at a task with start conditions
	queued  int       // jobs in state Queued or Waiting, and those being saved
}

var _ Executor = (*Local)(nil)

// errClosing is the cause that stops all work of a closing pool.
var errClosing = &stopped{state: Lost, reason: "the executor was closed"}

// OpenLocal opens the spool and continues its tasks. Queued tasks are queued again, but for
// those to abandon. A task that was running is Lost. The error wraps ErrLocked if another pool uses the spool.
func OpenLocal(cfg LocalConfig) (*Local, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open executor: %w", err)
	}
	s, err := openSpool(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("open executor: %w", err)
	}
	l := &Local{
		cfg: cfg, log: cfg.Log, spool: s,
		wake: make(chan struct{}, 1), needLoad: make(chan struct{}, 1), closed: make(chan struct{}),
		jobs: map[string]*job{}, lanes: map[string]*lane{},
	}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	if err := l.restoreJobs(); err != nil {
		s.unlock()
		return nil, fmt.Errorf("open executor: %w", err)
	}
	l.warm = newWarm(cfg)
	failed := l.sampleLoad(false) // memory is known from here on
	l.pumps.Go(l.runClock)
	l.pumps.Go(func() { l.measureLoad(failed) })
	l.mu.Lock()
	for kind := range l.lanes {
		l.startWaiters(kind)
	}
	l.mu.Unlock()
	return l, nil
}

// Close accepts no new work, cancels running tasks and returns when no child process is left.
// Waiting Runs return ErrClosed, and watch channels close. Running tasks stay "running" in the
// spool; the next OpenLocal declares them lost. The end of ctx only shortens the grace of the
// processes. Later calls of other methods return ErrClosed; a second Close waits for the first.
func (l *Local) Close(ctx context.Context) error {
	l.mu.Lock()
	first := !l.closing
	l.closing = true
	l.mu.Unlock()
	if !first {
		<-l.closed
		return nil
	}
	defer close(l.closed)
	stop := context.AfterFunc(ctx, l.warm.killAll)
	defer stop()
	cause := *errClosing
	cause.grace = l.cfg.KillGrace
	l.end(&cause)
	l.work.Wait()
	l.warm.close()
	l.pumps.Wait()
	l.feed.Wait()
	l.spool.unlock()
	return nil
}

// beginWork registers work that Close must wait for. After nil the caller calls l.work.Done.
func (l *Local) beginWork() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosed
	}
	l.work.Add(1)
	return nil
}

// laneFor returns the lane of a type and creates it if missing. Call it with l.mu held.
func (l *Local) laneFor(kind string) *lane {
	ln := l.lanes[kind]
	if ln == nil {
		limit, named := l.cfg.Slots[kind]
		if !named {
			limit = l.cfg.DefaultSlots
		}
		ln = &lane{limit: limit}
		l.lanes[kind] = ln
	}
	return ln
}

// releaseSlot returns a slot and starts the next waiter. Call it with l.mu held.
func (l *Local) releaseSlot(kind string) {
	l.lanes[kind].busy--
	if !l.closing {
		l.startWaiters(kind)
	}
	l.pruneLane(kind)
}

// startWaiters starts the waiters of a type that may start. Call it with l.mu held and the pool open.
func (l *Local) startWaiters(kind string) {
	l.laneFor(kind).startWaiters()
	l.pruneLane(kind) // all waiters may have left for a later look
}

// leaveQueue removes w from the queue of its type; it returns false if w is not in it. Call it
// with l.mu held.
func (l *Local) leaveQueue(kind string, w *waiter) bool {
	left := l.laneFor(kind).removeWaiter(w)
	l.pruneLane(kind)
	return left
}

// pruneLane deletes an unused lane, so that arbitrary types do not accumulate. Call it with l.mu held.
func (l *Local) pruneLane(kind string) {
	if ln := l.lanes[kind]; ln != nil && ln.busy == 0 && len(ln.queue) == 0 {
		delete(l.lanes, kind)
	}
}

// nextAge numbers waiters. Call it with l.mu held.
func (l *Local) nextAge() uint64 {
	l.age++
	return l.age
}

// foreignNodes returns the nodes of a target that are not this one.
func (l *Local) foreignNodes(t Target) []string {
	if t.All {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Nodes), func(name string) bool { return name == l.cfg.NodeName })
}

// Run implements Executor. It has one result, because there is one node. A target with other
// nodes is refused with ErrNode.
func (l *Local) Run(ctx context.Context, t Task) ([]Result, error) {
	t, err := t.Prepare()
	if err != nil {
		return nil, err
	}
	if names := l.foreignNodes(t.Target); len(names) > 0 {
		return nil, fmt.Errorf("%w: task %s: %w: %q", ErrRefused, t.ID, ErrNode, names)
	}
	if err := l.beginWork(); err != nil {
		return nil, err
	}
	defer l.work.Done()

	r := Result{Status: t.queuedStatus(l.cfg.Now())}
	r.Node = l.cfg.NodeName
	if err := l.awaitSlot(ctx, &t); err != nil {
		return nil, err
	}
	defer func() {
		l.mu.Lock()
		l.releaseSlot(t.Type)
		l.mu.Unlock()
	}()
	r.Started = l.cfg.Now()
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	o := l.runAttempt(runCtx, &t)
	if o.state == Lost { // the pool closes; this task is not in the spool
		o.state = Cancelled
	}
	r.setOutcome(&o, l.cfg.Now())
	r.Stdout, r.Stderr = o.stdout, o.stderr
	return []Result{r}, nil
}

// awaitSlot waits for a slot of t's type.
func (l *Local) awaitSlot(ctx context.Context, t *Task) (err error) {
	begun := make(chan struct{})
	l.mu.Lock()
	w := &waiter{age: l.nextAge(), begin: func() { close(begun) }}
	l.laneFor(t.Type).addWaiter(w)
	if !l.closing {
		l.startWaiters(t.Type)
	}
	l.mu.Unlock()
	select {
	case <-begun:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("task %s: no free slot of type %q: %w", t.ID, t.Type, ctx.Err())
	case <-l.ctx.Done():
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leaveQueue(t.Type, w) { // it got the slot meanwhile
		l.releaseSlot(t.Type)
	}
	return err
}

// runAttempt runs the stages of t once, within its time limit.
func (l *Local) runAttempt(ctx context.Context, t *Task) outcome {
	if t.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.TimeLimit,
			&stopped{TimedOut, fmt.Sprintf("time limit of %v", t.TimeLimit), l.cfg.KillGrace})
		defer cancel()
	}
	return l.warm.runPipeline(ctx, t)
}

// setOutcome sets the outcome of an attempt.
func (s *Status) setOutcome(o *outcome, now time.Time) {
	s.State, s.ExitStatus, s.Reason, s.Ended = o.state, o.exit, o.reason, now
	s.MaxRSS, s.CPU = o.RSS, o.CPU
}

// Status implements Executor.
func (l *Local) Status(_ context.Context, ids ...string) ([]Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	all := []Status{}
	if len(ids) > 0 {
		for _, id := range ids {
			if j := l.storedJob(id); j != nil {
				all = append(all, j.status)
			} else {
				all = append(all, Status{ID: id, State: Unknown})
			}
		}
		return all, nil
	}
	for id := range l.jobs {
		if j := l.storedJob(id); j != nil {
			all = append(all, j.status)
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(a.Queued.Compare(b.Queued), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Watch implements Executor. A reader that is more than 1024 changes behind gets only the
// latest change of each task.
func (l *Local) Watch(ctx context.Context, kind string) (<-chan Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	return l.feed.Watch(ctx, l.ctx, kind), nil
}

// Nodes implements Executor.
func (l *Local) Nodes(context.Context) ([]Node, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	n := Node{Name: l.cfg.NodeName, State: NodeReady, Busy: map[string]int{}, Slots: maps.Clone(l.cfg.Slots),
		Load: l.cfg.Load.Figures().Average, Seen: l.cfg.Now().UTC()}
	for kind, ln := range l.lanes {
		if ln.busy > 0 {
			n.Busy[kind] = ln.busy
		}
	}
	return []Node{n}, nil
}
