package wire

import (
	"errors"
	"fmt"
)

// Error is an error with the operation that failed and a code from the
// catalogue of GeneralResponse. Codes are set once, where the meaning is known.
type Error struct {
	Op   string // package.Func
	Code int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf finds the code of err: 0 for nil, CodeFailed for an error without one.
func CodeOf(err error) int {
	if err == nil {
		return CodeOK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeFailed
}
