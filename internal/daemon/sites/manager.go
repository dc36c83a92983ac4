// Package sites is SitesManager, which serves all operations on sites and URLs. Each request is
// one run of db-task on every data node; the answers of the nodes form one ClientResponse
// (docs/spec/daemon.md 1.6, 1.7). In SITE_NEW and SITE_UPDATE each node gets its share of the
// limits (docs/spec/objects.md 2.1).
//
//	m := sites.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint},
//		sites.Config{Executor: pool, DBTask: executor.Stage{Program: "db-task", Args: []string{"-c", "db-task.ini"}}})
//	err := m.Run(ctx)
//
// Clients (through the gateway) and the daemon's own managers use its inproc socket alike:
// events of class client, every operation except BATCH. Managers also use URL_RETURN, which
// clients cannot send.
//
// Up to Workers requests run at once. Each manager, and each client of the gateway, has two
// queues, for requests that read and for requests that change data; the managers take turns, and
// so do the queues of each. No manager and no client gets the last worker, and changes leave some
// workers for reads. So a slow request never blocks another manager, and
// changes of one site never block the status of another. If MaxQueue requests wait, the answer
// is "busy".
//
// A timer recrawls due sites with slots of their own, independent of the requests (recrawl.go).
package sites

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

// Name is the class name and the default inproc name.
const Name = "SitesManager"

// crawl is the name of the socket that connects to the crawling manager.
const crawl = "BatchTasksManager"

// TaskType is the task type of requests.
const TaskType = "db"

// DefaultWorkers is the default of Config.Workers.
const DefaultWorkers = 8

// Config is the section [SitesManager].
type Config struct {
	Executor executor.Executor // runs db-task; mandatory
	Server   string            // inproc name (server); default SitesManager
	Crawl    string            // inproc name of the manager that gets hints about new work; default BatchTasksManager
	DBTask   executor.Stage    // answers the operations (DRCEDBAppName); mandatory
	// Timeout limits a request, including its wait in the queue (DRCETimeout, ms); default 90 s.
	Timeout  time.Duration
	Workers  int           // requests that run at once (CommonWorkers); default DefaultWorkers
	MaxQueue int           // requests that wait (CommonQueueMax); default 1000
	Nodes    int           // data nodes that share a site's limits ([Application] DRCENodes); default 1
	Route    Route         // nodes that run requests (DRCERoute); default all nodes
	Recrawl  RecrawlConfig // keys RecrawlSite* and DefaultRecraw*

	// Journal makes nodes that are away run the changes of clients when they are back: the
	// executor is that of a cluster ([Cluster] engine).
	Journal bool
	// Hosts means that each node stores the URLs of its own hosts ([Cluster] placement = hosts).
	// Answers to clients are merged here, as if one machine had all the data; limits are not
	// divided, and recrawling is the nodes' own.
	Hosts bool
}

// Manager is SitesManager. Create it with New.
type Manager struct {
	*manager.Loop
	cfg     Config
	queue   queue
	running map[*job]bool
	recrawl recrawl

	operations, nodeRequests int64 // cumulative
	workersCreated           int64 // since the start
}

// New returns the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Manager {
	cfg.Server = cmp.Or(cfg.Server, Name)
	cfg.Crawl = cmp.Or(cfg.Crawl, crawl)
	cfg.Timeout = manager.Default(cfg.Timeout, 90*time.Second)
	cfg.Workers = manager.Default(cfg.Workers, DefaultWorkers)
	cfg.MaxQueue = manager.Default(cfg.MaxQueue, 1000)
	cfg.Nodes = manager.Default(cfg.Nodes, 1)
	if cfg.Hosts {
		cfg.Nodes, cfg.Recrawl.Mode = 1, false
	}
	base.Name, base.MaxWorkers = Name, maxWorkers+maxRecrawlWorkers
	m := &Manager{Loop: manager.New(base), cfg: cfg, running: map[*job]bool{}}
	m.Bind(Name, bus.Inproc(cfg.Server), bus.Options{})
	m.Connect(crawl, bus.Inproc(cfg.Crawl), bus.Options{Linger: -1})
	m.HandleClass(Name, wire.ClassClient, m.receiveRequest)
	m.Maintain("queue", func() time.Duration {
		if m.queue.len() == 0 {
			return 0
		}
		return time.Second
	}, m.expireRequests)
	m.OnStop(m.refuseAll)
	m.Var(
		manager.Span("DRCETimeout", &m.cfg.Timeout, time.Millisecond, time.Millisecond, 24*time.Hour),
		manager.Int("CommonWorkers", &m.cfg.Workers, 1, maxWorkers),
		manager.Int("CommonQueueMax", &m.cfg.MaxQueue, 1, 100000),
		manager.Int("DRCENodes", &m.cfg.Nodes, 1, 10000),
		m.cfg.Route.routeVariable("DRCERoute"),
	)
	m.Counter("common_operations_cnt", &m.operations)
	m.Counter("sites_recrawl_drce_cnt", &m.nodeRequests)
	m.Quiet(Name, "common_operations_cnt", "sites_recrawl_drce_cnt") // of the other managers' looks
	m.Gauge("common_threads", func() any { return len(m.running) })
	m.Gauge("common_threads_created", func() any { return m.workersCreated })
	m.Gauge("common_queue", func() any { return m.queue.len() })
	m.declareRecrawl()
	return m
}

// maxQueueBytes limits the memory of the waiting requests, in addition to MaxQueue.
const maxQueueBytes = 256 << 20

// maxWorkers limits CommonWorkers.
const maxWorkers = 64

// receiveRequest queues one request or refuses it.
func (m *Manager) receiveRequest(from manager.Peer, e wire.Event) {
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
	j := &job{from: from, event: e, deadline: m.Now().Add(m.cfg.Timeout)}
	if j.streamKey().client != "" {
		m.Changed()
	}
	m.queue.addJob(j)
	m.startWaiting()
}

// startWaiting starts waiting requests while workers are free.
func (m *Manager) startWaiting() {
	for len(m.running) < m.cfg.Workers {
		j, ok := m.queue.takeNext(m.mayRun)
		if !ok {
			return
		}
		if !m.Now().Before(j.deadline) {
			m.tooLate(j)
			continue
		}
		m.startJob(j)
	}
}

// mayRun reserves one worker for other managers, one of the gateway's for other clients, and a
// quarter for reads: changes of one site wait for each other in the database, and reads must
// not wait with them.
func (m *Manager) mayRun(s stream) bool {
	within := func(most int, same func(other stream) bool) bool {
		all, changes := 0, 0
		for j := range m.running {
			if other := j.streamKey(); same(other) {
				all++
				if !other.reads {
					changes++
				}
			}
		}
		return all < max(1, most) && (s.reads || changes < max(1, most-m.cfg.Workers/4))
	}
	most := m.cfg.Workers - 1
	return within(most, func(other stream) bool { return other.peer == s.peer }) &&
		(s.client == "" || within(most-1, func(other stream) bool { return other.peer == s.peer && other.client == s.client }))
}

func (m *Manager) startJob(j *job) {
	call := wire.Call{Op: wire.Op(j.event.Type), Object: j.event.Object}
	run := m.newRunner(TaskType, j.deadline.Sub(m.Now()))
	serve := run.runCall
	if m.cfg.Hosts && merge.HostsMerges(call.Op) && merge.Wanted(j.event.Cookie) {
		serve = run.runMerged
	}
	m.nodeRequests++
	m.workersCreated++
	m.running[j] = true
	client := j.streamKey().client != ""
	j.event.Object = nil // the worker has it
	manager.Work(m.Loop, func(ctx context.Context) (result, error) {
		response := serve(ctx, call)
		raw, err := json.Marshal(response)
		return result{raw, mayCreateWork(call.Op, client, response)}, err
	}, func(r result, err error) { m.finishJob(j, r, err) })
}

// result is the encoded ClientResponse of a worker.
type result struct {
	response json.RawMessage
	changed  bool // there may be work for the batch managers
}

// newRunner returns a runner of db-task for a task type.
func (m *Manager) newRunner(kind string, limit time.Duration) runner {
	return runner{executor: m.cfg.Executor, program: m.cfg.DBTask, kind: kind, target: m.cfg.Route.taskTarget(), limit: limit, nodes: m.cfg.Nodes, journal: m.cfg.Journal}
}

// finishJob answers a request and starts the next one.
func (m *Manager) finishJob(j *job, r result, err error) {
	delete(m.running, j)
	if err != nil {
		m.Log().Error("request failed", "uid", j.event.UID, "op", wire.Op(j.event.Type).String(), "error", err)
		m.ReplyError(j.from, j.event, fmt.Sprintf("the request failed inside the daemon: %v", err))
	} else {
		m.Reply(j.from, j.event, j.event.Type+wire.ResponseOffset, r.response)
	}
	if r.changed {
		m.Tell(crawl, wire.InternalWork, nil)
	}
	m.startWaiting()
}

// expireRequests answers requests that waited too long.
func (m *Manager) expireRequests(now time.Time) {
	for _, j := range m.queue.takeExpired(now) {
		m.tooLate(j)
	}
}

// refuseAll answers all open requests when the manager stops.
func (m *Manager) refuseAll() {
	for _, j := range slices.AppendSeq(m.queue.takeAll(), maps.Keys(m.running)) {
		m.ReplyError(j.from, j.event, "the daemon stops")
	}
}

func (m *Manager) tooLate(j *job) {
	m.Reply(j.from, j.event, j.event.Type+wire.ResponseOffset, wire.ClientResponse{
		ErrorCode:    wire.ResponseNoAnswer,
		ErrorMessage: "no answer: the request waited too long for a free worker",
	})
}
