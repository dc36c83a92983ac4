package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// look is how often, at most, a log file looks whether it still has its name.
const look = time.Second

// Output is where a log goes: a file that follows its name, or a stream. It is
// safe for use by several goroutines.
type Output struct {
	mu     sync.Mutex
	path   string
	file   *os.File
	stream io.Writer // in the place of a file
	looked time.Time
	now    func() time.Time
}

// openOutput opens a file for appending; its folder is made if missing.
func openOutput(path string) (*Output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	o := &Output{path: path, now: time.Now}
	return o, o.Reopen()
}

// Write appends one record. A file that was moved away or removed meanwhile is
// left to who did it, and one of the old name begun, within a second at the latest.
func (o *Output) Write(record []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream != nil {
		return o.stream.Write(record)
	}
	if now := o.now(); now.Sub(o.looked).Abs() >= look {
		o.looked = now
		if !o.named() {
			_ = o.reopen() // else the old one goes on
		}
	}
	return o.file.Write(record)
}

// named reports whether the open file is the one of that name.
func (o *Output) named() bool {
	open, err := o.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(o.path)
	return err == nil && os.SameFile(open, there)
}

// Reopen opens the file of that name, at once; a stream stays as it is. After an
// error the old file goes on.
func (o *Output) Reopen() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream != nil {
		return nil
	}
	return o.reopen()
}

func (o *Output) reopen() error {
	file, err := os.OpenFile(o.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if o.file != nil {
		o.file.Close()
	}
	o.file, o.looked = file, o.now()
	return nil
}

// Close ends a file; a stream stays open.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.file.Close()
	}
}
