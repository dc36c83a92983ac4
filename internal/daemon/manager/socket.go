package manager

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// socket is one declared socket and, while the loop runs, the open one.
type socket struct {
	name     string
	endpoint string
	bind     bool
	class    string // of answers to messages whose own class is unreadable
	options  bus.Options
	open     *bus.Socket

	sendCount, recvCount, sendBytes, recvBytes int64
}

func (s *socket) received(size int) {
	s.recvCount++
	s.recvBytes += int64(size)
}

// Bind declares a socket that others connect to and ask. Requests that cannot
// be read are answered in class client.
func (l *Loop) Bind(name, endpoint string, o bus.Options) {
	l.declare(&socket{name: name, endpoint: endpoint, bind: true, class: wire.ClassClient, options: o})
}

// BindAdmin is Bind for a socket whose peers speak class admin.
func (l *Loop) BindAdmin(name, endpoint string, o bus.Options) {
	l.declare(&socket{name: name, endpoint: endpoint, bind: true, class: wire.ClassAdmin, options: o})
}

// Connect declares a connection to another manager.
func (l *Loop) Connect(name, endpoint string, o bus.Options) {
	l.declare(&socket{name: name, endpoint: endpoint, class: wire.ClassClient, options: o})
}

func (l *Loop) declare(s *socket) {
	if l.byName[s.name] != nil {
		panic(fmt.Sprintf("manager %s: socket %s is declared twice", l.cfg.Name, s.name))
	}
	l.byName[s.name] = s
	l.sockets = append(l.sockets, s)
	l.Counter(s.name+"_send_cnt", &s.sendCount)
	l.Counter(s.name+"_recv_cnt", &s.recvCount)
	l.Counter(s.name+"_send_bytes", &s.sendBytes)
	l.Counter(s.name+"_recv_bytes", &s.recvBytes)
}

// mustHave stops a program that declares a handler for no socket: a slip of the
// programmer, found by the first test.
func (l *Loop) mustHave(name string) {
	if l.byName[name] == nil {
		panic(fmt.Sprintf("manager %s: no socket %s", l.cfg.Name, name))
	}
}

// Endpoint is the address of an open socket, with the port that the system
// chose; the declared one before.
func (l *Loop) Endpoint(name string) string {
	s := l.byName[name]
	switch {
	case s == nil:
		return ""
	case s.open != nil:
		return s.open.Endpoint()
	}
	return s.endpoint
}

func (l *Loop) openSockets() error {
	for _, s := range l.sockets {
		var err error
		if s.bind {
			s.open, err = l.cfg.Bus.Bind(s.endpoint, s.options)
		} else {
			s.open, err = l.cfg.Bus.Connect(s.endpoint, s.options)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) closeSockets() {
	for _, s := range l.sockets {
		if s.open != nil {
			s.open.Close() // a second time for some; that does nothing
			s.open = nil
		}
	}
}

func (l *Loop) poller() *bus.Poller {
	open := make([]*bus.Socket, len(l.sockets))
	for i, s := range l.sockets {
		open[i] = s.open
	}
	return bus.NewPoller(open...)
}

func (l *Loop) opened(raw *bus.Socket) *socket {
	for _, s := range l.sockets {
		if s.open == raw {
			return s
		}
	}
	return nil // the poller knows no others
}

// Send queues an event to a peer; for a connection the route is nil. It never
// waits: bus.ErrBusy, bus.ErrGone.
func (l *Loop) Send(to Peer, e wire.Event) error {
	s := l.byName[to.Socket]
	if s == nil || s.open == nil {
		return fmt.Errorf("manager.Send: socket %s is not open", to.Socket)
	}
	n, err := s.open.Send(to.Route, e)
	if err != nil {
		return err
	}
	s.sendCount++
	s.sendBytes += int64(n)
	return nil
}

// Tell sends a message that nobody answers to the manager behind a connection.
// What cannot be delivered is dropped, as such messages are hints.
func (l *Loop) Tell(socket string, eventType int, object any) {
	e, err := newEvent(wire.ClassInternal, eventType, object)
	if err == nil {
		err = l.Send(Peer{Socket: socket}, e)
	}
	if err != nil {
		l.log.Debug("message not delivered", "socket", socket, "op", eventType, "error", err)
	}
}

// Reply answers e with an object; a json.RawMessage is passed on as it is. A
// peer that left or does not read loses its answer; the log tells.
func (l *Loop) Reply(to Peer, e wire.Event, eventType int, object any) {
	raw, err := encoded(object)
	if err == nil {
		err = l.Send(to, wire.Event{Class: e.Class, UID: e.UID, Type: eventType, Object: raw, Cookie: e.Cookie})
	}
	switch {
	case errors.Is(err, bus.ErrGone):
		l.log.Debug("answer not delivered", "uid", e.UID, "op", eventType, "error", err)
	case err != nil:
		l.complain("answer not delivered", "uid", e.UID, "op", eventType, "error", err)
	}
}

// ReplyError refuses e: with a ClientResponse that holds the message as its one
// item, in the event type of the operation's answer; in class admin with an
// AdminCommand of command 7 as the answer of STATE.
func (l *Loop) ReplyError(to Peer, e wire.Event, message string) {
	if e.Class == wire.ClassAdmin {
		l.Reply(to, e, wire.AdminStateAns, wire.AdminCommand{ClassName: l.cfg.Name, Command: wire.CommandError, Message: message})
		return
	}
	l.Reply(to, e, e.Type+wire.ResponseOffset, wire.ErrorItem(message))
}

func newEvent(class string, eventType int, object any) (wire.Event, error) {
	raw, err := encoded(object)
	if err != nil {
		return wire.Event{}, fmt.Errorf("manager: event %d: %w", eventType, err)
	}
	return wire.Event{Class: class, UID: bus.NewUID(), Type: eventType, Object: raw}, nil
}

// encoded is the JSON of an object. What is JSON already, often megabytes of a
// node's answer, is not read through again.
func encoded(object any) (json.RawMessage, error) {
	if raw, ok := object.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(object)
}
