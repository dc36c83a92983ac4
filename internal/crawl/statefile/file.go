package statefile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/files"
)

const (
	// DefaultMaxSize is the size in bytes above which a file counts as broken.
	DefaultMaxSize = 16 << 20
	// DefaultMaxWait is how long a change waits for the lock.
	DefaultMaxWait = 10 * time.Second
)

// Files says how files are read and changed. The zero value is ready; any number
// of goroutines may share one.
type Files struct {
	// Durable also brings each change to the disk before Update returns. Without
	// it a crash of the machine, though no kill of a process, may lose the last
	// changes.
	Durable bool

	// ReadOnly leaves the disk as it is: what Update changes is in its value alone,
	// and no lock is taken.
	ReadOnly bool

	Log     *slog.Logger  // nil is slog.Default
	MaxSize int64         // 0 is DefaultMaxSize
	MaxWait time.Duration // 0 is DefaultMaxWait
}

// Update is Files.Update of the zero Files.
func Update(ctx context.Context, path string, value any, change func() error) error {
	return Files{}.Update(ctx, path, value, change)
}

// Read is Files.Read of the zero Files.
func Read(path string, value any) error { return Files{}.Read(path, value) }

// Update reads the file at path into value, calls change, and writes value back,
// with no other Update of that path between, in any process. Value is a pointer;
// what it points to is emptied first, and stays empty when there is no file yet
// or the file is broken. The folder is made when missing. What change leaves
// equal is not written.
//
// The error is that of change, as it is; or one of the file, of the context, or
// of a lock that others held for MaxWait. Then the file is as it was.
func (f Files) Update(ctx context.Context, path string, value any, change func() error) error {
	if err := checkPath(path); err != nil {
		return fmt.Errorf("statefile.Update: %w", err)
	}
	if f.ReadOnly {
		if err := f.Read(path, value); err != nil {
			return err
		}
		return change()
	}
	unlock, err := f.lock(ctx, path)
	if err != nil {
		return fmt.Errorf("statefile.Update: %w", err)
	}
	defer unlock()
	old, err := f.load(path, value)
	if broken := new(brokenError); errors.As(err, &broken) {
		err = f.moveAside(path, broken)
	}
	if err != nil {
		return fmt.Errorf("statefile.Update: %w", err)
	}
	if err := change(); err != nil {
		return err
	}
	text, err := encode(value)
	if err != nil {
		return fmt.Errorf("statefile.Update: %s: %w", path, err)
	}
	if int64(len(text)) > f.maxSize() {
		return fmt.Errorf("statefile.Update: %s would grow to %d bytes, more than %d", path, len(text), f.maxSize())
	}
	if bytes.Equal(text, old) {
		return nil
	}
	write := files.WriteUnsynced
	if f.Durable {
		write = files.Write
	}
	if err := write(path, text, 0o640); err != nil {
		return fmt.Errorf("statefile.Update: %w", err)
	}
	return nil
}

// Read reads the file at path into value, which is a pointer; what it points to
// is emptied first. A missing file is no error, nor is a broken one: that is
// warned of, and the next Update moves it aside.
func (f Files) Read(path string, value any) error {
	_, err := f.load(path, value)
	if broken := new(brokenError); errors.As(err, &broken) {
		f.log().Warn("a state file cannot be read and counts as empty", "path", path, "error", broken.reason)
		return nil
	}
	if err != nil {
		return fmt.Errorf("statefile.Read: %w", err)
	}
	return nil
}

// brokenError says why the content of a file is of no use.
type brokenError struct{ reason string }

func (e *brokenError) Error() string { return e.reason }

// load reads the file at path into value and returns its text; none for a
// missing file.
func (f Files) load(path string, value any) ([]byte, error) {
	target := reflect.ValueOf(value).Elem()
	target.SetZero()
	// A pipe in the place of the file must not stop us: it opens at once.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a plain file", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, f.maxSize()+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > f.maxSize() {
		return nil, &brokenError{fmt.Sprintf("the file is bigger than %d bytes", f.maxSize())}
	}
	if err := json.Unmarshal(text, value); err != nil {
		target.SetZero() // it may be half filled
		return nil, &brokenError{err.Error()}
	}
	return text, nil
}

// moveAside keeps a broken file under another name for who wants to look at it.
func (f Files) moveAside(path string, broken *brokenError) error {
	aside := path + ".broken-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	f.log().Warn("a state file cannot be read; it is moved aside and begins anew", "path", path, "aside", aside, "error", broken.reason)
	return nil
}

// encode writes value as one line of JSON.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // for size, and for who reads it
	err := e.Encode(value)
	return text.Bytes(), err
}

// checkPath refuses the names of files that serve others.
func checkPath(path string) error {
	if strings.HasSuffix(path, lockSuffix) || strings.HasSuffix(path, temporarySuffix) {
		return fmt.Errorf("%s: a state file cannot end in %s or %s", path, lockSuffix, temporarySuffix)
	}
	return nil
}

func (f Files) maxSize() int64 {
	if f.MaxSize <= 0 {
		return DefaultMaxSize
	}
	return f.MaxSize
}

func (f Files) log() *slog.Logger {
	if f.Log == nil {
		return slog.Default()
	}
	return f.Log
}
