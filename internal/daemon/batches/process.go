package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Process is BatchTasksManagerProcess (docs/spec/daemon.md 2.12). A task selects and
// processes on one node: what is selected there is stored there.
type Process struct {
	queue
	cfg *ProcessConfig

	// idle is set when a task found nothing: the next starts with the period or
	// a hint. Until then one probing task runs at a time.
	idle  bool
	again bool // somebody hinted while it ran: it may have looked too early

	total, cancelled, filled, items int64
}

// NewProcess declares the manager; Run opens and runs it.
func NewProcess(base manager.Config, cfg ProcessConfig) *Process {
	base.Name, base.MaxWorkers = ProcessName, maxWorkers
	p := &Process{cfg: &cfg, idle: true}
	p.queue = queue{
		Loop: manager.New(base), Common: &p.cfg.Common, limits: &p.cfg.Limits, name: &p.cfg.TaskName,
		kind: ProcessTask, timer: processTimer, read: readBatch,
		statuses: []int64{wire.StatusSelectedProcessing, wire.StatusProcessing},
		ended:    p.finished, free: p.goOn,
	}
	p.Bind(ProcessName, bus.Inproc(ProcessName), bus.Options{})
	p.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	p.Handle(ProcessName, wire.ClassInternal, wire.InternalWork, p.hint)
	p.watch()
	p.Every(processTimer, every(&p.cfg.Mode, &p.cfg.Period), func(time.Time) { p.fill() })
	p.variables(&p.cfg.Period, "ProcessingPeriod", &p.cfg.Mode, "ProcessingMode")
	named(p.Loop, "Process", &p.cfg.TaskName)
	p.Var(
		manager.Program("DRCEDBAppName", p.cfg.Selector.Program, p.cfg.Selector.Args...),
		manager.Program("DRCEProcessorAppName", p.cfg.Processor.Program, p.cfg.Processor.Args...),
		condition("BatchDefaultOrderByURLs", &p.cfg.URLsCriterion.OrderBy),
		condition("BatchDefaultWhereURLs", &p.cfg.URLsCriterion.Where),
		condition("BatchDefaultWhereSites", &p.cfg.SitesCriterion.Where),
	)
	p.counters()
	return p
}

// hint is somebody's word that there may be work.
func (p *Process) hint(manager.Peer, wire.Event) {
	p.again = p.slots() > 0
	p.Kick(processTimer)
}

// goOn looks for work at once while there is some.
func (p *Process) goOn() {
	if !p.idle {
		p.Kick(processTimer)
	}
}

// fill starts tasks in all free slots; one while it is not known whether there
// is work.
func (p *Process) fill() {
	switch {
	case !p.mayStart(p.cfg.Period, p.cfg.Mode):
		return
	case p.slots() >= p.MaxTasks:
		p.cancelled++
		return
	case p.idle && p.slots() > 0:
		return
	}
	p.start()
	for !p.idle && p.mayStart(p.cfg.Period, p.cfg.Mode) && p.slots() < p.MaxTasks {
		p.start()
	}
}

// start submits one task: what it works on is selected in its first stage.
func (p *Process) start() {
	p.again = false
	id := newBatchID()
	stdin, err := json.Marshal(wire.Call{Op: wire.URLFetch, Object: p.selection(id)})
	b := &batch{id: id, task: taskID(ProcessTask, id)}
	p.total++
	if err != nil {
		p.batches[b.task] = b
		p.refused(b, err)
		return
	}
	p.submit(b, executor.Task{Stages: []executor.Stage{p.cfg.Selector, p.cfg.Processor}, Stdin: stdin})
}

// selection is the URL_FETCH of a processing task; its answer is the Batch that
// the processor reads.
func (p *Process) selection(id int64) json.RawMessage {
	raw, err := json.Marshal([]any{map[string]any{
		"sitesList":       []string{},
		"sitesCriterions": p.cfg.SitesCriterion,
		"urlsCriterions":  p.cfg.URLsCriterion,
		"maxURLs":         p.MaxURLs,
		"algorithm":       1,
		"attributeNames":  []string{},
		"asBatch":         id,
		"siteUpdate":      map[string]any{"tcDateProcess": "NOW()"},
		"urlUpdate":       map[string]any{"status": wire.StatusSelectedProcessing, "batchId": id, "tcDate": "NOW()", "UDate": "NOW()"},
	}})
	if err != nil {
		p.Log().Error("the selection has no JSON", "error", err)
	}
	return raw
}

// finished is the end of a processing task.
func (p *Process) finished(b *batch, next func()) {
	p.idle = !b.end.good() || b.end.Items == 0
	if b.end.Items > 0 {
		b.urls = b.end.Items
		p.filled++
		p.items += int64(b.end.Items)
		p.Log().Info("batch", "batch", b.id, "urls", b.end.Items)
	}
	if p.again {
		p.Kick(processTimer)
	}
	next()
}
