package bus

import (
	"fmt"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// Poller waits for several sockets of one goroutine.
type Poller struct {
	zmq     *zmq.Poller
	sockets map[*zmq.Socket]*Socket
}

// NewPoller returns a poller of sockets, which must stay open while it is used.
func NewPoller(sockets ...*Socket) *Poller {
	p := &Poller{zmq: zmq.NewPoller(), sockets: map[*zmq.Socket]*Socket{}}
	for _, s := range sockets {
		p.addSocket(s, s.zmq)
		if s.monitor != nil {
			p.addSocket(s, s.monitor)
		}
	}
	return p
}

func (p *Poller) addSocket(s *Socket, one *zmq.Socket) {
	p.zmq.Add(one, zmq.POLLIN)
	p.sockets[one] = s
}

// Wait returns the sockets that may have a message or, if watched, a refusal, in the order
// of NewPoller. The list is empty after limit, or earlier after a signal. A limit of 0 or
// less does not wait.
func (p *Poller) Wait(limit time.Duration) ([]*Socket, error) {
	limit = max(limit, 0)
	// ZMQ counts milliseconds; a limit below 1 ms would become a busy loop.
	limit = (limit + time.Millisecond - 1).Truncate(time.Millisecond)
	polled, err := p.zmq.Poll(limit)
	if err != nil {
		if isInterrupted(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("wait for messages: %w", err)
	}
	ready := make([]*Socket, 0, len(polled))
	for _, one := range polled {
		s := p.sockets[one.Socket]
		if len(ready) == 0 || ready[len(ready)-1] != s { // once, even if its monitor is ready, too
			ready = append(ready, s)
		}
	}
	return ready, nil
}
