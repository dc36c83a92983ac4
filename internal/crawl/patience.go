package crawl

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/crawl/fetch"
)

const (
	// longestHold bounds what a host may ask for by Retry-After, as a Crawl-delay
	// is bounded.
	longestHold = 24 * time.Hour
	// backoffTimes bounds the gap after answers that say, without a time, that the
	// host cannot keep up. It begins with Config.Backoff and doubles.
	backoffTimes = 64
)

// troubles counts, for each host, the answers in a row that say it cannot keep
// up. The zero value is ready; it is safe for many goroutines.
type troubles struct {
	mu    sync.Mutex
	hosts map[string]int
}

// after gives how long a host is to be left alone after an answer, 0 for no
// longer than its delay (RFC 9110 10.2.3; RFC 6585 4). first is the back-off of
// the first answer in a row.
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
		if hold, told := retryAfter(response.Header.Get("Retry-After"), now); told {
			return min(hold, longestHold)
		}
	}
	return first * time.Duration(min(1<<min(t.hosts[host]-1, 30), backoffTimes))
}

// retryAfter reads the field's seconds or date.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}
