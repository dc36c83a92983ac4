// Package sites is SitesManager: the manager of all that asks or changes sites
// and URLs. Each request becomes one run of db-task on every data node, and the
// nodes' answers one ClientResponse (docs/spec/daemon.md 1.6, 1.7). With several nodes each
// gets its share of the limits in SITE_NEW and SITE_UPDATE (docs/spec/objects.md 2.1).
//
//	m := sites.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint},
//		sites.Config{Executor: pool, DBTask: executor.Stage{Program: "db-task", Args: []string{"-c", "db-task.ini"}}})
//	err := m.Run(ctx)
//
// Clients (through clients) and the daemon's own managers speak to it alike:
// events of class client on its inproc socket, every operation of dc but BATCH.
// The operation URL_RETURN, which clients cannot ask for, and the URL_FETCH of
// batches come this way too.
//
// Requests run side by side, up to Workers of them. Others wait in two lines per
// peer, of requests that only read and of those that change something; the lines
// take turns. No peer holds the last worker, and its changes leave some to what it
// reads, so a slow request never holds up another manager's, and a site that many
// change never the status of another. A full queue answers "busy".
//
// Sites that are due are recrawled on a timer, side by side with the requests and
// with slots of their own (recrawl.go).
//
// Neighbours: manager and env below; clients and batches ask it.
package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Name is the class name and the default inproc name.
const Name = "SitesManager"

// crawl is the name of the connection to the manager that starts crawling.
const crawl = "BatchTasksManager"

// TaskType is the type of the tasks given to the environment.
const TaskType = "db"

// DefaultWorkers is how many requests run at once when the Config does not say.
const DefaultWorkers = 8

// Config is the section [SitesManager].
type Config struct {
	// Env runs db-task. Mandatory.
	Executor executor.Executor
	// Server is the inproc name (server); default SitesManager.
	Server string
	// Crawl is the inproc name of the manager that is told of new work; default
	// BatchTasksManager.
	Crawl string
	// DBTask is the program that answers operations (DRCEDBAppName). Mandatory.
	DBTask executor.Stage
	// Timeout is how long a request may take, its wait in the queue included
	// (DRCETimeout, ms); default 90 s.
	Timeout time.Duration
	// Workers bounds the requests that run at once (CommonWorkers); default DefaultWorkers.
	Workers int
	// MaxQueue bounds the requests that wait (CommonQueueMax); default 1000.
	MaxQueue int
	// Nodes is the number of data nodes that share a site's limits
	// ([Application] DRCENodes); default 1.
	Nodes int
	// Route is where every request runs (DRCERoute); the zero value is all nodes.
	Route Route
	// Threading is CommonCommandsThreadingMode: any value does what 1 says, each
	// request has a worker of its own.
	Threading int
	// Recrawl has the keys RecrawlSite* and DefaultRecraw*.
	Recrawl RecrawlConfig
}

// Manager is the manager. Create it with New.
type Manager struct {
	*manager.Loop
	cfg     Config
	queue   queue
	running map[string]*job // by the worker's uid
	recrawl recrawl

	operations, nodeRequests int64 // cumulative
	workersCreated           int64 // since the start
}

// New makes the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Manager {
	if cfg.Server == "" {
		cfg.Server = Name
	}
	if cfg.Crawl == "" {
		cfg.Crawl = crawl
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 90 * time.Second
	}
	if cfg.Workers <= 0 {
		cfg.Workers = DefaultWorkers
	}
	if cfg.MaxQueue <= 0 {
		cfg.MaxQueue = 1000
	}
	if cfg.Nodes <= 0 {
		cfg.Nodes = 1
	}
	base.Name, base.MaxWorkers = Name, maxWorkers+maxRecrawlWorkers
	m := &Manager{Loop: manager.New(base), cfg: cfg, running: map[string]*job{}}
	m.Bind(Name, bus.Inproc(cfg.Server), bus.Options{})
	m.Connect(crawl, bus.Inproc(cfg.Crawl), bus.Options{Linger: -1})
	m.HandleClass(Name, wire.ClassClient, m.request)
	m.HandleReport(wire.InternalTaskDone, m.done)
	m.HandleReport(wire.InternalWork, func(string, json.RawMessage) { m.Tell(crawl, wire.InternalWork, nil) })
	m.Maintain("queue", func() time.Duration { return time.Second }, m.expire)
	m.OnStop(m.lastWords)
	m.Var(
		manager.Span("DRCETimeout", &m.cfg.Timeout, time.Millisecond, time.Millisecond, 24*time.Hour),
		manager.Int("CommonWorkers", &m.cfg.Workers, 1, maxWorkers),
		manager.Int("CommonQueueMax", &m.cfg.MaxQueue, 1, 100000),
		manager.Int("DRCENodes", &m.cfg.Nodes, 1, 10000),
		manager.Int("CommonCommandsThreadingMode", &m.cfg.Threading, 0, 1),
		m.cfg.Route.variable("DRCERoute"),
	)
	m.Counter("common_operations_cnt", &m.operations)
	m.Counter("sites_recrawl_drce_cnt", &m.nodeRequests)
	m.Gauge("common_threads", func() any { return len(m.running) })
	m.Gauge("common_threads_created", func() any { return m.workersCreated })
	m.Gauge("common_queue", func() any { return m.queue.len() })
	m.declareRecrawl()
	return m
}

// maxQueueBytes bounds the memory of the requests that wait, beside MaxQueue.
const maxQueueBytes = 256 << 20

// maxWorkers bounds what CommonWorkers may become at run time.
const maxWorkers = 64

// request takes one request or refuses it.
func (m *Manager) request(from manager.Peer, e wire.Event) {
	op := wire.Op(e.Type)
	if !op.Known() || op == wire.BatchRun {
		m.ReplyError(from, e, fmt.Sprintf("%s does not serve operation %s", Name, op))
		return
	}
	if m.queue.len() >= m.cfg.MaxQueue || m.queue.bytes >= maxQueueBytes {
		m.ReplyError(from, e, fmt.Sprintf("busy: %d requests wait", m.queue.len()))
		return
	}
	m.operations++
	m.queue.add(&job{from: from, event: e, deadline: m.Now().Add(m.cfg.Timeout)})
	m.next()
}

// next starts what may start.
func (m *Manager) next() {
	for len(m.running) < m.cfg.Workers {
		j, ok := m.queue.take(m.mayRun)
		if !ok {
			return
		}
		if !m.Now().Before(j.deadline) {
			m.tooLate(j)
			continue
		}
		m.start(j)
	}
}

// mayRun keeps one worker for the other peers, and of those that a peer may have a
// quarter for requests that only read: changes of one site wait for one another in
// the database, and a status must not wait with them.
func (m *Manager) mayRun(s stream) bool {
	all, changes := 0, 0
	for _, j := range m.running {
		if other := j.stream(); other.peer == s.peer {
			all++
			if !other.reads {
				changes++
			}
		}
	}
	most := max(1, m.cfg.Workers-1)
	return all < most && (s.reads || changes < max(1, most-m.cfg.Workers/4))
}

func (m *Manager) start(j *job) {
	call := wire.Call{Op: wire.Op(j.event.Type), Object: j.event.Object}
	run := m.runner(TaskType, j.deadline.Sub(m.Now()))
	var uid string
	uid, err := m.Go(func(ctx context.Context, r *manager.Reporter) error {
		response := run.do(ctx, call)
		err := r.Send(wire.InternalTaskDone, response)
		if err == nil && changed(call.Op, response) {
			err = r.Send(wire.InternalWork, nil)
		}
		return err
	}, func(err error) { m.ended(uid, err) })
	if err != nil {
		m.ReplyError(j.from, j.event, err.Error())
		return
	}
	m.nodeRequests++
	m.workersCreated++
	m.running[uid] = j
	j.event.Object = nil // the worker has it
}

// runner runs db-task with the slots of a kind of task.
func (m *Manager) runner(kind string, limit time.Duration) runner {
	return runner{env: m.cfg.Executor, program: m.cfg.DBTask, kind: kind, target: m.cfg.Route.target(), limit: limit, nodes: m.cfg.Nodes}
}

// done answers a request with the ClientResponse that its worker brings.
func (m *Manager) done(uid string, response json.RawMessage) {
	j, ok := m.running[uid]
	if !ok || j.answered {
		return
	}
	j.answered = true
	m.Reply(j.from, j.event, j.event.Type+wire.ResponseOffset, response)
}

// ended frees a worker's place.
func (m *Manager) ended(uid string, err error) {
	j := m.running[uid]
	delete(m.running, uid)
	if !j.answered {
		m.Log().Error("request failed", "uid", j.event.UID, "op", wire.Op(j.event.Type).String(), "error", err)
		m.answerError(j, fmt.Sprintf("the request failed inside the daemon: %v", err))
	}
	m.next()
}

// expire answers what waited too long.
func (m *Manager) expire(now time.Time) {
	for _, j := range m.queue.expire(now) {
		m.tooLate(j)
	}
}

// lastWords answers what will not be done any more.
func (m *Manager) lastWords() {
	for _, j := range m.queue.all() {
		m.answerError(j, "the daemon stops")
	}
	for _, j := range m.running {
		if !j.answered {
			m.answerError(j, "the daemon stops")
		}
	}
}

func (m *Manager) answerError(j *job, message string) {
	j.answered = true
	m.ReplyError(j.from, j.event, message)
}

func (m *Manager) tooLate(j *job) {
	j.answered = true
	m.Reply(j.from, j.event, j.event.Type+wire.ResponseOffset, wire.ClientResponse{
		ErrorCode:    wire.ResponseNoAnswer,
		ErrorMessage: "no answer: the request waited too long for a free worker",
	})
}
