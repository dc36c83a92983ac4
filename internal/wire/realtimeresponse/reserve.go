package realtimeresponse

import "time"

// Reserve returns the time that the last task of a batch has in addition to the limit of
// the earlier tasks: a quarter of limit, at least 1 and at most 10 seconds.
func Reserve(limit time.Duration) time.Duration {
	return min(max(limit/4, time.Second), 10*time.Second)
}
