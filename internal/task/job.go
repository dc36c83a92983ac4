package task

import (
	"context"
	"encoding/json"
	"errors"
)

// Job answers requests. Main calls it with one request at a time.
type Job interface {
	// Run answers one request, which is valid JSON; Run may keep and change it. The answer
	// is encoded as one line; a json.RawMessage is compacted. If ctx ends, Run should return
	// soon with a partial answer, which is still written. A Critical error ends the process
	// with status 1. Any other error becomes an error answer, and so does a panic, whose
	// stack is logged.
	Run(ctx context.Context, request json.RawMessage) (answer any, err error)
}

// JobFunc is a function as a Job.
type JobFunc func(ctx context.Context, request json.RawMessage) (any, error)

// Run calls f.
func (f JobFunc) Run(ctx context.Context, request json.RawMessage) (any, error) {
	return f(ctx, request)
}

// CriticalError means that later answers of this process cannot be trusted, for example
// after an error of the database or the disk.
type CriticalError struct{ Err error }

// Critical wraps err in a CriticalError. It returns nil for nil.
func Critical(err error) error {
	if err == nil {
		return nil
	}
	return &CriticalError{Err: err}
}

// Error returns the text of the wrapped error.
func (e *CriticalError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *CriticalError) Unwrap() error { return e.Err }

// isCritical reports whether err wraps a CriticalError.
func isCritical(err error) bool {
	var c *CriticalError
	return errors.As(err, &c)
}
