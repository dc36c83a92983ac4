package command

import (
	"context"
	"errors"
	"fmt"
)

// Exit statuses. hce, dc-admin and dc-client --strict use all of them. Programs with an older contract
// use the same numbers as far as it allows (docs/errors.md).
const (
	ExitDone        = 0
	ExitErrors      = 1 // done, but something is not as it should be
	ExitRefused     = 2 // wrong arguments or values; nothing was changed
	ExitFailed      = 3 // no answer, or a failure of the machine
	ExitInterrupted = 4 // by Ctrl-C or SIGTERM
)

// ErrWithErrors means that the work is done, with errors that were already reported.
var ErrWithErrors = errors.New("done, with errors")

// Refusal is a mistake of the user.
type Refusal struct{ Err error }

func (r Refusal) Error() string { return r.Err.Error() }
func (r Refusal) Unwrap() error { return r.Err }

// Refuse returns a Refusal.
func Refuse(format string, args ...any) error { return Refusal{fmt.Errorf(format, args...)} }

// ExitOf returns the exit status of an error. Errors that it does not know are failures.
func ExitOf(err error) int {
	var refusal Refusal
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrWithErrors):
		return ExitErrors
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &refusal):
		return ExitRefused
	}
	return ExitFailed
}
