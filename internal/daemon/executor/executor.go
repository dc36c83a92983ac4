package executor

import (
	"context"
	"errors"
	"time"
)

// Errors that callers tell apart with errors.Is. They come wrapped with the
// task's id and the reason.
var (
	ErrRefused = errors.New("task refused")          // malformed, or the queue is full
	ErrClosed  = errors.New("environment is closed") // no further work is taken
	ErrUnknown = errors.New("unknown task")          // never submitted, or deleted
	ErrNotOver = errors.New("task is not over")      // there is no result yet
	ErrLocked  = errors.New("spool is in use")       // another pool works in the folder
	ErrNode    = errors.New("no such node")          // a target names nobody; always with ErrRefused
)

// Executor runs tasks on one or more nodes. All methods may be called by
// any number of goroutines at once.
type Executor interface {
	// Run runs t and waits for it: exactly one Result for each node that the
	// target names and the environment knows, an item with an error state for
	// a node that is silent. A task that failed, was killed or ran out of time
	// is a Result too. The error is for tasks that did not begin: ErrRefused,
	// also when the start conditions did not hold in the looks it may take,
	// ErrNode, ErrClosed, or the end of ctx before a slot was free. The end of
	// ctx later kills the task. Run is not durable, its id is known to nobody
	// else, and attempts, delays and time to live in the queue do not apply.
	Run(ctx context.Context, t Task) ([]Result, error)

	// Submit accepts t: when it returns nil, t survives a crash of the
	// environment. A known id is accepted again and does not run twice, over
	// or not, until it is deleted. Errors: ErrRefused, ErrClosed, or that of the
	// disk, after which nothing of t is left.
	Submit(ctx context.Context, t Task) error

	// Status answers in the order of ids, State Unknown for an id that is not
	// known; without ids all known tasks, oldest first. It is cheap and asks
	// no node.
	Status(ctx context.Context, ids ...string) ([]Status, error)

	// Watch sends every change of state of the submitted tasks that f lets
	// through, from now on, in order for each task. The channel is closed when
	// ctx or the environment ends. A slow reader never delays a task.
	Watch(ctx context.Context, f Filter) (<-chan Status, error)

	// Result gives what a task wrote; it is kept until Delete or the task's
	// ResultTTL. Errors: ErrUnknown, ErrNotOver.
	Result(ctx context.Context, id string) (Result, error)

	// Cancel stops a task: a queued one at once, a running one with SIGTERM
	// and, after grace, SIGKILL to its process groups (0: the environment's own
	// grace). It returns when the task is over; if ctx ends first the
	// cancelling goes on. A task that is over stays as it is and is no error;
	// ErrUnknown for one that is not known.
	Cancel(ctx context.Context, id string, grace time.Duration) error

	// Delete forgets a task and its result; a task that is not over is
	// cancelled first. It is no error to delete an unknown id.
	Delete(ctx context.Context, id string) error

	// Nodes lists the known nodes, in the order of their names.
	Nodes(ctx context.Context) ([]Node, error)
}

// Filter picks tasks. Empty lists pick all; two lists must both agree.
type Filter struct {
	Types []string
	IDs   []string
}

// Node is a machine that runs tasks.
type Node struct {
	Name     string         // stable: nodes own data
	Address  string         // "local" for the local pool
	State    string         // NodeReady or NodeClosing
	Slots    map[string]int // by task type: how many may run at once
	Busy     map[string]int // by task type: how many run now
	Queued   int            // submitted tasks that wait
	LastSeen time.Time

	// What start conditions look at; load.Unknown (-1) for what is not known.
	Load    float64 // load average over one minute
	CPU     float64 // percent of all processors in use, of the last seconds
	IOWait  float64 // percent of the time in which processors wait for disks
	FreeRAM int64   // bytes of memory that programs can still get
}

// States of a node.
const (
	NodeReady   = "ready"
	NodeClosing = "closing"
)
