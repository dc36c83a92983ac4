package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// lineFormat is the name of the log format "[HH:mm:ss.SSS] name [pid][thread]: TYPE: data".
const lineFormat = "line"

// lines is a slog.Handler that writes one line for each record in lineFormat. The time is that of the
// machine. The thread is the one that writes: Go moves its goroutines between threads.
type lines struct {
	out     io.Writer
	mu      *sync.Mutex
	options slog.HandlerOptions
	program string
	fixed   string // attributes of With
	groups  string
}

func newLines(program string) func(out io.Writer, o *slog.HandlerOptions) slog.Handler {
	return func(out io.Writer, o *slog.HandlerOptions) slog.Handler {
		return &lines{out: out, mu: &sync.Mutex{}, options: *o, program: program}
	}
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool {
	return l.options.Level == nil || level >= l.options.Level.Level()
}

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] %s [%d][%d]: %s: %s%s", r.Time.Format("15:04:05.000"), l.program, os.Getpid(), syscall.Gettid(), r.Level, plain(r.Message), l.fixed)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(l.text(a))
		return true
	})
	b.WriteByte('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.out, b.String())
	return err
}

// text returns " key=value". A value that could end the line, or hide where it ends, is quoted.
func (l *lines) text(a slog.Attr) string {
	if l.options.ReplaceAttr != nil {
		a = l.options.ReplaceAttr(nil, a)
	}
	value := a.Value.Resolve().String()
	if value == "" || strings.ContainsAny(value, " \"=") || plain(value) != value {
		value = strconv.Quote(value)
	}
	return " " + l.groups + a.Key + "=" + value
}

// plain quotes a text with control characters.
func plain(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return strconv.Quote(text)
	}
	return text
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(list []slog.Attr) slog.Handler {
	other := *l
	for _, a := range list {
		other.fixed += l.text(a)
	}
	return &other
}

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(name string) slog.Handler {
	other := *l
	if name != "" {
		other.groups += name + "."
	}
	return &other
}
