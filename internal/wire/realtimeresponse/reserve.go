package realtimeresponse

import "time"

// Reserve is the time of a batch that its last stage has for itself, beside the
// limit of the stages before: a quarter, 1 to 10 seconds.
func Reserve(limit time.Duration) time.Duration {
	return min(max(limit/4, time.Second), 10*time.Second)
}
