// Package testlog records a log in tests.
//
//	var log testlog.Recorder
//	job := New(slog.New(slog.NewTextHandler(&log, nil)))
//	...
//	if log.Count("level=WARN") != 1 { ... }
package testlog

import (
	"bytes"
	"strings"
	"sync"
)

// Recorder is a log that a test reads while goroutines write to it. The zero value is ready.
type Recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends text to the log.
func (r *Recorder) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(text)
}

// String returns the log so far.
func (r *Recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Count returns the number of lines that contain all words.
func (r *Recorder) Count(words ...string) int {
	n := 0
	for line := range strings.Lines(r.String()) {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			n++
		}
	}
	return n
}
