package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// Process is BatchTasksManagerProcess (docs/spec/daemon.md 2.12). A task is one batch without
// items: processor-task selects, processes and stores on its node until RefillTime is over or
// nothing is left. Each of its selections takes an equal share of every site, so that no site
// waits for another one.
type Process struct {
	queue
	cfg *ProcessConfig

	// idle is set after a task that found nothing. Until the next period or hint one look or
	// task at a time checks for work.
	idle    bool
	looking bool // a look has no answer yet
	again   bool // a hint arrived during a look or task, which may have selected too early

	total, cancelled, filled, items int64
}

// NewProcess returns the manager; it opens nothing.
func NewProcess(base manager.Config, cfg ProcessConfig) *Process {
	base.Name, base.MaxWorkers = ProcessName, maxWorkers
	p := &Process{cfg: &cfg, idle: true}
	p.queue = queue{
		Loop: manager.New(base), Common: &p.cfg.Common, limits: &p.cfg.Limits,
		kind: ProcessTask, timer: processTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedProcessing, wire.StatusProcessing},
		ended:    p.finishTask, free: p.fillFreeSlots, again: p.taskForItems,
	}
	p.Bind(ProcessName, bus.Inproc(ProcessName), bus.Options{})
	p.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	p.Handle(ProcessName, wire.ClassInternal, wire.InternalWork, p.handleHint)
	p.ServeHold(ProcessName)
	p.declareTimers()
	p.Every(processTimer, p.lookPeriod(&p.cfg.Mode, &p.cfg.Period), func(time.Time) { p.fillSlots() })
	p.declareShared(&p.cfg.Period, "ProcessingPeriod", &p.cfg.Mode, "ProcessingMode")
	p.Var(
		manager.Span("BatchRefillTime", &p.cfg.RefillTime, time.Second, 0, time.Hour),
		manager.Program("DRCEProcessorAppName", p.cfg.Processor.Program, p.cfg.Processor.Args...),
		conditionVariable("BatchDefaultOrderByURLs", &p.cfg.URLsCriterion.OrderBy),
		conditionVariable("BatchDefaultWhereURLs", &p.cfg.URLsCriterion.Where),
		conditionVariable("BatchDefaultWhereSites", &p.cfg.SitesCriterion.Where),
	)
	p.declareCounters()
	return p
}

// handleHint handles a message that there may be work.
func (p *Process) handleHint(manager.Peer, wire.Event) {
	if p.adopted {
		p.recoverRows() // it may have been held
	}
	p.again, p.found = p.looking || p.usedSlots() > 0, p.Now()
	p.Kick(processTimer)
}

// fillFreeSlots starts tasks at once while there is work.
func (p *Process) fillFreeSlots() {
	if !p.idle {
		p.Kick(processTimer)
	}
}

// fillSlots starts tasks in all free slots, or looks if it is not known whether there is work.
func (p *Process) fillSlots() {
	switch {
	case !p.mayStart(p.cfg.Period, p.cfg.Mode):
		return
	case p.usedSlots() >= p.MaxTasks:
		p.cancelled++
		return
	case p.idle && (p.looking || p.usedSlots() > 0):
		return
	case p.idle:
		p.lookForWork()
		return
	}
	p.startTask()
	for !p.idle && p.mayStart(p.cfg.Period, p.cfg.Mode) && p.usedSlots() < p.MaxTasks {
		p.startTask()
	}
}

// lookForWork reads whether there is a URL to process, and starts a task for it. So an idle daemon
// starts no task, takes no lock and syncs nothing. After an error the task tells more.
func (p *Process) lookForWork() {
	p.looking, p.again = true, false
	p.askNodes(wire.URLFetch, []any{p.rules(1).ProcessLook()}, func(nodes []nodeAnswer, err error) {
		p.looking = false
		found := err != nil
		for _, n := range nodes {
			var rows []json.RawMessage
			found = found || n.err != nil || json.Unmarshal(n.object, &rows) != nil || len(rows) > 0
		}
		switch {
		case found && p.mayStart(p.cfg.Period, p.cfg.Mode) && p.usedSlots() == 0:
			p.startTask()
		case p.again:
			p.Kick(processTimer)
		case !found:
			p.nothingDue()
		}
	})
}

// startTask submits one task, which selects its URLs.
func (p *Process) startTask() {
	p.again = false
	id := frontier.NewBatchID()
	stdin, err := p.rules(p.MaxURLs).ProcessBatch(id)
	b := &batch{id: id, task: taskID(ProcessTask, id)}
	p.total++
	if err != nil {
		p.batches[b.task] = b
		p.concludeRefused(b, err)
		return
	}
	p.submitBatch(b, executor.Task{Stages: []executor.Stage{p.cfg.Processor}, Stdin: stdin})
}

// taskForItems is queue.again.
func (p *Process) taskForItems(b *batch, items []json.RawMessage) executor.Task {
	stdin, _ := json.Marshal(frontier.ProcessItems(b.id, append([]json.RawMessage{}, items...))) // of values that were parsed before
	return executor.Task{Stages: []executor.Stage{p.cfg.Processor}, Stdin: stdin}
}

// rules choose at most this many URLs to process.
func (p *Process) rules(most int64) frontier.Rules {
	return frontier.Rules{SitesCriterion: p.cfg.SitesCriterion, URLs: p.cfg.URLsCriterion, MaxURLs: most, RefillTime: p.cfg.RefillTime}
}

// finishTask handles the end of a processing task.
func (p *Process) finishTask(b *batch, next func()) {
	n := b.end.Items + b.end.More
	p.idle = !b.end.isGood() || n == 0
	if n > 0 {
		b.urls = n
		p.filled, p.found = p.filled+1, p.Now()
		p.items += int64(n)
		p.Log().Info("batch", "batch", b.id, "urls", n)
	}
	if p.again {
		p.Kick(processTimer)
	}
	next()
}
