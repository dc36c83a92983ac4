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

// LocalConfig describes a pool on this machine. Only Dir has no default.
type LocalConfig struct {
	Dir          string         // the spool: a folder for this pool alone, made if missing
	NodeName     string         // "" is "local"
	Slots        map[string]int // tasks at once by type
	DefaultSlots int            // tasks at once of each type that Slots does not name; 0: one per processor
	MaxQueue     int            // submitted tasks that wait, all types; 0: 1000
	MaxOutput    int64          // bytes of one answer; 0: 256 MiB

	MaxRequests int           // a process is replaced after so many; 0: 1000, < 0: never
	MaxRSS      int64         // a process that holds more bytes after a request is replaced; 0: no limit
	IdleTimeout time.Duration // an unused process is ended after it; 0: 1 min
	// Nice are the nice values (1 to 19) of the programs of a type of task: what can
	// wait leaves the processors to what somebody waits for. Others have that of this
	// process.
	Nice      map[string]int
	KillGrace time.Duration // from SIGTERM, or the end of its input, to SIGKILL; 0: 5 s

	Load *load.Sampler    // what start conditions look at; nil: this machine's
	Now  func() time.Time // for times shown and times to live; nil: time.Now
	Log  *slog.Logger     // nil: silent
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
	c.Slots = maps.Clone(c.Slots)
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

// Local is an Executor of one node, this machine. Its processes run in
// groups of their own. Close ends the groups; when the process that opened the
// pool is killed, the kernel kills the children with it, while children of
// theirs are for them to tie to themselves in the same way.
type Local struct {
	cfg   LocalConfig
	log   *slog.Logger
	spool *spool
	warm  *warm

	ctx    context.Context // ends, with a cause, when Close begins
	end    context.CancelCauseFunc
	work   sync.WaitGroup // attempts, runs and everything that touches the spool
	pumps  sync.WaitGroup // watchers, the clock and the samples of the machine
	wake   chan struct{}  // a token for the clock: a deadline may have come nearer
	closed chan struct{}  // closed when Close is done

	mu       sync.Mutex
	closing  bool
	jobs     map[string]*job
	lanes    map[string]*lane
	watchers map[*watcher]struct{}
	age      uint64
	queued   int // jobs in state Queued or Waiting, and those being saved
}

var _ Executor = (*Local)(nil)

// errClosing is the cause of the end of everything in a closing pool.
var errClosing = &stopped{state: Lost, reason: "the environment was closed"}

// OpenLocal opens the spool and goes on with what it holds: queued tasks are
// queued again, and what ran when the last pool ended is Lost, or queued once
// more when it has attempts left. Who needs to know reads Status. The error
// wraps ErrLocked when another pool has the spool.
func OpenLocal(cfg LocalConfig) (*Local, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("env.OpenLocal: %w", err)
	}
	s, err := openSpool(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("env.OpenLocal: %w", err)
	}
	l := &Local{
		cfg: cfg, log: cfg.Log, spool: s,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
		jobs: map[string]*job{}, lanes: map[string]*lane{}, watchers: map[*watcher]struct{}{},
	}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	if err := l.restore(); err != nil {
		s.close()
		return nil, fmt.Errorf("env.OpenLocal: %w", err)
	}
	l.warm = newWarm(cfg)
	unreadable := l.sample(false) // memory is known from here on
	l.pumps.Go(l.clock)
	l.pumps.Go(func() { l.measure(unreadable) })
	l.mu.Lock()
	for kind := range l.lanes {
		l.fill(kind)
	}
	l.mu.Unlock()
	return l, nil
}

// Close takes no new work, cancels what runs and returns when no child process
// is left. Runs that still wait get ErrClosed, watchers the end of their
// channel. Tasks that were running stay so in the spool: the next OpenLocal
// declares them lost. The end of ctx only cuts the grace of the processes
// short. All other methods answer ErrClosed afterwards; a second Close waits
// for the first.
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
	stop := context.AfterFunc(ctx, l.warm.kill)
	defer stop()
	cause := *errClosing
	cause.grace = l.cfg.KillGrace
	l.end(&cause)
	l.work.Wait()
	l.warm.close()
	l.pumps.Wait()
	if err := l.spool.close(); err != nil {
		return fmt.Errorf("env.Close: %w", err)
	}
	return nil
}

// enter registers a piece of work that Close must wait for. The caller calls
// l.work.Done if it gets nil.
func (l *Local) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosed
	}
	l.work.Add(1)
	return nil
}

// lane finds or makes the lane of a type. l.mu is held.
func (l *Local) lane(kind string) *lane {
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

// release gives a slot back and begins the next waiter. l.mu is held.
func (l *Local) release(kind string) {
	l.lanes[kind].busy--
	if !l.closing {
		l.fill(kind)
	}
	l.prune(kind)
}

// fill begins what may begin of a type. l.mu is held, the pool is not closing.
func (l *Local) fill(kind string) {
	l.lane(kind).fill()
	l.prune(kind) // all may have left it, to look again later
}

// leave takes w out of the queue of its type; it is false when w has been
// begun already. l.mu is held.
func (l *Local) leave(kind string, w *waiter) bool {
	left := l.lane(kind).leave(w)
	l.prune(kind)
	return left
}

// prune forgets a lane that nobody uses, so that made-up types do not pile up.
// l.mu is held.
func (l *Local) prune(kind string) {
	if ln := l.lanes[kind]; ln != nil && ln.busy == 0 && len(ln.queue) == 0 {
		delete(l.lanes, kind)
	}
}

// nextAge numbers waiters. l.mu is held.
func (l *Local) nextAge() uint64 {
	l.age++
	return l.age
}

// foreign lists the nodes of a target that this pool is not.
func (l *Local) foreign(t Target) []string {
	if t.All {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Nodes), func(name string) bool { return name == l.cfg.NodeName })
}

// Run implements Executor. It has one result, since there is one node; a
// target that names others, too, is refused with ErrNode.
func (l *Local) Run(ctx context.Context, t Task) ([]Result, error) {
	t, err := t.prepare()
	if err != nil {
		return nil, err
	}
	if names := l.foreign(t.Target); len(names) > 0 {
		return nil, fmt.Errorf("%w: task %s: %w: %q", ErrRefused, t.ID, ErrNode, names)
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.work.Done()

	r := Result{Status: t.queued(l.cfg.Now())}
	r.Node, r.Attempt = l.cfg.NodeName, 1
	if err := l.await(ctx, &t); err != nil {
		return nil, err
	}
	defer func() {
		l.mu.Lock()
		l.release(t.Type)
		l.mu.Unlock()
	}()
	r.Started = l.cfg.Now()
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	o := l.attempt(runCtx, &t)
	if o.state == Lost { // closing; nobody will come to find it
		o.state = Cancelled
	}
	r.settle(&o, l.cfg.Now())
	r.Stdout, r.Stderr = o.stdout, o.stderr
	return []Result{r}, nil
}

// await waits until the start conditions of t hold and it has a slot.
func (l *Local) await(ctx context.Context, t *Task) error {
	l.mu.Lock()
	age := l.nextAge() // its place in the queue, however often it looks
	l.mu.Unlock()
	for looks := 0; ; {
		h, err := l.slot(ctx, t, age)
		if err != nil || h.reason == "" {
			return err
		}
		if !h.measuring {
			looks++
		}
		if t.Start.exceeded(looks) {
			return fmt.Errorf("%w: task %s: %s", ErrRefused, t.ID, h.givenUp(looks))
		}
		timer := time.NewTimer(t.Start.pause(h))
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
			err = fmt.Errorf("task %s %s%s: %w", t.ID, waitsFor, h.reason, ctx.Err())
		case <-l.ctx.Done():
			err = ErrClosed
		}
		timer.Stop()
		return err
	}
}

// slot waits for a slot of t's type. It gets none when the start conditions do
// not hold in its turn, and tells why.
func (l *Local) slot(ctx context.Context, t *Task, age uint64) (h held, err error) {
	var begun bool // guarded by l.mu
	turn := make(chan held, 1)
	l.mu.Lock()
	w := &waiter{priority: t.Priority, age: age,
		look: func() bool {
			h := t.Start.hold(l.cfg.Load.Figures())
			if h.reason != "" {
				turn <- h
			}
			return h.reason == ""
		},
		begin: func() {
			begun = true
			turn <- held{}
		}}
	l.lane(t.Type).join(w)
	if !l.closing {
		l.fill(t.Type)
	}
	l.mu.Unlock()
	select {
	case h := <-turn:
		return h, nil
	case <-ctx.Done():
		err = fmt.Errorf("task %s: no free slot of type %q: %w", t.ID, t.Type, ctx.Err())
	case <-l.ctx.Done():
		err = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leave(t.Type, w) && begun { // meanwhile
		l.release(t.Type)
	}
	return held{}, err
}

// attempt runs the stages of t once within its time limit.
func (l *Local) attempt(ctx context.Context, t *Task) outcome {
	if t.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.TimeLimit,
			&stopped{TimedOut, fmt.Sprintf("time limit of %v", t.TimeLimit), l.cfg.KillGrace})
		defer cancel()
	}
	return l.warm.pipeline(ctx, t)
}

// settle writes how an attempt went.
func (s *Status) settle(o *outcome, now time.Time) {
	s.State, s.ExitStatus, s.Reason, s.Ended = o.state, o.exit, o.reason, now
	s.MaxRSS, s.CPU = o.rss, o.cpu
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
			if j := l.known(id); j != nil {
				all = append(all, j.snapshot())
			} else {
				all = append(all, Status{ID: id, State: Unknown})
			}
		}
		return all, nil
	}
	for id := range l.jobs {
		if j := l.known(id); j != nil {
			all = append(all, j.snapshot())
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(a.Queued.Compare(b.Queued), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Watch implements Executor. A reader that falls behind by more than 1024
// changes gets only the latest one of each task.
func (l *Local) Watch(ctx context.Context, f Filter) (<-chan Status, error) {
	w := newWatcher(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	l.watchers[w] = struct{}{}
	l.pumps.Go(func() {
		w.deliver(ctx, l.ctx)
		l.mu.Lock()
		delete(l.watchers, w)
		l.mu.Unlock()
	})
	return w.to, nil
}

// Nodes implements Executor: this machine.
func (l *Local) Nodes(context.Context) ([]Node, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, ErrClosed
	}
	n := Node{Name: l.cfg.NodeName, Address: "local", State: NodeReady,
		Slots: map[string]int{}, Busy: map[string]int{}, Queued: l.queued,
		LastSeen: l.cfg.Now()}
	f := l.cfg.Load.Figures()
	n.Load, n.CPU, n.IOWait, n.FreeRAM = f.Average, f.CPU, f.IOWait, f.FreeRAM
	maps.Copy(n.Slots, l.cfg.Slots)
	for kind, ln := range l.lanes {
		n.Slots[kind] = ln.limit
		if ln.busy > 0 {
			n.Busy[kind] = ln.busy
		}
	}
	return []Node{n}, nil
}
