// Package admin is AdminInterfaceServer, the interface for operators. It accepts their requests
// on TCP, forwards each to the named manager and returns the answer (docs/spec/daemon.md 1.6, 4).
//
// The managers connect to its inproc endpoint and report that they are ready; other class names
// are unknown. Every request gets one answer: that of the manager, or an AdminCommand of command
// 7 in the event type of STATE's answer with the reason: unknown class, stopped class, timeout.
//
//	server := admin.New(manager.Config{Bus: b, Log: log}, admin.Config{Stop: cancel})
//	err := server.Run(ctx)
//
// SUSPEND addresses all managers or those in "classes"; its answer has the state of each.
//
// STATE with command 2 to this class, to "" or to "*" stops the whole daemon: the server answers
// and calls Config.Stop, and the daemon stops its managers in reverse order, this one last.
package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Name is the class name.
const Name = "AdminInterfaceServer"

// Endpoint is the inproc endpoint for the other managers.
var Endpoint = bus.Inproc(manager.AdminSocket)

// Config is the section [AdminInterfaceServer].
type Config struct {
	Host string // serverHost; default 127.0.0.1
	Port int    // serverPort; default 5503, negative for a port that the system chooses
	// AllowInsecure lets Host be an address that other machines can reach
	// (AllowInsecureRemoteAccess).
	AllowInsecure bool
	// Curve has the server's secret key and the list of operators (serverSecretKey,
	// allowedClients); nil for a port without keys.
	Curve *bus.Curve
	// MaxFrame limits a request (MaxMessageSize; bytes); default 1 MiB. Connections (default 32)
	// and Budget are as in gateway.Config.
	MaxFrame    int64
	Connections int
	Budget      *bus.Budget
	Timeout     time.Duration // for the answer of a manager (ClassTimeout, ms); default 10 s
	Version     string        // shown as VERSION
	Managers    []string      // of the daemon, in the order of their start, shown as managers
	// Stop stops the daemon. It is called from the loop and must not wait. Nil stops only
	// this manager.
	Stop func()
}

// Server is AdminInterfaceServer. Create it with New.
type Server struct {
	*manager.Loop
	cfg     Config
	tcp     string
	classes map[string]manager.Peer // managers that reported ready
}

// New returns the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Server {
	cfg.Host = cmp.Or(cfg.Host, "127.0.0.1")
	cfg.Port = cmp.Or(cfg.Port, 5503)
	cfg.Timeout = manager.Default(cfg.Timeout, 10*time.Second)
	base.Name, base.Admin = Name, ""
	s := &Server{Loop: manager.New(base), cfg: cfg, tcp: cfg.Host, classes: map[string]manager.Peer{}}
	if cfg.Stop == nil {
		s.cfg.Stop = s.Leave
	}

	s.BindAdmin(manager.AdminSocket, Endpoint, bus.Options{})
	s.Handle(manager.AdminSocket, wire.ClassInternal, wire.InternalReady, s.handleReady)
	// The daemon's own status server connects here, without keys.
	s.Handle(manager.AdminSocket, wire.ClassAdmin, wire.AdminStat, func(from manager.Peer, e wire.Event) { s.routeRequest(from, e, s.AnswerStat) })

	s.BindAdmin(s.tcp, bus.TCP(cfg.Host, max(0, cfg.Port)), bus.Options{AllowInsecure: cfg.AllowInsecure, MaxFrame: cmp.Or(cfg.MaxFrame, 1<<20), Connections: cmp.Or(cfg.Connections, 32), Budget: cfg.Budget, Curve: cfg.Curve, Log: s.Log()})
	own := map[int]manager.Handler{
		wire.AdminStat: s.AnswerStat, wire.AdminGet: s.AnswerGet, wire.AdminSet: s.AnswerSet, wire.AdminState: s.handleState,
	}
	for eventType, answer := range own {
		s.Handle(s.tcp, wire.ClassAdmin, eventType, func(from manager.Peer, e wire.Event) { s.routeRequest(from, e, answer) })
	}
	s.Handle(s.tcp, wire.ClassAdmin, wire.AdminSuspend, s.suspendManagers)
	s.Handle(s.tcp, wire.ClassAdmin, wire.AdminCluster, func(from manager.Peer, e wire.Event) {
		s.routeRequest(from, e, func(from manager.Peer, e wire.Event) { s.ReplyError(from, e, "only the class Cluster serves this") })
	})
	for eventType, why := range notServed {
		s.Handle(s.tcp, wire.ClassAdmin, eventType, func(from manager.Peer, e wire.Event) { s.ReplyError(from, e, why) })
	}

	version := func() any { return cfg.Version }
	s.Gauge("VERSION", version)
	s.Var(manager.Variable{Name: "VERSION", Get: version})
	s.Gauge("clients", func() any { return s.registeredClasses() })
	s.Gauge("managers", func() any { return slices.Clone(cfg.Managers) })
	return s
}

// notServed are requests of the first implementation that are refused
// (docs/spec/daemon.md 1.3, 1.6).
var notServed = map[int]string{
	1028: "SYSTEM is not served: the daemon frees its memory automatically",
	1029: "SQL_CUSTOM is not served to operators: no manager has its own database; send SQL_CUSTOM to the client port",
}

// Addr returns the TCP endpoint after the manager is ready.
func (s *Server) Addr() string { return s.Endpoint(s.tcp) }

func (s *Server) registeredClasses() []string {
	return slices.Sorted(maps.Keys(s.classes))
}

func (s *Server) handleReady(from manager.Peer, e wire.Event) {
	var hello wire.AdminCommand
	if err := json.Unmarshal(e.Object, &hello); err != nil || hello.ClassName == "" {
		s.Log().Warn("ignored a ready report without a class name", "uid", e.UID)
		return
	}
	s.classes[hello.ClassName] = from
	s.Log().Debug("manager is ready", "class", hello.ClassName)
}

// isDaemon reports whether a class name means the whole daemon.
func isDaemon(class string) bool { return class == "" || class == "*" }

// routeRequest answers a request for this class and forwards other requests.
func (s *Server) routeRequest(from manager.Peer, e wire.Event, own manager.Handler) {
	var request struct {
		ClassName *string `json:"className"`
	}
	if err := json.Unmarshal(e.Object, &request); err != nil || request.ClassName == nil {
		s.ReplyError(from, e, "the object has no className")
		return
	}
	class := *request.ClassName
	if class == Name || e.Type == wire.AdminState && isDaemon(class) {
		own(from, e)
		return
	}
	to, ok := s.classes[class]
	if !ok {
		s.ReplyError(from, e, fmt.Sprintf("class %q is unknown; clients in the STAT of AdminInterfaceServer lists the classes", class))
		return
	}
	s.Forward(to, e, s.cfg.Timeout, func(answer wire.Event, err error) {
		if err != nil {
			s.ReplyError(from, e, s.explainSilence(class, err))
			return
		}
		s.Reply(from, e, answer.Type, answer.Object)
	})
}

// explainSilence explains why class gave no answer, and unregisters a stopped class.
func (s *Server) explainSilence(class string, err error) string {
	switch {
	case errors.Is(err, bus.ErrGone):
		delete(s.classes, class)
		return fmt.Sprintf("class %s has stopped", class)
	case errors.Is(err, manager.ErrNoAnswer):
		return fmt.Sprintf("class %s gave no answer within %d ms", class, s.cfg.Timeout.Milliseconds())
	}
	return fmt.Sprintf("class %s: %v", class, err)
}

// handleState stops the daemon.
func (s *Server) handleState(from manager.Peer, e wire.Event) {
	var request wire.AdminCommand
	if err := json.Unmarshal(e.Object, &request); err != nil || request.Command != wire.CommandShutdown {
		s.ReplyError(from, e, "only command 2 (shutdown) is served")
		return
	}
	s.Reply(from, e, wire.AdminStateAns, wire.AdminCommand{ClassName: request.ClassName, Command: wire.CommandShutdown})
	s.Log().Info("stop of the daemon requested", "uid", e.UID)
	s.cfg.Stop()
}

// suspendManagers forwards SUSPEND to the named managers, or to all, and answers once, after the last
// answer or timeout: one status per manager, in the order of the request or sorted by name.
func (s *Server) suspendManagers(from manager.Peer, e wire.Event) {
	request, err := manager.ReadSuspension(e.Object)
	if err != nil {
		s.ReplyError(from, e, err.Error())
		return
	}
	names := s.targetClasses(request.Classes)
	response := wire.GeneralResponse{Statuses: make([]any, len(names))}
	left := len(names)
	if left == 0 {
		s.Reply(from, e, wire.AdminSuspendAns, response)
		return
	}
	for i, class := range names {
		done := func(answer wire.Event, err error) {
			text, ok := suspensionText(answer)
			if err != nil {
				text, ok = s.explainSilence(class, err), false
			}
			if !ok {
				response.ErrorCode, response.ErrorMessage = 1, "not every class has answered"
			}
			response.Statuses[i] = map[string]string{class: text}
			if left--; left == 0 {
				s.Reply(from, e, wire.AdminSuspendAns, response)
			}
		}
		switch to, ok := s.classes[class]; {
		case ok:
			s.Forward(to, e, s.cfg.Timeout, done)
		case class == Name && request.SuspendType == 0:
			done(wire.Event{}, errors.New("cannot be suspended: it serves the operators"))
		default:
			done(wire.Event{}, errors.New("unknown"))
		}
	}
}

// targetClasses returns the named classes without duplicates, or all registered ones if the list is
// empty or has "*".
func (s *Server) targetClasses(classes []string) []string {
	if len(classes) == 0 || slices.ContainsFunc(classes, isDaemon) {
		return s.registeredClasses()
	}
	var once []string
	for _, class := range classes[:min(len(classes), maxClasses)] {
		if !slices.Contains(once, class) {
			once = append(once, class)
		}
	}
	return once
}

// maxClasses limits the class names of one request.
const maxClasses = 100

// suspensionText returns the state in a manager's answer.
func suspensionText(answer wire.Event) (text string, ok bool) {
	var g wire.GeneralResponse
	if err := json.Unmarshal(answer.Object, &g); err != nil || len(g.Statuses) != 1 {
		return "invalid answer", false
	}
	text, ok = g.Statuses[0].(string)
	return text, ok && g.ErrorCode == 0
}
