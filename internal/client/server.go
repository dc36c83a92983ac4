package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
)

// Server is where the daemon listens.
type Server struct {
	Host    string
	Port    int
	Timeout time.Duration // for one answer
}

// errTimeout says that no answer came in time; a server that is down looks the
// same.
var errTimeout = errors.New("no answer in time")

// errAddress says that no connection can be made to such an address.
var errAddress = errors.New("wrong address")

// maxAnswer bounds the frame of an answer, in bytes. The daemon's own limit is
// for what it is asked.
const maxAnswer = 1 << 30

// ask sends e and waits for the answer with its uid.
func (s Server) ask(ctx context.Context, b *bus.Bus, e dc.Event) (dc.Event, error) {
	socket, err := b.Connect(bus.TCP(s.Host, s.Port), bus.Options{Linger: -1, MaxFrame: maxAnswer})
	if err != nil {
		return dc.Event{}, fmt.Errorf("%w: %w", errAddress, err)
	}
	defer socket.Close()
	if _, err := socket.Send(nil, e); err != nil {
		return dc.Event{}, fmt.Errorf("client.ask: %w", err)
	}
	poller := bus.NewPoller(socket)
	deadline := time.Now().Add(s.Timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return dc.Event{}, errTimeout
		}
		if ctx.Err() != nil {
			return dc.Event{}, ctx.Err()
		}
		ready, err := poller.Wait(min(left, 100*time.Millisecond))
		if err != nil {
			return dc.Event{}, fmt.Errorf("client.ask: %w", err)
		}
		if len(ready) == 0 {
			continue
		}
		m, err := socket.Recv()
		switch {
		case errors.Is(err, bus.ErrNone):
		case err != nil:
			return dc.Event{}, fmt.Errorf("client.ask: %w", err)
		case m.Event.UID == e.UID:
			return m.Event, nil
		}
	}
}
