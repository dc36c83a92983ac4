package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/head"
	"hce/dc/internal/daemon/load"
	"hce/dc/internal/daemon/node"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/daemon/status"
)

// Config configures a daemon. DataDir, Sites.DBTask and Log are mandatory.
type Config struct {
	// Name is the name of this instance in every log line; "" for none.
	Name string
	// DataDir is the folder of the daemon's own files: lock, saved statistics, spool. Only
	// one daemon may use it. It is created if missing.
	DataDir string
	// Sequence are the classes in the order of their start ([Application]
	// instantiateSequence); default DefaultSequence. URLManager is accepted as a part of
	// SitesManager (docs/spec/DECISIONS.md 8.1).
	Sequence []string
	// Executor is the local executor. Defaults: Dir <DataDir>/env, the daemon's Log, and for
	// each task type as many slots as its manager uses.
	Executor executor.LocalConfig
	// OpenExecutor opens another executor instead; nil for the local one.
	OpenExecutor func() (Pool, error)
	// Cluster makes this daemon the head of a cluster: its tasks run on the nodes, and the class
	// Cluster is a part of Sequence. nil: one machine.
	Cluster *head.Config
	// Node makes this daemon a data node of a cluster: the class NodeAgent is a part of Sequence. Only
	// Join, Placement, DrainFile, Address, Version and Lease are read. nil: a machine without a head.
	Node *node.Config
	// PollTimeout is PollingTimeout by class name; default a minute.
	PollTimeout map[string]time.Duration

	// PeersMemory limits the bytes of requests of all clients and operators that are under way
	// ([Application] PeersMemory); default a 256th of the machine's memory, 24 to 32 MiB.
	PeersMemory int64

	// Endpoint is a file to which Run writes host:port of the operators' port, for dc-admin; "" for
	// none. It is removed at the end.
	Endpoint string

	// OperatorKeys makes the operators' port ask for a key ([AdminInterfaceServer] admin_auth),
	// unless Admin.Curve is set. Run creates the keys in <DataDir>/keys at the first start.
	OperatorKeys bool

	// Run sets Admin.Stop and Managers, the Budget of both ports, the Executor of each manager, and the bus of Status.
	Admin    admin.Config
	Gateway  gateway.Config
	Sites    sites.Config
	Crawl    batches.CrawlConfig
	Process  batches.ProcessConfig
	RealTime realtime.Config
	Status   status.Config

	// Services run in this process and are clients of the managers.
	Services []Service

	// StopLimit limits the stop of one manager; default 30 s.
	StopLimit time.Duration
	// Ready, if not nil, is called once when all managers run, with the TCP endpoints by
	// class name.
	Ready func(endpoints map[string]string)
	Log   *slog.Logger
	// Level is the level of Log that LOG_LEVEL changes; may be nil.
	Level *slog.LevelVar
}

// Service is a part of the daemon that serves people by asking the managers. It is started when all managers run, and stopped before
// they stop.
type Service interface {
	// Start returns the name and the address that Ready and the log show; an empty address is left out.
	Start(at Surroundings) (name, address string, err error)
	// Stop ends requests that run, and returns when all goroutines and sockets are closed. It is called after each Start.
	Stop()
}

// Surroundings are what a Service finds in the daemon.
type Surroundings struct {
	Bus     *bus.Bus
	Clients string // endpoint of Bus for requests of class client
	// State returns the health as /healthz of the status server shows it.
	State   func(ctx context.Context) (status.Condition, error)
	DataDir string
	Log     *slog.Logger
}

// Pool is an executor inside of this process. Close ends its tasks.
type Pool interface {
	executor.Executor
	Close(ctx context.Context) error
}

// DefaultSequence starts managers that bind before managers that connect to them.
var DefaultSequence = []string{
	admin.Name, sites.Name, batches.CrawlName, batches.ProcessName, realtime.Name, gateway.Name,
}

// inCluster is a sequence of managers with Cluster after the operators' port. With hosts the nodes
// have the batch managers.
func inCluster(sequence []string, hosts bool) []string {
	list := slices.DeleteFunc(slices.Clone(sequence), func(name string) bool {
		return name == head.Name || hosts && (name == batches.CrawlName || name == batches.ProcessName)
	})
	return slices.Insert(list, slices.Index(list, admin.Name)+1, head.Name)
}

// urlManager is a class of older ini files; it is part of SitesManager.
const urlManager = "URLManager"

func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		return c, errors.New("no data folder is configured")
	}
	if c.Sites.DBTask.Program == "" {
		return c, errors.New("no db-task program is configured")
	}
	if c.Name != "" {
		c.Log = c.Log.With("name", c.Name)
	}
	c.Executor.Dir = cmp.Or(c.Executor.Dir, filepath.Join(c.DataDir, "env"))
	if c.Executor.Log == nil {
		c.Executor.Log = c.Log
	}
	c.Sites.Workers = cmp.Or(c.Sites.Workers, sites.DefaultWorkers)
	c.Executor.Slots = withSlots(c.Executor.Slots, map[string]int{
		sites.TaskType:      c.Sites.Workers,
		batches.CrawlTask:   int(c.Crawl.MaxTasks) + 1, // and one for batches that are halved
		batches.ProcessTask: int(c.Process.MaxTasks) + 1,
		realtime.TaskType:   c.RealTime.MaxThreads,
		sites.RecrawlTask:   int(c.Sites.Recrawl.MaxThreads) + 1, // and one that selects sites
	})
	if c.Node != nil {
		c.asNode()
	}
	if c.OpenExecutor == nil {
		local := c.Executor
		c.OpenExecutor = func() (Pool, error) { return executor.OpenLocal(local) }
	}
	if len(c.Sequence) == 0 {
		c.Sequence = DefaultSequence
	}
	c.Sequence = slices.DeleteFunc(slices.Clone(c.Sequence), func(name string) bool { return name == urlManager })
	switch {
	case c.Cluster == nil && slices.Contains(c.Sequence, head.Name):
		return c, fmt.Errorf("class %s of instantiateSequence needs engine = embedded or nats in [Cluster]; leave it out: it is added by itself", head.Name)
	case c.Cluster != nil:
		c.Sequence = inCluster(c.Sequence, c.Cluster.Hosts)
		c.Sites.Journal, c.Sites.Hosts = true, c.Cluster.Hosts
	}
	for i, name := range c.Sequence {
		if slices.Contains(c.Sequence[:i], name) {
			return c, fmt.Errorf("class %s is twice in instantiateSequence", name)
		}
	}
	machine := load.New(load.Config{})
	if c.PeersMemory <= 0 {
		c.PeersMemory = min(max(machine.Memory()/256, 24<<20), bus.DefaultBudget)
	}
	machine.SetMemoryLimit(ownMemory + 4*c.PeersMemory)
	budget := bus.NewBudget(c.PeersMemory)
	c.Admin.Budget, c.Gateway.Budget = budget, budget
	clients, operators := connectionLimits()
	c.Gateway.Connections, c.Admin.Connections = cmp.Or(c.Gateway.Connections, clients), cmp.Or(c.Admin.Connections, operators)
	if c.StopLimit <= 0 {
		c.StopLimit = 30 * time.Second
	}
	return c, nil
}

// ownMemory is what the daemon needs besides the requests of peers, with room for garbage.
const ownMemory = 128 << 20

// connectionLimits returns the default limits of connections of clients and operators: a part of the
// descriptors of this process, whose soft limit the Go runtime has raised to the hard one. The
// rest is for the task programs, with four descriptors each.
func connectionLimits() (clients, operators int) {
	files := 1024
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		files = int(min(limit.Cur, 1<<20))
	}
	return min(max(files/8, 8), 256), min(max(files/32, 4), 32)
}

// withSlots returns slots with defaults for the missing task types.
func withSlots(slots, defaults map[string]int) map[string]int {
	all := maps.Clone(slots)
	if all == nil {
		all = map[string]int{}
	}
	for kind, n := range defaults {
		if all[kind] == 0 && n > 0 {
			all[kind] = n
		}
	}
	return all
}
