package hostgate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Next returns when a request to host with this delay could begin, and whether a request is
// in flight or has ended without a record of it. It is information for people: it takes no
// lock, and the record may change at once. For a host without requests it returns now.
func (gs *Gates) Next(host string, delay time.Duration, concurrency int, now time.Time) (at time.Time, inFlight bool, err error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	f, err := os.Open(filepath.Join(gs.dir, fileName(host)))
	if errors.Is(err, fs.ErrNotExist) {
		return now, false, nil
	}
	if err != nil {
		return now, false, fmt.Errorf("read gate of host %q: %w", host, err)
	}
	defer f.Close()
	state, fresh, err := readRecord(f)
	if err != nil {
		return now, false, fmt.Errorf("read gate of host %q: %w", host, err)
	}
	if fresh {
		return now, false, nil
	}
	inFlight = state.InFlight
	state = state.Settle(now)
	wait := state.Wait(now, delay)
	if concurrency > 1 {
		wait = state.WaitStart(now, delay)
	}
	return now.Add(wait), inFlight, nil
}
