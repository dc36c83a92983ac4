package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is the error of TryLock and TryShare when another holder has the lock.
var ErrLocked = errors.New("locked by another process")

// Pauses between two attempts to take a lock.
const (
	minPause = 200 * time.Microsecond
	maxPause = 20 * time.Millisecond
)

// Lock takes the exclusive lock of the file at path and waits for other holders, in this
// and other processes. It creates the file with mode 0600; the folder must exist. It does
// not follow a symbolic link. The kernel frees the lock when the process dies. unlock
// frees it and keeps the file, since a removed lock file would have two holders at once.
//
// The error wraps that of ctx if ctx ends first.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	return waitForLock(ctx, path, TryLock)
}

// Share is Lock for a shared lock: many may hold it, but none together with an exclusive one.
func Share(ctx context.Context, path string) (unlock func(), err error) {
	return waitForLock(ctx, path, TryShare)
}

func waitForLock(ctx context.Context, path string, try func(string) (func(), error)) (unlock func(), err error) {
	for pause := minPause; ; pause = min(pause+rand.N(pause), maxPause) {
		unlock, err := try(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		}
	}
}

// TryLock is Lock without a wait. The error wraps ErrLocked if another holder exists.
func TryLock(path string) (unlock func(), err error) {
	return tryLock(path, (*flock.Flock).TryLock)
}

// TryLockPID is TryLock that writes the id of this process into the file. The error of a
// lock with another holder names the process of that holder.
func TryLockPID(path string) (unlock func(), err error) {
	unlock, err = TryLock(path)
	if errors.Is(err, ErrLocked) {
		pid, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: process %.20s", err, bytes.TrimSpace(pid))
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// TryShare is TryLock for a shared lock: many may hold it, but none together with an
// exclusive one.
func TryShare(path string) (unlock func(), err error) {
	return tryLock(path, (*flock.Flock).TryRLock)
}

func tryLock(path string, take func(*flock.Flock) (bool, error)) (unlock func(), err error) {
	// O_NONBLOCK: opening a named pipe must not block.
	flags := os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file := flock.New(path, flock.SetFlag(flags), flock.SetPermissions(0o600))
	taken, err := take(file)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !taken {
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	current, err := isCurrent(file, path)
	if err == nil && current {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if err == nil { // the next attempt opens the new file
		err = ErrLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// isCurrent reports whether path still names the locked file. Another process may have
// removed the file, and a third one may have created a new one.
func isCurrent(file *flock.Flock, path string) (bool, error) {
	held, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, named), err
}
