package robotscache

import (
	"testing"
	"time"

	"hce/dc/internal/crawl/fetch"
)

// A file that is not available is asked for again after Retry; package crawl has the tests with servers.
func TestNewAnswer(t *testing.T) {
	now, got := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), &fetch.Response{Code: 200, Redirects: []fetch.Hop{{Code: 302}}}
	for name, c := range map[string]struct {
		fault error
		rules bool
		kept  time.Duration
	}{
		"whole":                    {nil, true, time.Hour},
		"error of the server":      {&fetch.Fault{Kind: fetch.TooLarge, Code: 500, Partial: got}, true, Retry},
		"broken coding":            {&fetch.Fault{Kind: fetch.BadEncoding, Code: 200, Partial: got}, true, time.Hour},
		"no answer":                {&fetch.Fault{Kind: fetch.Timeout}, false, Retry},
		"refused address":          {&fetch.Fault{Kind: fetch.Guard}, false, Retry},
		"redirect to such address": {&fetch.Fault{Kind: fetch.Guard, Partial: got}, true, time.Hour},
	} {
		if a := NewAnswer(got, c.fault, now, time.Hour); (a.Rules != nil) != c.rules || (a.Err == nil) != c.rules || a.Ends != now.Add(c.kept) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
