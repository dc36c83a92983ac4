package batches

import (
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// SweepConfig is what aging and purging have in common: tasks of db-task that
// clear away on one node, whatever they find there (docs/spec/daemon.md 2.10, 2.11).
type SweepConfig struct {
	Mode     bool
	Period   time.Duration // min; 0: off
	Limits                 // of its own tasks alone
	TaskName TaskName
	Starter  string // without effect
}

// sweep is the schedule and the queue of one kind of such tasks. They hold no
// rows, so their end is read, counted and deleted, and no more. A task that is
// known from the last run is tended like any other.
type sweep struct {
	queue
	cfg    *SweepConfig
	stage  *executor.Stage
	policy executor.Policy // how the node is chosen
	op     wire.Op
	object func() any

	total, cancelled int64
}

// start declares the sweep beside the queue of c; keys is what the names of its
// variables begin with, suffix what those of its task's name end with.
func (s *sweep) start(c *Crawl, number int, keys, suffix, counters string) {
	s.Loop, s.Common, s.limits, s.name, s.number = c.Loop, c.Common, &s.cfg.Limits, &s.cfg.TaskName, number
	s.read = s.answer
	s.ended = func(b *batch, next func()) {
		if b.end.good() {
			s.Log().Info("sweep is over", "task", b.task)
		}
		next()
	}
	s.free = func() {}
	s.watch()
	s.Every(s.timer, every(&s.cfg.Mode, &s.cfg.Period), func(time.Time) { s.fill() })
	s.Var(
		manager.Switch(keys+"Mode", &s.cfg.Mode),
		manager.Span(keys+"Period", &s.cfg.Period, time.Minute, 0, 365*longest),
		manager.Int(keys+"BatchDefaultMaxTasks", &s.cfg.MaxTasks, 0, maxTasks),
		manager.Span(keys+"BatchDefaultMaxExecutionTime", &s.cfg.TaskTime, time.Second, time.Second, longest),
		manager.Span(keys+"BatchQueueTaskTTL", &s.cfg.TaskTTL, time.Second, time.Second, longest),
		manager.Text(keys+"BatchTask_STARTER", &s.cfg.Starter, textUpTo(maxCommand)),
	)
	named(s.Loop, suffix, &s.cfg.TaskName)
	s.counters(counters)
}

// fill starts one task when there is a slot for it.
func (s *sweep) fill() {
	switch {
	case !s.mayStart(s.cfg.Period, s.cfg.Mode):
		return
	case s.slots() >= s.limits.MaxTasks:
		s.cancelled++
		return
	}
	b := &batch{task: taskID(s.kind, newBatchID())}
	s.total++
	object, err := json.Marshal([]any{s.object()})
	if err == nil {
		object, err = json.Marshal(wire.Call{Op: s.op, Object: object})
	}
	if err != nil {
		s.batches[b.task] = b
		s.refused(b, err)
		return
	}
	s.Log().Info("sweep", "task", b.task, "op", s.op)
	s.submit(b, executor.Task{Stages: []executor.Stage{*s.stage}, Stdin: object, Target: executor.Target{Policy: s.policy}})
}

// answer sums up what db-task said: [operation+100, object].
func (s *sweep) answer(id string, res executor.Result, _ bool) outcome {
	o := outcome{Task: id, State: res.State, Reason: res.Reason, Exit: res.ExitStatus}
	if o.State != executor.Finished {
		return o
	}
	var pair []json.RawMessage
	var code int
	var said wire.GeneralResponse
	if json.Unmarshal(res.Stdout, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &code) != nil ||
		code != int(s.op)+wire.ResponseOffset || json.Unmarshal(pair[1], &said) != nil {
		o.Reason = "the answer is not one to " + s.op.String() + ": " + clip(res.Stdout)
		return o
	}
	if said.ErrorCode != wire.CodeOK {
		o.Reason = fmt.Sprintf("error %d: %s", said.ErrorCode, said.ErrorMessage)
		return o
	}
	o.Batch = true
	return o
}
