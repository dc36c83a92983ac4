package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

const (
	// smallAnswer is up to where the loop merges by itself, in bytes: about a
	// millisecond. Larger answers would hold up everybody else's.
	smallAnswer = 32 << 10
	// maxMerging bounds the answers that are merged or wait for it, in bytes.
	maxMerging = 256 << 20
	// mergers bounds the workers that merge at once.
	mergers = 4
)

// merging is one answer on its way through a worker.
type merging struct {
	from   manager.Peer
	event  wire.Event // the request, without its object
	answer wire.Event
	merger merge.Merger
}

// mergings are the answers that are too large for the loop to merge.
type mergings struct {
	waiting []*merging
	running map[*merging]bool
	bytes   int
}

// finish gives a client the answer to its request, merged when it wants that and
// there are several nodes. A single node's answer goes on as it came, unread.
func (s *Service) finish(m *merging) {
	switch size := len(m.answer.Object); {
	case size <= smallAnswer:
		s.Reply(m.from, m.event, m.answer.Type, s.mergedOr(m, s.merge))
	case s.large.bytes+size > maxMerging:
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem(fmt.Sprintf("busy: %d bytes of answers wait to be merged", s.large.bytes)))
	default:
		s.large.bytes += size
		s.large.waiting = append(s.large.waiting, m)
		s.startMerging()
	}
}

// startMerging gives what waits to workers, as many as may run.
func (s *Service) startMerging() {
	for len(s.large.waiting) > 0 && len(s.large.running) < mergers {
		m := s.large.waiting[0]
		s.large.waiting[0] = nil
		s.large.waiting = s.large.waiting[1:]
		// By a channel, not by a report: a report of such a size would be read by
		// the loop from its first byte to its last.
		done, work := make(chan json.RawMessage, 1), s.merge
		_, err := s.Go(func(context.Context, *manager.Reporter) error {
			done <- s.mergedOr(m, work)
			return nil
		}, func(err error) { s.mergingEnded(m, done, err) })
		s.large.running[m] = true
		if err != nil { // no socket for a worker
			s.mergingEnded(m, done, err)
		}
	}
}

func (s *Service) mergingEnded(m *merging, done <-chan json.RawMessage, err error) {
	delete(s.large.running, m)
	s.large.bytes -= len(m.answer.Object)
	if err != nil {
		s.Log().Error("answers not merged", "uid", m.event.UID, "op", wire.Op(m.event.Type).String(), "error", err)
		s.Reply(m.from, m.event, m.answer.Type, m.answer.Object)
	} else {
		s.Reply(m.from, m.event, m.answer.Type, <-done)
	}
	s.startMerging()
}

// lastWords answers those whose answers are not merged yet.
func (s *Service) lastWords() {
	for _, m := range s.large.waiting {
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem("the daemon stops"))
	}
	for m := range s.large.running {
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem("the daemon stops"))
	}
}

// mergedOr merges, or gives the nodes' answers as they came when that fails. It
// touches nothing of the loop.
func (s *Service) mergedOr(m *merging, work func(merge.Merger, json.RawMessage) (json.RawMessage, error)) json.RawMessage {
	merged, err := work(m.merger, m.answer.Object)
	if err != nil {
		s.Log().Error("answers not merged", "uid", m.event.UID, "op", wire.Op(m.event.Type).String(), "error", err)
		return m.answer.Object
	}
	return merged
}

// mergingOf prepares the merging of the answer to a request; nil when there is
// one node, or when the client does not want it.
func (s *Service) mergingOf(from manager.Peer, op wire.Op, e wire.Event) *merging {
	if s.cfg.Nodes < 2 || !wantsMerging(e.Cookie) {
		return nil
	}
	m := &merging{from: from, event: e, merger: merge.For(op, e.Object)}
	m.event.Object = nil
	return m
}

// merged merges the items of a ClientResponse. Numbers of items keep all digits.
func merged(m merge.Merger, object json.RawMessage) (json.RawMessage, error) {
	var response wire.ClientResponse
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&response); err != nil {
		return nil, fmt.Errorf("clients.merged: %w", err)
	}
	raw, err := json.Marshal(m.Merge(response))
	if err != nil {
		return nil, fmt.Errorf("clients.merged: %w", err)
	}
	return raw, nil
}

// wantsMerging reads the cookie MERGE_RESULTS: 0 and false, as JSON or as text,
// say no; anything else and its absence say yes (docs/spec/objects.md 6.4).
func wantsMerging(cookie map[string]json.RawMessage) bool {
	switch strings.ToLower(string(cookie["MERGE_RESULTS"])) {
	case `0`, `"0"`, `false`, `"false"`:
		return false
	}
	return true
}
