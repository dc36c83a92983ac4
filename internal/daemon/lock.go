package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
)

const lockName = "dc-daemon.lock"

// lockFolder creates folder if missing and locks it, so that only one daemon works in it. The
// kernel frees the lock when the process ends. The error names the process of another daemon.
func lockFolder(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder (data_dir): %w", err)
	}
	unlock, err = files.TryLockPID(filepath.Join(folder, lockName))
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("another daemon works in %s (%w); stop it, or give this one a data_dir of its own", folder, err)
	}
	return unlock, err
}
