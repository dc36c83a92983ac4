package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	lockSuffix      = ".lock"
	temporarySuffix = ".tmp"
)

// Pauses between two looks at a lock that another holds.
const (
	minPoll = 200 * time.Microsecond
	maxPoll = 20 * time.Millisecond
)

// lock takes the lock of the state at path. The kernel drops it when the process
// dies.
func (f Files) lock(ctx context.Context, path string) (unlock func(), err error) {
	wait := f.MaxWait
	if wait <= 0 {
		wait = DefaultMaxWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := minPoll; ; pause = min(pause+rand.N(pause), maxPoll) {
		file, err := tryLock(path + lockSuffix)
		if err != nil {
			return nil, err
		}
		if file != nil {
			return func() { file.Close() }, nil // which drops the lock
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, fmt.Errorf("%s is locked by another: %w", path, ctx.Err())
		}
	}
}

// tryLock opens and locks the file at path, or returns nil when another holds
// it. A blocking lock call could not be called off.
func tryLock(path string) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(path, flags, 0o640)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
		file, err = os.OpenFile(path, flags, 0o640)
	}
	if err != nil {
		return nil, err
	}
	err = flock(file)
	if err == nil {
		var named bool
		if named, err = isNamed(file, path); named {
			return file, nil
		}
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = nil
	}
	return nil, err
}

func flock(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isNamed reports whether path still names file: someone may have removed the
// lock file, and another made a new one.
func isNamed(file *os.File, path string) (bool, error) {
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
