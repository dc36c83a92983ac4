package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/head"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/node"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/daemon/status"
	"hce/dc/internal/files"
)

// termLimit limits the time of the bus to send its last messages.
const termLimit = 5 * time.Second

// managerBuilders returns the function that creates the manager of each class. base has everything
// except its name.
func managerBuilders(cfg Config, pool executor.Executor, cluster *head.Head, stop func()) map[string]func(base manager.Config) runner {
	cfg.Admin.Stop, cfg.Admin.Managers = stop, cfg.Sequence
	cfg.Sites.Executor, cfg.Crawl.Executor, cfg.Process.Executor, cfg.RealTime.Executor = pool, pool, pool, pool
	agent := node.Config{}
	if cfg.Node != nil {
		agent = *cfg.Node
		agent.Pool = pool
	}
	return map[string]func(base manager.Config) runner{
		admin.Name:          func(base manager.Config) runner { return admin.New(base, cfg.Admin) },
		sites.Name:          func(base manager.Config) runner { return sites.New(base, cfg.Sites) },
		batches.CrawlName:   func(base manager.Config) runner { return batches.NewCrawl(base, cfg.Crawl) },
		batches.ProcessName: func(base manager.Config) runner { return batches.NewProcess(base, cfg.Process) },
		realtime.Name:       func(base manager.Config) runner { return realtime.New(base, cfg.RealTime) },
		gateway.Name:        func(base manager.Config) runner { return gateway.New(base, cfg.Gateway) },
		node.Name:           func(base manager.Config) runner { return node.New(base, agent) },
		head.Name:           func(base manager.Config) runner { return head.NewManager(base, cluster) },
	}
}

// openCluster opens the cluster of a head and makes it the executor. nil for one machine.
func openCluster(ctx context.Context, cfg *Config) (*head.Head, error) {
	if cfg.Cluster == nil {
		return nil, nil
	}
	cfg.Cluster.Log, cfg.Cluster.DBTask = cfg.Log, cfg.Sites.DBTask
	h, err := head.Open(ctx, *cfg.Cluster)
	if err != nil {
		return nil, err
	}
	cfg.OpenExecutor = func() (Pool, error) { return h, nil }
	if cfg.Cluster.Hosts {
		cfg.RealTime.Owner = h.Owner
	}
	return h, nil
}

// Run runs the daemon until ctx ends, an operator stops it, all managers were stopped, or one
// manager fails, which is the error. Everything it started has ended when it returns.
func Run(ctx context.Context, cfg Config) (err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return err
	}
	unlock, err := lockFolder(cfg.DataDir)
	if err != nil {
		return err
	}
	defer unlock()

	if cfg.OperatorKeys && cfg.Admin.Curve == nil {
		if cfg.Admin.Curve, err = operatorKeys(cfg); err != nil {
			return err
		}
	}
	cluster, err := openCluster(ctx, &cfg)
	if err != nil {
		return err
	}
	pool, err := cfg.OpenExecutor()
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.Background(), cfg.StopLimit)
		defer cancel()
		if e := pool.Close(limited); e != nil {
			err = errors.Join(err, e)
		}
	}()

	b, err := bus.New()
	if err != nil {
		return err
	}
	defer func() {
		if e := b.Term(termLimit); e != nil {
			err = errors.Join(err, e)
		}
	}()

	watch, err := status.Start(cfg.statusConfig(b))
	if err != nil {
		return err
	}
	defer watch.Stop()

	running, stop := context.WithCancel(ctx)
	defer stop()
	g := newGroup(cfg.Log, cfg.StopLimit)
	err = startAll(running, g, cfg, b, managerBuilders(cfg, pool, cluster, stop))
	if err == nil {
		err = serveUntilEnd(running, cfg, b, watch, g)
	} else if running.Err() != nil {
		err = nil // stopped during the start
	}
	cfg.Log.Info("daemon stops")
	watch.Stopping()
	return errors.Join(err, g.stopAll())
}

// serveUntilEnd says that the managers run, and returns when ctx has ended or a manager has. The services have ended then.
func serveUntilEnd(ctx context.Context, cfg Config, b *bus.Bus, watch *status.Server, g *group) error {
	watch.Running()
	if watch.Addr() != "" {
		g.endpoints[StatusName] = "http://" + watch.Addr()
	}
	at := Surroundings{Bus: b, Clients: gateway.Endpoint, State: watch.State, DataDir: cfg.DataDir, Log: cfg.Log}
	for _, service := range cfg.Services {
		defer service.Stop()
		name, address, err := service.Start(at)
		if err != nil {
			return err
		}
		if address != "" {
			g.endpoints[name] = address
		}
	}
	if cfg.Endpoint != "" {
		if err := writeEndpoint(cfg.Endpoint, g.endpoints[admin.Name]); err != nil {
			return err
		}
		defer os.Remove(cfg.Endpoint)
	}
	cfg.Log.Info("daemon runs", "endpoints", g.endpoints)
	if cfg.Ready != nil {
		cfg.Ready(g.endpoints)
	}
	return g.waitForEnd(ctx)
}

// writeEndpoint writes host:port of the operators' port to a file.
func writeEndpoint(path, endpoint string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = files.Write(path, []byte(strings.TrimPrefix(endpoint, "tcp://")+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the endpoint of the operators' port: %w", err)
	}
	return nil
}

// operatorKeys returns the keys of the operators' port.
func operatorKeys(cfg Config) (*bus.Curve, error) {
	folder := filepath.Join(cfg.DataDir, curvekeys.OperatorsFolder)
	pair, list, created, err := curvekeys.EnsureOperators(folder)
	if err != nil {
		return nil, err
	}
	if created {
		cfg.Log.Info("created the keys of the operators' port", "folder", folder)
	}
	return &bus.Curve{Secret: pair.Secret, Allowed: list}, nil
}

// StatusName is the name of the status server in the endpoints, and its ini section.
const StatusName = "StatusServer"

// statusConfig returns the configuration of the status server.
func (c Config) statusConfig(b *bus.Bus) status.Config {
	w := c.Status
	w.Bus, w.Endpoint, w.Classes, w.DataDir, w.Log = b, admin.Endpoint, c.Sequence, c.DataDir, c.Log
	w.Inside = len(c.Services) > 0
	if slices.Contains(c.Sequence, sites.Name) {
		w.Sites = bus.Inproc(cmp.Or(c.Sites.Server, sites.Name))
	}
	return w
}

// startAll starts the managers in the configured order, each after the one before is ready.
func startAll(ctx context.Context, g *group, cfg Config, b *bus.Bus, known map[string]func(manager.Config) runner) error {
	for _, class := range cfg.Sequence {
		if known[class] == nil || class == node.Name && cfg.Node == nil {
			return fmt.Errorf("class %q of instantiateSequence is unknown", class)
		}
	}
	for _, class := range cfg.Sequence {
		base := manager.Config{
			Bus: b, Admin: admin.Endpoint, PollTimeout: cfg.PollTimeout[class],
			StatDir: filepath.Join(cfg.DataDir, "stat"), Log: cfg.Log, Level: cfg.Level,
			Held: cfg.Node != nil && slices.Contains(cfg.Node.Held, class),
		}
		if err := g.startManager(ctx, class, base, known[class]); err != nil {
			return err
		}
	}
	return nil
}
