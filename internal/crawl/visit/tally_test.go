package visit

import (
	"errors"
	"maps"
	"testing"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/counting"
	"hce/dc/internal/wire/errormask"
)

// Each response counts once, redirects and parts of responses too; requests that were not sent do
// not count.
func TestTally(t *testing.T) {
	hops := []fetch.Hop{{Code: 301}, {Code: 302}}
	for name, c := range map[string]struct {
		response *fetch.Response
		err      error
		want     counting.Tally
	}{
		"a page":         {&fetch.Response{Code: 200, Body: []byte("12345"), Total: 70 * time.Millisecond}, nil, counting.Tally{"responses.2xx": 1, "bytes": 5, "latency.100": 1, "latency_ms": 70}},
		"redirects":      {&fetch.Response{Code: 404, Redirects: hops}, nil, counting.Tally{"responses.3xx": 2, "responses.4xx": 1, "bytes": 0, "latency.50": 1, "latency_ms": 0}},
		"no answer":      {nil, &fetch.Fault{Kind: fetch.Timeout}, counting.Tally{"responses.none": 1}},
		"a part":         {nil, &fetch.Fault{Kind: fetch.Truncated, Partial: &fetch.Response{Code: 200, Body: []byte("12")}}, counting.Tally{"responses.2xx": 1, "bytes": 2}},
		"refused by us":  {nil, &fetch.Fault{Kind: fetch.Guard}, nil},
		"no URL":         {nil, &fetch.Fault{Kind: fetch.BadURL}, nil},
		"not of a fetch": {nil, errors.New("the batch ends"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got Tally
			got.countRequest(c.response, c.err)
			if !maps.Equal(got.Counts, c.want) {
				t.Errorf("%v, want %v", got.Counts, c.want)
			}
		})
	}
	var got Tally
	got.countWait(-time.Second) // a clock that was set back
	got.countWait(3 * time.Second)
	got.CountStored([]*item.Outcome{{Item: &item.Item{Row: wire.URL{ErrorMask: errormask.HTTP}}}, {Item: &item.Item{Row: wire.URL{ErrorMask: errormask.Robots}, HandedBack: true}}, {Item: &item.Item{}}})
	if want := (counting.Tally{"gate_waits": 2, "gate_wait_ms": 3000, "errors.HTTP_ERROR": 1}); !maps.Equal(got.Counts, want) {
		t.Errorf("%v, want %v", got.Counts, want)
	}
}
