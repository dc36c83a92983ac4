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

	total int64
}

// NewProcess returns the manager; it opens nothing.
func NewProcess(base manager.Config, cfg ProcessConfig) *Process {
	base.Name, base.MaxWorkers = ProcessName, maxWorkers
	p := &Process{cfg: &cfg}
	p.queue = queue{
		Loop: manager.New(base), Common: &p.cfg.Common, limits: &p.cfg.Limits,
		kind: ProcessTask, timer: processTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedProcessing, wire.StatusProcessing},
		ended:    p.finishTask, again: p.taskForItems,
	}
	p.Bind(ProcessName, bus.Inproc(ProcessName), bus.Options{})
	p.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	p.Handle(ProcessName, wire.ClassInternal, wire.InternalWork, p.handleHint)
	p.ServeHold(ProcessName)
	p.declareTimers()
	p.Every(processTimer, p.lookPeriod(&p.cfg.Mode, &p.cfg.Period), func(time.Time) { p.fillSlot() })
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
func (p *Process) handleHint(manager.Peer, wire.Event) { p.noteHint() }

// fillSlot looks for a URL to process if a slot is free, and fills it.
func (p *Process) fillSlot() {
	if !p.mayLook(p.cfg.Period, p.cfg.Mode) {
		return
	}
	p.look(p.rules().ProcessLook(), func(nodes int) {
		if nodes > 0 && p.mayStart(p.cfg.Period, p.cfg.Mode) {
			p.startTask()
		}
	})
}

// startTask submits one task, which selects its URLs.
func (p *Process) startTask() {
	id := frontier.NewBatchID()
	stdin, err := p.rules().ProcessBatch(id)
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
	stdin, _ := json.Marshal(frontier.ProcessItems(b.id, items)) // of values that were parsed before
	return executor.Task{Stages: []executor.Stage{p.cfg.Processor}, Stdin: stdin}
}

// rules choose URLs to process.
func (p *Process) rules() frontier.Rules {
	return frontier.Rules{SitesCriterion: p.cfg.SitesCriterion, URLs: p.cfg.URLsCriterion, MaxURLs: p.MaxURLs, RefillTime: p.cfg.RefillTime}
}

// finishTask handles the end of a processing task.
func (p *Process) finishTask(b *batch, next func()) {
	p.countTaken(b)
	next()
}
