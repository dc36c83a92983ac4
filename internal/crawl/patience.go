package crawl

import (
	"net/http"
	"sync"
	"time"

	"hce/dc/internal/crawl/fetch"
)

const (
	// longestHold bounds Retry-After, as Crawl-delay is bounded.
	longestHold = 24 * time.Hour
	// backoffTimes bounds the gap after answers that say that the host is overloaded, but not for
	// how long. The gap begins with Config.Backoff and doubles.
	backoffTimes = 64
)

// troubles counts consecutive answers of a host that say it is overloaded. The zero value is ready
// to use. It is safe for concurrent use.
type troubles struct {
	mu    sync.Mutex
	hosts map[string]int
}

// after returns the pause that a host needs after an answer; 0 means its usual delay
// (RFC 9110 10.2.3; RFC 6585 4). first is the pause after the first such answer.
func (t *troubles) after(host string, response *fetch.Response, kind fetch.Kind, first time.Duration, now time.Time) time.Duration {
	busy := kind == fetch.Timeout
	if response != nil {
		busy = busy || response.Code == http.StatusTooManyRequests || response.Code == http.StatusServiceUnavailable
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !busy {
		delete(t.hosts, host)
		return 0
	}
	if t.hosts == nil {
		t.hosts = map[string]int{}
	}
	t.hosts[host]++
	if response != nil {
		if hold, ok := response.RetryAfter(now); ok {
			return min(hold, longestHold)
		}
	}
	return first * time.Duration(min(1<<min(t.hosts[host]-1, 30), backoffTimes))
}
