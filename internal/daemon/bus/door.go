package bus

import (
	"context"
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
	socket *zmq.Socket   // nil while the door has not been opened
	ended  chan struct{} // closed when nobody answers at the socket any more
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
	if d.socket == nil {
		s, err := b.ctx.NewSocket(zmq.REP)
		if err != nil {
			return nil, fmt.Errorf("handler of handshakes: %w", err)
		}
		err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Bind(zapEndpoint) }))
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("handler of handshakes: %w", err)
		}
		d.socket, d.ended, d.guards = s, make(chan struct{}), map[string]*guard{}
		go func() {
			defer close(d.ended)
			d.answer(s)
		}()
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

// answer serves one request after the other until it is told to quit. It leaves
// the socket open: should it ever end by an error, nobody is answered from then
// on, and nobody comes in.
func (d *door) answer(s *zmq.Socket) {
	for {
		frames, err := receive(s)
		if err != nil {
			return
		}
		quit := len(frames) == 1 && string(frames[0]) == quitWord
		reply := frames
		if !quit {
			reply = d.reply(frames)
		}
		if err := send(s, reply); err != nil || quit {
			return
		}
	}
}

// maxZAP bounds the frames of a request that are kept; CURVE has 7.
const maxZAP = 8

// receive waits for a message. A signal between two frames does not tear it.
func receive(s *zmq.Socket) (frames [][]byte, err error) {
	for more := true; more && err == nil; {
		var frame []byte
		err = uninterrupted(func() (err error) { frame, err = s.RecvBytes(0); return err })
		if err == nil {
			more, err = s.GetRcvmore()
		}
		if len(frames) < maxZAP {
			frames = append(frames, frame)
		}
	}
	return frames, err
}

// send sends a message, in the same way.
func send(s *zmq.Socket, frames [][]byte) (err error) {
	for i, frame := range frames {
		flags := zmq.SNDMORE
		if i == len(frames)-1 {
			flags = 0
		}
		if err = uninterrupted(func() error { _, err := s.SendBytes(frame, flags); return err }); err != nil {
			return err
		}
	}
	return nil
}

// reply answers one request: version, number, domain, address, identity,
// mechanism, and for CURVE the client's public key of 32 bytes.
func (d *door) reply(frames [][]byte) [][]byte {
	var number []byte
	if len(frames) > 1 {
		number = frames[1]
	}
	no := [][]byte{[]byte(zapVersion), number, []byte(zapNo), []byte("no access"), nil, nil}
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
	return [][]byte{[]byte(zapVersion), number, []byte(zapYes), nil, []byte(public), nil}
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
	level := slog.LevelWarn
	if reason == leftEarly { // as those do who only look whether the port is open
		level = slog.LevelInfo
	}
	if n, ok := g.complaint.allow(reason, time.Now()); ok {
		g.log.Log(context.Background(), level, "client refused", append(append([]any{"reason", reason}, args...), "unlogged", n)...)
	}
}

func (g *guard) complain(message string, args ...any) {
	if n, ok := g.complaint.allow(message, time.Now()); ok {
		g.log.Warn(message, append(args, "unlogged", n)...)
	}
}

// shutDoor ends the handler, when there is one. No socket with keys may be left.
func (b *Bus) shutDoor() error {
	d := &b.door
	d.mu.Lock()
	door := d.socket
	d.mu.Unlock() // requests may still wait, and ask for guards
	if door == nil {
		return nil
	}
	s, err := b.ctx.NewSocket(zmq.REQ)
	if err != nil {
		return err
	}
	defer s.Close()
	err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Connect(zapEndpoint) }))
	if err == nil {
		err = send(s, [][]byte{[]byte(quitWord)})
	}
	if err != nil {
		return err
	}
	<-d.ended
	return door.Close()
}

func interrupted(err error) bool { return zmq.AsErrno(err) == zmq.Errno(syscall.EINTR) }
