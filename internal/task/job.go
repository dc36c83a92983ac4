package task

import (
	"context"
	"encoding/json"
	"errors"
)

// Job answers requests, one at a time and in the order they came.
type Job interface {
	// Run answers one request, which is always well-formed JSON and belongs to
	// the callee. The answer is marshalled to one line; a json.RawMessage is
	// passed on, compacted. When ctx ends Run should hand back what it has
	// soon: its answer is still written. An error made by Critical ends the
	// process with status 1; any other error becomes an error answer. So does a
	// panic, whose stack is logged.
	Run(ctx context.Context, request json.RawMessage) (answer any, err error)
}

// JobFunc lets a function be a Job.
type JobFunc func(ctx context.Context, request json.RawMessage) (any, error)

// Run calls f.
func (f JobFunc) Run(ctx context.Context, request json.RawMessage) (any, error) {
	return f(ctx, request)
}

// CriticalError marks an error after which no further answer of this process
// can be trusted: a broken configuration, database structure or permission.
type CriticalError struct{ Err error }

// Critical wraps err in a CriticalError. It returns nil for nil.
func Critical(err error) error {
	if err == nil {
		return nil
	}
	return &CriticalError{Err: err}
}

// Error is the text of the wrapped error.
func (e *CriticalError) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *CriticalError) Unwrap() error { return e.Err }

// isCritical tells whether err holds a CriticalError anywhere in its chain.
func isCritical(err error) bool {
	var c *CriticalError
	return errors.As(err, &c)
}
