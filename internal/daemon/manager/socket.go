package manager

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// socket is a declared socket. open is nil unless the loop runs.
type socket struct {
	name     string
	endpoint string
	bind     bool
	class    string // of answers to messages whose own class cannot be read
	options  bus.Options
	open     *bus.Socket

	sendCount, recvCount, sendBytes, recvBytes int64
}

func (s *socket) countReceived(size int) {
	s.recvCount++
	s.recvBytes += int64(size)
}

// sockets are the sockets of a loop.
type sockets struct {
	list   []*socket // in order of declaration
	byName map[string]*socket
}

// Bind declares a socket for requests of other peers. Unreadable requests are answered in
// class client.
func (l *Loop) Bind(name, endpoint string, o bus.Options) {
	l.declareSocket(&socket{name: name, endpoint: endpoint, bind: true, class: wire.ClassClient, options: o})
}

// BindAdmin is Bind for peers that use class admin.
func (l *Loop) BindAdmin(name, endpoint string, o bus.Options) {
	l.declareSocket(&socket{name: name, endpoint: endpoint, bind: true, class: wire.ClassAdmin, options: o})
}

// Connect declares a connection to another manager.
func (l *Loop) Connect(name, endpoint string, o bus.Options) {
	l.declareSocket(&socket{name: name, endpoint: endpoint, class: wire.ClassClient, options: o})
}

func (l *Loop) declareSocket(s *socket) {
	if l.byName[s.name] != nil {
		panic(fmt.Sprintf("manager %s: socket %s is declared twice", l.cfg.Name, s.name))
	}
	l.byName[s.name] = s
	l.list = append(l.list, s)
	l.Counter(s.name+"_send_cnt", &s.sendCount)
	l.Counter(s.name+"_recv_cnt", &s.recvCount)
	l.Counter(s.name+"_send_bytes", &s.sendBytes)
	l.Counter(s.name+"_recv_bytes", &s.recvBytes)
}

// requireSocket panics if a handler is declared for an undeclared socket. That is a
// programming error, which the first test of the manager finds.
func (s *sockets) requireSocket(manager, name string) {
	if s.byName[name] == nil {
		panic(fmt.Sprintf("manager %s: no socket %s", manager, name))
	}
}

// Endpoint returns the address of a socket; while it is open, with the port that the system
// has chosen. It returns "" for an undeclared socket.
func (s *sockets) Endpoint(name string) string {
	named := s.byName[name]
	switch {
	case named == nil:
		return ""
	case named.open != nil:
		return named.open.Endpoint()
	}
	return named.endpoint
}

func (s *sockets) openSockets(b *bus.Bus) error {
	for _, x := range s.list {
		var err error
		if x.bind {
			x.open, err = b.Bind(x.endpoint, x.options)
		} else {
			x.open, err = b.Connect(x.endpoint, x.options)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sockets) closeSockets() {
	for _, x := range s.list {
		if x.open != nil {
			x.open.Close() // harmless if stop has closed it
			x.open = nil
		}
	}
}

func (s *sockets) newPoller() *bus.Poller {
	open := make([]*bus.Socket, len(s.list))
	for i, x := range s.list {
		open[i] = x.open
	}
	return bus.NewPoller(open...)
}

func (s *sockets) socketFor(raw *bus.Socket) *socket {
	for _, x := range s.list {
		if x.open == raw {
			return x
		}
	}
	return nil // unreachable: the poller has only these sockets
}

// Send queues an event for a peer; a connecting socket has no route. It never waits and
// returns bus.ErrBusy or bus.ErrGone.
func (l *Loop) Send(to Peer, e wire.Event) error {
	s := l.byName[to.Socket]
	if s == nil || s.open == nil {
		return fmt.Errorf("send event: socket %s is not open", to.Socket)
	}
	n, err := s.open.Send(to.Route, e)
	if err != nil {
		return err
	}
	s.sendCount++
	s.sendBytes += int64(n)
	return nil
}

// Tell sends a message without an answer to the manager behind a connection. A message that
// cannot be delivered is dropped.
func (l *Loop) Tell(socket string, eventType int, object any) {
	e, err := newEvent(wire.ClassInternal, eventType, object)
	if err == nil {
		err = l.Send(Peer{Socket: socket}, e)
	}
	if err != nil {
		l.log.Debug("message not delivered", "socket", socket, "op", eventType, "error", err)
	}
}

// Reply answers e with an object; a json.RawMessage passes unchanged. An answer to a peer
// that has disconnected or does not read is logged and lost.
func (l *Loop) Reply(to Peer, e wire.Event, eventType int, object any) {
	raw, err := encodeObject(object)
	if err == nil {
		err = l.Send(to, wire.Event{Class: e.Class, UID: e.UID, Type: eventType, Object: raw, Cookie: e.Cookie})
	}
	switch {
	case errors.Is(err, bus.ErrGone):
		l.log.Debug("answer not delivered", "uid", e.UID, "op", eventType, "error", err)
	case err != nil:
		l.logWarning("answer not delivered", "uid", e.UID, "op", eventType, "error", err)
	}
}

// ReplyError refuses e. Class client gets a ClientResponse with the message as its only item,
// in the event type of the operation's answer. Class admin gets an AdminCommand of command 7.
func (l *Loop) ReplyError(to Peer, e wire.Event, message string) {
	if e.Class == wire.ClassAdmin {
		l.Reply(to, e, wire.AdminStateAns, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandError, Message: message})
		return
	}
	l.Reply(to, e, e.Type+wire.ResponseOffset, wire.ErrorItem(message))
}

func newEvent(class string, eventType int, object any) (wire.Event, error) {
	raw, err := encodeObject(object)
	if err != nil {
		return wire.Event{}, fmt.Errorf("encode event %d: %w", eventType, err)
	}
	return wire.Event{Class: class, UID: bus.NewUID(), Type: eventType, Object: raw}, nil
}

// encodeObject returns the JSON of an object. A json.RawMessage, often megabytes of a node's
// answer, is not parsed again.
func encodeObject(object any) (json.RawMessage, error) {
	if raw, ok := object.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(object)
}
