package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// AdminSocket is the name of the connection to AdminInterfaceServer.
const AdminSocket = "Admin"

const (
	maxWait      = 200 * time.Millisecond // a turn: how soon the end of ctx is seen
	maxPerSocket = 64                     // messages of one socket in one turn
	maxLastWords = 10000                  // requests of one socket that a stopping loop still answers
)

// Config is what every manager needs. Name, Bus and Log are mandatory.
type Config struct {
	// Name is the class name, as SitesManager.
	Name string
	Bus  *bus.Bus
	// Admin is the endpoint of AdminInterfaceServer; "" for a loop that is not
	// administered from there, as that server itself.
	Admin string
	// PollTimeout is the longest wait of a turn, variable POLL_TIMEOUT (ms) and
	// ini key PollingTimeout. Default and upper bound of its effect: 200 ms;
	// timers and messages do not depend on it.
	PollTimeout time.Duration
	// MaxWorkers bounds the workers that run at once; default 16.
	MaxWorkers int
	// MaxPending bounds the requests of Ask that wait for an answer; default 10000.
	MaxPending int
	// StatDir is the folder where cumulative statistics outlive the process,
	// <StatDir>/<Name>_stat_vars.json; "" keeps none.
	StatDir string
	// Ready, if set, is called once from the loop's goroutine when all sockets
	// are open.
	Ready func()
	Log   *slog.Logger
	// Level is what LOG_LEVEL shows and sets; nil for a level that moves nothing.
	Level *slog.LevelVar
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Handler serves one message. It runs in the loop's goroutine and must not block.
type Handler func(from Peer, e wire.Event)

// Peer is where a message came from and where its answer goes: a socket of the
// loop by name and, for a binding socket, the route.
type Peer struct {
	Socket string
	Route  bus.Route
}

// Loop is one manager's loop. All methods but Run belong to the goroutine that
// calls Run, and to the one that declares before.
type Loop struct {
	cfg Config
	log *slog.Logger

	sockets  []*socket // in order of declaration
	byName   map[string]*socket
	handlers map[handlerKey]Handler
	classes  map[classKey]Handler
	timers   []*timer
	pending  pending
	workers  workers
	vars     variables
	stats    statistics
	onStop   []func()

	started   time.Time
	suspended bool
	leaving   bool
	complaint throttle
}

type handlerKey struct {
	socket, class string
	eventType     int
}

type classKey struct{ socket, class string }

// New makes a loop; it opens nothing.
func New(cfg Config) *Loop {
	if cfg.PollTimeout <= 0 {
		cfg.PollTimeout = maxWait
	}
	if cfg.MaxWorkers <= 0 {
		cfg.MaxWorkers = 16
	}
	if cfg.MaxPending <= 0 {
		cfg.MaxPending = 10000
	}
	if cfg.Level == nil {
		cfg.Level = new(slog.LevelVar)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Loop{
		cfg:      cfg,
		log:      cfg.Log.With("manager", cfg.Name),
		byName:   map[string]*socket{},
		handlers: map[handlerKey]Handler{},
		classes:  map[classKey]Handler{},
		pending:  pending{limit: cfg.MaxPending},
		vars:     variables{},
	}
	l.workers.init(l)
	if cfg.Admin != "" {
		l.Connect(AdminSocket, cfg.Admin, bus.Options{})
		l.serveAdmin(AdminSocket)
	}
	l.declareCommon()
	return l
}

// Name is the class name.
func (l *Loop) Name() string { return l.cfg.Name }

// Log is the loop's logger, which names the manager.
func (l *Loop) Log() *slog.Logger { return l.log }

// Now is the loop's clock.
func (l *Loop) Now() time.Time { return l.cfg.Now() }

// Suspended reports whether an operator has suspended the manager: its Every
// timers rest then.
func (l *Loop) Suspended() bool { return l.suspended }

// Leave makes Run return nil after this turn.
func (l *Loop) Leave() { l.leaving = true }

// OnStop declares a function that the loop calls when it is left, in reverse
// order of declaration, while the sockets are still open: the last words.
func (l *Loop) OnStop(f func()) { l.onStop = append(l.onStop, f) }

// Handle declares the handler for one event type of a class on a socket.
func (l *Loop) Handle(socket, class string, eventType int, h Handler) {
	l.mustHave(socket)
	l.handlers[handlerKey{socket, class, eventType}] = h
}

// HandleClass declares the handler for all events of a class on a socket that
// have none of their own. What no handler serves is answered with an error at
// once when it is a request.
func (l *Loop) HandleClass(socket, class string, h Handler) {
	l.mustHave(socket)
	l.classes[classKey{socket, class}] = h
}

// Run opens the sockets, serves until ctx is done or the manager is told to
// leave, joins its workers and closes. It returns nil for an ordinary end, and
// an error when a socket cannot be opened or breaks. It may be called once.
func (l *Loop) Run(ctx context.Context) error {
	defer l.closeSockets()
	if err := l.openSockets(); err != nil {
		return fmt.Errorf("manager.Run %s: %w", l.cfg.Name, err)
	}
	l.started = l.Now()
	l.loadStats()
	l.workers.start(ctx)
	l.announce()
	if l.cfg.Ready != nil {
		l.cfg.Ready()
	}
	poller := l.poller()
	l.log.Info("manager is ready")
	var err error
	for err == nil && ctx.Err() == nil && !l.leaving {
		err = l.turn(poller)
	}
	l.stop()
	if err != nil {
		return fmt.Errorf("manager.Run %s: %w", l.cfg.Name, err)
	}
	l.log.Info("manager has stopped")
	return nil
}

// stop gives the requests that wait an end, says the last words, closes the
// doors at once behind them, and joins the workers. A request that falls
// between the last look and the close is lost; its asker's time-out answers.
func (l *Loop) stop() {
	for _, w := range l.pending.all() {
		l.guard("answer", func() { w.done(wire.Event{}, ErrStopped) })
	}
	for i := len(l.onStop) - 1; i >= 0; i-- {
		l.guard("stop", l.onStop[i])
	}
	for _, s := range l.sockets {
		if s.bind && s.name != Workers {
			l.refuseRest(s)
			s.open.Close()
		}
	}
	l.workers.join()
	l.saveStats()
}

// refuseRest answers the requests that came too late to be served.
func (l *Loop) refuseRest(s *socket) {
	for range maxLastWords {
		m, err := s.open.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.As(err, &bad):
		case err != nil:
			return
		case m.Event.Class != wire.ClassInternal && !late(s, m.Event):
			l.ReplyError(Peer{s.name, m.Route}, m.Event, l.cfg.Name+" stops")
		}
	}
}

func (l *Loop) turn(poller *bus.Poller) error {
	ready, err := poller.Wait(l.wait(l.Now()))
	if err != nil {
		return err
	}
	for _, s := range ready {
		if err := l.drain(s); err != nil {
			return err
		}
	}
	now := l.Now()
	for _, w := range l.pending.expire(now) {
		l.guard("answer", func() { w.done(wire.Event{}, w.err) })
	}
	l.runTimers(now)
	return nil
}

// wait is how long the loop may sleep at now.
func (l *Loop) wait(now time.Time) time.Duration {
	d := min(l.cfg.PollTimeout, maxWait)
	if next, ok := l.pending.next(); ok {
		d = min(d, next.Sub(now))
	}
	return max(0, min(d, l.untilTimer(now)))
}

// drain takes the messages that wait on one socket, no more than the share of a
// turn.
func (l *Loop) drain(raw *bus.Socket) error {
	s := l.opened(raw)
	for range maxPerSocket {
		m, err := raw.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.Is(err, bus.ErrNone):
			return nil
		case errors.As(err, &bad):
			s.received(bad.Size)
			l.refuse(s, bad)
		case err != nil:
			return err
		default:
			s.received(m.Size)
			l.dispatch(s, Peer{s.name, m.Route}, m.Event)
		}
		if l.leaving {
			return nil
		}
	}
	return nil
}

// dispatch finds who an event is for: the request that waits for it, a handler,
// or nobody.
func (l *Loop) dispatch(s *socket, from Peer, e wire.Event) {
	if w, ok := l.pending.take(s.name, e.UID); ok {
		l.guard("answer", func() { w.done(e, nil) })
		return
	}
	h, ok := l.handlers[handlerKey{s.name, e.Class, e.Type}]
	if !ok {
		h, ok = l.classes[classKey{s.name, e.Class}]
	}
	if !ok {
		h = l.unknown
	}
	l.guard("event", func() { h(from, e) })
}

// guard keeps a fault in one handler from taking the manager's state along: the
// others go on, and the asker's time-out speaks for the request.
func (l *Loop) guard(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("handler failed", "op", what, "error", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// unknown answers what no handler serves. Answers that come too late are
// dropped, so that two managers never answer each other for ever.
func (l *Loop) unknown(from Peer, e wire.Event) {
	if late(l.byName[from.Socket], e) {
		l.log.Debug("answer came too late", "uid", e.UID, "op", e.Type)
		return
	}
	l.ReplyError(from, e, fmt.Sprintf("%s does not serve eventType %d of class %s here", l.cfg.Name, e.Type, e.Class))
}

// late reports whether e is an answer rather than a request: any client or
// internal event on a connection of ours, as requests come to binding sockets,
// and the answers among the admin events.
func late(s *socket, e wire.Event) bool {
	if e.Class == wire.ClassAdmin {
		switch e.Type {
		case wire.AdminStatAns, wire.AdminGetAns, wire.AdminSetAns, wire.AdminStateAns, wire.AdminSuspendAns:
			return true
		}
		return false
	}
	return !s.bind
}

// refuse answers a message that is no event if its sender can be told, else
// leaves a line in the log.
func (l *Loop) refuse(s *socket, bad *bus.BadMessage) {
	if s.bind && bad.Answerable() {
		e := bad.Event
		switch e.Class {
		case wire.ClassClient, wire.ClassAdmin, wire.ClassInternal:
		default:
			e.Class = s.class
		}
		l.ReplyError(Peer{s.name, bad.Route}, e, bad.Error())
		return
	}
	l.complain("message dropped", "socket", s.name, "error", bad.Err)
}

// complain logs what a peer can bring about at will, and so at most one line in
// complaintGap.
func (l *Loop) complain(message string, args ...any) {
	if n, ok := l.complaint.allow(l.Now()); ok {
		l.log.Warn(message, append(args, "unlogged", n)...)
	}
}
