package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// checkInterval is the shortest time between two checks whether a log file was moved.
const checkInterval = time.Second

// Output is the destination of a log: a file, which may be rotated, or a stream. Safe for
// concurrent use.
type Output struct {
	mu      sync.Mutex
	path    string
	file    *os.File
	stream  io.Writer // nil: file
	checked time.Time // when Write last checked the file
	now     func() time.Time
}

// openOutput opens a file for appending. It creates the folder.
func openOutput(path string) (*Output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	o := &Output{path: path, now: time.Now}
	return o, o.Reopen()
}

// Write appends one record. If the file was moved or removed, it opens a new file with the
// same name, at most checkInterval later.
func (o *Output) Write(record []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream != nil {
		return o.stream.Write(record)
	}
	if now := o.now(); now.Sub(o.checked).Abs() >= checkInterval {
		o.checked = now
		if !o.inPlace() {
			_ = o.reopen() // after an error, write to the old file
		}
	}
	return o.file.Write(record)
}

// inPlace reports whether the open file is still at path.
func (o *Output) inPlace() bool {
	open, err := o.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(o.path)
	return err == nil && os.SameFile(open, there)
}

// Reopen opens the file at path again. After an error the old file stays in use. It does
// nothing for a stream.
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
		return fmt.Errorf("open log: %w", err)
	}
	if o.file != nil {
		o.file.Close()
	}
	o.file, o.checked = file, o.now()
	return nil
}

// Close closes the file. It does not close a stream.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.file.Close()
	}
}
