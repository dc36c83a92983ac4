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

	"hce/dc/internal/files"
)

// DefaultMaxRequest is the default of Options.MaxRequest: 256 MiB.
const DefaultMaxRequest = 256 << 20

// Exit statuses of a task program. Source: docs/spec/DECISIONS.md 1.5.
const (
	ExitTrusted  = 0 // every answer given can be trusted
	ExitCritical = 1 // fault of the machine, the database or the program; unreadable input; broken output
	ExitRequest  = 3 // critical failure that the request may have caused; 2 is a crash of Go's runtime
)

// keepBuffer is the largest answer buffer that is reused, so that one huge answer does not
// occupy memory until the process ends.
const keepBuffer = 1 << 20

// Options configure Main. All fields are optional.
type Options struct {
	Name       string    // prefix of the line that a critical error writes to Err
	In         io.Reader // requests; nil: os.Stdin
	Out        io.Writer // answers only; nil: os.Stdout
	Err        io.Writer // nil: os.Stderr
	MaxRequest int64     // most bytes of a request; 0: DefaultMaxRequest

	// ErrorAnswer returns the answer to a request that failed with err. For invalid input,
	// request is nil and err is an *InputError. nil: {"errorCode":1,"errorMessage":"..."}.
	ErrorAnswer func(request json.RawMessage, err error) any

	// Machine reports whether a critical error would meet every other request too. Its exit
	// status is then ExitCritical, otherwise ExitRequest. nil: every critical error would.
	Machine func(error) bool

	Log *slog.Logger // nil: no log
}

// Main answers every JSON value of o.In with one line on o.Out and returns the exit status
// of the process. It writes each answer with one Write, before it starts the next job, and
// answers a value without waiting for the next one.
//
// Invalid JSON gets an error answer with the byte offset. Main then continues behind the
// next newline, and the final status is ExitCritical. A value above MaxRequest gets an error
// answer and ends the loop, because its end is unknown. Empty input gives no answer and
// ExitTrusted.
//
// When ctx ends, Main writes the answer of the running job, starts no other job and
// returns, even if a read of o.In blocks. The reading goroutine then ends with that read. A
// critical error gives no answer.
func Main(ctx context.Context, job Job, o Options) int {
	o = o.withDefaults()

	// With Notify, a write to a closed stdout returns EPIPE. Without it, SIGPIPE ends the
	// process before it can log. Child processes do not inherit this, unlike an ignored
	// signal.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	stop := make(chan struct{})
	defer close(stop)
	requests := make(chan request)
	go readValues(newValues(o.In, o.MaxRequest), requests, stop)

	l := loop{Options: o, job: job}
	return l.runJobs(ctx, requests)
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

// plainErrorAnswer is the default of Options.ErrorAnswer.
func plainErrorAnswer(_ json.RawMessage, err error) any {
	return struct {
		Code    int    `json:"errorCode"`
		Message string `json:"errorMessage"`
	}{1, err.Error()}
}

// request is a value of the input, or an *InputError.
type request struct {
	value json.RawMessage
	err   error
}

// readValues sends the values of v until the input ends or stop is closed. It reads one value
// ahead of the job.
func readValues(v *values, to chan<- request, stop <-chan struct{}) {
	defer close(to)
	for {
		value, err := v.nextValue()
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
	line bytes.Buffer // the encoded answer
}

func (l *loop) runJobs(ctx context.Context, requests <-chan request) int {
	status := ExitTrusted
	for {
		if ctx.Err() != nil { // select would choose randomly if a request is ready too
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
		} else if err := files.ExplainFull(l.answerRequest(ctx, r.value), ""); err != nil {
			l.Log.Error("critical error", "op", "task.Main", "error", err)
			fmt.Fprintf(l.Err, "%s: %v\n", l.Name, err)
			if l.Machine != nil && !l.Machine(err) {
				return ExitRequest
			}
			return ExitCritical
		}
		if _, err := l.Out.Write(l.line.Bytes()); err != nil {
			l.Log.Error("cannot write the answer", "op", "task.Main", "error", err)
			fmt.Fprintf(l.Err, "%s: write the answer: %v\n", l.Name, err)
			return ExitCritical
		}
		if l.line.Cap() > keepBuffer {
			l.line = bytes.Buffer{}
		}
	}
}

// answerRequest runs the job and encodes its answer or its error in l.line. It returns critical
// errors only.
func (l *loop) answerRequest(ctx context.Context, value json.RawMessage) error {
	start := time.Now()
	err := l.runJob(ctx, value)
	if IsCritical(err) {
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

// runJob runs the job and encodes its answer. A panic becomes an error of this request.
func (l *loop) runJob(ctx context.Context, value json.RawMessage) (err error) {
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
	if err := l.encodeAnswer(answer); err != nil {
		return fmt.Errorf("answer cannot be written as JSON: %w", err)
	}
	return nil
}

// encodeAnswer writes answer to l.line. The encoder compacts raw messages and escapes control
// characters, so the result is one line.
func (l *loop) encodeAnswer(answer any) error {
	l.line.Reset()
	e := json.NewEncoder(&l.line)
	e.SetEscapeHTML(false)
	return e.Encode(answer)
}

// encodeError writes the error answer to l.line. If it cannot be encoded, it writes the
// plainErrorAnswer.
func (l *loop) encodeError(value json.RawMessage, err error) {
	if e := l.encodeAnswer(l.ErrorAnswer(value, err)); e != nil {
		l.Log.Error("error answer cannot be written as JSON", "op", "task.Main", "error", e)
		l.encodeAnswer(plainErrorAnswer(value, err)) // never fails
	}
}
