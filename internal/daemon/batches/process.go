package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Process is BatchTasksManagerProcess (docs/spec/daemon.md 2.12). A task selects, processes and
// stores on the same node.
type Process struct {
	queue
	cfg *ProcessConfig

	// idle is set after a task that found nothing. Until the next period or hint one task
	// at a time checks for work.
	idle  bool
	again bool // a hint arrived while a task ran, which may have selected too early

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
		ended:    p.finished, free: p.fillFreeSlots,
	}
	p.Bind(ProcessName, bus.Inproc(ProcessName), bus.Options{})
	p.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	p.Handle(ProcessName, wire.ClassInternal, wire.InternalWork, p.hint)
	p.watch()
	p.Every(processTimer, every(&p.cfg.Mode, &p.cfg.Period), func(time.Time) { p.fill() })
	p.variables(&p.cfg.Period, "ProcessingPeriod", &p.cfg.Mode, "ProcessingMode")
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

// hint handles a message that there may be work.
func (p *Process) hint(manager.Peer, wire.Event) {
	p.again = p.slots() > 0
	p.Kick(processTimer)
}

// fillFreeSlots starts tasks at once while there is work.
func (p *Process) fillFreeSlots() {
	if !p.idle {
		p.Kick(processTimer)
	}
}

// fill starts tasks in all free slots, or one task if it is not known whether there is work.
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

// start submits one task; its first stage selects the URLs.
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

// selection returns the URL_FETCH of a processing task. Its answer is the Batch that the
// processor reads.
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
		p.Log().Error("cannot encode the selection", "error", err)
	}
	return raw
}

// finished handles the end of a processing task.
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
