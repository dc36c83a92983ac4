package head

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/files"
)

// Config configures the head ([Cluster] of dc-daemon.ini). Folder, Executor and Log are mandatory.
type Config struct {
	// Folder has the keys of the cluster, and the streams of an embedded broker. It is created if
	// missing, mode 0700.
	Folder string
	// Listen is host:port of the embedded broker; default broker.DefaultAddress. Any other host
	// than loopback turns TLS on.
	Listen string
	// URLs are the addresses of the broker as nodes see it. Default: that of the embedded one.
	URLs []string
	// External uses the broker at URLs instead of an embedded one, with the certificates CAFile
	// ("" for those of the system) and the secret SeedFile of the head ("": Folder/keys/head.seed).
	// Its servers must have the configuration in Folder/UsersFile, which changes with the nodes.
	External         bool
	CAFile, SeedFile string
	// Hosts is placement = hosts: each member owns hosts.
	Hosts bool
	// Silence is how long a node may give no sign of life; default DefaultSilence.
	Silence time.Duration
	// Replicas are the copies of each stream of an external broker; default 1.
	Replicas int
	// MoveURLs is the number of URLs that move in one step of a change, about; default DefaultMoveURLs.
	MoveURLs int64

	// DBTask answers HOSTS_STATE on the nodes.
	DBTask executor.Stage
	// Executor opens the executor of the cluster. known returns the names of its nodes.
	Executor func(conn *broker.Conn, known func() []string, silence time.Duration) (Executor, error)
	Log      *slog.Logger
}

// DefaultMoveURLs is the default of Config.MoveURLs. A step takes a few seconds then.
const DefaultMoveURLs = 10_000

// DefaultSilence is the default of Config.Silence.
const DefaultSilence = 15 * time.Second

// Executor runs tasks on the nodes of a cluster.
type Executor interface {
	executor.Executor
	Close() error
}

// Head is the head of a cluster. Its methods may be called from any goroutine.
type Head struct {
	executor.Executor
	cfg        Config
	pool       Executor
	server     *broker.Server // nil for an external broker
	keys       *broker.Keys
	ca         string // of an external broker
	conn       *broker.Conn
	table      *broker.Table // "cluster"
	gate       gate
	identities *identities
	self       process       // see serveRivals
	serving    atomic.Bool   // self is set
	rival      chan error    // another head has taken over; one value
	wake       chan struct{} // settle has something to do

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.RWMutex
	members members
	joining map[string]time.Time // last signs of life of nodes that are no members yet
	awaited string               // what a change waits for

	forgotten map[string]bool // nodes that are gone; of settle
}

const (
	openLimit = time.Minute
	callLimit = 10 * time.Second
)

// Open starts or joins the broker, provides its streams and opens the executor. The caller calls
// Close.
func Open(ctx context.Context, cfg Config) (*Head, error) {
	cfg.Silence, cfg.MoveURLs = cmp.Or(cfg.Silence, DefaultSilence), cmp.Or(cfg.MoveURLs, DefaultMoveURLs)
	h := &Head{cfg: cfg, wake: make(chan struct{}, 1), rival: make(chan error, 8), joining: map[string]time.Time{}, forgotten: map[string]bool{}}
	h.ctx, h.end = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := h.openHead(ctx); err != nil {
		closing, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("open the cluster: %w", err), h.Close(closing))
	}
	return h, nil
}

func (h *Head) openHead(ctx context.Context) error {
	if err := os.MkdirAll(h.cfg.Folder, 0o700); err != nil {
		return err
	}
	dial, err := h.startBroker()
	if err != nil {
		return err
	}
	if h.conn, err = broker.Dial(ctx, dial); err != nil {
		return err
	}
	if h.cfg.External {
		if err := h.serveRivals(ctx); err != nil {
			return err
		}
	}
	if err := h.provisionStreams(ctx); err != nil {
		return err
	}
	if h.table, err = h.conn.Table(ctx, broker.TableCluster, broker.TableConfig{}); err != nil {
		return err
	}
	if err := h.readMembers(ctx); err != nil {
		return err
	}
	if h.members.Groups > 0 {
		h.gate.closeGate() // until settle has finished the step
	}
	if h.pool, err = h.cfg.Executor(h.conn, h.Members, h.cfg.Silence); err != nil {
		return err
	}
	h.Executor = h.pool
	if err := h.serveIdentities(ctx); err != nil {
		return err
	}
	h.work.Go(h.followNodes)
	h.work.Go(h.settleMembers)
	return h.serveQuota(ctx)
}

// startBroker starts the embedded broker, and returns how to connect to it or to the external one.
func (h *Head) startBroker() (broker.DialConfig, error) {
	var err error
	if h.keys, err = broker.OpenKeys(filepath.Join(h.cfg.Folder, "keys")); err != nil {
		return broker.DialConfig{}, err
	}
	if h.cfg.External {
		return h.externalConfig()
	}
	h.server, err = broker.StartServer(broker.ServerConfig{Folder: h.cfg.Folder, Address: h.cfg.Listen, Keys: h.keys, Log: h.cfg.Log})
	if err != nil {
		return broker.DialConfig{}, err
	}
	return h.server.Local(), nil
}

// externalConfig returns how to connect to an external broker.
func (h *Head) externalConfig() (broker.DialConfig, error) {
	if err := h.describeKeys(); err != nil {
		return broker.DialConfig{}, err
	}
	seed, err := broker.ReadSeed(cmp.Or(h.cfg.SeedFile, h.keys.HeadSeed()))
	if err != nil {
		return broker.DialConfig{}, fmt.Errorf("seed_file: %w", err)
	}
	if h.cfg.CAFile != "" {
		ca, err := os.ReadFile(h.cfg.CAFile)
		if err != nil {
			return broker.DialConfig{}, fmt.Errorf("ca_file: %w", err)
		}
		h.ca = string(ca)
	}
	return broker.DialConfig{Join: h.joinFor(broker.Head, seed), Log: h.cfg.Log, OnState: h.checkOtherHead}, nil
}

// UsersFile is the file in Folder with the configuration of the keys for an external broker.
const UsersFile = "nats-users.conf"

// describeKeys writes the configuration of an external broker, which the operator gives to the NATS
// servers.
func (h *Head) describeKeys() error {
	if !h.cfg.External {
		return nil
	}
	keys, err := h.keys.List()
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(h.cfg.Folder, UsersFile), []byte(broker.ExternalConfig(keys)), 0o600)
}

// joinFor is what a node, or the head, needs to connect.
func (h *Head) joinFor(name, seed string) broker.Join {
	if h.server != nil {
		return h.server.Join(name, seed, h.cfg.URLs...)
	}
	return broker.Join{Name: name, URLs: h.cfg.URLs, CA: h.ca, Seed: seed}
}

// provisionStreams provides the streams, and the consumers of all nodes with a key.
func (h *Head) provisionStreams(ctx context.Context) error {
	names, err := h.keys.Nodes()
	if err != nil {
		return err
	}
	return h.conn.Provision(ctx, broker.ProvisionConfig{Nodes: names, Replicas: h.cfg.Replicas})
}

// Run runs a task on the nodes. It waits while a step moves hosts.
func (h *Head) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	if err := h.gate.enterGate(ctx); err != nil {
		return nil, err
	}
	defer h.gate.leaveGate()
	if t.Journal {
		epoch, some, err := h.sealData(ctx)
		if err != nil {
			return nil, err
		}
		if !some {
			return nil, fmt.Errorf("%w: %w: the cluster has no members; start a node", executor.ErrRefused, executor.ErrNode)
		}
		t.Epoch = epoch
	}
	return h.Executor.Run(ctx, t)
}

// Owner returns the member that owns the host of a URL, "" without members.
func (h *Head) Owner(url string) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.members.OwnerOfURL(url)
}

// Close ends the executor, the connection and the embedded broker.
func (h *Head) Close(ctx context.Context) error {
	h.end()
	var failures []error
	if h.pool != nil {
		failures = append(failures, h.pool.Close())
	}
	if h.conn != nil {
		h.conn.Close()
	}
	h.work.Wait()
	if h.server != nil {
		failures = append(failures, h.server.Close(ctx))
	}
	return errors.Join(failures...)
}

// isWildcardAddress reports whether an address means all addresses of the machine, which no node can connect to.
func isWildcardAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "" || ip != nil && ip.IsUnspecified())
}
