package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// Observer is told of new commits, the oldest first, none twice. An error ends the observation.
type Observer func(commits []archive.Commit) error

// FromNow as position of Observe asks for the commits from now on.
const FromNow = protocol.FromNow

// Waits between two attempts to connect.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// Observe registers at the server and tells observe of each commit with a number above after, until ctx
// is done, which is how an observer unregisters. It connects again when the connection is lost, and
// continues after the last commit for which observe returned nil. To miss no commit between two runs
// of a program, keep that number and begin with it.
//
// Further observers call Observe too, each with a position of its own. It returns the error of ctx or of
// observe, or that of a server that refuses the observation: a wrong token, or a position that it does
// not know.
func (c *Client) Observe(ctx context.Context, after int64, observe Observer) error {
	o := observation{client: c, position: after, observe: observe}
	wait := firstWait
	for {
		final, err := o.observeSession(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("observe: %w", context.Cause(ctx))
		case final:
			return err
		case o.registered:
			wait = firstWait
		}
		o.registered = false
		if c.cfg.Lost != nil {
			c.cfg.Lost(err)
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): // not all clients at once
		case <-ctx.Done():
		}
		wait = min(2*wait, longestWait)
	}
}

// observation is the state of Observe.
type observation struct {
	client     *Client
	position   int64
	registered bool // in this session
	observe    Observer
}

// observeSession observes on one connection. final means that no further session helps.
func (o *observation) observeSession(ctx context.Context) (final bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := o.client.sendRequest(ctx, protocol.Request{Kind: protocol.Observe, After: o.position}, nil, protocol.Events)
	if err != nil {
		return errors.Is(err, archive.ErrInvalid) || errors.Is(err, protocol.ErrDenied), err
	}
	defer answer.Body.Close()
	events := protocol.NewEventReader(&watched{answer.Body, cancel, o.client.cfg.Patience})
	for {
		e, err := events.Next()
		if err != nil {
			return false, err
		}
		if final, err := o.handleEvent(e); err != nil {
			return final, err
		}
	}
}

// handleEvent handles one event.
func (o *observation) handleEvent(e protocol.Event) (final bool, err error) {
	switch e.Kind {
	case protocol.Registered:
		o.registered = true
		if o.position == FromNow {
			o.position = e.ID
		}
	case protocol.Changes:
		var list []archive.Commit
		if err := json.Unmarshal(e.Data, &list); err != nil {
			return false, fmt.Errorf("observe: event: %w", err)
		}
		for len(list) > 0 && list[0].Number <= o.position {
			list = list[1:]
		}
		if len(list) == 0 {
			return false, nil
		}
		if err := o.observe(list); err != nil {
			return true, err
		}
		o.position = list[len(list)-1].Number
	}
	return false, nil
}
