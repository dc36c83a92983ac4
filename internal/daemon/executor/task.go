package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Stage is one program of a task. No shell is involved, ever.
//
// A program is not started for each task but kept warm and asked again: it
// reads one line of JSON from its standard input and answers with exactly one
// line of JSON on its standard output, until its input ends.
type Stage struct {
	Program string   // a path, or a name to be found in PATH
	Args    []string // without the program's own name
	Env     []string // "name=value", on top of the environment of this process
	Dir     string   // working directory; empty is that of this process
}

// Policy says how one node is chosen among several.
type Policy string

// Policies of a Target. The zero value is LeastLoaded.
const (
	LeastLoaded Policy = "least-loaded"
	RoundRobin  Policy = "round-robin"
	Random      Policy = "random"
)

// Target names the nodes that run a task. The zero value is one node, the
// least loaded. All and Nodes are never moved to other nodes.
type Target struct {
	All    bool     `json:",omitempty"`
	Nodes  []string `json:",omitempty"`
	Policy Policy   `json:",omitempty"`
}

// Task is a unit of work.
type Task struct {
	ID       string // unique, chosen by the caller, ^[0-9A-Za-z_-]{1,64}$
	Name     string // for people
	Type     string // picks the slots
	Priority int    // higher ones leave the queue first, then older ones

	// Stages run one after the other; the answer of one is the input of the
	// next and the last answer is the task's. The first failure ends the task.
	// A slot is held for the whole pipeline.
	Stages []Stage
	Stdin  []byte // the first stage's input: one JSON value
	Target Target

	TimeLimit  time.Duration // for one attempt, all stages; 0 is none
	QueueTTL   time.Duration // longest wait for its start, over restarts; 0 is for ever
	ResultTTL  time.Duration // a result is kept that long; 0 is until Delete
	Attempts   int           // runs in all when one fails or is lost; 0 is 1
	RetryDelay time.Duration // from the end of an attempt to the next

	// Start is what the node that would run the task must have left for it.
	Start Conditions

	Labels map[string]string // kept with the task and shown by Status
}

// Conditions are what a node must have left before an attempt begins there. A
// limit of 0 or below is none. Without enough the task is Waiting, without a slot,
// and looks again after RetryDelay; after Retries looks it is Refused. Its QueueTTL
// goes on meanwhile. It looks when a slot is free for it, so others of its type that
// ask for less go on; a restart of the environment lets the looks begin anew. A
// figure that the node cannot read is enough. Source: docs/spec/daemon.md 5.2, Strategy.
type Conditions struct {
	MaxCPU     float64       // percent of all processors in use, of the last seconds; start below it
	MaxIOWait  float64       // percent of the time in which processors wait for disks; start up to it
	MinRAM     int64         // bytes of memory that programs can still get
	RetryDelay time.Duration // between two looks; 0 is one second
	Retries    int           // looks in all; 0 is without end
}

const (
	maxID     = 64
	maxStages = 16
)

// prepare checks t and returns a copy that shares no memory with it, its
// Stdin compacted to one line. Errors wrap ErrRefused.
func (t Task) prepare() (Task, error) {
	refuse := func(format string, args ...any) (Task, error) {
		return Task{}, fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
	}
	if !validID(t.ID) {
		return refuse("id %.80q is not 1 to %d letters, digits, _ or -", t.ID, maxID)
	}
	if len(t.Stages) == 0 || len(t.Stages) > maxStages {
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
	if t.Start.RetryDelay < 0 || t.Start.Retries < 0 || math.IsNaN(t.Start.MaxCPU+t.Start.MaxIOWait) || math.IsInf(t.Start.MaxCPU+t.Start.MaxIOWait, 0) {
		return refuse("task %s has impossible start conditions", t.ID)
	}
	if t.TimeLimit < 0 || t.QueueTTL < 0 || t.ResultTTL < 0 || t.RetryDelay < 0 || t.Attempts < 0 {
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
	t.Labels = maps.Clone(t.Labels)
	return t, nil
}

// queued is the status of a task accepted at the given time.
func (t *Task) queued(at time.Time) Status {
	return Status{ID: t.ID, Name: t.Name, Type: t.Type, State: Queued, Queued: at, Labels: t.Labels}
}

// validID keeps ids usable as names of files: it knows no dot and no slash.
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
