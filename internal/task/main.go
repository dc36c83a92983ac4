package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// DefaultMaxRequest bounds one request when Options.MaxRequest is 0: 256 MiB.
const DefaultMaxRequest = 256 << 20

// Exit statuses of a task binary. Source: docs/spec/DECISIONS.md 1.5.
const (
	ExitTrusted  = 0 // every answer given can be trusted
	ExitCritical = 1 // critical failure, unreadable input, or broken output
)

// keepBuffer is the largest answer buffer kept from one answer to the next, so
// that one huge batch does not hold its memory for the life of the process.
const keepBuffer = 1 << 20

// Options are the surroundings of a task's loop; the zero value is a usable one.
type Options struct {
	Name       string    // begins the line written to Err on a critical error
	In         io.Reader // requests; nil is os.Stdin
	Out        io.Writer // answers and nothing else; nil is os.Stdout
	Err        io.Writer // the last words of a critical error; nil is os.Stderr
	MaxRequest int64     // bytes of one request; 0 is DefaultMaxRequest

	// ErrorAnswer makes the answer to a request whose job failed with err, or,
	// with a nil request, to input that is no JSON (err is an *InputError).
	// nil answers {"errorCode":1,"errorMessage":"..."}.
	ErrorAnswer func(request json.RawMessage, err error) any

	Log *slog.Logger // nil is silent
}

// Main answers every JSON value of o.In with one line on o.Out and returns the
// status the process should exit with. Each answer is written, with one call of
// Write, before the next job begins, and no value waits for the next one to
// arrive.
//
// Input that is no JSON gets an error answer with the byte offset; reading goes
// on behind the next newline and the status at the end is ExitCritical. A value
// beyond MaxRequest gets an error answer too, but ends the loop, since nobody
// knows where it ends. An empty input gives no answer and ExitTrusted.
//
// When ctx ends the running job may still hand back its answer, requests not
// yet begun get none, and Main returns even while a read of o.In blocks: the
// goroutine that reads then lives until that read returns, which for a process
// about to exit is no loss. A critical error gives no answer either, so that a
// starter never takes one from a process that cannot be trusted.
func Main(ctx context.Context, job Job, o Options) int {
	o = o.withDefaults()

	// Without this, a write to a closed standard output kills a Go process by
	// SIGPIPE before it can log or say status 1. Nobody reads the channel; to
	// have asked for the signal is what turns it into EPIPE. Unlike ignoring
	// it, asking is not inherited by child processes.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	stop := make(chan struct{})
	defer close(stop)
	requests := make(chan request)
	go read(newValues(o.In, o.MaxRequest), requests, stop)

	l := loop{Options: o, job: job}
	return l.run(ctx, requests)
}

func (o Options) withDefaults() Options {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = DefaultMaxRequest
	}
	if o.ErrorAnswer == nil {
		o.ErrorAnswer = plainErrorAnswer
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// plainErrorAnswer is the shape of an error where the caller names none.
func plainErrorAnswer(_ json.RawMessage, err error) any {
	return struct {
		Code    int    `json:"errorCode"`
		Message string `json:"errorMessage"`
	}{1, err.Error()}
}

// request is a value of the input, or the reason why there is none.
type request struct {
	value json.RawMessage
	err   error
}

// read hands the values of v over until the input ends or stop is closed. It
// reads one value ahead of the job.
func read(v *values, to chan<- request, stop <-chan struct{}) {
	defer close(to)
	for {
		value, err := v.next()
		if err == io.EOF {
			return
		}
		select {
		case to <- request{value, err}:
		case <-stop:
			return
		}
	}
}

// loop is the state of one Main.
type loop struct {
	Options
	job  Job
	line bytes.Buffer // the answer being made
}

func (l *loop) run(ctx context.Context, requests <-chan request) int {
	status := ExitTrusted
	for {
		// A closed ctx must win over a request that is ready as well.
		if ctx.Err() != nil {
			return status
		}
		var r request
		var more bool
		select {
		case <-ctx.Done():
			return status
		case r, more = <-requests:
			if !more {
				return status
			}
		}
		if r.err != nil {
			l.Log.Warn("unreadable input", "op", "task.Main", "error", r.err)
			status = ExitCritical
			l.encodeError(nil, r.err)
		} else if err := l.answer(ctx, r.value); err != nil {
			l.Log.Error("critical error", "op", "task.Main", "error", err)
			fmt.Fprintf(l.Err, "%s: %v\n", l.Name, err)
			return ExitCritical
		}
		if _, err := l.Out.Write(l.line.Bytes()); err != nil {
			l.Log.Error("cannot write the answer", "op", "task.Main", "error", err)
			return ExitCritical
		}
		if l.line.Cap() > keepBuffer {
			l.line = bytes.Buffer{}
		}
	}
}

// answer runs the job and leaves one line in l.line. Only a critical error is
// returned.
func (l *loop) answer(ctx context.Context, value json.RawMessage) error {
	start := time.Now()
	err := l.attempt(ctx, value)
	if isCritical(err) {
		return err
	}
	if err != nil {
		l.Log.Warn("request failed", "op", "task.Main", "ms", time.Since(start).Milliseconds(), "error", err)
		l.encodeError(value, err)
		return nil
	}
	l.Log.Debug("request answered", "op", "task.Main", "ms", time.Since(start).Milliseconds())
	return nil
}

var errPanic = errors.New("internal error")

// attempt runs the job and marshals its answer. Both may panic on hostile
// input: that is the error of this one request.
func (l *loop) attempt(ctx context.Context, value json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.Log.Error("job panicked", "op", "task.Main", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	answer, err := l.job.Run(ctx, value)
	if err != nil {
		return err
	}
	if err := l.encode(answer); err != nil {
		return fmt.Errorf("answer cannot be written as JSON: %w", err)
	}
	return nil
}

// encode leaves answer as one line in l.line. The encoder compacts raw
// messages and escapes every control character, so a line is what it is.
func (l *loop) encode(answer any) error {
	l.line.Reset()
	e := json.NewEncoder(&l.line)
	e.SetEscapeHTML(false) // pages are full of it, and no browser reads this
	return e.Encode(answer)
}

// encodeError leaves the error answer in l.line, in the plain shape when the
// caller's own cannot be marshalled.
func (l *loop) encodeError(value json.RawMessage, err error) {
	if e := l.encode(l.ErrorAnswer(value, err)); e != nil {
		l.Log.Error("error answer cannot be written as JSON", "op", "task.Main", "error", e)
		l.encode(plainErrorAnswer(value, err)) // two plain fields: cannot fail
	}
}
