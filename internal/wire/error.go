package wire

import (
	"errors"
	"fmt"
)

// Error adds the failed operation and a code of GeneralResponse to an error. The function
// that knows the meaning of the error sets the code once.
type Error struct {
	Op   string // failed operation
	Code int    // CodeNotFound, CodeSQLError, ...
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err: CodeOK for nil, CodeFailed for an error without a code.
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
