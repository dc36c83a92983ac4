package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/apps/webserver/packet"
)

const (
	// inFlight is how many packets may wait for their answers. A kill repeats at most these.
	inFlight = 16
	// sendTime bounds the write of a packet, and answerTime the wait for the next answer.
	sendTime   = 30 * time.Second
	answerTime = 60 * time.Second
)

// answered is called with the answer to a packet, from one goroutine. An error ends the sender.
type answered func(kind packet.Kind, a packet.Answer) error

// sender sends packets to the Web Store over one connection.
type sender struct {
	conn   net.Conn
	places chan struct{}
	ended  chan struct{} // closed with err set
	quiet  chan struct{} // closed when no answer is worked on any more

	mu      sync.Mutex
	pending map[packet.ID]answered
	err     error // why the connection ended
	lost    bool  // it ended while answers were due, or because of one
}

func connectSender(ctx context.Context, dial handshake.Dial, store string) (*sender, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	c, err := dial(ctx, "tcp", store)
	if err != nil {
		return nil, fmt.Errorf("connect to the Web Store: %w", err)
	}
	s := &sender{conn: c, places: make(chan struct{}, inFlight), ended: make(chan struct{}), quiet: make(chan struct{}), pending: map[packet.ID]answered{}}
	go s.receiveAnswers()
	return s, nil
}

// sendPacket sends a packet. It waits while many are in flight.
func (s *sender) sendPacket(ctx context.Context, f packet.Frame, done answered) error {
	select {
	case s.places <- struct{}{}:
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.expectAnswer(f.ID, done)
	if err == nil {
		err = packet.Write(s.conn, f)
	}
	if err != nil {
		err = fmt.Errorf("send a packet to the Web Store: %w", err)
		s.closeWithReason(err, true)
	}
	return err
}

// expectAnswer notes that an answer is due, and begins its time.
func (s *sender) expectAnswer(id packet.ID, done answered) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[id] = done
	now := time.Now()
	return errors.Join(s.conn.SetWriteDeadline(now.Add(sendTime)), s.conn.SetReadDeadline(now.Add(sendTime+answerTime)))
}

// endedIdle reports whether the connection ended while no answer was due.
func (s *sender) endedIdle() bool {
	select {
	case <-s.ended:
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.lost
	default:
		return false
	}
}

// finishSending waits until all packets are answered, and closes the connection. It returns an error if an
// answer is missing.
func (s *sender) finishSending(ctx context.Context) error {
	for range inFlight {
		select {
		case s.places <- struct{}{}:
			continue
		case <-s.ended:
		case <-ctx.Done():
			s.closeWithReason(ctx.Err(), true)
		}
		break
	}
	s.closeWithReason(net.ErrClosed, false)
	<-s.quiet
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return s.err
	}
	return nil
}

// receiveAnswers reads answers until the connection ends.
func (s *sender) receiveAnswers() {
	defer close(s.quiet)
	for {
		f, err := packet.Read(s.conn, packet.MaxAnswer)
		if err != nil {
			s.closeWithReason(fmt.Errorf("answer of the Web Store: %w", err), false)
			return
		}
		if err := s.handleAnswer(f); err != nil {
			s.closeWithReason(fmt.Errorf("answer of the Web Store: %w", err), true)
			return
		}
		<-s.places
	}
}

func (s *sender) handleAnswer(f packet.Frame) error {
	a, err := packet.DecodeAnswer(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	done, found := s.pending[f.ID]
	s.mu.Unlock()
	if !found {
		return fmt.Errorf("no request has the id %x", f.ID)
	}
	if f.Kind == packet.Failed {
		return fmt.Errorf("it cannot store now: %s", a.Error)
	}
	if err := done(f.Kind, a); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, f.ID)
	due := time.Time{} // none while nothing is due
	if len(s.pending) > 0 {
		due = time.Now().Add(sendTime + answerTime)
	}
	return s.conn.SetReadDeadline(due)
}

// closeWithReason closes the connection. The first reason counts.
func (s *sender) closeWithReason(err error, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return
	default:
	}
	s.err, s.lost = err, lost || len(s.pending) > 0
	close(s.ended)
	_ = s.conn.Close()
}
