package visit

import (
	"errors"
	"sync"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire/counting"
)

// Tally counts what a batch does, for the metrics of the daemon. Goroutines may share it.
type Tally struct {
	mu     sync.Mutex
	Counts counting.Tally // nil: nothing happened
}

func (t *Tally) addCounts(count func(counting.Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Counts == nil {
		t.Counts = counting.Tally{}
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
	t.addCounts(func(counts counting.Tally) {
		if response == nil {
			counts.Response(0)
			return
		}
		for _, hop := range response.Redirects {
			counts.Response(hop.Code)
		}
		counts.Response(response.Code)
		counts[counting.Bytes] += int64(len(response.Body))
		if response.Code > 0 && err == nil {
			counts.Latency(response.Total)
		}
	})
}

// countWait counts the wait for a host's gate.
func (t *Tally) countWait(wait time.Duration) {
	t.addCounts(func(counts counting.Tally) {
		counts[counting.Waits]++
		counts[counting.WaitMs] += max(wait, 0).Milliseconds()
	})
}

// CountStored counts the errors of a chunk.
func (t *Tally) CountStored(chunk []*item.Outcome) {
	for _, out := range chunk {
		if mask := out.Item.Row.ErrorMask; mask != 0 && !out.Item.HandedBack {
			t.addCounts(func(counts counting.Tally) { counts.Errors(mask) })
		}
	}
}
