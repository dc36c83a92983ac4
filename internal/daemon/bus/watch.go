package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	zmq "github.com/pebbe/zmq4"
)

// Events of a failed handshake (zmq_socket_monitor), and two of the values of
// EVENT_HANDSHAKE_FAILED_PROTOCOL.
const (
	failed = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL

	wrongCrypto    = 0x11000001 // ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
	wrongMechanism = 0x11000002 // ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
)

// monitor opens a socket that receives the events of s.
func (b *Bus) monitor(s *zmq.Socket, events zmq.Event) (*zmq.Socket, error) {
	address := Inproc("bus.monitor." + strconv.FormatInt(b.monitors.Add(1), 10))
	if err := uninterrupted(func() error { return s.Monitor(address, events) }); err != nil {
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	m, err := b.ctx.NewSocket(zmq.PAIR)
	if err != nil {
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	err = errors.Join(m.SetLinger(0), uninterrupted(func() error { return m.Connect(address) }))
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	return m, nil
}

// watch logs handshakes of a binding socket that fail before the ZAP handler is asked:
// clients without keys, with a wrong key of the server, or without the protocol. It ends
// with the socket.
func (b *Bus) watch(s *zmq.Socket, g *authenticator) error {
	m, err := b.monitor(s, zmq.EVENT_ACCEPTED|zmq.EVENT_DISCONNECTED|zmq.EVENT_MONITOR_STOPPED|failed)
	if err != nil {
		return err
	}
	b.watchers.Go(func() {
		defer m.Close()
		w := handshakeLog{auth: g, peers: map[int]string{}}
		for {
			event, _, value, err := m.RecvEvent(0)
			if err != nil && !interrupted(err) || event == zmq.EVENT_MONITOR_STOPPED && err == nil {
				return
			}
			if err == nil {
				w.record(event, value)
			}
		}
	})
	return nil
}

// handshakeLog joins the events of one socket: the address, the failure, the disconnect.
type handshakeLog struct {
	auth   *authenticator
	peers  map[int]string // by file descriptor, from accept to disconnect
	reason string         // of the failure; its disconnect comes next
}

func (w *handshakeLog) record(event zmq.Event, value int) {
	switch event {
	case zmq.EVENT_ACCEPTED:
		w.peers[value] = peerOf(value)
	case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
		w.reason = reasonOf(value)
	case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		w.reason = leftEarly
	case zmq.EVENT_DISCONNECTED:
		// One thread of libzmq reports the failure and then its disconnect.
		if w.reason != "" {
			w.auth.refused(w.reason, "address", w.peers[value])
		}
		w.reason = ""
		delete(w.peers, value)
	}
}

// leftEarly is the reason of a client that disconnects before it has sent a key. A client
// without keys can notice the mismatch before the server does.
const leftEarly = "it disconnected in the handshake, or was too slow"

// reasonOf returns the server's view of a protocol failure.
func reasonOf(value int) string {
	switch value {
	case wrongCrypto:
		return "it has another public key for this server"
	case wrongMechanism:
		return "it has no keys"
	}
	return "it does not speak the protocol"
}

// peerOf returns the address of a connection for the log. After a disconnect it may be
// unknown or that of a newer connection.
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

// maxHangUps is how many consecutive handshakes may end without a reason before that counts
// as a refusal. A server with another key, or with keys on one side only, hangs up; a server
// that stops does so for a short time. libzmq tries again every 0.1 s.
const maxHangUps = 5

// refusal returns ErrRefused once the monitor of a connecting socket has reported one, else
// nil. It never waits.
func (s *Socket) refusal() error {
	if s.monitor != nil && s.refused == nil {
		s.refused = s.readMonitor()
	}
	return s.refused
}

func (s *Socket) readMonitor() error {
	for {
		event, _, value, err := s.monitor.RecvEvent(zmq.DONTWAIT)
		switch {
		case interrupted(err):
			continue
		case err != nil: // no more events
			return nil
		}
		switch event {
		case zmq.EVENT_HANDSHAKE_SUCCEEDED:
			s.hangUps = 0
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
			s.hangUps++
			switch {
			case s.hangUps < maxHangUps:
			case s.keys:
				return fmt.Errorf("%w: it ends each handshake; it has another public key, or uses no keys", ErrRefused)
			default:
				return fmt.Errorf("%w: it ends each handshake; it may want keys", ErrRefused)
			}
		}
	}
}
