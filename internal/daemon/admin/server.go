// Package admin is AdminInterfaceServer: the one door for operators. It takes
// their requests on TCP, passes each to the manager that it names, and brings
// the answer back (docs/spec/daemon.md 1.6, 4).
//
// The managers connect to its inproc endpoint and say that they are ready;
// whoever did not is an unknown class. Every request gets one answer: the
// manager's, or an AdminCommand of command 7 with the reason in the event type
// of STATE's answer: unknown class, stopped class, no answer in time.
//
//	server := admin.New(manager.Config{Bus: b, Log: log}, admin.Config{Stop: cancel})
//	err := server.Run(ctx)
//
// SUSPEND is for all managers or for those in its "classes"; its one answer names
// each with its state.
//
// STATE with command 2 to this class ends the whole daemon, as do the class
// names "" and "*": the answer is sent first, then Config.Stop is called, and
// the daemon stops its managers in reverse order with this one last.
//
// Neighbours: manager below; daemon starts it first and stops it last.
package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// Name is the class name.
const Name = "AdminInterfaceServer"

// Endpoint is where the other managers connect to.
var Endpoint = bus.Inproc(manager.AdminSocket)

// Config is the section [AdminInterfaceServer].
type Config struct {
	Host string // serverHost; default 127.0.0.1
	Port int    // serverPort; default 5503, negative for one that the system chooses
	// AllowInsecure lets Host be an address that other machines reach
	// (AllowInsecureRemoteAccess).
	AllowInsecure bool
	// Curve are the server's secret key and the list of the operators
	// (serverSecretKey, allowedClients); nil for a port without keys.
	Curve *bus.Curve
	// MaxFrame bounds one request in bytes (MaxMessageSize); default 64 MiB.
	MaxFrame int64
	// Timeout is how long a manager may take for its answer (ClassTimeout, ms);
	// default 10 s.
	Timeout time.Duration
	// Version is shown as VERSION.
	Version string
	// Stop ends the daemon. It is called from the loop and must not wait for it.
	// Nil: only this manager ends.
	Stop func()
}

// Server is the manager. Create it with New.
type Server struct {
	*manager.Loop
	cfg     Config
	tcp     string
	classes map[string]manager.Peer // who said that it is ready
}

// New makes the manager; it opens nothing.
func New(base manager.Config, cfg Config) *Server {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if cfg.Port == 0 {
		cfg.Port = 5503
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	base.Name, base.Admin = Name, ""
	s := &Server{Loop: manager.New(base), cfg: cfg, tcp: cfg.Host, classes: map[string]manager.Peer{}}
	if cfg.Stop == nil {
		s.cfg.Stop = s.Leave
	}

	s.BindAdmin(manager.AdminSocket, Endpoint, bus.Options{})
	s.Handle(manager.AdminSocket, wire.ClassInternal, wire.InternalReady, s.ready)
	// The daemon's own status server asks here, whatever keys the TCP side wants.
	s.Handle(manager.AdminSocket, wire.ClassAdmin, wire.AdminStat, func(from manager.Peer, e wire.Event) { s.pass(from, e, s.AnswerStat) })

	s.BindAdmin(s.tcp, bus.TCP(cfg.Host, max(0, cfg.Port)), bus.Options{AllowInsecure: cfg.AllowInsecure, MaxFrame: cfg.MaxFrame, Curve: cfg.Curve, Log: s.Log()})
	own := map[int]manager.Handler{
		wire.AdminStat: s.AnswerStat, wire.AdminGet: s.AnswerGet, wire.AdminSet: s.AnswerSet, wire.AdminState: s.state,
	}
	for eventType, answer := range own {
		s.Handle(s.tcp, wire.ClassAdmin, eventType, func(from manager.Peer, e wire.Event) { s.pass(from, e, answer) })
	}
	s.Handle(s.tcp, wire.ClassAdmin, wire.AdminSuspend, s.suspend)
	for eventType, why := range notServed {
		s.Handle(s.tcp, wire.ClassAdmin, eventType, func(from manager.Peer, e wire.Event) { s.ReplyError(from, e, why) })
	}

	s.Gauge("VERSION", func() any { return cfg.Version })
	s.Var(manager.Text("VERSION", &s.cfg.Version, nil).Fixed())
	s.Gauge("clients", func() any { return s.registered() })
	return s
}

// notServed are requests of the first implementation that have no work here
// (docs/spec/daemon.md 1.3, 1.6).
var notServed = map[int]string{
	1028: "SYSTEM is not served: the daemon frees its memory by itself",
	1029: "SQL_CUSTOM is not served to operators: no manager has a database of its own; clients ask for SQL_CUSTOM on the client port",
}

// Addr is the TCP endpoint, once the manager is ready.
func (s *Server) Addr() string { return s.Endpoint(s.tcp) }

func (s *Server) registered() []string {
	names := make([]string, 0, len(s.classes))
	for name := range s.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *Server) ready(from manager.Peer, e wire.Event) {
	var hello wire.AdminCommand
	if err := json.Unmarshal(e.Object, &hello); err != nil || hello.ClassName == "" {
		s.Log().Warn("a manager announced itself without a name", "uid", e.UID)
		return
	}
	s.classes[hello.ClassName] = from
	s.Log().Debug("manager announced", "class", hello.ClassName)
}

// everyone reports whether a class name means the whole daemon.
func everyone(class string) bool { return class == "" || class == "*" }

// pass answers a request for this class and forwards one for another.
func (s *Server) pass(from manager.Peer, e wire.Event, own manager.Handler) {
	var asked struct {
		ClassName *string `json:"className"`
	}
	if err := json.Unmarshal(e.Object, &asked); err != nil || asked.ClassName == nil {
		s.ReplyError(from, e, "the object has no className")
		return
	}
	class := *asked.ClassName
	if class == Name || e.Type == wire.AdminState && everyone(class) {
		own(from, e)
		return
	}
	to, ok := s.classes[class]
	if !ok {
		s.ReplyError(from, e, fmt.Sprintf("class %q is unknown", class))
		return
	}
	s.Forward(to, e, s.cfg.Timeout, func(answer wire.Event, err error) {
		if err != nil {
			s.ReplyError(from, e, s.why(class, err))
			return
		}
		s.Reply(from, e, answer.Type, answer.Object)
	})
}

// why says in words that class gave no answer; one that is gone is forgotten.
func (s *Server) why(class string, err error) string {
	switch {
	case errors.Is(err, bus.ErrGone):
		delete(s.classes, class)
		return fmt.Sprintf("class %s has stopped", class)
	case errors.Is(err, manager.ErrNoAnswer):
		return fmt.Sprintf("class %s gave no answer within %d ms", class, s.cfg.Timeout.Milliseconds())
	}
	return fmt.Sprintf("class %s: %v", class, err)
}

// state ends the daemon.
func (s *Server) state(from manager.Peer, e wire.Event) {
	var asked wire.AdminCommand
	if err := json.Unmarshal(e.Object, &asked); err != nil || asked.Command != wire.CommandShutdown {
		s.ReplyError(from, e, "only command 2 (shutdown) is served")
		return
	}
	s.Reply(from, e, wire.AdminStateAns, wire.AdminCommand{ClassName: asked.ClassName, Command: wire.CommandShutdown})
	s.Log().Info("told to stop the daemon", "uid", e.UID)
	s.cfg.Stop()
}

// suspend tells the managers that are named, or all, and answers once, when the
// last one has answered or its time is up: one status for each, in the order
// asked, all by name.
func (s *Server) suspend(from manager.Peer, e wire.Event) {
	asked, err := manager.ReadSuspension(e.Object)
	if err != nil {
		s.ReplyError(from, e, err.Error())
		return
	}
	names := s.meant(asked.Classes)
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
				text, ok = s.why(class, err), false
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
		case class == Name && asked.SuspendType == 0:
			done(wire.Event{}, errors.New("cannot be suspended: operators come through it"))
		default:
			done(wire.Event{}, errors.New("unknown"))
		}
	}
}

// meant are the classes that a request is for, each once; all that have
// announced themselves when it names none or "*".
func (s *Server) meant(classes []string) []string {
	if len(classes) == 0 || slices.ContainsFunc(classes, everyone) {
		return s.registered()
	}
	var once []string
	for _, class := range classes[:min(len(classes), maxClasses)] {
		if !slices.Contains(once, class) {
			once = append(once, class)
		}
	}
	return once
}

// maxClasses bounds the names that one request is answered for.
const maxClasses = 100

// suspensionText is a manager's own word on its state.
func suspensionText(answer wire.Event) (text string, ok bool) {
	var g wire.GeneralResponse
	if err := json.Unmarshal(answer.Object, &g); err != nil || len(g.Statuses) != 1 {
		return "an answer that is none", false
	}
	text, ok = g.Statuses[0].(string)
	return text, ok && g.ErrorCode == 0
}
