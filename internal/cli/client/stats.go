package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Stat is the statistics of one manager.
type Stat struct {
	Class  string
	Fields map[string]any // as decoded from JSON; nil if Err is set
	Err    error          // no answer in time, or the message of a refusal
}

// Stats requests statistics of several managers at once, over one connection, and waits up
// to the server's timeout for all of them. names selects statistics; empty means all. The
// result has the order of classes. The error is one of the connection.
func (s Server) Stats(ctx context.Context, b *bus.Bus, classes, names []string) ([]Stat, error) {
	socket, err := b.Connect(bus.TCP(s.Host, s.Port), bus.Options{Linger: -1, MaxFrame: maxAnswer, Curve: s.Curve})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAddress, err)
	}
	defer socket.Close()
	fields := map[string]any{}
	for _, name := range names {
		fields[name] = nil
	}
	all := make([]Stat, len(classes))
	waiting := map[string]int{}
	for i, class := range classes {
		all[i] = Stat{Class: class, Err: errTimeout}
		raw, err := json.Marshal(wire.AdminFields{ClassName: class, Fields: fields})
		if err != nil {
			return nil, fmt.Errorf("request statistics: %w", err)
		}
		e := wire.Event{Class: wire.ClassAdmin, UID: bus.NewUID(), Type: wire.AdminStat, Object: raw}
		if _, err := socket.Send(nil, e); err != nil {
			return nil, fmt.Errorf("request statistics: %w", err)
		}
		waiting[e.UID] = i
	}
	poller := bus.NewPoller(socket)
	for end := time.Now().Add(s.Timeout); len(waiting) > 0 && time.Now().Before(end); {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, err := poller.Wait(min(time.Until(end), 100*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("request statistics: %w", err)
		}
		m, err := socket.Recv()
		switch {
		case errors.Is(err, bus.ErrNone):
			continue
		case err != nil:
			return nil, fmt.Errorf("request statistics: %w", err)
		}
		if i, ok := waiting[m.Event.UID]; ok {
			delete(waiting, m.Event.UID)
			all[i].Fields, all[i].Err = statFields(m.Event)
		}
	}
	return all, nil
}

// statFields returns the statistics in the answer of a manager.
func statFields(answer wire.Event) (map[string]any, error) {
	if answer.Type != wire.AdminStatAns {
		var refusal wire.AdminCommand
		if json.Unmarshal(answer.Object, &refusal) == nil && refusal.Message != "" {
			return nil, errors.New(refusal.Message)
		}
		return nil, fmt.Errorf("unexpected answer type %d", answer.Type)
	}
	var stats wire.AdminFields
	if err := json.Unmarshal(answer.Object, &stats); err != nil {
		return nil, fmt.Errorf("invalid answer: %w", err)
	}
	return stats.Fields, nil
}

// Number returns a numeric statistic, 0 if it is missing.
func (s Stat) Number(name string) float64 {
	n, _ := s.Fields[name].(float64)
	return n
}
