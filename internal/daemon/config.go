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

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/daemon/status"
)

// Config is all that a daemon is told. DataDir, Sites.DBTask and Log are
// mandatory.
type Config struct {
	// Name is the name of this instance, in every log line; "" for none.
	Name string
	// DataDir is the folder of the daemon's own files: the lock, the saved
	// statistics. One daemon at a time works in it; it is made if missing.
	DataDir string
	// Sequence are the classes to start, in this order ([Application]
	// instantiateSequence); default DefaultSequence. URLManager is accepted as a
	// part of SitesManager (docs/spec/DECISIONS.md 8.1).
	Sequence []string
	// Env is the local execution environment. Defaults: Dir <DataDir>/env, Log
	// the daemon's, and as many slots for each
	// kind of task as its manager has at once.
	Executor executor.LocalConfig
	// OpenExecutor opens another environment instead; nil for the local one.
	OpenExecutor func() (Pool, error)
	// PollTimeout is PollingTimeout of each class, by class name; default 200 ms.
	PollTimeout map[string]time.Duration

	Admin   admin.Config // its Stop is filled in here
	Clients gateway.Config
	Sites   sites.Config          // its Env is filled in here
	Crawl   batches.CrawlConfig   // as well
	Process batches.ProcessConfig // as well

	RealTime realtime.Config // as well
	Status   status.Config   // what concerns the bus is filled in here

	// StopLimit is how long one manager may take to stop; default 30 s.
	StopLimit time.Duration
	// Ready, if set, is called once when all managers run, with the TCP
	// endpoints by class name.
	Ready func(endpoints map[string]string)
	Log   *slog.Logger
	// Level is the level of Log that LOG_LEVEL changes; nil for none.
	Level *slog.LevelVar
}

// Pool is an environment that this process runs. Close ends its tasks.
type Pool interface {
	executor.Executor
	Close(ctx context.Context) error
}

// DefaultSequence has those who bind before those who connect.
var DefaultSequence = []string{
	admin.Name, sites.Name, batches.CrawlName, batches.ProcessName, realtime.Name, gateway.Name,
}

// urlManager is a class of older ini files, part of SitesManager now.
const urlManager = "URLManager"

func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		return c, errors.New("daemon: no data folder")
	}
	if c.Sites.DBTask.Program == "" {
		return c, errors.New("daemon: no db-task program")
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
		batches.CrawlTask:   int(c.Crawl.MaxTasks),
		batches.ProcessTask: int(c.Process.MaxTasks),
		realtime.TaskType:   c.RealTime.MaxThreads,
		sites.RecrawlTask:   int(c.Sites.Recrawl.MaxThreads) + 1, // sites are picked beside
	})
	if c.OpenExecutor == nil {
		local := c.Executor
		c.OpenExecutor = func() (Pool, error) { return executor.OpenLocal(local) }
	}
	if len(c.Sequence) == 0 {
		c.Sequence = DefaultSequence
	}
	c.Sequence = slices.DeleteFunc(slices.Clone(c.Sequence), func(name string) bool { return name == urlManager })
	for i, name := range c.Sequence {
		if slices.Contains(c.Sequence[:i], name) {
			return c, fmt.Errorf("daemon: class %s stands twice in instantiateSequence", name)
		}
	}
	if c.StopLimit <= 0 {
		c.StopLimit = 30 * time.Second
	}
	return c, nil
}

// withSlots adds to slots the kinds that it does not name.
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
