package bus

import (
	"errors"
	"fmt"
	"strconv"

	zmq "github.com/pebbe/zmq4"
)

// Events of a failed handshake (zmq_socket_monitor), and one of the values of
// EVENT_HANDSHAKE_FAILED_PROTOCOL.
const (
	failed = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL

	wrongMechanism = 0x11000002 // ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
)

// monitorSocket opens a socket that receives the events of s.
func (b *Bus) monitorSocket(s *zmq.Socket, events zmq.Event) (*zmq.Socket, error) {
	address := Inproc("bus.monitor." + strconv.FormatInt(b.names.Add(1), 10))
	if err := retryInterrupted(func() error { return s.Monitor(address, events) }); err != nil {
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	m, err := b.ctx.NewSocket(zmq.PAIR)
	if err != nil {
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	err = errors.Join(m.SetLinger(0), retryInterrupted(func() error { return m.Connect(address) }))
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("monitor socket: %w", err)
	}
	return m, nil
}

// States of the connection of a monitored socket.
const (
	linkNew  = iota // no handshake has succeeded
	linkUp          // the last one has
	linkDown        // it ended after that; what had arrived before may come up to one Recv later
	linkGone
)

// maxHangUps is how many consecutive handshakes may end without a reason before that counts
// as a refusal. A server with another key, or with keys on one side only, hangs up; a server
// that stops does so for a short time. libzmq tries again every 0.1 s.
const maxHangUps = 5

// checkRefusal returns ErrRefused once the monitor of a connecting socket has reported one, else
// nil. It never waits.
func (s *Socket) checkRefusal() error {
	if s.monitor != nil && s.refused == nil {
		s.refused = s.readMonitor()
	}
	return s.refused
}

func (s *Socket) readMonitor() error {
	for {
		event, _, value, err := s.monitor.RecvEvent(zmq.DONTWAIT)
		switch {
		case isInterrupted(err):
			continue
		case err != nil: // no more events
			return nil
		}
		switch event {
		case zmq.EVENT_HANDSHAKE_SUCCEEDED:
			s.hangUps, s.link = 0, linkUp
		case zmq.EVENT_DISCONNECTED:
			if s.link == linkUp {
				s.link = linkDown
			}
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
