package executor

import (
	"context"
	"errors"
	"time"
)

// Errors of an Executor; test them with errors.Is. They wrap the task's id and the reason.
var (
	ErrRefused = errors.New("task refused")       // invalid task, or the queue is full
	ErrClosed  = errors.New("executor is closed") // no new work is accepted
	ErrUnknown = errors.New("unknown task")       // never submitted, or deleted
	ErrNotOver = errors.New("task is not over")   // there is no result yet
	ErrLocked  = errors.New("spool is in use")    // another pool works in the folder
	ErrNode    = errors.New("no such node")       // in a target; always with ErrRefused
)

// Executor runs tasks on one or more nodes. It is safe for concurrent use.
type Executor interface {
	// Run runs t and waits for it. It returns one Result for each known node of the target,
	// with an error state for a node that does not answer. A task that failed, was killed or
	// timed out is a Result. The error is for a task that did not start: ErrRefused, ErrNode,
	// ErrClosed, or the end of ctx before a slot was free. A later end of ctx kills the task.
	// Run is not durable. Other calls do not see its id. QueueTTL, Start and Attempts have no
	// effect.
	Run(ctx context.Context, t Task) ([]Result, error)

	// Submit accepts t for one node: a target of several nodes is ErrRefused, because there is
	// one Result. A task for a named node never moves. After nil, t survives a crash of the executor. A known id is accepted
	// again but does not run twice until it is deleted. Errors: ErrRefused, ErrClosed, or a
	// disk error, after which nothing of t remains.
	Submit(ctx context.Context, t Task) error

	// Status returns the statuses of ids in that order, with State Unknown for unknown ids.
	// Without ids it returns all tasks, oldest first. It is cheap and contacts no node.
	Status(ctx context.Context, ids ...string) ([]Status, error)

	// Watch sends each later change of state of the submitted tasks of a type, "" for all, in
	// order for each task. The channel closes when ctx or the executor ends. A slow reader never
	// delays a task.
	Watch(ctx context.Context, kind string) (<-chan Status, error)

	// Result returns the output of a task. It is kept until Delete or the end of the task's
	// ResultTTL. Errors: ErrUnknown, ErrNotOver.
	Result(ctx context.Context, id string) (Result, error)

	// Cancel stops a task and returns when it is over. A running task gets SIGTERM and, after
	// grace, SIGKILL for its process groups; grace 0 means the executor's default. If ctx ends
	// first, cancelling continues. A task that is over does not change. Error: ErrUnknown.
	Cancel(ctx context.Context, id string, grace time.Duration) error

	// Delete removes a task and its result, after Cancel if it is not over. An unknown id is
	// no error.
	Delete(ctx context.Context, id string) error

	// Nodes lists the known nodes, in the order of their names.
	Nodes(ctx context.Context) ([]Node, error)
}

// Node is a machine that runs tasks.
type Node struct {
	Name  string         // stable, because nodes own data
	State string         // one of the states below
	Busy  map[string]int // by task type: running tasks
	Slots map[string]int // by task type: tasks that may run at once; "" is each other type
	Load  float64        // load average over one minute; load.Unknown (-1) if not known

	Address string    // shown to people; empty for this machine
	Version string    // of its programs; empty if not known
	Seen    time.Time // the last sign of life, UTC
	Notice  string    `json:",omitempty"` // what a person should know; "" for nothing
}

// States of a node.
const (
	NodeReady    = "ready"
	NodeDraining = "draining"    // runs no new submitted tasks; a person asked for it
	NodeCatching = "catching-up" // runs the tasks of the journal that it missed
	NodeClosing  = "closing"
	NodeSilent   = "silent" // gives no sign of life
)
