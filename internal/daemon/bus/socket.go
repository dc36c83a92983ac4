package bus

import (
	"errors"
	"fmt"
	"syscall"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/wire"
)

// maxRoute limits the routing frames of a message: the identity of a ROUTER's peer and
// what proxies and REQ sockets add.
const maxRoute = 4

// Route is the return path to a peer: the routing frames of its message. It is nil for
// messages of a DEALER socket.
type Route [][]byte

// Message is one received event.
type Message struct {
	Route Route
	Event wire.Event
	Size  int // bytes of the event's frame
}

// BadMessage is the error of Recv for a message that is not an event. The message has left
// the queue. Event holds the fields that could be parsed.
type BadMessage struct {
	Route Route
	Event wire.Event
	Size  int
	Err   error
}

func (b *BadMessage) Error() string { return b.Err.Error() }

// Unwrap returns the cause.
func (b *BadMessage) Unwrap() error { return b.Err }

// Answerable reports whether a reply can reach the sender: its uid is known and well formed.
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

// Socket sends and receives events. It belongs to one goroutine, which also closes it.
type Socket struct {
	bus      *Bus
	zmq      *zmq.Socket
	router   bool
	endpoint string

	auth    *authenticator // of a binding socket with keys
	monitor *zmq.Socket    // of a connecting socket with Options.Watch
	keys    bool           // it connects with keys
	hangUps int            // consecutive handshakes that the server ended without a reason
	refused error          // ErrRefused, once it is known
}

// Bind opens a ROUTER socket on "tcp://127.0.0.1:5504" or "inproc://name". It returns
// ErrAddress for a wrong host and ErrExposed for a public address without keys or leave.
func (b *Bus) Bind(endpoint string, o Options) (*Socket, error) {
	s, err := b.bind(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", endpoint, err)
	}
	return s, nil
}

func (b *Bus) bind(endpoint string, o Options) (*Socket, error) {
	if err := o.checkExposure(endpoint); err != nil {
		return nil, err
	}
	s, err := b.socket(zmq.ROUTER, endpoint, o)
	if err != nil {
		return nil, err
	}
	// Without it a ROUTER silently drops messages that it cannot deliver.
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

// protect registers a socket with the ZAP handler before it listens.
func (s *Socket) protect(o Options) (err error) {
	if o.Curve.Allowed == nil {
		return errors.New("keys without a list of clients")
	}
	s.auth, err = s.bus.addAuthenticator(o.Curve.Allowed, o.Log)
	if err != nil {
		return err
	}
	if err := o.Curve.server(s.zmq, s.auth.domain); err != nil {
		return err
	}
	return s.bus.watch(s.zmq, s.auth)
}

// Connect opens a DEALER socket to endpoint. It does not wait for the peer: sent messages
// queue up until the peer answers. An inproc peer may bind later.
func (b *Bus) Connect(endpoint string, o Options) (*Socket, error) {
	s, err := b.connect(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
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

// uninterrupted repeats a call that a signal has interrupted before it did anything.
// The Go scheduler sends signals all the time.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !interrupted(err) {
			return err
		}
	}
}

func (b *Bus) socket(kind zmq.Type, endpoint string, o Options) (*Socket, error) {
	if err := checkTransport(endpoint); err != nil {
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

// Endpoint returns the address of the socket. After Bind to port 0 it has the chosen port.
func (s *Socket) Endpoint() string { return s.endpoint }

// Close closes the socket; a second call does nothing. Unsent messages have the linger time.
func (s *Socket) Close() {
	if s.zmq == nil {
		return
	}
	_ = s.zmq.Close() // fails only for an invalid socket
	s.zmq = nil
	if s.monitor != nil {
		_ = s.monitor.Close()
	}
	if s.auth != nil {
		s.bus.zap.remove(s.auth)
	}
	s.bus.open.Add(-1)
}

// Send queues one event and returns the bytes of its frame. A ROUTER needs the route of the
// peer, a DEALER nil. It never waits and sends nothing after an error: ErrBusy if the queue
// is full, ErrGone if the peer has disconnected, ErrRefused as for Recv.
func (s *Socket) Send(route Route, e wire.Event) (int, error) {
	frame, err := e.Frame()
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	if s.router != (len(route) > 0) {
		return 0, fmt.Errorf("send event: %d routing frames for the socket of %s", len(route), s.endpoint)
	}
	// Only the first frame can fail: it selects the peer and reserves the room.
	for _, part := range route {
		if err := s.send(part, zmq.SNDMORE); err != nil {
			return 0, fmt.Errorf("send event: %w", err)
		}
	}
	if err := s.send(frame, 0); err != nil {
		return 0, fmt.Errorf("send event: %w", err)
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
			// The queue to a server that refuses is gone, too.
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

// Recv takes one message. It never waits: ErrNone if the queue is empty. A *BadMessage
// leaves the socket usable. After any other error, ErrRefused included, it is unusable.
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
		return Message{}, &BadMessage{Err: fmt.Errorf("receive event: more than %d routing frames", maxRoute)}
	case s.router && last == 0:
		return Message{}, &BadMessage{Err: errors.New("receive event: no event frame")}
	case s.auth != nil && !s.auth.allows(p.user):
		return Message{}, &BadMessage{Size: len(frame), Err: fmt.Errorf("receive event: client %s at %s is not listed any more", p.user, p.address)}
	case !s.router:
		route = nil
	}
	e, err := wire.ParseEvent(frame)
	if err != nil {
		return Message{}, &BadMessage{Route: route, Event: e, Size: len(frame), Err: fmt.Errorf("receive event: %w", err)}
	}
	return Message{Route: route, Event: e, Size: len(frame)}, nil
}

// parcel is one message with the metadata of its sender.
type parcel struct {
	frames  [][]byte // at most maxRoute+1
	tooMany bool
	user    string // the public key; only if the socket has an authenticator
	address string // as user
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
			return parcel{}, fmt.Errorf("receive event: %w", err)
		}
		if !more {
			p.user, p.address = about[zapUser], about[peerAddress]
			return p, nil
		}
	}
}

// Metadata of a frame in libzmq.
const (
	zapUser     = "User-Id" // the user id in the reply of the ZAP handler
	peerAddress = "Peer-Address"
)

// recv reads one frame and, for a socket with an authenticator, the sender's metadata.
func (s *Socket) recv() (frame []byte, about map[string]string, err error) {
	for {
		if s.auth != nil {
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
			return nil, nil, fmt.Errorf("receive event: %w", err)
		}
	}
}
