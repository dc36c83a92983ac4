package hostgate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Sweep removes the files of hosts that had no request for idle, at least
// politeness.MaxDelay, and returns how many. Hosts in use are left alone, and a
// process that still has a removed file open will notice and make a new one. It
// may run at any time, beside any crawling process; once a day is enough.
func (gs *Gates) Sweep(ctx context.Context, idle time.Duration) (removed int, err error) {
	before := time.Now().Add(-max(idle, politeness.MaxDelay))
	entries, err := os.ReadDir(gs.dir)
	if err != nil {
		return 0, fmt.Errorf("hostgate.Sweep: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // removed by another sweep, or in use
		}
		ok, err := sweepFile(filepath.Join(gs.dir, e.Name()), before)
		if err != nil {
			errs = append(errs, err)
		}
		if ok {
			removed++
		}
	}
	if len(errs) > 0 {
		err = fmt.Errorf("hostgate.Sweep: %w", errors.Join(errs...))
	}
	return removed, err
}

// sweepFile removes one file unless it is locked or was written since before.
// With turnstile and door in hand nobody has a Pass or can be on the way to one.
func sweepFile(path string, before time.Time) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // and with it the locks
	for _, at := range []int64{turnstile, door} {
		if ok, err := tryLock(f, at, exclusive); err != nil || !ok {
			return false, err
		}
	}
	info, err := f.Stat()
	if err != nil || !info.ModTime().Before(before) {
		return false, err
	}
	if gone, err := unlinked(f); err != nil || gone {
		return false, err
	}
	return true, os.Remove(path)
}
