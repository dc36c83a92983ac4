package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Name is the class name.
const Name = "NodeAgent"

// Member is the part of the node in the executor of the cluster: it renews the membership, applies
// the journal and runs tasks of the head. Its methods may be called from any goroutine.
type Member interface {
	CaughtUp() <-chan struct{} // closed when the journal that the node had missed is applied
	Confirmed() time.Time      // the last time at which the broker confirmed the membership
	Position() int64           // the last applied entry of the journal
	Close(ctx context.Context) // ends its tasks
}

// Config configures the agent. All fields without a default are mandatory.
type Config struct {
	Join   broker.Join
	Pool   executor.Executor // the executor of this machine
	DBTask executor.Stage    // answers LINKS_TAKE, LINKS_SENT, LINKS_STORE, and the operations on hosts
	// Placement is the path of placement.json; "" if hosts have no owners (placement = propagate
	// of the head): then the node has no batch managers and no links.
	Placement string
	Moves     string // folder of hosts that move, the key moves of db-task.ini
	// Crawler answers --host-pauses; it is not needed without Placement.
	Crawler executor.Stage
	// DrainFile is a file that exists while the node drains; "": a restart ends draining.
	DrainFile string
	// Programs are what the head may start, by base name.
	Programs map[string]executor.Stage
	// Address and Version are shown to people.
	Address, Version string
	// DataDir is the data folder, whose identity is that of the node; "": the node has none, for tests.
	DataDir string
	// Enter joins the executor of the cluster; default jetstream.Serve with this configuration.
	Enter func(ctx context.Context, conn *broker.Conn, s Session) (Member, error)
	Held  []string     // inproc names of the managers to hold; the first gets hints about links
	log   *slog.Logger // set by New
	// Lease is how long the node works without a confirmation of its membership; default 15 s.
	Lease time.Duration
}

// Session is what a Member needs of the agent. Its functions may be called from any goroutine.
type Session struct {
	Name     string                                          // of the identity; "": none
	Changed  func()                                          // must be called when a task of the head may have created work
	Draining func() bool                                     // whether the node drains
	Confirm  func(ctx context.Context, last time.Time) error // see jetstream.ServeConfig
}

// DefaultLease is the default of Config.Lease. The head shows a node as silent after this time.
const DefaultLease = 15 * time.Second

// Agent is NodeAgent. Create it with New.
type Agent struct {
	*manager.Loop
	cfg Config

	news    chan func()   // from other goroutines, to run in the loop
	stopped chan struct{} // closed when the loop stops
	waiting bool          // a worker waits for news

	session  session
	identity identity // of the worker of the session
	lease    lease
	out      outgoing
	in       incoming
	quota    quota
	drain    drain
	moves    *moves
	mover    mover
	moving   bool // a step of a change of members runs

	placing  sync.Mutex  // guards placement.json
	owner    atomic.Bool // the node has hosts, by placement.json
	draining atomic.Bool // drain.on for other goroutines
}

// New returns the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Agent {
	cfg.Lease = manager.Default(cfg.Lease, DefaultLease)
	base.Name = Name
	cfg.log = base.Log.With("manager", Name)
	a := &Agent{Loop: manager.New(base), cfg: cfg, news: make(chan func(), 64), stopped: make(chan struct{}), moves: newMoves(), identity: newIdentity(cfg.DataDir)}
	if cfg.Enter == nil {
		a.cfg.Enter = a.joinExecutor
	}
	a.mover = mover{a.cfg, a.moves}
	for _, name := range cfg.Held {
		a.Connect(name, bus.Inproc(name), bus.Options{Linger: -1})
	}
	a.OnStop(func() { close(a.stopped) })
	a.Maintain("news", whileFalse(&a.waiting), func(time.Time) { a.followNews() })
	a.declareSession()
	a.declareLease()
	a.declareLinks()
	a.declareQuota()
	a.declareDrain()
	return a
}

// whileFalse is the period of a timer that starts something once more when it has ended.
func whileFalse(flag *bool) func() time.Duration {
	return func() time.Duration {
		if *flag {
			return 0
		}
		return time.Second
	}
}

// followNews keeps one worker that waits for news and passes them to the loop.
func (a *Agent) followNews() {
	a.waiting = true
	manager.Work(a.Loop, func(ctx context.Context) (func(), error) {
		select {
		case f := <-a.news:
			return f, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, func(f func(), err error) {
		if a.waiting = err == nil; a.waiting {
			a.followNews()
			f()
		}
	})
}

// postToLoop runs f in the loop. It may be called from any goroutine but that of the loop; after the end of
// the loop it does nothing.
func (a *Agent) postToLoop(f func()) {
	select {
	case a.news <- f:
	case <-a.stopped:
	}
}

// hintWork tells the crawl manager that there may be work.
func (a *Agent) hintWork() {
	if len(a.cfg.Held) > 0 {
		a.Tell(a.cfg.Held[0], wire.InternalWork, nil)
	}
}

// backoff are growing pauses after faults.
type backoff struct {
	pause time.Duration
	due   time.Time
	said  string // the fault that was logged
}

const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// recordFailure sets the next pause. It logs a fault once until another one comes.
func (b *backoff) recordFailure(log *slog.Logger, now time.Time, what string, err error) {
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.due = now.Add(b.pause)
	if text := err.Error(); text != b.said {
		b.said = text
		log.Warn(what, "error", err, "pause", b.pause)
	}
}

func (b *backoff) resetPause() { *b = backoff{} }

func intFromBool(b bool) int {
	if b {
		return 1
	}
	return 0
}
