package crawl

import (
	"net/http"
	"testing"
	"time"

	"hce/dc/internal/crawl/fetch"
)

func TestTroubles(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	answer := func(code int, after string) *fetch.Response {
		r := &fetch.Response{Code: code, Header: http.Header{}}
		if after != "" {
			r.Header.Set("Retry-After", after)
		}
		return r
	}
	var all troubles
	steps := []struct {
		name, host string
		response   *fetch.Response
		kind       fetch.Kind
		want       time.Duration
	}{
		{"a page", "a", answer(200, "60"), fetch.None, 0},
		{"busy", "a", answer(503, ""), fetch.None, time.Second},
		{"busy again", "a", answer(429, "soon"), fetch.None, 2 * time.Second},
		{"another host", "b", answer(429, ""), fetch.None, time.Second},
		{"no answer", "a", nil, fetch.Timeout, 4 * time.Second},
		{"seconds", "a", answer(503, " 90 "), fetch.None, 90 * time.Second},
		{"a date", "a", answer(429, now.Add(time.Hour).Format(http.TimeFormat)), fetch.None, time.Hour},
		{"a date that is over", "a", answer(429, now.Add(-time.Hour).Format(http.TimeFormat)), fetch.None, 0},
		{"too long", "a", answer(429, "999999999"), fetch.None, 24 * time.Hour},
		{"below zero", "a", answer(429, "-5"), fetch.None, 64 * time.Second},
		{"not found", "a", answer(404, ""), fetch.None, 0},
		{"first again", "a", answer(503, ""), fetch.None, time.Second},
		{"refused", "a", nil, fetch.Connect, 0},
	}
	for _, s := range steps {
		if got := all.after(s.host, s.response, s.kind, time.Second, now); got != s.want {
			t.Errorf("%s: %v, want %v", s.name, got, s.want)
		}
	}
}
