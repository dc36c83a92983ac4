package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/merge"
)

const (
	smallAnswer = 32 << 10  // bytes that the loop merges itself, in about a millisecond
	maxMerging  = 256 << 20 // bytes of answers that are merged or wait for it
	mergers     = 4         // workers that merge at once
)

// merging is one answer to be merged.
type merging struct {
	from   manager.Peer
	event  wire.Event // the request, without its object
	answer wire.Event
	merger merge.Merger
}

// mergings are the answers that are too large to be merged by the loop.
type mergings struct {
	waiting []*merging
	running map[*merging]bool
	bytes   int
}

// finishMerge answers a request with the merged answers of several nodes. Large answers are merged
// by workers.
func (s *Service) finishMerge(m *merging) {
	switch size := len(m.answer.Object); {
	case size <= smallAnswer:
		raw, err := s.merge(m.merger, m.answer.Object)
		s.replyMerged(m, raw, err)
	case s.large.bytes+size > maxMerging:
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem(fmt.Sprintf("busy: %d bytes of answers wait to be merged", s.large.bytes)))
	default:
		s.large.bytes += size
		s.large.waiting = append(s.large.waiting, m)
		s.startMerging()
	}
}

// startMerging starts workers for waiting answers while it may.
func (s *Service) startMerging() {
	for len(s.large.waiting) > 0 && len(s.large.running) < mergers {
		m := s.large.waiting[0]
		s.large.waiting[0] = nil
		s.large.waiting = s.large.waiting[1:]
		s.large.running[m] = true
		work := s.merge
		manager.Work(s.Loop, func(context.Context) (json.RawMessage, error) {
			return work(m.merger, m.answer.Object)
		}, func(raw json.RawMessage, err error) {
			delete(s.large.running, m)
			s.large.bytes -= len(m.answer.Object)
			s.replyMerged(m, raw, err)
			s.startMerging()
		})
	}
}

// replyMerged answers with the merged answer, or with the unmerged one if merging has failed.
func (s *Service) replyMerged(m *merging, raw json.RawMessage, err error) {
	if err != nil {
		s.Log().Error("cannot merge answers", "uid", m.event.UID, "op", wire.Op(m.event.Type).String(), "error", err)
		raw = m.answer.Object
	}
	s.Reply(m.from, m.event, m.answer.Type, raw)
}

// refuseAll answers requests whose answers are not merged yet when the manager stops.
func (s *Service) refuseAll() {
	for _, m := range s.large.waiting {
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem("the daemon stops"))
	}
	for m := range s.large.running {
		s.Reply(m.from, m.event, m.answer.Type, wire.ErrorItem("the daemon stops"))
	}
}

// mergingOf prepares the merging of the answer to a request. It returns nil for a single node,
// and if the client refuses merging.
func (s *Service) mergingOf(from manager.Peer, op wire.Op, e wire.Event) *merging {
	if s.cfg.Nodes < 2 || !merge.Wanted(e.Cookie) {
		return nil
	}
	m := &merging{from: from, event: e, merger: merge.For(op, e.Object)}
	m.event.Object = nil
	return m
}

// mergeItems merges the items of a ClientResponse. Numbers keep all digits.
func mergeItems(m merge.Merger, object json.RawMessage) (json.RawMessage, error) {
	var response wire.ClientResponse
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&response); err != nil {
		return nil, fmt.Errorf("read answer to merge: %w", err)
	}
	raw, err := json.Marshal(m.Merge(response))
	if err != nil {
		return nil, fmt.Errorf("encode merged answer: %w", err)
	}
	return raw, nil
}
