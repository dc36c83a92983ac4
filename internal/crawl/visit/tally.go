package visit

import (
	"errors"
	"sync"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire"
)

// Tally counts what a batch does, for the metrics of the daemon. Goroutines may share it.
type Tally struct {
	mu     sync.Mutex
	Counts wire.Tally // nil: nothing happened
}

func (t *Tally) addCounts(count func(wire.Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Counts == nil {
		t.Counts = wire.Tally{}
	}
	count(t.Counts)
}

// unsent are the faults of requests that were not sent.
var unsent = map[fetch.Kind]bool{fetch.Other: true, fetch.BadURL: true, fetch.Guard: true, fetch.Cancelled: true}

// countRequest counts a request with its redirects. response is nil after an error.
func (t *Tally) countRequest(response *fetch.Response, err error) {
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && response == nil {
		response = fault.Partial
	}
	if response == nil && unsent[fetch.KindOf(err)] {
		return
	}
	t.addCounts(func(counts wire.Tally) {
		if response == nil {
			counts.Response(0)
			return
		}
		for _, hop := range response.Redirects {
			counts.Response(hop.Code)
		}
		counts.Response(response.Code)
		counts[wire.TallyBytes] += int64(len(response.Body))
		if response.Code > 0 && err == nil {
			counts.Latency(response.Total)
		}
	})
}

// countWait counts the wait for a host's gate.
func (t *Tally) countWait(wait time.Duration) {
	t.addCounts(func(counts wire.Tally) {
		counts[wire.TallyWaits]++
		counts[wire.TallyWaitMs] += max(wait, 0).Milliseconds()
	})
}

// CountStored counts the errors of a chunk.
func (t *Tally) CountStored(chunk []*item.Outcome) {
	for _, out := range chunk {
		if mask := out.Item.Row.ErrorMask; mask != 0 && !out.Item.HandedBack {
			t.addCounts(func(counts wire.Tally) { counts.Errors(mask) })
		}
	}
}
