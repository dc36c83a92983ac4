package bus

import (
	"fmt"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// Poller waits for several sockets of one goroutine at once.
type Poller struct {
	zmq     *zmq.Poller
	sockets map[*zmq.Socket]*Socket
}

// NewPoller is a poller of those sockets, which must stay open while it is used.
func NewPoller(sockets ...*Socket) *Poller {
	p := &Poller{zmq: zmq.NewPoller(), sockets: map[*zmq.Socket]*Socket{}}
	for _, s := range sockets {
		p.add(s, s.zmq)
		if s.monitor != nil {
			p.add(s, s.monitor)
		}
	}
	return p
}

func (p *Poller) add(s *Socket, one *zmq.Socket) {
	p.zmq.Add(one, zmq.POLLIN)
	p.sockets[one] = s
}

// Wait answers the sockets that have a message or, when they are watched, perhaps
// a refusal, in the order of NewPoller, as soon as there is one; an empty list after limit, or earlier when a signal
// came in between. A limit of 0 or less only looks.
func (p *Poller) Wait(limit time.Duration) ([]*Socket, error) {
	limit = max(limit, 0)
	// ZMQ counts milliseconds and would make a busy loop of the last fraction.
	limit = (limit + time.Millisecond - 1).Truncate(time.Millisecond)
	polled, err := p.zmq.Poll(limit)
	if err != nil {
		if interrupted(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("bus.Wait: %w", err)
	}
	ready := make([]*Socket, 0, len(polled))
	for _, one := range polled {
		s := p.sockets[one.Socket]
		if len(ready) == 0 || ready[len(ready)-1] != s { // once, with its monitor
			ready = append(ready, s)
		}
	}
	return ready, nil
}
