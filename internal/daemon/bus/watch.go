package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	zmq "github.com/pebbe/zmq4"
)

// What libzmq tells about a handshake that fails (zmq_socket_monitor). The value
// of a failure by the protocol is one of the two below, or another one.
const (
	failed = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL

	wrongCrypto    = 0x11000001 // ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
	wrongMechanism = 0x11000002 // ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
)

// monitor opens the socket from which the events of s are read.
func (b *Bus) monitor(s *zmq.Socket, events zmq.Event) (*zmq.Socket, error) {
	address := Inproc("bus.monitor." + strconv.FormatInt(b.monitors.Add(1), 10))
	if err := uninterrupted(func() error { return s.Monitor(address, events) }); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	m, err := b.ctx.NewSocket(zmq.PAIR)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	err = errors.Join(m.SetLinger(0), uninterrupted(func() error { return m.Connect(address) }))
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return m, nil
}

// watch logs the handshakes of a binding socket that fail before the door is
// asked: by clients without keys, with another key for this server, and by what
// is no client at all. It ends with the socket.
func (b *Bus) watch(s *zmq.Socket, g *guard) error {
	m, err := b.monitor(s, zmq.EVENT_ACCEPTED|zmq.EVENT_DISCONNECTED|zmq.EVENT_MONITOR_STOPPED|failed)
	if err != nil {
		return err
	}
	b.watchers.Go(func() {
		defer m.Close()
		w := witness{guard: g, peers: map[int]string{}}
		for {
			event, _, value, err := m.RecvEvent(0)
			if err != nil && !interrupted(err) || event == zmq.EVENT_MONITOR_STOPPED && err == nil {
				return
			}
			if err == nil {
				w.see(event, value)
			}
		}
	})
	return nil
}

// witness puts together what the events of one socket tell in pieces: who came,
// what went wrong, who left.
type witness struct {
	guard  *guard
	peers  map[int]string // by file descriptor, from accept to the end
	reason string         // of the failure whose end comes next
}

func (w *witness) see(event zmq.Event, value int) {
	switch event {
	case zmq.EVENT_ACCEPTED:
		w.peers[value] = peerOf(value)
	case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
		w.reason = reasonOf(value)
	case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		w.reason = leftEarly
	case zmq.EVENT_DISCONNECTED:
		// The same thread of libzmq tells the reason and, next, the end.
		if w.reason != "" {
			w.guard.refused(w.reason, "address", w.peers[value])
		}
		w.reason = ""
		delete(w.peers, value)
	}
}

// leftEarly is the reason of those who leave before they have shown a key. One
// without keys may be quicker to see that it does not fit than this side is.
const leftEarly = "it has left in the handshake, or was too slow"

// reasonOf says what a failure by the protocol means on the side of the server.
func reasonOf(value int) string {
	switch value {
	case wrongCrypto:
		return "it has another public key for this server"
	case wrongMechanism:
		return "it has no keys"
	}
	return "it does not speak the protocol"
}

// peerOf is the address of a connection. When that has ended meanwhile there is
// none, or that of another one: it serves the log alone.
func peerOf(fd int) string {
	address, err := syscall.Getpeername(fd)
	if err != nil {
		return "unknown"
	}
	switch a := address.(type) {
	case *syscall.SockaddrInet4:
		return net.JoinHostPort(net.IP(a.Addr[:]).String(), strconv.Itoa(a.Port))
	case *syscall.SockaddrInet6:
		return net.JoinHostPort(net.IP(a.Addr[:]).String(), strconv.Itoa(a.Port))
	}
	return "unknown"
}

// patientFor is how many handshakes in a row may end without a word until that
// counts as a refusal. A server that has another key than the client expects
// hangs up, and so may one that uses keys when the client does not, or the other
// way round; one that stops does, too, but not for long. libzmq tries every 0.1 s.
const patientFor = 5

// refusal is an ErrRefused once the monitor of a connecting socket has seen one,
// else nil. It never waits.
func (s *Socket) refusal() error {
	if s.monitor != nil && s.refused == nil {
		s.refused = s.news()
	}
	return s.refused
}

func (s *Socket) news() error {
	for {
		event, _, value, err := s.monitor.RecvEvent(zmq.DONTWAIT)
		switch {
		case interrupted(err):
			continue
		case err != nil: // none is left
			return nil
		}
		switch event {
		case zmq.EVENT_HANDSHAKE_SUCCEEDED:
			s.hungUp = 0
		case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
			return fmt.Errorf("%w: it does not list this client's public key", ErrRefused)
		case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
			switch {
			case value == wrongMechanism && s.keys:
				return fmt.Errorf("%w: it uses no keys", ErrRefused)
			case value == wrongMechanism:
				return fmt.Errorf("%w: it wants keys", ErrRefused)
			}
			return fmt.Errorf("%w: it does not speak the protocol, or the keys do not fit", ErrRefused)
		case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
			s.hungUp++
			switch {
			case s.hungUp < patientFor:
			case s.keys:
				return fmt.Errorf("%w: it ends each handshake; it has another public key, or uses no keys", ErrRefused)
			default:
				return fmt.Errorf("%w: it ends each handshake; it may want keys", ErrRefused)
			}
		}
	}
}
