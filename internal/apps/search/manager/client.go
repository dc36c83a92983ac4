package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Client asks a manager. Goroutines may share it.
type Client struct {
	Bus      *bus.Bus
	Endpoint string
	Timeout  time.Duration // of one answer; longer than the manager's Deadline
}

// ErrNoAnswer means that the manager cannot be reached.
var ErrNoAnswer = errors.New("no answer from the query manager; is hce-search serve running there?")

// Ask asks a question. Errors of the question are in the Reply.
func (c Client) Ask(ctx context.Context, a search.Ask) (r search.Reply, err error) {
	return r, c.sendRequest(ctx, TypeAsk, a, &r)
}

// Status reads the state of the manager.
func (c Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.sendRequest(ctx, TypeStatus, struct{}{}, &s)
}

// Opened counts an opened result.
func (c Client) Opened(ctx context.Context, o Opened) error {
	return c.sendRequest(ctx, TypeOpened, o, nil)
}

// sendRequest sends one request over a socket of its own.
func (c Client) sendRequest(ctx context.Context, kind int, object, into any) error {
	conn, err := Dial(c.Bus, c.Endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Send(kind, object); err != nil {
		return fmt.Errorf("ask %s: %w", c.Endpoint, err)
	}
	ctx, stop := context.WithTimeout(ctx, c.Timeout)
	defer stop()
	e, err := conn.Recv(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("ask %s: %w", c.Endpoint, ErrNoAnswer)
	case err != nil:
		return fmt.Errorf("ask %s: %w", c.Endpoint, err)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(e.Object, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.Endpoint, err)
	}
	return nil
}

// Conn is one connection to a manager. It belongs to one goroutine.
type Conn struct {
	socket *bus.Socket
	poll   *bus.Poller
}

// Dial opens a connection. It does not wait for the manager.
func Dial(b *bus.Bus, endpoint string) (*Conn, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1, MaxFrame: 64 << 20})
	if err != nil {
		return nil, err
	}
	return &Conn{s, bus.NewPoller(s)}, nil
}

// Close closes the connection.
func (c *Conn) Close() { c.socket.Close() }

// Send sends a request and returns its uid, which its answer has too.
func (c *Conn) Send(kind int, object any) (uid string, err error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	uid = bus.NewUID()
	_, err = c.socket.Send(nil, wire.Event{Class: wire.ClassInternal, UID: uid, Type: kind, Object: raw})
	return uid, err
}

// Recv waits for the next answer.
func (c *Conn) Recv(ctx context.Context) (wire.Event, error) {
	for {
		m, err := c.socket.Recv()
		var bad *bus.BadMessage
		switch {
		case err == nil:
			return m.Event, nil
		case errors.As(err, &bad):
			continue
		case !errors.Is(err, bus.ErrNone):
			return wire.Event{}, err
		case ctx.Err() != nil:
			return wire.Event{}, ctx.Err()
		}
		if _, err := c.poll.Wait(tick); err != nil {
			return wire.Event{}, err
		}
	}
}
