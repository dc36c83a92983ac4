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

// Next tells, for people to read, when a request to host with that delay could
// begin, as far as the host's record says, and whether one is under way or its
// end was not seen. It takes no lock and promises nothing; now is the answer for
// a host never asked.
func (gs *Gates) Next(host string, delay time.Duration, concurrency int, now time.Time) (at time.Time, inFlight bool, err error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	f, err := os.Open(filepath.Join(gs.dir, fileName(host)))
	if errors.Is(err, fs.ErrNotExist) {
		return now, false, nil
	}
	if err != nil {
		return now, false, fmt.Errorf("hostgate.Next: host %q: %w", host, err)
	}
	defer f.Close()
	state, fresh, err := readRecord(f)
	if err != nil {
		return now, false, fmt.Errorf("hostgate.Next: host %q: %w", host, err)
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
