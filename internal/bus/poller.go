package bus

import (
	"fmt"
	"syscall"
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
		p.zmq.Add(s.zmq, zmq.POLLIN)
		p.sockets[s.zmq] = s
	}
	return p
}

// Wait answers the sockets that have a message, in the order of NewPoller, as
// soon as there is one; an empty list after limit, or earlier when a signal
// came in between. A limit of 0 or less only looks.
func (p *Poller) Wait(limit time.Duration) ([]*Socket, error) {
	limit = max(limit, 0)
	// ZMQ counts milliseconds and would make a busy loop of the last fraction.
	limit = (limit + time.Millisecond - 1).Truncate(time.Millisecond)
	polled, err := p.zmq.Poll(limit)
	if err != nil {
		if zmq.AsErrno(err) == zmq.Errno(syscall.EINTR) {
			return nil, nil
		}
		return nil, fmt.Errorf("bus.Wait: %w", err)
	}
	ready := make([]*Socket, len(polled))
	for i, one := range polled {
		ready[i] = p.sockets[one.Socket]
	}
	return ready, nil
}
