// Package gateway is ClientInterfaceService: the one door for clients. It takes
// their requests on TCP, passes each to the manager that serves it, merges the
// answers of several nodes, and brings the answer back (docs/spec/daemon.md 1.6, 1.7).
//
//	service := gateway.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint}, gateway.Config{})
//	err := service.Run(ctx)
//
// Every request gets one answer of class client, with the uid and the cookie it
// came with: a ClientResponse of the manager, or one made here, when the
// operation is unknown, when nobody can take it, when no answer came in time
// (errorCode 1) or when the daemon stops. Requests go on under uids of our own,
// so two clients that chose the same uid each get their own answer.
//
// The answer of one node goes on as it came. What several nodes said is merged by
// workers when it is large, so that nobody's answer waits behind it.
//
// Neighbours: manager and merge below; sites and realtime serve what it passes on.
package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

// Name is the class name.
const Name = "ClientInterfaceService"

// Names of the sockets, as the statistics show them (docs/spec/daemon.md 4.4).
const (
	server   = "serverConnection"
	sites    = "SitesManagerConnection"
	realTime = "BatchTasksManagerRealTimeConnection"
)

// Config is the section [ClientInterfaceService].
type Config struct {
	Host string // serverHost; default 127.0.0.1
	Port int    // serverPort; default 5504, negative for one that the system chooses
	// AllowInsecure lets Host be an address that other machines reach
	// (AllowInsecureRemoteAccess).
	AllowInsecure bool
	// Curve are the server's secret key and the list of the clients
	// (serverSecretKey, allowedClients); nil for a port without keys.
	Curve *bus.Curve
	// MaxFrame bounds one request in bytes (MaxMessageSize); default 64 MiB.
	MaxFrame int64
	// Sites and RealTime are inproc names (clientSitesManager,
	// clientBatchTasksManagerRealTime); default the class names.
	Sites, RealTime string
	// Timeout is how long SitesManager may take (RequestTimeout, ms); default
	// 100 s, a little more than it gives itself.
	Timeout time.Duration
	// BatchTimeout is the same for BATCH (BatchTimeout, ms); default 1210 s.
	BatchTimeout time.Duration
	// Nodes is the number of data nodes ([Application] DRCENodes); default 1.
	// Answers are merged when there are several (package merge).
	Nodes int
}

// Service is the manager. Create it with New.
type Service struct {
	*manager.Loop
	cfg   Config
	large mergings
	merge func(merge.Merger, json.RawMessage) (json.RawMessage, error) // merged, or a test's
}

// New makes the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Service {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if cfg.Port == 0 {
		cfg.Port = 5504
	}
	if cfg.Sites == "" {
		cfg.Sites = "SitesManager"
	}
	if cfg.RealTime == "" {
		cfg.RealTime = "BatchTasksManagerRealTime"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 100 * time.Second
	}
	if cfg.BatchTimeout <= 0 {
		cfg.BatchTimeout = 1210 * time.Second
	}
	if cfg.Nodes <= 0 {
		cfg.Nodes = 1
	}
	base.Name = Name
	s := &Service{Loop: manager.New(base), cfg: cfg, large: mergings{running: map[*merging]bool{}}, merge: merged}
	s.Bind(server, bus.TCP(cfg.Host, max(0, cfg.Port)), bus.Options{AllowInsecure: cfg.AllowInsecure, MaxFrame: cfg.MaxFrame, Curve: cfg.Curve, Log: s.Log()})
	s.Connect(sites, bus.Inproc(cfg.Sites), bus.Options{})
	s.Connect(realTime, bus.Inproc(cfg.RealTime), bus.Options{})
	s.HandleClass(server, wire.ClassClient, s.request)
	s.Var(
		manager.Int("DRCENodes", &s.cfg.Nodes, 1, 10000),
		manager.Span("RequestTimeout", &s.cfg.Timeout, time.Millisecond, time.Millisecond, 24*time.Hour),
		manager.Span("BatchTimeout", &s.cfg.BatchTimeout, time.Millisecond, time.Millisecond, 24*time.Hour),
	)
	s.Gauge("requests", func() any { return s.Waiting() + len(s.large.waiting) + len(s.large.running) })
	s.OnStop(s.lastWords)
	return s
}

// Addr is the TCP endpoint, once the manager is ready.
func (s *Service) Addr() string { return s.Endpoint(server) }

// request passes one request on and its answer back.
func (s *Service) request(from manager.Peer, e wire.Event) {
	op := wire.Op(e.Type)
	if !op.Client() {
		s.ReplyError(from, e, fmt.Sprintf("operation %d is unknown", e.Type))
		return
	}
	to, timeout := sites, s.cfg.Timeout
	if op == wire.BatchRun {
		to, timeout = realTime, s.cfg.BatchTimeout
	}
	request, merging := e, s.mergingOf(from, op, e)
	e.Object = nil // thousands may wait here; only the answerer needs what they ask
	s.Forward(manager.Peer{Socket: to}, request, timeout, func(answer wire.Event, err error) {
		switch {
		case err != nil:
			s.Reply(from, e, e.Type+wire.ResponseOffset, refusal(err, timeout))
		case merging == nil:
			s.Reply(from, e, answer.Type, answer.Object)
		default:
			merging.answer = answer
			s.finish(merging)
		}
	})
}

// refusal is the answer to a request that no manager has answered.
func refusal(err error, timeout time.Duration) wire.ClientResponse {
	switch {
	case errors.Is(err, manager.ErrNoAnswer):
		return wire.ClientResponse{
			ErrorCode:    wire.ResponseNoAnswer,
			ErrorMessage: fmt.Sprintf("no answer within %d ms", timeout.Milliseconds()),
		}
	case errors.Is(err, manager.ErrStopped):
		return wire.ErrorItem("the daemon stops")
	case errors.Is(err, bus.ErrBusy), errors.Is(err, bus.ErrGone):
		return wire.ErrorItem("the daemon is busy, or the manager of this operation does not run: " + err.Error())
	}
	return wire.ErrorItem(err.Error())
}
