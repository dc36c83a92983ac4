package counting

import (
	"maps"
	"testing"
	"time"

	"hce/dc/internal/wire/errormask"
)

func TestTally(t *testing.T) {
	var sum Tally
	for range 2 {
		one := Tally{}
		for _, code := range []int{200, 204, 301, 404, 503, 0, 99, 600} {
			one.Response(code)
		}
		for _, ms := range []int64{0, 50, 51, 30_000, 30_001} {
			one.Latency(time.Duration(ms) * time.Millisecond)
		}
		one.Errors(errormask.HTTP | errormask.Robots)
		sum = sum.Plus(one)
	}
	want := Tally{
		"responses.2xx": 4, "responses.3xx": 2, "responses.4xx": 2, "responses.5xx": 2, "responses.none": 6,
		"latency.50": 4, "latency.100": 2, "latency.30000": 2, "latency.more": 2, "latency_ms": 2 * 60_102,
		"errors.HTTP_ERROR": 2, "errors.ROBOTS_NOT_ALLOW": 2,
	}
	if !maps.Equal(sum, want) {
		t.Errorf("%v, want %v", sum, want)
	}
	if bits := sum.Under(Errors); !maps.Equal(bits, map[string]int64{"HTTP_ERROR": 2, "ROBOTS_NOT_ALLOW": 2}) {
		t.Errorf("errors %v", bits)
	}
}
