// Package gateway is ClientInterfaceService, the interface for clients. It accepts their
// requests on TCP, forwards each to the manager that serves it, merges the answers of several
// nodes, and returns the answer (docs/spec/daemon.md 1.6, 1.7).
//
//	service := gateway.New(manager.Config{Bus: b, Log: log, Admin: admin.Endpoint}, gateway.Config{})
//	err := service.Run(ctx)
//
// Every request gets one answer of class client with its uid and cookie: the ClientResponse of
// the manager, or a refusal for an unknown operation, a busy or stopped manager, a timeout
// (errorCode 1) or a stopping daemon. Forwarded requests have new uids, so equal uids of two
// clients do not collide.
//
// The answer of a single node passes unchanged. Workers merge large answers of several nodes, so
// that they do not delay other answers.
package gateway

import (
	"cmp"
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

// Endpoint is where services of the same process send the requests of clients.
var Endpoint = bus.Inproc(Name)

// Names of the sockets, as the statistics show them (docs/spec/daemon.md 4.4).
const (
	server   = "serverConnection"
	inside   = "insideConnection"
	sites    = "SitesManagerConnection"
	realTime = "BatchTasksManagerRealTimeConnection"
)

// Config is the section [ClientInterfaceService].
type Config struct {
	Host string // serverHost; default 127.0.0.1
	Port int    // serverPort; default 5504, negative for a port that the system chooses
	// AllowInsecure lets Host be an address that other machines can reach
	// (AllowInsecureRemoteAccess).
	AllowInsecure bool
	// Curve has the server's secret key and the list of clients (serverSecretKey,
	// allowedClients); nil for a port without keys.
	Curve *bus.Curve
	// MaxFrame and MaxPlain limit requests with and without contents (MaxMessageSize,
	// MaxPlainSize; bytes), Connections the clients (MaxConnections), and Budget the requests
	// of all clients and operators. Defaults as in bus.Options.
	MaxFrame, MaxPlain int64
	Connections        int
	Budget             *bus.Budget
	// Sites and RealTime are inproc names (clientSitesManager,
	// clientBatchTasksManagerRealTime); default the class names.
	Sites, RealTime string
	Timeout         time.Duration // for SitesManager (RequestTimeout, ms); default 100 s, more than its own
	BatchTimeout    time.Duration // for BATCH (BatchTimeout, ms); default 1210 s
	// Nodes is the number of data nodes ([Application] DRCENodes); default 1. Answers of
	// several nodes are merged (package merge).
	Nodes int
}

// Service is ClientInterfaceService. Create it with New.
type Service struct {
	*manager.Loop
	cfg   Config
	large mergings
	merge func(merge.Merger, json.RawMessage) (json.RawMessage, error) // tests replace it
}

// New returns the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Service {
	cfg.Host = cmp.Or(cfg.Host, "127.0.0.1")
	cfg.Port = cmp.Or(cfg.Port, 5504)
	cfg.Sites = cmp.Or(cfg.Sites, "SitesManager")
	cfg.RealTime = cmp.Or(cfg.RealTime, "BatchTasksManagerRealTime")
	cfg.Timeout = manager.Default(cfg.Timeout, 100*time.Second)
	cfg.BatchTimeout = manager.Default(cfg.BatchTimeout, 1210*time.Second)
	cfg.Nodes = manager.Default(cfg.Nodes, 1)
	base.Name = Name
	s := &Service{Loop: manager.New(base), cfg: cfg, large: mergings{running: map[*merging]bool{}}, merge: mergeItems}
	s.Bind(server, bus.TCP(cfg.Host, max(0, cfg.Port)), bus.Options{AllowInsecure: cfg.AllowInsecure, MaxFrame: cfg.MaxFrame, MaxPlain: cfg.MaxPlain, Connections: cfg.Connections, Budget: cfg.Budget, Curve: cfg.Curve, Log: s.Log()})
	s.Bind(inside, Endpoint, bus.Options{})
	s.Connect(sites, bus.Inproc(cfg.Sites), bus.Options{})
	s.Connect(realTime, bus.Inproc(cfg.RealTime), bus.Options{})
	s.HandleClass(server, wire.ClassClient, s.forwardRequest)
	s.HandleClass(inside, wire.ClassClient, s.forwardRequest)
	s.Var(
		manager.Int("DRCENodes", &s.cfg.Nodes, 1, 10000),
		manager.Span("RequestTimeout", &s.cfg.Timeout, time.Millisecond, time.Millisecond, 24*time.Hour),
		manager.Span("BatchTimeout", &s.cfg.BatchTimeout, time.Millisecond, time.Millisecond, 24*time.Hour),
	)
	s.Gauge("requests", func() any { return s.Waiting() + len(s.large.waiting) + len(s.large.running) })
	s.OnStop(s.refuseAll)
	return s
}

// Addr returns the TCP endpoint after the manager is ready.
func (s *Service) Addr() string { return s.Endpoint(server) }

// forwardRequest forwards one request and returns its answer.
func (s *Service) forwardRequest(from manager.Peer, e wire.Event) {
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
	e.Object = nil // saves memory: thousands of requests may wait here
	// The manager gives turns to clients, so it must tell them apart.
	s.Forward(manager.Peer{Socket: to, Route: from.Route.Client()}, request, timeout, func(answer wire.Event, err error) {
		switch {
		case err != nil:
			s.Reply(from, e, e.Type+wire.ResponseOffset, refusalResponse(err, timeout))
		case merging == nil:
			s.Reply(from, e, answer.Type, answer.Object)
		default:
			merging.answer = answer
			s.finishMerge(merging)
		}
	})
}

// refusalResponse returns the response to a request without an answer.
func refusalResponse(err error, timeout time.Duration) wire.ClientResponse {
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
