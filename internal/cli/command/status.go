package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hce/dc/internal/cli/plaintext"
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

// PrintError prints an error for a person, each line with the name of the program: nothing for nil and ErrWithErrors, which
// was reported.
func PrintError(talk io.Writer, name string, err error) {
	if err == nil || errors.Is(err, ErrWithErrors) {
		return
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(talk, "%s: %s\n", name, plaintext.CleanLines(line))
	}
}

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
