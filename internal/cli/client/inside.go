package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Inside asks the managers of the daemon that runs in this process, without TCP. Goroutines may share it: each request has a
// connection of its own, which the next one takes over.
type Inside struct {
	bus      *bus.Bus
	endpoint string
	timeout  time.Duration
	places   chan struct{} // a connection each

	mu   sync.Mutex
	idle []connection
}

// connection is used by one goroutine at a time.
type connection struct {
	socket *bus.Socket
	poller *bus.Poller
}

// OpenInside returns a service for the managers behind an endpoint of b. At most most requests run at once, and each has an answer
// within timeout. It opens nothing before the first request.
func OpenInside(b *bus.Bus, endpoint string, most int, timeout time.Duration) *Inside {
	return &Inside{bus: b, endpoint: endpoint, timeout: timeout, places: make(chan struct{}, most)}
}

// Close closes the connections. No request may run.
func (i *Inside) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.idle {
		c.socket.Close()
	}
	i.idle = nil
}

// String names the daemon in messages.
func (i *Inside) String() string { return "this daemon" }

// Ask sends an operation to the managers. Answers of several nodes are merged.
func (i *Inside) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	object, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode %s: %w", op, err)
	}
	if err := service.Check(op, object, nil); err != nil {
		return &service.Refusal{Op: op, Code: wire.CodeFailed, Message: err.Error()}
	}
	limited, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	select {
	case i.places <- struct{}{}:
		defer func() { <-i.places }()
	case <-limited.Done():
		return i.endedEarly(ctx, op)
	}
	raw, err := i.exchange(limited, wire.Event{Class: wire.ClassClient, UID: bus.NewUID(), Type: int(op), Object: object})
	switch {
	case limited.Err() != nil:
		return i.endedEarly(ctx, op)
	case err != nil:
		return fmt.Errorf("%s: %w: %w", op, service.ErrUnreachable, err)
	}
	return readResponse(op, raw, answer)
}

// endedEarly returns the error of a request that has no answer when its context ends.
func (i *Inside) endedEarly(ctx context.Context, op wire.Op) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w within %v", op, service.ErrUnreachable, i.timeout)
}

// waitStep is how long a request waits for its answer before it looks whether it has ended.
const waitStep = 50 * time.Millisecond

// exchange sends e and returns the object of its answer. A connection whose answer is missing is closed: the answer may still come.
func (i *Inside) exchange(ctx context.Context, e wire.Event) (object json.RawMessage, err error) {
	c, err := i.takeConnection()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.socket.Close()
			return
		}
		i.mu.Lock()
		i.idle = append(i.idle, c)
		i.mu.Unlock()
	}()
	if _, err := c.socket.Send(nil, e); err != nil {
		return nil, err
	}
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, err := c.poller.Wait(waitStep); err != nil {
			return nil, err
		}
		m, err := c.socket.Recv()
		if errors.Is(err, bus.ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m.Event.UID == e.UID {
			return m.Event.Object, nil
		}
	}
}

// takeConnection returns an idle connection, or a new one.
func (i *Inside) takeConnection() (connection, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.idle); n > 0 {
		c := i.idle[n-1]
		i.idle = i.idle[:n-1]
		return c, nil
	}
	socket, err := i.bus.Connect(i.endpoint, bus.Options{Linger: -1})
	if err != nil {
		return connection{}, err
	}
	return connection{socket, bus.NewPoller(socket)}, nil
}
