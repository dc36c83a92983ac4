package bus

import (
	"errors"
	"fmt"
	"syscall"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/wire"
)

// maxRoute bounds the routing frames of a message: the identity that a ROUTER
// puts in front, and what proxies and REQ sockets add.
const maxRoute = 4

// Route is the way back to a peer: the routing frames of its message. It is nil
// for messages of a DEALER socket.
type Route [][]byte

// Message is one received event.
type Message struct {
	Route Route
	Event wire.Event
	Size  int // bytes of the event's frame
}

// BadMessage is the error of Recv for a message that is no event. It has been
// taken from the queue. Event holds what could be read of it.
type BadMessage struct {
	Route Route
	Event wire.Event
	Size  int
	Err   error
}

func (b *BadMessage) Error() string { return b.Err.Error() }

// Unwrap gives the cause.
func (b *BadMessage) Unwrap() error { return b.Err }

// Answerable reports whether the sender can be told: its message had a uid that
// an answer can carry.
func (b *BadMessage) Answerable() bool { return usableUID(b.Event.UID) }

func usableUID(uid string) bool {
	for _, c := range []byte(uid) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-':
		default:
			return false
		}
	}
	return len(uid) > 0 && len(uid) <= 64
}

// Socket sends and receives events. It belongs to one goroutine, which closes it.
type Socket struct {
	bus      *Bus
	zmq      *zmq.Socket
	router   bool
	endpoint string

	guard   *guard      // of a binding socket with keys
	monitor *zmq.Socket // of a connecting one that is watched
	keys    bool        // it connects with keys
	hungUp  int         // handshakes that the server has ended without a word
	refused error       // ErrRefused, once it is known
}

// Bind opens a ROUTER socket that listens on endpoint, "tcp://127.0.0.1:5504" or
// "inproc://name". A TCP address that other machines can reach is refused with
// ErrExposed unless the options allow it, and what is no address with ErrAddress.
func (b *Bus) Bind(endpoint string, o Options) (*Socket, error) {
	s, err := b.bind(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("bus.Bind %s: %w", endpoint, err)
	}
	return s, nil
}

func (b *Bus) bind(endpoint string, o Options) (*Socket, error) {
	if err := o.exposed(endpoint); err != nil {
		return nil, err
	}
	s, err := b.socket(zmq.ROUTER, endpoint, o)
	if err != nil {
		return nil, err
	}
	// Without it a ROUTER drops what it cannot deliver and says nothing.
	err = s.zmq.SetRouterMandatory(1)
	if err == nil && o.Curve != nil {
		err = s.protect(o)
	}
	if err == nil {
		err = uninterrupted(func() error { return s.zmq.Bind(endpoint) })
	}
	if err == nil {
		s.endpoint, err = s.zmq.GetLastEndpoint()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// protect posts a guard before a socket that is to listen.
func (s *Socket) protect(o Options) (err error) {
	if o.Curve.Allowed == nil {
		return errors.New("keys without a list of clients")
	}
	s.guard, err = s.bus.enter(o.Curve.Allowed, o.Log)
	if err != nil {
		return err
	}
	if err := o.Curve.server(s.zmq, s.guard.domain); err != nil {
		return err
	}
	return s.bus.watch(s.zmq, s.guard)
}

// Connect opens a DEALER socket to endpoint. It does not wait for a peer: what
// is sent before one answers waits in the queue. On inproc the peer may bind
// later.
func (b *Bus) Connect(endpoint string, o Options) (*Socket, error) {
	s, err := b.connect(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("bus.Connect %s: %w", endpoint, err)
	}
	return s, nil
}

func (b *Bus) connect(endpoint string, o Options) (*Socket, error) {
	s, err := b.socket(zmq.DEALER, endpoint, o)
	if err != nil {
		return nil, err
	}
	if o.Curve != nil {
		err = o.Curve.client(s.zmq)
		s.keys = true
	}
	if err == nil && o.Watch {
		s.monitor, err = b.monitor(s.zmq, zmq.EVENT_HANDSHAKE_SUCCEEDED|failed)
	}
	if err == nil {
		err = uninterrupted(func() error { return s.zmq.Connect(endpoint) })
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.endpoint = endpoint
	return s, nil
}

// uninterrupted repeats a call that a signal has cut off before it did anything.
// Go's own scheduler sends signals all the time.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !interrupted(err) {
			return err
		}
	}
}

func (b *Bus) socket(kind zmq.Type, endpoint string, o Options) (*Socket, error) {
	if err := known(endpoint); err != nil {
		return nil, err
	}
	if o.Curve != nil && !hasCurve() {
		return nil, errNoCurve
	}
	z, err := b.ctx.NewSocket(kind)
	if err != nil {
		return nil, err
	}
	b.open.Add(1)
	s := &Socket{bus: b, zmq: z, router: kind == zmq.ROUTER}
	if err := o.apply(z, endpoint); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Endpoint is the address of the socket; after Bind to port 0 with the port
// that the system chose.
func (s *Socket) Endpoint() string { return s.endpoint }

// Close closes the socket; a second call does nothing. What is queued for
// sending has the linger time to leave, in the background.
func (s *Socket) Close() {
	if s.zmq == nil {
		return
	}
	_ = s.zmq.Close() // fails only for what is no socket
	s.zmq = nil
	if s.monitor != nil {
		_ = s.monitor.Close()
	}
	if s.guard != nil {
		s.bus.door.leave(s.guard)
	}
	s.bus.open.Add(-1)
}

// Send queues one event and answers the bytes of its frame. A ROUTER needs the
// route of the peer, a DEALER none. It never waits: ErrBusy when the queue is
// full, ErrGone when the peer has left, ErrRefused as for Recv; nothing is sent
// then.
func (s *Socket) Send(route Route, e wire.Event) (int, error) {
	frame, err := e.Frame()
	if err != nil {
		return 0, fmt.Errorf("bus.Send: %w", err)
	}
	if s.router != (len(route) > 0) {
		return 0, fmt.Errorf("bus.Send: %d routing frames for the socket of %s", len(route), s.endpoint)
	}
	// The first frame finds the peer and its room; the others then always pass.
	for _, part := range route {
		if err := s.send(part, zmq.SNDMORE); err != nil {
			return 0, fmt.Errorf("bus.Send: %w", err)
		}
	}
	if err := s.send(frame, 0); err != nil {
		return 0, fmt.Errorf("bus.Send: %w", err)
	}
	return len(frame), nil
}

func (s *Socket) send(frame []byte, more zmq.Flag) error {
	for {
		_, err := s.zmq.SendBytes(frame, zmq.DONTWAIT|more)
		switch zmq.AsErrno(err) {
		case zmq.Errno(syscall.EINTR):
			continue
		case zmq.Errno(syscall.EAGAIN):
			// There is no queue any more to a server that refuses.
			if err := s.refusal(); err != nil {
				return err
			}
			return ErrBusy
		case zmq.EHOSTUNREACH:
			return ErrGone
		}
		return err
	}
}

// Recv takes one message. It never waits: ErrNone when none is there. A message
// that is no event gives a *BadMessage; the socket goes on. Any other error
// means that the socket is of no more use; for a watched one that may be
// ErrRefused.
func (s *Socket) Recv() (Message, error) {
	if err := s.refusal(); err != nil {
		return Message{}, err
	}
	p, err := s.take()
	if err != nil {
		return Message{}, err
	}
	last := len(p.frames) - 1
	route, frame := Route(p.frames[:last]), p.frames[last]
	switch {
	case p.tooMany:
		return Message{}, &BadMessage{Err: fmt.Errorf("bus.Recv: more than %d routing frames", maxRoute)}
	case s.router && last == 0:
		return Message{}, &BadMessage{Err: errors.New("bus.Recv: no event frame")}
	case s.guard != nil && !s.guard.allows(p.user):
		return Message{}, &BadMessage{Size: len(frame), Err: fmt.Errorf("bus.Recv: client %s at %s is not listed any more", p.user, p.address)}
	case !s.router:
		route = nil
	}
	e, err := wire.ParseEvent(frame)
	if err != nil {
		return Message{}, &BadMessage{Route: route, Event: e, Size: len(frame), Err: fmt.Errorf("bus.Recv: %w", err)}
	}
	return Message{Route: route, Event: e, Size: len(frame)}, nil
}

// parcel is one message as it was taken from the socket.
type parcel struct {
	frames  [][]byte // at most maxRoute+1
	tooMany bool
	user    string // the public key, when the socket has a guard
	address string // as well
}

// take reads all frames of a message.
func (s *Socket) take() (parcel, error) {
	var p parcel
	for {
		frame, about, err := s.recv()
		if err != nil {
			return parcel{}, err
		}
		if len(p.frames) <= maxRoute {
			p.frames = append(p.frames, frame)
		} else {
			p.tooMany = true
		}
		more, err := s.zmq.GetRcvmore()
		if err != nil {
			return parcel{}, fmt.Errorf("bus.Recv: %w", err)
		}
		if !more {
			p.user, p.address = about[zapUser], about[peerAddress]
			return p, nil
		}
	}
}

// What libzmq knows about a frame.
const (
	zapUser     = "User-Id" // as the door has answered
	peerAddress = "Peer-Address"
)

// recv reads one frame and, for a socket with a guard, whom it is from.
func (s *Socket) recv() (frame []byte, about map[string]string, err error) {
	for {
		if s.guard != nil {
			frame, about, err = s.zmq.RecvBytesWithMetadata(zmq.DONTWAIT, zapUser, peerAddress)
		} else {
			frame, err = s.zmq.RecvBytes(zmq.DONTWAIT)
		}
		switch {
		case err == nil:
			return frame, about, nil
		case interrupted(err):
		case zmq.AsErrno(err) == zmq.Errno(syscall.EAGAIN):
			return nil, nil, ErrNone
		default:
			return nil, nil, fmt.Errorf("bus.Recv: %w", err)
		}
	}
}
