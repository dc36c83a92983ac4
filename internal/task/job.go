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
	// with ExitCritical or ExitRequest. Any other error becomes an error answer, and so does a panic, whose
	// stack is logged.
	Run(ctx context.Context, request json.RawMessage) (answer any, err error)
}

// JobFunc is a function as a Job.
type JobFunc func(ctx context.Context, request json.RawMessage) (any, error)

// Run calls f.
func (f JobFunc) Run(ctx context.Context, request json.RawMessage) (any, error) {
	return f(ctx, request)
}

// critical is an error of Critical.
type critical struct{ error }

func (c critical) Unwrap() error { return c.error }

// Critical marks err: later answers of this process cannot be trusted, for example after an
// error of the database or the disk. It returns nil for nil.
func Critical(err error) error {
	if err == nil {
		return nil
	}
	return critical{err}
}

// IsCritical reports whether err wraps an error of Critical.
func IsCritical(err error) bool { return errors.As(err, new(critical)) }
