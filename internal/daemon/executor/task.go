package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stage is one program of a task, started without a shell.
//
// Programs are kept warm and reused: a program reads one line of JSON from standard input,
// answers with exactly one line of JSON on standard output, and repeats until its input ends.
type Stage struct {
	Program string   // a path, or a name to look up in PATH
	Args    []string // without the program's own name
	Env     []string // "name=value", added to the environment of this process
	Dir     string   // working directory; default that of this process
}

// Policy selects one node among several.
type Policy string

// Policies of a Target. The zero value is LeastLoaded.
const (
	LeastLoaded Policy = "least-loaded"
	RoundRobin  Policy = "round-robin"
	Random      Policy = "random"
)

// Target selects the nodes that run a task. The zero value is the least loaded node. A task
// for All or Nodes never moves to other nodes.
type Target struct {
	All    bool     `json:",omitempty"`
	Nodes  []string `json:",omitempty"`
	Policy Policy   `json:",omitempty"`
}

// Task is a unit of work.
type Task struct {
	ID   string // unique, chosen by the caller, ^[0-9A-Za-z_-]{1,64}$
	Type string // selects the slots; older tasks start first

	// Stages run in sequence; the answer of one is the input of the next, and the last answer
	// is that of the task. The first failure ends the task. One slot covers all stages.
	Stages []Stage
	Stdin  []byte // the first stage's input: one JSON value
	Target Target

	// Journal marks a changing task for all nodes (Target.All) that a node must also run if it
	// was away: before other work, in the order of the journal. It has an effect on Run of an
	// executor with several nodes; its Result of a node that is away is Lost, and Reason says
	// that the node runs the task later.
	Journal bool
	// Agent marks a task of the journal without stages: the agent of each node runs it.
	Agent bool `json:",omitempty"`
	// Epoch of the placement that a node must have before it runs a task of the journal: the
	// placement says which rows it stores. 0: any.
	Epoch int64 `json:",omitempty"`

	// Unsaved keeps a submitted task and its result out of the spool: the end of the executor
	// forgets it. It is for work that comes again by itself and would sync an idle machine. An
	// executor with several nodes ignores it.
	Unsaved bool `json:"-"`

	TimeLimit time.Duration // for all stages; 0: none
	QueueTTL  time.Duration // longest wait for the start, over restarts; 0: no limit
	ResultTTL time.Duration // how long the result is kept; 0: until Delete

	// Attempts is how often a submitted task may start on one node after another because its node
	// died; 0: the executor's default. A task for a named node does not start twice.
	Attempts int

	// Start is what the node must have available.
	Start Conditions
}

// Conditions are what a node must have available before a task starts there; a limit of
// 0 or less has no effect. If they fail, the task is Waiting without a slot and looks again
// after RetryDelay. After Retries looks it is Refused. Its QueueTTL continues. A look happens
// when a slot is free, so other tasks of the type may start first. A restart of the executor
// resets the looks. An unknown figure passes. Source: docs/spec/daemon.md 5.2, Strategy.
type Conditions struct {
	MaxCPU     int64         // percent of all processors in use, over the last seconds; must be below
	MaxIOWait  int64         // percent of the time in which processors wait for disks; must not be above
	MinRAM     int64         // bytes of memory available to programs
	RetryDelay time.Duration // between two looks; default one second
	Retries    int64         // looks in total; 0: no limit
}

const (
	maxID     = 64
	maxStages = 16
)

// Prepare checks t and returns a deep copy with Stdin compacted to one line. Errors wrap
// ErrRefused.
func (t Task) Prepare() (Task, error) {
	refuse := func(format string, args ...any) (Task, error) {
		return Task{}, fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
	}
	if !validID(t.ID) {
		return refuse("id %.80q is not 1 to %d letters, digits, _ or -", t.ID, maxID)
	}
	if t.Agent && (!t.Journal || len(t.Stages) > 0) {
		return refuse("task %s of the agents is not in the journal, or has stages", t.ID)
	}
	if len(t.Stages) == 0 && !t.Agent || len(t.Stages) > maxStages {
		return refuse("task %s has %d stages, want 1 to %d", t.ID, len(t.Stages), maxStages)
	}
	stages := slices.Clone(t.Stages)
	for i, s := range stages {
		if s.Program == "" {
			return refuse("task %s: stage %d has no program", t.ID, i+1)
		}
		for _, text := range append(append([]string{s.Program, s.Dir}, s.Args...), s.Env...) {
			if strings.ContainsRune(text, 0) {
				return refuse("task %s: stage %d has a zero byte in its command", t.ID, i+1)
			}
		}
		stages[i].Args, stages[i].Env = slices.Clone(s.Args), slices.Clone(s.Env)
	}
	if t.Start.RetryDelay < 0 || t.Start.Retries < 0 {
		return refuse("task %s has impossible start conditions", t.ID)
	}
	if t.Attempts < 0 {
		return refuse("task %s has %d attempts", t.ID, t.Attempts)
	}
	if t.Journal && (!t.Target.All || len(t.Target.Nodes) > 0) {
		return refuse("task %s of the journal is not for all nodes", t.ID)
	}
	if t.TimeLimit < 0 || t.QueueTTL < 0 || t.ResultTTL < 0 {
		return refuse("task %s has a negative limit", t.ID)
	}
	switch t.Target.Policy {
	case "", LeastLoaded, RoundRobin, Random:
	default:
		return refuse("task %s: unknown policy %.80q", t.ID, t.Target.Policy)
	}
	var line bytes.Buffer
	line.Grow(len(t.Stdin))
	if err := json.Compact(&line, t.Stdin); err != nil {
		return refuse("task %s: input is not one JSON value: %v", t.ID, err)
	}
	t.Stages, t.Stdin = stages, line.Bytes()
	t.Target.Nodes = slices.Clone(t.Target.Nodes)
	return t, nil
}

// queuedStatus returns the status of a task accepted at that time.
func (t *Task) queuedStatus(at time.Time) Status {
	return Status{ID: t.ID, Type: t.Type, State: Queued, Queued: at}
}

// validID reports whether id is valid, and so usable as a file name.
func validID(id string) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
