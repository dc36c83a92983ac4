package batches

import (
	"encoding/json"
	"time"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
	"hce/dc/internal/env"
	"hce/dc/internal/manager"
)

// Process is BatchTasksManagerProcess (daemon 2.12). A task selects and
// processes on one node: what is selected there is stored there.
type Process struct {
	queue
	cfg *ProcessConfig

	// idle is set when a task found nothing: the next starts with the period or
	// a hint. Until then one probing task runs at a time.
	idle bool

	total, cancelled, filled, items int64
}

// NewProcess declares the manager; Run opens and runs it.
func NewProcess(base manager.Config, cfg ProcessConfig) *Process {
	base.Name, base.MaxWorkers = ProcessName, maxWorkers
	p := &Process{cfg: &cfg, idle: true}
	p.queue = queue{
		Loop: manager.New(base), Common: cfg.Common, kind: ProcessTask,
		statuses: []int64{dc.StatusSelectedProcessing, dc.StatusProcessing},
		ended:    p.finished, free: func() { p.fillIfBusy() },
	}
	p.Bind(ProcessName, bus.Inproc(ProcessName), bus.Options{})
	p.Connect(SitesSocket, bus.Inproc(cfg.Sites), bus.Options{})
	p.Handle(ProcessName, dc.ClassInternal, dc.InternalWork, func(manager.Peer, dc.Event) { p.Kick("process") })
	p.watch()
	p.Every("process", func() time.Duration { return p.cfg.Period }, func(time.Time) { p.fill() })
	p.variables(&p.cfg.Period, "ProcessingPeriod", &p.cfg.Mode, "ProcessingMode")
	p.Var(
		manager.Text("BatchDefaultOrderByURLs", &p.cfg.URLsCriterion.OrderBy, nil),
		manager.Text("BatchDefaultWhereURLs", &p.cfg.URLsCriterion.Where, nil),
		manager.Text("BatchDefaultWhereSites", &p.cfg.SitesCriterion.Where, nil),
	)
	p.Counter("batches_process_total", &p.total)
	p.Counter("batches_process_cancelled", &p.cancelled)
	p.Counter("batches_process_filled", &p.filled)
	p.Counter("batches_process_urls", &p.items)
	p.Counter("batches_process_fault", &p.faults)
	p.Counter("batches_process_urls_fault", &p.urlsFault)
	p.Counter("batches_process_fault_ttl", &p.expired)
	p.Counter("batches_process_delete_fault", &p.deleteFaults)
	p.Counter("batches_process_check_fault", &p.checkFaults)
	p.Gauge("batches_process_queue", func() any { return len(p.running) })
	return p
}

// fill starts one task if a slot is free.
func (p *Process) fill() {
	if !p.ready || !p.cfg.Mode {
		return
	}
	if p.taken() >= p.MaxTasks || (p.idle && p.taken() > 0) {
		p.cancelled++
		return
	}
	id := int64(newBatchID())
	stdin, err := json.Marshal(dc.Call{Op: dc.URLFetch, Object: p.selection(id)})
	if err != nil {
		p.Log().Error("the selection has no JSON", "error", err)
		return
	}
	p.total++
	p.submit(&running{task: taskID("process", id), batch: id, keys: map[[2]string]bool{}}, env.Task{
		Name: "process", Stages: []env.Stage{p.cfg.Selector, p.cfg.Processor}, Stdin: stdin,
	})
}

// fillIfBusy goes on while there is work.
func (p *Process) fillIfBusy() {
	if !p.idle && !p.Suspended() {
		p.fill()
	}
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
		"urlUpdate":       map[string]any{"status": dc.StatusSelectedProcessing, "batchId": id, "tcDate": "NOW()", "UDate": "NOW()"},
	}})
	if err != nil {
		p.Log().Error("the selection has no JSON", "error", err)
	}
	return raw
}

// finished is the end of a processing task.
func (p *Process) finished(b *running, o outcome) {
	if !o.good() {
		p.idle = true // a fault must not turn in a circle
		return
	}
	p.idle = o.Items == 0
	b.urls = o.Items
	if o.Items > 0 {
		p.filled++
		p.items += int64(o.Items)
		p.Log().Info("batch", "batch", b.batch, "urls", o.Items)
	}
}
