package subcommand

import (
	"errors"
	"fmt"
	"io"

	"hce/dc/internal/cli/command"
)

// output is the standard output of a run. It keeps the first error, so that no sub-command has to look
// at each line that it prints: a full disk must not end with status 0.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// firstFailure returns err, or the first error of the output if err says nothing about it.
func (o *output) firstFailure(err error) error {
	if o.err != nil && (err == nil || errors.Is(err, command.ErrWithErrors)) {
		return fmt.Errorf("write the output: %w", o.err)
	}
	return err
}

// InnerWriter returns the writer below an output.
func InnerWriter(w io.Writer) io.Writer {
	if o, is := w.(*output); is {
		return o.Writer
	}
	return w
}
