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

// AdminSocket is the name of the socket that connects to AdminInterfaceServer.
const AdminSocket = "Admin"

const (
	maxWait      = time.Minute // the longest turn; the clock may be set meanwhile
	maxPerSocket = 64          // messages of one socket in one turn
	maxRefused   = 10000       // requests of one socket that a stopping loop still refuses
)

// Config is what every manager needs. Name, Bus and Log are mandatory.
type Config struct {
	Name string // the class name, such as SitesManager
	Bus  *bus.Bus
	// Admin is the endpoint of AdminInterfaceServer; "" for that server itself.
	Admin string
	// PollTimeout is the longest wait of a turn: variable POLL_TIMEOUT (ms), ini key
	// PollingTimeout. Default and effective maximum: a minute. Timers, messages and the end
	// of Run's ctx do not depend on it.
	PollTimeout time.Duration
	MaxWorkers  int // workers that run at once; default 16
	MaxPending  int // requests of Ask without an answer; default 10000
	// Held starts the manager suspended, until a message on a socket of ServeHold releases it.
	Held bool
	// StatDir keeps the counters over restarts in <StatDir>/<Name>_stat_vars.json; "" for none.
	StatDir string
	// Ready, if not nil, is called once from the loop's goroutine when all sockets are open.
	Ready func()
	Log   *slog.Logger
	// Level is what LOG_LEVEL shows and sets; nil for a level without effect.
	Level *slog.LevelVar
	Now   func() time.Time // default time.Now
}

// Handler serves one message. It runs in the loop's goroutine and must not block.
type Handler func(from Peer, e wire.Event)

// Peer is the sender of a message and the address of its answer: a socket of the loop by
// name and, for a binding socket, the route.
type Peer struct {
	Socket string
	Route  bus.Route
}

// Loop is the loop of one manager. All methods but Run belong to the goroutine that calls
// Run, or that declares before Run.
type Loop struct {
	cfg Config
	log *slog.Logger

	sockets
	handlers map[handlerKey]Handler
	classes  map[classKey]Handler
	timers   timers
	pending  pending
	workers  workers
	vars     variables
	stats    statistics
	onStop   []func()

	started   time.Time
	turns     int64 // since the start
	suspended bool  // by an operator
	held      bool  // by another manager
	leaving   bool
	failure   error // see Fail
	throttle  bus.Throttle
}

type handlerKey struct {
	socket, class string
	eventType     int
}

type classKey struct{ socket, class string }

// Default returns v, or def if v is not positive.
func Default[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// New returns a loop and opens nothing.
func New(cfg Config) *Loop {
	cfg.PollTimeout = Default(cfg.PollTimeout, maxWait)
	cfg.MaxWorkers = Default(cfg.MaxWorkers, 16)
	cfg.MaxPending = Default(cfg.MaxPending, 10000)
	if cfg.Level == nil {
		cfg.Level = new(slog.LevelVar)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Loop{
		cfg:      cfg,
		log:      cfg.Log.With("manager", cfg.Name),
		sockets:  sockets{byName: map[string]*socket{}},
		handlers: map[handlerKey]Handler{},
		classes:  map[classKey]Handler{},
		pending:  pending{limit: cfg.MaxPending},
		vars:     variables{},
		stats:    statistics{kept: map[string]any{}, shown: map[string]func() any{}, quiet: map[string]bool{}},
	}
	l.held = cfg.Held
	l.workers.init(l)
	if cfg.Admin != "" {
		l.Connect(AdminSocket, cfg.Admin, bus.Options{})
		l.serveAdmin(AdminSocket)
		l.Quiet(AdminSocket) // monitoring asks for STAT
	}
	l.declareCommon()
	return l
}

// Name returns the class name.
func (l *Loop) Name() string { return l.cfg.Name }

// Log returns the logger of the manager.
func (l *Loop) Log() *slog.Logger { return l.log }

// Now returns the time of the loop's clock.
func (l *Loop) Now() time.Time { return l.cfg.Now() }

// Suspended reports whether an operator has suspended the manager, or another manager holds it. Its
// Every timers pause.
func (l *Loop) Suspended() bool { return l.suspended || l.held }

// Held reports whether another manager holds this one.
func (l *Loop) Held() bool { return l.held }

// Leave makes Run return nil after this turn.
func (l *Loop) Leave() { l.leaving = true }

// Fail makes Run return an error after this turn.
func (l *Loop) Fail(err error) { l.leaving, l.failure = true, err }

// OnStop declares a function that runs when the loop stops, while the sockets are still
// open. Functions run in reverse order of declaration.
func (l *Loop) OnStop(f func()) { l.onStop = append(l.onStop, f) }

// Handle declares the handler for one event type of a class on a socket.
func (l *Loop) Handle(socket, class string, eventType int, h Handler) {
	l.requireSocket(l.cfg.Name, socket)
	l.handlers[handlerKey{socket, class, eventType}] = h
}

// HandleClass declares the handler for all other event types of a class on a socket. A
// request without any handler is answered with an error.
func (l *Loop) HandleClass(socket, class string, h Handler) {
	l.requireSocket(l.cfg.Name, socket)
	l.classes[classKey{socket, class}] = h
}

// Run opens the sockets, serves until ctx is done or the manager leaves, waits for its
// workers and closes. It returns nil after an ordinary end, and an error if a socket cannot
// be opened or breaks. Call it once.
func (l *Loop) Run(ctx context.Context) error {
	defer l.closeSockets()
	if err := l.openSockets(l.cfg.Bus); err != nil {
		return fmt.Errorf("start manager %s: %w", l.cfg.Name, err)
	}
	l.started = l.Now()
	l.loadStats()
	if err := l.workers.startWorkers(ctx); err != nil {
		return fmt.Errorf("start manager %s: %w", l.cfg.Name, err)
	}
	l.announceReady()
	if l.cfg.Ready != nil {
		l.cfg.Ready()
	}
	poller := l.newPoller()
	l.log.Info("manager is ready")
	var err error
	for err == nil && ctx.Err() == nil && !l.leaving {
		err = l.runTurn(poller)
	}
	l.stopLoop()
	if err == nil {
		err = l.failure
	}
	if err != nil {
		return fmt.Errorf("run manager %s: %w", l.cfg.Name, err)
	}
	l.log.Info("manager has stopped")
	return nil
}

// stopLoop ends the pending requests, runs the OnStop functions, closes the binding sockets and
// waits for the workers. A request that arrives in the moment before the close is lost; its
// sender sees a timeout.
func (l *Loop) stopLoop() {
	for _, w := range l.pending.takeAll() {
		l.guardPanic("answer", func() { w.done(wire.Event{}, ErrStopped) })
	}
	for i := len(l.onStop) - 1; i >= 0; i-- {
		l.guardPanic("stop", l.onStop[i])
	}
	for _, s := range l.list {
		if s.bind && s.name != Workers {
			l.refuseRest(s)
			s.open.Close()
		}
	}
	l.workers.cancelAndWait()
	l.saveStats()
}

// refuseRest answers the requests that arrived too late to be served.
func (l *Loop) refuseRest(s *socket) {
	for range maxRefused {
		m, err := s.open.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.As(err, &bad):
			l.refuseMessage(s, bad)
		case err != nil:
			return
		case m.Event.Class != wire.ClassInternal && !isAnswer(s, m.Event):
			l.ReplyError(Peer{s.name, m.Route}, m.Event, l.cfg.Name+" stops")
		}
	}
}

func (l *Loop) runTurn(poller *bus.Poller) error {
	ready, err := poller.Wait(l.sleepDeadline(l.Now()))
	if err != nil {
		return err
	}
	l.turns++
	for _, s := range ready {
		if err := l.drainSocket(s); err != nil {
			return err
		}
	}
	now := l.Now()
	for _, w := range l.pending.takeExpired(now) {
		l.guardPanic("answer", func() { w.done(wire.Event{}, w.err) })
	}
	l.runTimers(now)
	return nil
}

// sleepDeadline returns how long the loop may sleep at now.
func (l *Loop) sleepDeadline(now time.Time) time.Duration {
	d := min(l.cfg.PollTimeout, maxWait)
	if next, ok := l.pending.nextDeadline(); ok {
		d = min(d, next.Sub(now))
	}
	return max(0, min(d, l.timers.untilTimer(now, l.Suspended())))
}

// drainSocket takes the waiting messages of one socket, at most maxPerSocket.
func (l *Loop) drainSocket(raw *bus.Socket) error {
	s := l.socketFor(raw)
	for range maxPerSocket {
		m, err := raw.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.Is(err, bus.ErrNone):
			return nil
		case errors.As(err, &bad):
			s.countReceived(bad.Size)
			l.refuseMessage(s, bad)
		case err != nil:
			return err
		default:
			s.countReceived(m.Size)
			l.dispatchEvent(s, Peer{s.name, m.Route}, m.Event)
		}
		if l.leaving {
			return nil
		}
	}
	return nil
}

// dispatchEvent passes an event to the request that it answers, to its handler, or to refuseUnknown.
func (l *Loop) dispatchEvent(s *socket, from Peer, e wire.Event) {
	if w, ok := l.pending.takeRequest(s.name, e.UID); ok {
		l.guardPanic("answer", func() { w.done(e, nil) })
		return
	}
	h, ok := l.handlers[handlerKey{s.name, e.Class, e.Type}]
	if !ok {
		h, ok = l.classes[classKey{s.name, e.Class}]
	}
	if !ok {
		h = l.refuseUnknown
	}
	if !l.guardPanic("event", func() { h(from, e) }) {
		l.byName[from.Socket].open.Forget(from.Route)
	}
}

// guardPanic logs a panic of a handler, reports false and keeps the manager running. The sender of
// the request sees a timeout.
func (l *Loop) guardPanic(what string, f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
			l.log.Error("handler failed", "op", what, "error", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// refuseUnknown refuses a request without a handler. It drops late answers, so that two managers
// never answer each other in a loop.
func (l *Loop) refuseUnknown(from Peer, e wire.Event) {
	if isAnswer(l.byName[from.Socket], e) {
		l.byName[from.Socket].open.Forget(from.Route)
		l.log.Debug("answer came too late", "uid", e.UID, "op", e.Type)
		return
	}
	l.ReplyError(from, e, fmt.Sprintf("%s does not serve eventType %d of class %s here", l.cfg.Name, e.Type, e.Class))
}

// isAnswer reports whether e is an answer rather than a request: an answer type of class
// admin, or any other event on a connecting socket, because requests go to binding sockets.
func isAnswer(s *socket, e wire.Event) bool {
	if e.Class == wire.ClassAdmin {
		switch e.Type {
		case wire.AdminStatAns, wire.AdminGetAns, wire.AdminSetAns, wire.AdminStateAns, wire.AdminSuspendAns:
			return true
		}
		return false
	}
	return !s.bind
}

// refuseMessage answers a message that is not an event, or logs it if no answer is possible.
func (l *Loop) refuseMessage(s *socket, bad *bus.BadMessage) {
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
	l.logWarning("message dropped", "socket", s.name, "error", bad.Err)
}

// logWarning logs what a peer can cause, at a limited rate.
func (l *Loop) logWarning(message string, args ...any) {
	if n, ok := l.throttle.Allow("", l.Now()); ok {
		l.log.Warn(message, append(args, "unlogged", n)...)
	}
}
