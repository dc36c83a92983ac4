package browser

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxLimit is the highest HTTPTimeout.
const maxLimit = 24 * time.Hour

// Limits splits an HTTPTimeout, in milliseconds, into the time limit of a page and its
// damping, the wait after its load. The whole seconds are the limit. The digits behind the
// decimal point are the damping in seconds: 30000.5 is a limit of 30 s and a damping of 5
// s, 30000.12 a damping of 12 s. Milliseconds below one second are dropped; the limit is at
// least one second. A damping that is not shorter than the limit is an error. Source:
// docs/spec/crawling.md 4.2.
func Limits(httpTimeout float64) (limit, damping time.Duration, err error) {
	if math.IsNaN(httpTimeout) || httpTimeout <= 0 || httpTimeout > float64(maxLimit/time.Millisecond) {
		return 0, 0, fmt.Errorf("HTTPTimeout %v is not between 0 and %d ms", httpTimeout, maxLimit/time.Millisecond)
	}
	limit = max(time.Duration(httpTimeout/1000), 1) * time.Second
	// The shortest decimal form has the digits that the user wrote.
	_, digits, _ := strings.Cut(strconv.FormatFloat(httpTimeout, 'f', -1, 64), ".")
	if digits != "" {
		seconds, err := strconv.Atoi(digits)
		if err != nil || seconds > int(maxLimit/time.Second) {
			return 0, 0, fmt.Errorf("HTTPTimeout %v has an invalid damping of %s s", httpTimeout, digits)
		}
		damping = time.Duration(seconds) * time.Second
	}
	if damping >= limit {
		return 0, 0, fmt.Errorf("HTTPTimeout %v has a damping of %v, which is not shorter than its limit of %v", httpTimeout, damping, limit)
	}
	return limit, damping, nil
}
