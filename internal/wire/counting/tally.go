// Package counting counts the events of a batch by name, for the metrics of the daemon.
//
//	t := counting.Tally{}
//	t.Response(200)
//	t[counting.Bytes] += 1234
package counting

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire/errormask"
)

// Tally counts events of a batch by name. Tasks return it with the Batch, and the daemon adds it
// up for STAT and metrics. A nil Tally is empty; only Plus may add to it.
type Tally map[string]int64

// Names of counts. The names that end with a dot precede a class, a limit or an error bit:
// responses.2xx, latency.100, errors.HTTP_ERROR.
const (
	Responses = "responses."   // by class 1xx to 5xx; NoResponse for requests without one
	Bytes     = "bytes"        // of response bodies, decoded
	Latency   = "latency."     // requests with a response, by the smallest of LatencyLimits that is not exceeded, or LatencyMore
	LatencyMs = "latency_ms"   // sum
	Waits     = "gate_waits"   // permissions of hosts' gates
	WaitMs    = "gate_wait_ms" // sum of the times until they were given
	Errors    = "errors."      // URLs, by error bit
)

// Parts of names behind a dot.
const (
	NoResponse  = "none"
	LatencyMore = "more"
)

// LatencyLimits are the upper bounds of the counts of latencies, in ms.
var LatencyLimits = []int64{50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000}

// Response counts a response by its code; 0: there was none.
func (t Tally) Response(code int) {
	class := NoResponse
	if code >= 100 && code <= 599 {
		class = strconv.Itoa(code/100) + "xx"
	}
	t[Responses+class]++
}

// Latency counts a response by the time of its request.
func (t Tally) Latency(took time.Duration) {
	limit := LatencyMore
	if i, _ := slices.BinarySearch(LatencyLimits, took.Milliseconds()); i < len(LatencyLimits) {
		limit = strconv.FormatInt(LatencyLimits[i], 10)
	}
	t[Latency+limit]++
	t[LatencyMs] += took.Milliseconds()
}

// Errors counts a URL once for each of its error bits.
func (t Tally) Errors(mask errormask.Mask) {
	for _, b := range mask.Bits() {
		t[Errors+b.Name]++
	}
}

// Plus adds the counts of another Tally to t and returns t, or a new Tally if t is nil.
func (t Tally) Plus(other Tally) Tally {
	if t == nil {
		t = Tally{}
	}
	for name, n := range other {
		t[name] += n
	}
	return t
}

// Under returns the counts whose names begin with a prefix, by the rest of their names.
func (t Tally) Under(prefix string) map[string]int64 {
	part := map[string]int64{}
	for name, n := range t {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			part[rest] = n
		}
	}
	return part
}
