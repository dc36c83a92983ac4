package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"syscall"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// zapEndpoint is where libzmq asks in each handshake (ZeroMQ RFC 27). An
// endpoint of that name is looked for in the context of the socket; where there
// is none, everybody with the server's public key passes. So the door is opened
// before the first socket with keys and shut behind the last one.
const zapEndpoint = "inproc://zeromq.zap.01"

// Answers of RFC 27, section 5.
const (
	zapVersion = "1.0"
	zapYes     = "200"
	zapNo      = "400"
)

// quitWord ends the door. It comes from the bus itself; a request of libzmq
// begins with zapVersion.
const quitWord = "quit"

// door is the one handler of a bus that libzmq asks whether a client may come in.
// Each socket with keys has a guard of its own there, by its domain.
type door struct {
	mu     sync.Mutex
	guards map[string]*guard
	next   int
	open   bool
	shut   sync.WaitGroup // done when the goroutine has ended
}

// guard decides for one socket, and complains about who was refused.
type guard struct {
	domain    string
	allowed   Allower
	log       *slog.Logger
	complaint throttle
}

// enter opens the door if it is not open yet and posts a guard.
func (b *Bus) enter(allowed Allower, log *slog.Logger) (*guard, error) {
	d := &b.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.open {
		s, err := b.ctx.NewSocket(zmq.REP)
		if err != nil {
			return nil, fmt.Errorf("handler of handshakes: %w", err)
		}
		err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Bind(zapEndpoint) }))
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("handler of handshakes: %w", err)
		}
		d.open, d.guards = true, map[string]*guard{}
		d.shut.Go(func() { d.answer(s) })
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d.next++
	g := &guard{domain: "bus." + strconv.Itoa(d.next), allowed: allowed, log: log}
	d.guards[g.domain] = g
	return g, nil
}

// leave takes a guard away. Whoever still shakes hands with its socket is refused.
func (d *door) leave(g *guard) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.guards, g.domain)
}

func (d *door) guard(domain string) *guard {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.guards[domain]
}

// answer serves one request after the other until it is told to quit, or until
// the context ends.
func (d *door) answer(s *zmq.Socket) {
	defer s.Close()
	for {
		frames, err := s.RecvMessageBytes(0)
		switch {
		case interrupted(err):
			continue
		case err != nil:
			return // the context is gone, and the sockets with it
		case len(frames) == 1 && string(frames[0]) == quitWord:
			_ = uninterrupted(func() error { _, err := s.Send(quitWord, 0); return err })
			return
		}
		reply := d.reply(frames)
		_ = uninterrupted(func() error { _, err := s.SendMessage(reply); return err }) // fails only with the context
	}
}

// reply answers one request: version, number, domain, address, identity,
// mechanism, and for CURVE the client's public key of 32 bytes.
func (d *door) reply(frames [][]byte) []string {
	number := ""
	if len(frames) > 1 {
		number = string(frames[1])
	}
	no := []string{zapVersion, number, zapNo, "no access", "", ""}
	if len(frames) != 7 || string(frames[0]) != zapVersion {
		return no
	}
	g := d.guard(string(frames[2]))
	if g == nil || string(frames[5]) != "CURVE" || len(frames[6]) != 32 {
		return no
	}
	public := zmq.Z85encode(string(frames[6]))
	if !g.allows(public) {
		g.refused("its public key is not listed", "address", string(frames[3]), "key", public)
		return no
	}
	// The user is the key: each message of the connection bears it.
	return []string{zapVersion, number, zapYes, "", public, ""}
}

// allows asks the list. A list that fails lets nobody in.
func (g *guard) allows(public string) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
			g.complain("list of clients", "error", fmt.Sprint(r))
		}
	}()
	ok, err := g.allowed.Allowed(public)
	if err != nil {
		g.complain("list of clients", "error", err)
	}
	return ok
}

// refused logs that a client was not let in. The reason is one of a few.
func (g *guard) refused(reason string, args ...any) {
	if n, ok := g.complaint.allow(reason, time.Now()); ok {
		g.log.Warn("client refused", append(append([]any{"reason", reason}, args...), "unlogged", n)...)
	}
}

func (g *guard) complain(message string, args ...any) {
	if n, ok := g.complaint.allow(message, time.Now()); ok {
		g.log.Warn(message, append(args, "unlogged", n)...)
	}
}

// shutDoor ends the handler, when there is one, and waits for its end. No socket
// with keys may be left.
func (b *Bus) shutDoor() error {
	b.door.mu.Lock()
	open := b.door.open
	b.door.open = false
	b.door.mu.Unlock()
	if !open {
		return nil
	}
	s, err := b.ctx.NewSocket(zmq.REQ)
	if err != nil {
		return err
	}
	defer s.Close()
	err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Connect(zapEndpoint) }))
	if err == nil {
		err = uninterrupted(func() error { _, err := s.Send(quitWord, 0); return err })
	}
	if err == nil {
		err = uninterrupted(func() error { _, err := s.Recv(0); return err })
	}
	if err != nil {
		return err
	}
	b.door.shut.Wait()
	return nil
}

func interrupted(err error) bool { return zmq.AsErrno(err) == zmq.Errno(syscall.EINTR) }
