package browser

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxLimit bounds what Limits returns.
const maxLimit = 24 * time.Hour

// Limits splits an HTTPTimeout, in milliseconds, into the execution limit of a
// page and its damping, the wait after it has loaded. The whole seconds of it are
// the limit, the digits behind the decimal point are the damping in seconds:
// 30000.5 is a limit of 30 s and a damping of 5 s, 30000.12 one of 12 s.
// Milliseconds below a second belong to neither; less than a second is a limit of
// one. A damping that is not shorter than the limit is an error.
// Source: docs/spec/crawling.md 4.2.
func Limits(httpTimeout float64) (limit, damping time.Duration, err error) {
	if math.IsNaN(httpTimeout) || httpTimeout <= 0 || httpTimeout > float64(maxLimit/time.Millisecond) {
		return 0, 0, fmt.Errorf("HTTPTimeout %v is not a time between 0 and %d ms", httpTimeout, maxLimit/time.Millisecond)
	}
	limit = max(time.Duration(httpTimeout/1000), 1) * time.Second
	// The shortest text that means the number has the digits that were written.
	_, digits, _ := strings.Cut(strconv.FormatFloat(httpTimeout, 'f', -1, 64), ".")
	if digits != "" {
		seconds, err := strconv.Atoi(digits)
		if err != nil || seconds > int(maxLimit/time.Second) {
			return 0, 0, fmt.Errorf("HTTPTimeout %v asks for a damping of %s s", httpTimeout, digits)
		}
		damping = time.Duration(seconds) * time.Second
	}
	if damping >= limit {
		return 0, 0, fmt.Errorf("HTTPTimeout %v asks for a damping of %v, which its limit of %v leaves no room for", httpTimeout, damping, limit)
	}
	return limit, damping, nil
}
