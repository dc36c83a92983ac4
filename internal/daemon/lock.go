package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const lockName = "dc-daemon.lock"

// lock keeps a second daemon out of a data folder. The kernel frees it when the
// process ends, however that comes about.
type lock struct{ file *os.File }

// lockFolder takes the lock of folder, which it makes if missing. Another
// daemon's lock is an error that names its process.
func lockFolder(folder string) (*lock, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("daemon: data folder: %w", err)
	}
	path := filepath.Join(folder, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("daemon: lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("daemon: lock %s: %w", path, err)
		}
		pid, _ := io.ReadAll(io.LimitReader(f, 32))
		return nil, fmt.Errorf("another daemon works in %s: process %s", folder, strings.TrimSpace(string(pid)))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("daemon: lock %s: %w", path, err)
	}
	return &lock{f}, nil
}

// release frees the folder. The file stays: removing it would let two daemons
// hold locks on two files of the same name.
func (l *lock) release() { _ = l.file.Close() }
