package crawl

import (
	"errors"
	"sync"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire/counting"
)

// tally counts what a batch does, for the metrics of the daemon. Goroutines may share it.
type tally struct {
	mu     sync.Mutex
	counts counting.Tally // nil: nothing happened
}

func (t *tally) addCounts(count func(counting.Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = counting.Tally{}
	}
	count(t.counts)
}

// unsent are the faults of requests that were not sent.
var unsent = map[fetch.Kind]bool{fetch.Other: true, fetch.BadURL: true, fetch.Guard: true, fetch.Cancelled: true}

// countRequest counts a request with its redirects. response is nil after an error.
func (t *tally) countRequest(response *fetch.Response, err error) {
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
func (t *tally) countWait(wait time.Duration) {
	t.addCounts(func(counts counting.Tally) {
		counts[counting.Waits]++
		counts[counting.WaitMs] += max(wait, 0).Milliseconds()
	})
}

// countStored counts the errors of a chunk.
func (t *tally) countStored(chunk []*outcome) {
	for _, out := range chunk {
		if mask := out.item.url.ErrorMask; mask != 0 && !out.item.handedBack {
			t.addCounts(func(counts counting.Tally) { counts.Errors(mask) })
		}
	}
}
