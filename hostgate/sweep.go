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

// Sweep removes the files of hosts without a request for idle, at least
// politeness.MaxDelay, and returns their number. It skips hosts in use. It may run at any
// time: a process that has a removed file open notices that and creates a new one. Once a
// day is enough.
func (gs *Gates) Sweep(ctx context.Context, idle time.Duration) (removed int, err error) {
	before := time.Now().Add(-max(idle, politeness.MaxDelay))
	entries, err := os.ReadDir(gs.dir)
	if err != nil {
		return 0, fmt.Errorf("sweep host gates: %w", err)
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
		err = fmt.Errorf("sweep host gates: %w", errors.Join(errs...))
	}
	return removed, err
}

// sweepFile removes one file unless it is locked or was written after before. The locks on
// turnstile and door ensure that no process has a Pass or is about to get one.
func sweepFile(path string, before time.Time) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // drops the locks
	for _, at := range []int64{turnstile, door} {
		if ok, err := tryLock(f, at, exclusive); err != nil || !ok {
			return false, err
		}
	}
	info, err := f.Stat()
	if err != nil || !info.ModTime().Before(before) {
		return false, err
	}
	if gone, err := isUnlinked(f); err != nil || gone {
		return false, err
	}
	return true, os.Remove(path)
}
