package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	fields := map[string]any{}
	for _, name := range names {
		fields[name] = nil
	}
	all := make([]Stat, len(classes))
	events := make([]wire.Event, len(classes))
	for i, class := range classes {
		all[i] = Stat{Class: class, Err: errTimeout}
		events[i] = adminEvent(wire.AdminStat, wire.AdminFields{ClassName: class, Fields: fields})
	}
	err := s.exchangeEvents(ctx, b, events, func(i int, answer wire.Event) { all[i].Fields, all[i].Err = statFields(answer) })
	if err != nil && !errors.Is(err, errTimeout) {
		return nil, err
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
