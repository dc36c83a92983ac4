package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/frontier"
	"hce/dc/internal/wire"
)

// A task program that dies was perhaps ended by one of its items. The batch keeps its rows, and
// runs them again in halves of halves, until the failing item dies alone: only that counts an
// attempt. The batch takes no slot meanwhile, and its sites wait; all others go on. Before it
// blames an item, the queue runs its program without items: a program that dies then is broken,
// and its items are cleared (docs/spec/DECISIONS.md 3.5).

const (
	// maxSuspect bounds the batches of a queue that are halved at the same time. The rows of
	// further ones are returned without an attempt.
	maxSuspect = 16
	// controlType is the task type, and so the lane, of runs without items.
	controlType = "control"
	// controlLimit bounds such a run.
	controlLimit = 30 * time.Second
	// alonePause is the pause after the first death without a success since. It doubles.
	alonePause = 200 * time.Millisecond
)

// suspects are the rows of a batch whose task died.
type suspects struct {
	died    bool            // the last task; not examined yet
	proven  bool            // the program runs without items since then
	reason  string          // of the last death
	groups  [][]wire.URLKey // to be run, in order
	current []wire.URLKey   // ran last; nil: all rows of the batch
	rows    map[wire.URLKey]json.RawMessage
	deaths  int   // since the last success of a group
	goods   int64 // successes of the queue when the batch died first
	cleared bool  // the task of the last run is deleted
}

// canHalve reports whether a batch whose task died can be halved.
func (q *queue) canHalve(b *batch) bool {
	n := 0
	for _, other := range q.batches {
		if other.suspects != nil && other != b {
			n++
		}
	}
	return q.again != nil && b.id != 0 && b.nodes <= 1 && n < maxSuspect && !q.Suspended()
}

// partRuns reports whether a part of another halved batch is submitted or runs.
func (q *queue) partRuns(b *batch) bool {
	for _, other := range q.batches {
		if other != b && other.suspects != nil && other.extra && other.stage <= over {
			return true
		}
	}
	return false
}

// suspectBatch notes the end of a task of a batch that is halved, or that dies for the first time.
func (q *queue) suspectBatch(b *batch, c cause) {
	if b.suspects == nil {
		b.suspects = &suspects{goods: q.goods}
	}
	s := b.suspects
	s.cleared, s.died, s.proven = false, c == died, false
	switch c {
	case died:
		s.deaths++
		s.reason = b.end.Reason
	case broken: // it was not the turn of these items
		s.groups = append(s.groups, s.current)
	case worked:
		s.deaths = 0
	}
}

// isolateStep does the next step of a batch that is halved.
func (q *queue) isolateStep(b *batch) {
	s := b.suspects
	switch {
	case q.Suspended():
		q.advanceStage(b, returning) // the next selection finds the item again
	case s.died && !s.proven:
		q.runControl(b)
	case s.died:
		q.halveRows(b)
	case !s.cleared:
		q.clearTask(b, func() {
			s.cleared = true
			q.isolateStep(b)
		})
	case len(s.groups) == 0:
		q.advanceStage(b, returning)
	case q.Now().Before(q.awake):
		b.busy, b.due = false, q.awake
	case q.partRuns(b): // they share one slot of the executor
		b.busy, b.due = false, q.Now().Add(alonePause)
	default:
		q.runGroup(b)
	}
}

// runControl runs the program without items. If that fails, too, the items are cleared.
func (q *queue) runControl(b *batch) {
	t := q.again(&batch{}, nil)
	t.ID, t.Type, t.TimeLimit = taskID(controlType, frontier.NewBatchID()), controlType, controlLimit
	manager.Work(q.Loop, func(ctx context.Context) (outcome, error) {
		results, err := q.Executor.Run(ctx, t)
		if err != nil {
			return outcome{}, err
		}
		if len(results) != 1 {
			return outcome{}, fmt.Errorf("%d nodes answered", len(results))
		}
		return q.read(results[0], false), nil
	}, func(o outcome, err error) {
		s := b.suspects
		switch {
		case errors.Is(err, executor.ErrClosed):
			return // the daemon stops
		case err == nil && o.isGood():
			s.proven = true
			if !b.extra { // its slot is free
				b.extra = true
				q.lookSoon()
			}
		case s.current == nil:
			q.pauseAfterFault(cmp.Or(o.Reason, fmt.Sprint(err)))
			q.advanceStage(b, returning)
			return
		default:
			q.pauseAfterFault(cmp.Or(o.Reason, fmt.Sprint(err)))
			s.died, s.groups = false, append(s.groups, s.current)
		}
		q.isolateStep(b)
	})
}

// halveRows divides the rows that the dead task held. A single one gets an attempt.
func (q *queue) halveRows(b *batch) {
	s := b.suspects
	request := q.returnRequest(b)
	request.Keep, request.URLs = true, s.current
	if len(s.current) == 1 {
		q.alone[s.current[0]] = true
		if q.goods == s.goods && len(q.alone) > 1 {
			// Several items die alone and nothing else succeeds: the program is broken.
			q.pauseAfterFault(s.reason)
			q.advanceStage(b, returning)
			return
		}
		request.Fault = true
	}
	q.tellNodes(wire.URLReturn, request, func(nodes []nodeAnswer, err error) {
		var rows map[wire.URLKey]json.RawMessage
		var keys []wire.URLKey
		if err == nil {
			keys, rows, err = heldRows(nodes)
		}
		if err != nil {
			q.Log().Error("cannot read the rows of a batch", "batch", b.id, "error", err)
			q.postponeStep(b)
			return
		}
		if s.rows == nil {
			s.rows = rows
		}
		s.died = false
		switch {
		case request.Fault:
			q.Log().Warn("the task program dies of one URL", "batch", b.id, "site", s.current[0].SiteID, "url", s.current[0].URLMd5,
				"reason", s.reason, "attempts_left", len(keys) > 0)
			if len(keys) > 0 {
				s.groups = append(s.groups, keys)
			}
		case len(keys) > 1:
			half := (len(keys) + 1) / 2
			s.groups = append(s.groups, keys[:half], keys[half:])
		case len(keys) == 1:
			s.groups = append(s.groups, keys)
		}
		if s.deaths > 1 { // the first halves start at once
			b.busy, b.due = false, q.Now().Add(min(alonePause<<min(s.deaths, 10), longestRest))
			return
		}
		q.isolateStep(b)
	})
}

// heldRows reads the answer to a URL_RETURN with Keep.
func heldRows(nodes []nodeAnswer) (keys []wire.URLKey, rows map[wire.URLKey]json.RawMessage, err error) {
	rows = map[wire.URLKey]json.RawMessage{}
	for _, node := range nodes {
		var answer struct {
			Statuses []json.RawMessage `json:"statuses"`
		}
		if err := json.Unmarshal(node.object, &answer); err != nil {
			return nil, nil, fmt.Errorf("cannot read the answer to URL_RETURN: %w", err)
		}
		for _, row := range answer.Statuses[min(1, len(answer.Statuses)):] {
			var k wire.URLKey
			if err := json.Unmarshal(row, &k); err != nil {
				return nil, nil, fmt.Errorf("cannot read a row of the answer to URL_RETURN: %w", err)
			}
			keys, rows[k] = append(keys, k), row
		}
	}
	return keys, rows, nil
}

// runGroup submits the next group of a batch that is halved, with the batch's id.
func (q *queue) runGroup(b *batch) {
	s := b.suspects
	s.current, s.groups = s.groups[0], s.groups[1:]
	items := make([]json.RawMessage, 0, len(s.current))
	for _, k := range s.current {
		item, err := json.Marshal(map[string]any{"siteId": k.SiteID, "urlId": k.URLMd5, "urlObj": s.rows[k], "properties": map[string]string{}, "depth": 0})
		if err == nil {
			items = append(items, item)
		}
	}
	b.urls, b.stage, b.end = len(items), submitting, outcome{}
	q.Log().Info("a part of a batch whose task died", "batch", b.id, "urls", b.urls, "parts_left", len(s.groups))
	q.submitBatch(b, q.again(b, items))
}
