package batches

import (
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// SweepConfig is common to aging and purging: db-task tasks that clean up one node
// (docs/spec/daemon.md 2.10, 2.11).
type SweepConfig struct {
	Mode   bool
	Period time.Duration // min; 0: off
	Limits
}

// sweep is the schedule and the queue of such tasks. They hold no rows, so their result is
// only read and counted.
type sweep struct {
	queue
	cfg    *SweepConfig
	stage  *executor.Stage
	policy executor.Policy // selects the node
	op     wire.Op
	object func() any

	total int64
}

// startSweep adds the sweep to the manager c. Names of its variables begin with keys, names of its
// statistics with counters.
func (s *sweep) startSweep(c *Crawl, keys, counters string) {
	s.Loop, s.Common, s.limits = c.Loop, c.Common, &s.cfg.Limits
	s.read = s.summarizeAnswer
	s.ended = func(b *batch, next func()) {
		if b.end.isGood() {
			s.Log().Debug("sweep finished", "task", b.task)
		}
		next()
	}
	s.declareTimers()
	s.Every(s.timer, periodFunc(&s.cfg.Mode, &s.cfg.Period), func(time.Time) { s.startTask() })
	s.Var(
		manager.Switch(keys+"Mode", &s.cfg.Mode),
		manager.Span(keys+"Period", &s.cfg.Period, time.Minute, 0, 365*longest),
		manager.Int(keys+"BatchDefaultMaxTasks", &s.cfg.MaxTasks, 0, maxTasks),
		manager.Span(keys+"BatchDefaultMaxExecutionTime", &s.cfg.TaskTime, time.Second, time.Second, longest),
		manager.Span(keys+"BatchQueueTaskTTL", &s.cfg.TaskTTL, time.Second, time.Second, longest),
	)
	s.declareCounters(counters)
}

// startTask starts one task if a slot is free.
func (s *sweep) startTask() {
	switch {
	case !s.mayStart(s.cfg.Period, s.cfg.Mode):
		return
	case s.usedSlots() >= s.limits.MaxTasks:
		s.cancelled++
		return
	}
	b := &batch{task: taskID(s.kind, frontier.NewBatchID())}
	s.total++
	object, err := json.Marshal([]any{s.object()})
	if err == nil {
		object, err = json.Marshal(wire.Call{Op: s.op, Object: object})
	}
	if err != nil {
		s.batches[b.task] = b
		s.concludeRefused(b, err)
		return
	}
	s.Log().Debug("sweep", "task", b.task, "op", s.op)
	s.submitBatch(b, executor.Task{
		Stages: []executor.Stage{*s.stage}, Stdin: object, Target: executor.Target{Policy: s.policy},
		Unsaved: true, // the next period repeats a sweep that is lost
	})
}

// summarizeAnswer summarises the answer of db-task, [operation+100, object].
func (s *sweep) summarizeAnswer(res executor.Result, _ bool) outcome {
	o := outcomeOf(res)
	if o.State != executor.Finished {
		return o
	}
	var pair []json.RawMessage
	var code int
	var response wire.GeneralResponse
	if json.Unmarshal(res.Stdout, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &code) != nil ||
		code != int(s.op)+wire.ResponseOffset || json.Unmarshal(pair[1], &response) != nil {
		o.Reason = "invalid answer to " + s.op.String() + ": " + clipText(res.Stdout)
		return o
	}
	if response.ErrorCode != wire.CodeOK {
		o.Reason = fmt.Sprintf("error %d: %s", response.ErrorCode, response.ErrorMessage)
		return o
	}
	o.Batch = true
	return o
}
