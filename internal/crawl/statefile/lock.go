package statefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
)

const (
	lockSuffix      = ".lock"
	temporarySuffix = ".tmp"
)

// lock takes the lock of the state file at path. It creates the folder if missing.
func (f Files) lock(ctx context.Context, path string) (unlock func(), err error) {
	wait := f.MaxWait
	if wait <= 0 {
		wait = DefaultMaxWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	unlock, err = files.Lock(ctx, path+lockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
		unlock, err = files.Lock(ctx, path+lockSuffix)
	}
	return unlock, err
}
