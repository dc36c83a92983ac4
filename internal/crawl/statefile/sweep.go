package statefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/internal/files"
)

// Sweep removes the temporary files that killed processes left below folder, and returns their
// number. It skips files that a process changes now. A missing folder has none.
func Sweep(ctx context.Context, folder string) (removed int, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		of, found := temporaryOf(d.Name())
		if !found || d.IsDir() {
			return nil
		}
		unlock, err := files.TryLock(filepath.Join(filepath.Dir(path), of+lockSuffix))
		if errors.Is(err, files.ErrLocked) {
			return nil
		}
		if err != nil {
			return err
		}
		defer unlock()
		if err = os.Remove(path); err == nil {
			removed++
		}
		return files.IgnoreMissing(err)
	})
	return removed, err
}

// temporaryOf returns the state file that a temporary file of package files belongs to.
func temporaryOf(name string) (of string, found bool) {
	if of, found = strings.CutSuffix(name, temporarySuffix); found {
		return of, strings.HasSuffix(of, ".json")
	}
	of, hidden := strings.CutPrefix(name, ".")
	of = strings.TrimRight(of, "0123456789")
	return of, hidden && strings.HasSuffix(of, ".json") && len(of)+1 < len(name)
}
