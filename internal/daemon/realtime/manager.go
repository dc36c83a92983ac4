package realtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Name is the class name and the default inproc name.
const Name = "BatchTasksManagerRealTime"

// TaskType is the task type of real-time batches. Its slots are separate from those of crawling.
const TaskType = "realtime"

// Values of DRCERequestRouting: the node of a batch with one item.
const (
	RouteAll         = 0
	RouteRoundRobin  = 1
	RouteRandom      = 4
	RouteLeastLoaded = 5
)

// Defaults of Config, also for fields whose zero value is valid (MaxThreads, Routing).
const (
	DefaultTimeout       = 20 * time.Minute
	DefaultMaxURLs       = 10
	DefaultMaxExecution  = 360 * time.Second
	DefaultMaxIterations = 10
	DefaultMaxThreads    = 6
	DefaultRouting       = RouteRoundRobin
)

// Limits of what an operator sets.
const (
	MaxThreads    = 64
	MostURLs      = 10000
	MostIteration = 100
	Longest       = 24 * time.Hour
)

// Config is the section [BatchTasksManagerRealTime].
type Config struct {
	Executor executor.Executor // runs the stages; mandatory
	Server   string            // inproc name (server); default the class name
	// Crawler and Finalizer are the stages (DRCECrawlerAppName, DRCEProcessorAppName).
	// Without them every batch is refused.
	Crawler, Finalizer executor.Stage
	// Timeout limits a batch, including its wait in the queue (DRCETimeout, ms).
	Timeout       time.Duration
	MaxURLs       int           // items of a batch (BatchMaxURLs)
	MaxExecution  time.Duration // time limit of a batch without its own (BatchMaxExecutionTime, s)
	MaxIterations int64         // maximum of the batch's own value (BatchMaxIterations)
	MaxThreads    int           // batches that run at once; 0: one, and others wait
	Routing       int           // node of a batch with one item (DRCERequestRouting)

	// Owner returns the node that owns the host of a URL, "" if the cluster has no members
	// ([Cluster] placement = hosts). An item runs on its owner only; Routing has no effect. The
	// answer is one item in the order of the batch. nil: any node runs any item.
	Owner func(url string) string
}

// Manager is BatchTasksManagerRealTime. Create it with New.
type Manager struct {
	*manager.Loop
	cfg     Config
	run     string // prefix of the folders of this run's batches
	running map[*request]bool
	queue   []*request
	waiting int64 // bytes in queue
	turn    int   // round robin counter
	cleaned bool

	total, faults, urls, urlFaults, spent int64 // cumulative; spent in ms
	created                               int64 // workers, since the start
}

// request is a waiting or running batch.
type request struct {
	from     manager.Peer
	event    wire.Event
	deadline time.Time
}

// Limits of the queue.
const (
	maxQueue      = 1000
	maxQueueBytes = 64 << 20
)

// New returns the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Manager {
	cfg.Server = cmp.Or(cfg.Server, Name)
	cfg.Timeout = manager.Default(cfg.Timeout, DefaultTimeout)
	cfg.MaxURLs = manager.Default(cfg.MaxURLs, DefaultMaxURLs)
	cfg.MaxExecution = manager.Default(cfg.MaxExecution, DefaultMaxExecution)
	cfg.MaxIterations = manager.Default(cfg.MaxIterations, DefaultMaxIterations)
	base.Name, base.MaxWorkers = Name, MaxThreads+1 // and one that cleans up
	m := &Manager{Loop: manager.New(base), cfg: cfg, run: bus.NewUID()[:16], running: map[*request]bool{}}
	m.Bind(Name, bus.Inproc(cfg.Server), bus.Options{})
	m.Handle(Name, wire.ClassClient, int(wire.BatchRun), m.receiveBatch)
	m.Maintain("queue", func() time.Duration {
		if len(m.queue) == 0 {
			return 0
		}
		return time.Second
	}, m.expireBatches)
	m.Maintain("clean", m.cleanPeriod, m.cleanNodes)
	m.OnStop(m.refuseAll)
	m.Var(
		manager.Span("DRCETimeout", &m.cfg.Timeout, time.Millisecond, time.Millisecond, Longest),
		manager.Int("BatchMaxURLs", &m.cfg.MaxURLs, 1, MostURLs),
		manager.Span("BatchMaxExecutionTime", &m.cfg.MaxExecution, time.Second, time.Second, Longest),
		manager.Int("BatchMaxIterations", &m.cfg.MaxIterations, 1, MostIteration),
		manager.Int("MaxThreads", &m.cfg.MaxThreads, 0, MaxThreads),
		m.routingVariable(),
		manager.Program("DRCECrawlerAppName", cfg.Crawler.Program, cfg.Crawler.Args...),
		manager.Program("DRCEProcessorAppName", cfg.Finalizer.Program, cfg.Finalizer.Args...),
	)
	m.Counter("batches_crawl_total", &m.total)
	m.Counter("batches_crawl_fault", &m.faults)
	m.Counter("batches_crawl_urls", &m.urls)
	m.Counter("batches_crawl_urls_fault", &m.urlFaults)
	m.Counter("batches_crawl_time_total", &m.spent)
	m.Gauge("batches_crawl_time_avg", m.meanTime)
	m.Gauge("batches_realtime_threads", func() any { return len(m.running) })
	m.Gauge("batches_realtime_threads_created", func() any { return m.created })
	m.Gauge("batches_realtime_queue", func() any { return len(m.queue) })
	return m
}

// meanTime returns the mean time of a batch in seconds, as text.
func (m *Manager) meanTime() any {
	if m.total == 0 {
		return "0.000"
	}
	return strconv.FormatFloat(float64(m.spent)/float64(m.total)/1000, 'f', 3, 64)
}

// routingVariable is the variable DRCERequestRouting, whose values are not a range.
func (m *Manager) routingVariable() manager.Variable {
	v := manager.Int("DRCERequestRouting", &m.cfg.Routing, RouteAll, RouteLeastLoaded)
	set := v.Set
	v.Set = func(to any) error {
		was := m.cfg.Routing
		if err := set(to); err != nil {
			return err
		}
		if now := m.cfg.Routing; !ValidRoute(now) {
			m.cfg.Routing = was
			return fmt.Errorf("is %d, must be 0, 1, 4 or 5", now)
		}
		return nil
	}
	return v
}

// ValidRoute reports whether n is a value of DRCERequestRouting.
func ValidRoute(n int) bool {
	switch n {
	case RouteAll, RouteRoundRobin, RouteRandom, RouteLeastLoaded:
		return true
	}
	return false
}

// receiveBatch starts, queues or refuses one request. Its worker parses it.
func (m *Manager) receiveBatch(from manager.Peer, e wire.Event) {
	r := &request{from: from, event: e, deadline: m.Now().Add(m.cfg.Timeout)}
	switch {
	case m.Suspended():
		m.refuseRequest(r, wire.ResponseOverloaded, Name+" is suspended by an operator and takes no batches")
	case m.cfg.Crawler.Program == "" || m.cfg.Finalizer.Program == "":
		m.refuseRequest(r, wire.ResponseNoAnswer, "the daemon has no programs for real-time batches")
	case m.cfg.MaxThreads > 0 && len(m.running) >= m.cfg.MaxThreads:
		m.refuseRequest(r, wire.ResponseOverloaded, fmt.Sprintf("overloaded: %d batches run, MaxThreads is %d", len(m.running), m.cfg.MaxThreads))
	case len(m.queue) >= maxQueue || m.waiting+int64(len(e.Object)) > maxQueueBytes && len(m.running) > 0:
		m.refuseRequest(r, wire.ResponseOverloaded, fmt.Sprintf("overloaded: %d batches wait, as MaxThreads is %d", len(m.queue), m.cfg.MaxThreads))
	default:
		m.queue = append(m.queue, r)
		m.waiting += int64(len(e.Object))
		m.startWaiting()
	}
}

func (m *Manager) refuseRequest(r *request, code int, message string) {
	m.Reply(r.from, r.event, r.event.Type+wire.ResponseOffset, wire.ClientResponse{ErrorCode: code, ErrorMessage: message})
}

// startWaiting starts waiting batches while workers are free.
func (m *Manager) startWaiting() {
	for len(m.queue) > 0 && len(m.running) < max(1, m.cfg.MaxThreads) {
		r := m.queue[0]
		m.queue[0] = nil
		m.queue = m.queue[1:]
		m.waiting -= int64(len(r.event.Object))
		if !m.Now().Before(r.deadline) {
			m.tooLate(r)
			continue
		}
		m.startBatch(r)
	}
}

func (m *Manager) startBatch(r *request) {
	w := worker{Config: m.cfg, run: m.run, turn: m.turn, now: m.Now, log: m.Log()}
	w.Timeout = r.deadline.Sub(m.Now())
	m.turn++
	object := r.event.Object
	r.event.Object = nil // the worker has it
	m.created++
	m.running[r] = true
	manager.Work(m.Loop, func(ctx context.Context) (result, error) {
		response, f := w.runBatch(ctx, object)
		raw, err := json.Marshal(response)
		return result{raw, f}, err
	}, func(done result, err error) { m.finishBatch(r, done, err) })
}

// result is the encoded ClientResponse of a worker.
type result struct {
	response json.RawMessage
	figures
}

// figures are the counters that a worker reports.
type figures struct {
	Ran       bool  // the batch was accepted
	Fault     bool  // no answer, or an empty one
	URLs      int64 // answered with contents or an error of their own
	URLFaults int64 // of failed nodes
	Spent     int64 // ms
}

// finishBatch answers a batch, counts it and starts the next one.
func (m *Manager) finishBatch(r *request, done result, err error) {
	delete(m.running, r)
	if err != nil {
		m.Log().Error("batch failed", "uid", r.event.UID, "error", err)
		done.figures = figures{Ran: true, Fault: true}
		m.refuseRequest(r, wire.ResponseNoAnswer, fmt.Sprintf("the batch failed inside the daemon: %v", err))
	} else {
		m.Reply(r.from, r.event, r.event.Type+wire.ResponseOffset, done.response)
	}
	m.countBatch(done.figures)
	m.startWaiting()
}

func (m *Manager) countBatch(f figures) {
	if f.Ran {
		m.total++
	}
	if f.Fault {
		m.faults++
	}
	m.spent += f.Spent
	m.urls += f.URLs
	m.urlFaults += f.URLFaults
}

// expireBatches refuses batches that waited too long.
func (m *Manager) expireBatches(now time.Time) {
	m.queue = slices.DeleteFunc(m.queue, func(r *request) bool {
		if now.Before(r.deadline) {
			return false
		}
		m.waiting -= int64(len(r.event.Object))
		m.tooLate(r)
		return true
	})
	m.startWaiting() // MaxThreads may have been raised
}

func (m *Manager) tooLate(r *request) {
	m.refuseRequest(r, wire.ResponseNoAnswer, "no answer: the batch waited too long in the queue")
}

// refuseAll answers all open requests when the manager stops.
func (m *Manager) refuseAll() {
	for _, r := range slices.AppendSeq(m.queue, maps.Keys(m.running)) {
		m.refuseRequest(r, wire.ResponseNoAnswer, "the daemon stops")
	}
}

// cleanPeriod is the period of clean until it has succeeded once.
func (m *Manager) cleanPeriod() time.Duration {
	if m.cleaned || m.cfg.Finalizer.Program == "" {
		return 0
	}
	return time.Minute
}

// cleanNodes makes all nodes remove the files of earlier runs.
func (m *Manager) cleanNodes(time.Time) {
	w := worker{Config: m.cfg, run: m.run, now: m.Now, log: m.Log()}
	m.Go(func(ctx context.Context) error {
		return w.forgetFiles(ctx, executor.Target{All: true}, forgetting{Others: m.run})
	}, func(err error) {
		m.cleaned = err == nil
		switch {
		case errors.Is(err, executor.ErrNode):
			m.Log().Info("no node is there yet; files of earlier batches are removed later")
		case err != nil:
			m.Log().Warn("cannot remove the files of earlier batches; trying again in a minute", "error", err)
		}
	})
}
