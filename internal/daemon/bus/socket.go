package bus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// Client returns a route of one frame that is equal for all requests of one connection to a
// TCP socket.
func (r Route) Client() Route {
	if len(r) == 0 {
		return nil
	}
	return Route{r[0][:min(len(r[0]), 8)]}
}

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

	tcp     *listener   // of a socket that listens on TCP; zmq wakes its owner
	monitor *zmq.Socket // of a connecting socket with Options.Watch
	keys    bool        // it connects with keys
	hangUps int         // consecutive handshakes that the server ended without a reason
	refused error       // ErrRefused, once it is known
	link    int         // linkNew and so on
}

// Bind opens a ROUTER socket on "tcp://127.0.0.1:5504" or "inproc://name". It returns
// ErrAddress for a wrong host and ErrExposed for a public address without keys or leave.
func (b *Bus) Bind(endpoint string, o Options) (*Socket, error) {
	s, err := b.bindSocket(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", endpoint, err)
	}
	return s, nil
}

func (b *Bus) bindSocket(endpoint string, o Options) (*Socket, error) {
	if err := o.checkExposure(endpoint); err != nil {
		return nil, err
	}
	if _, tcp := tcpHost(endpoint); tcp {
		return b.bindTCP(endpoint, o.forListener())
	}
	s, err := b.newSocket(zmq.ROUTER, endpoint, o)
	if err != nil {
		return nil, err
	}
	// Without it a ROUTER silently drops messages that it cannot deliver.
	err = s.zmq.SetRouterMandatory(1)
	if err == nil {
		err = retryInterrupted(func() error { return s.zmq.Bind(endpoint) })
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.endpoint = endpoint
	return s, nil
}

// bindTCP opens a listener and the pair that wakes the owner of the socket.
func (b *Bus) bindTCP(endpoint string, o Options) (*Socket, error) {
	if o.Curve != nil && o.Curve.Allowed == nil {
		return nil, errors.New("keys without a list of clients")
	}
	name := Inproc("bus.tcp." + strconv.FormatInt(b.names.Add(1), 10))
	s, err := b.newSocket(zmq.PAIR, name, Options{}.withDefaults(name))
	if err != nil {
		return nil, err
	}
	s.router = true
	far, err := b.ctx.NewSocket(zmq.PAIR)
	if err == nil {
		err = errors.Join(far.SetLinger(0), retryInterrupted(func() error { return s.zmq.Bind(name) }),
			retryInterrupted(func() error { return far.Connect(name) }))
		if err == nil {
			s.tcp, err = b.listenTCP(endpoint, o, far)
		}
		if err != nil {
			_ = far.Close()
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.endpoint = s.tcp.endpoint()
	return s, nil
}

// Connect opens a DEALER socket to endpoint. It does not wait for the peer: sent messages
// queue up until the peer answers. An inproc peer may bind later.
func (b *Bus) Connect(endpoint string, o Options) (*Socket, error) {
	s, err := b.connectSocket(endpoint, o.withDefaults(endpoint))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	return s, nil
}

func (b *Bus) connectSocket(endpoint string, o Options) (*Socket, error) {
	s, err := b.newSocket(zmq.DEALER, endpoint, o)
	if err != nil {
		return nil, err
	}
	if o.Curve != nil {
		err = o.Curve.setClientKeys(s.zmq)
		s.keys = true
	}
	if err == nil && o.Watch {
		s.monitor, err = b.monitorSocket(s.zmq, zmq.EVENT_HANDSHAKE_SUCCEEDED|zmq.EVENT_DISCONNECTED|failed)
	}
	if err == nil {
		err = retryInterrupted(func() error { return s.zmq.Connect(endpoint) })
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.endpoint = endpoint
	return s, nil
}

// retryInterrupted repeats a call that a signal has interrupted before it did anything.
// The Go scheduler sends signals all the time.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !isInterrupted(err) {
			return err
		}
	}
}

func (b *Bus) newSocket(kind zmq.Type, endpoint string, o Options) (*Socket, error) {
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
	if err := o.configureSocket(z, endpoint); err != nil {
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
	if s.monitor != nil { // an event without a receiver would stop the sockets of the whole bus
		_ = retryInterrupted(func() error { return s.zmq.Monitor("", 0) })
	}
	_ = s.zmq.Close() // fails only for an invalid socket
	s.zmq = nil
	if s.monitor != nil {
		_ = s.monitor.Close()
	}
	if s.tcp != nil {
		s.tcp.close()
	}
	s.bus.open.Add(-1)
}

// Send queues one event and returns the bytes of its frame. A ROUTER needs the route of the
// peer. A DEALER needs none; it may give one frame that tells apart the peers it speaks for. It
// never waits and sends nothing after an error: ErrBusy if the queue is full, ErrGone if the
// peer has disconnected, ErrRefused as for Recv.
func (s *Socket) Send(route Route, e wire.Event) (int, error) {
	if s.router && len(route) == 0 {
		return 0, fmt.Errorf("send event: no routing frames for the socket of %s", s.endpoint)
	}
	object := e.Object
	number := s.handOver(&e)
	frame, err := e.Frame()
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	if number != nil {
		frame = append(number, frame...)
	}
	if s.tcp != nil {
		err = s.tcp.queueAnswer(route, frame)
	} else {
		err = s.sendAll(append(route[:len(route):len(route)], frame))
	}
	if err != nil {
		s.takeHandedOver(number)
		return 0, fmt.Errorf("send event: %w", err)
	}
	if number != nil {
		return len(frame) + len(object), nil
	}
	return len(frame), nil
}

// sendAll sends the frames of a message.
func (s *Socket) sendAll(frames [][]byte) error {
	// Only the first frame can fail: it selects the peer and reserves the room.
	for i, frame := range frames {
		more := zmq.SNDMORE
		if i == len(frames)-1 {
			more = 0
		}
		if err := s.sendFrame(frame, more); err != nil {
			return err
		}
	}
	return nil
}

// handed begins the frame of an event whose object did not travel with it.
const handed = '@'

// handOver keeps a large object of an event to another socket of this bus aside, so that it is not
// copied, and returns what its frame begins with, or nil. If the event is never received, the
// object stays until the bus ends.
func (s *Socket) handOver(e *wire.Event) []byte {
	if len(e.Object) <= freeFrame || !strings.HasPrefix(s.endpoint, "inproc://") {
		return nil
	}
	n := s.bus.object.Add(1)
	s.bus.objects.Store(n, e.Object)
	e.Object = nil
	return binary.BigEndian.AppendUint64([]byte{handed}, n)
}

// takeHandedOver returns the object that hand has kept aside.
func (s *Socket) takeHandedOver(number []byte) json.RawMessage {
	if len(number) != 9 {
		return nil
	}
	v, _ := s.bus.objects.LoadAndDelete(binary.BigEndian.Uint64(number[1:]))
	object, _ := v.(json.RawMessage)
	return object
}

func (s *Socket) sendFrame(frame []byte, more zmq.Flag) error {
	for {
		_, err := s.zmq.SendBytes(frame, zmq.DONTWAIT|more)
		switch zmq.AsErrno(err) {
		case zmq.Errno(syscall.EINTR):
			continue
		case zmq.Errno(syscall.EAGAIN):
			// The queue to a server that refuses is gone, too.
			if err := s.checkRefusal(); err != nil {
				return err
			}
			return ErrBusy
		case zmq.EHOSTUNREACH:
			return ErrGone
		}
		return err
	}
}

// Recv takes one message. It never waits: ErrNone if the queue is empty. A *BadMessage leaves the
// socket usable. After any other error, ErrRefused included, it is unusable. A socket with Options.Watch
// has ErrGone if its peer has disconnected and nothing of it is left. Each message of a TCP socket that
// listens needs one answer or one Forget.
func (s *Socket) Recv() (Message, error) {
	if err := s.checkRefusal(); err != nil {
		return Message{}, err
	}
	p, err := s.receiveFrames()
	switch {
	case errors.Is(err, ErrNone) && s.link == linkDown:
		s.link = linkGone
	case errors.Is(err, ErrNone) && s.link == linkGone:
		err = ErrGone
	}
	if err != nil {
		return Message{}, err
	}
	m, err := s.parseMessage(p)
	var bad *BadMessage
	if errors.As(err, &bad) && (bad.Route == nil || !bad.Answerable()) && s.router {
		s.Forget(Route(p.frames))
	}
	return m, err
}

// Forget ends a request that gets no answer.
func (s *Socket) Forget(route Route) {
	if s.tcp != nil {
		s.tcp.forgetRequest(route)
	}
}

// parseMessage returns the event of a message.
func (s *Socket) parseMessage(p parcel) (Message, error) {
	last := len(p.frames) - 1
	route, frame := Route(p.frames[:last]), p.frames[last]
	switch {
	case p.tooMany:
		return Message{}, &BadMessage{Err: fmt.Errorf("receive event: more than %d routing frames", maxRoute)}
	case s.router && last == 0:
		return Message{}, &BadMessage{Err: errors.New("receive event: no event frame")}
	case s.tcp != nil && s.tcp.key != nil && !s.tcp.auth.allowsClient(p.user):
		return Message{}, &BadMessage{Size: len(frame), Err: fmt.Errorf("receive event: client %s at %s is not listed any more", p.user, p.address)}
	case p.bad != nil:
		p.bad.Route = route
		return Message{}, p.bad
	case !s.router:
		route = nil
	}
	size := len(frame)
	var object json.RawMessage
	if size > 9 && frame[0] == handed && s.tcp == nil {
		object = s.takeHandedOver(frame[:9])
		frame, size = frame[9:], size+len(object)
	}
	e, err := wire.ParseEvent(frame)
	if object != nil {
		e.Object = object
	}
	if err == nil && s.tcp != nil && int64(size) > s.tcp.o.requestLimit(wire.Op(e.Type)) {
		err = s.tcp.o.tooLarge(wire.Op(e.Type), int64(size))
		e.Object = nil
	}
	if err != nil {
		return Message{}, &BadMessage{Route: route, Event: e, Size: size, Err: fmt.Errorf("receive event: %w", err)}
	}
	return Message{Route: route, Event: e, Size: size}, nil
}

// parcel is one message. The last three fields are for TCP sockets that listen.
type parcel struct {
	frames  [][]byte // at most maxRoute+1, and the peer of a TCP socket
	tooMany bool
	bad     *BadMessage // the listener refuses it
	user    string      // the public key, if the socket has keys
	address string
}

// receiveFrames reads all frames of a message.
func (s *Socket) receiveFrames() (parcel, error) {
	var p parcel
	for {
		frame, err := s.receiveFrame()
		switch {
		case err != nil:
			return parcel{}, err
		case s.tcp != nil: // the frame only says so
			return <-s.tcp.ready, nil
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
			return p, nil
		}
	}
}

// receiveFrame reads one frame.
func (s *Socket) receiveFrame() ([]byte, error) {
	for {
		frame, err := s.zmq.RecvBytes(zmq.DONTWAIT)
		switch {
		case err == nil:
			return frame, nil
		case isInterrupted(err):
		case zmq.AsErrno(err) == zmq.Errno(syscall.EAGAIN):
			return nil, ErrNone
		default:
			return nil, fmt.Errorf("receive event: %w", err)
		}
	}
}
