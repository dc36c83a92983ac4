package statefile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/files"
)

const (
	// DefaultMaxSize is the size in bytes above which a file is broken.
	DefaultMaxSize = 16 << 20
	// DefaultMaxWait is how long Update waits for the lock.
	DefaultMaxWait = 10 * time.Second

	lockSuffix      = ".lock"
	temporarySuffix = ".tmp"
)

// Files configures how files are read and changed. The zero value is ready. Goroutines may
// share it.
type Files struct {
	// Durable syncs each change to disk before Update returns. Without it a crash of the
	// machine may lose the last changes; a kill of the process loses nothing.
	Durable bool

	// ReadOnly keeps the disk unchanged: Update changes only its value and takes no lock.
	ReadOnly bool

	Log     *slog.Logger  // nil is slog.Default
	MaxSize int64         // 0 is DefaultMaxSize
	MaxWait time.Duration // 0 is DefaultMaxWait
}

// Update reads the file at path into value, calls change, and writes value back. No other
// process updates the path meanwhile. value is a pointer; Update zeroes its target first,
// and leaves it zero if the file is missing or broken. It creates a missing folder. It does
// not write an unchanged value.
//
// It returns the error of change unwrapped, or an error of the file, of ctx, or of a lock
// that others held for MaxWait. The file is unchanged then.
func (f Files) Update(ctx context.Context, path string, value any, change func() error) error {
	if err := checkPath(path); err != nil {
		return fmt.Errorf("update state file: %w", err)
	}
	if f.ReadOnly {
		if err := f.Read(path, value); err != nil {
			return err
		}
		return change()
	}
	unlock, err := f.lockFile(ctx, path)
	if err != nil {
		return fmt.Errorf("update state file: %w", err)
	}
	defer unlock()
	old, err := f.loadFile(path, value)
	if broken := new(brokenError); errors.As(err, &broken) {
		err = f.moveAside(path, broken)
	}
	if err != nil {
		return fmt.Errorf("update state file: %w", err)
	}
	if err := change(); err != nil {
		return err
	}
	text, err := encodeLine(value)
	if err != nil {
		return fmt.Errorf("encode state file %s: %w", path, err)
	}
	if limit := cmp.Or(f.MaxSize, DefaultMaxSize); int64(len(text)) > limit {
		return fmt.Errorf("state file %s would have %d bytes; the limit is %d", path, len(text), limit)
	}
	if bytes.Equal(text, old) {
		return nil
	}
	write := files.WriteUnsynced
	if f.Durable {
		write = files.Write
	}
	if err := write(path, text, 0o600); err != nil {
		return fmt.Errorf("update state file: %w", err)
	}
	return nil
}

// Read reads the file at path into value. value is a pointer; Read zeroes its target first.
// A missing or broken file is not an error. A broken one is logged, and the next Update
// moves it aside.
func (f Files) Read(path string, value any) error {
	_, err := f.loadFile(path, value)
	if broken := new(brokenError); errors.As(err, &broken) {
		cmp.Or(f.Log, slog.Default()).Warn("state file is broken and counts as empty", "path", path, "error", broken.reason)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state file: %w", err)
	}
	return nil
}

// brokenError is the reason why the content of a file is unusable.
type brokenError struct{ reason string }

func (e *brokenError) Error() string { return e.reason }

// loadFile reads the file at path into value and returns its text, nil for a missing file.
func (f Files) loadFile(path string, value any) ([]byte, error) {
	target := reflect.ValueOf(value).Elem()
	target.SetZero()
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := readRegular(file, cmp.Or(f.MaxSize, DefaultMaxSize))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, value); err != nil {
		target.SetZero() // Unmarshal may have set some fields
		return nil, &brokenError{err.Error()}
	}
	return text, nil
}

// ReadBelow reads a regular file of at most limit bytes in a folder. It follows no link out of
// the folder.
func ReadBelow(folder, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readRegular(file, limit)
}

// readRegular reads and closes a regular file, which was opened with O_NONBLOCK: opening a
// named pipe must not block. The error is a brokenError if the file exceeds limit bytes.
func readRegular(file *os.File, limit int64) ([]byte, error) {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file.Name())
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &brokenError{fmt.Sprintf("the file exceeds %d bytes", limit)}
	}
	return text, err
}

// moveAside renames a broken file, so that people can inspect it.
func (f Files) moveAside(path string, broken *brokenError) error {
	aside := path + ".broken-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	cmp.Or(f.Log, slog.Default()).Warn("state file is broken; it is moved aside and starts empty", "path", path, "aside", aside, "error", broken.reason)
	return nil
}

// encodeLine returns value as one line of JSON.
func encodeLine(value any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // shorter and easier to read
	err := e.Encode(value)
	return text.Bytes(), err
}

// checkPath refuses paths that are reserved for lock and temporary files.
func checkPath(path string) error {
	if strings.HasSuffix(path, lockSuffix) || strings.HasSuffix(path, temporarySuffix) {
		return fmt.Errorf("%s: a state file cannot end in %s or %s", path, lockSuffix, temporarySuffix)
	}
	return nil
}

// lockFile takes the lock of the state file at path. It creates the folder if missing.
func (f Files) lockFile(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.MaxWait, DefaultMaxWait))
	defer cancel()
	unlock, err = files.Lock(ctx, path+lockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		unlock, err = files.Lock(ctx, path+lockSuffix)
	}
	return unlock, err
}
