// Package seedlog writes log lines in the format of the search engine of 2009: time, process, its id,
// thread, kind and data.
//
//	log := slog.New(seedlog.New(os.Stderr, "hce-webserver", slog.LevelInfo))
//	log.Info("request", seedlog.Thread(7), "path", "/index.html")
//	// [14:03:59.120] hce-webserver [4711][7]: INFO: request path=/index.html
//
// A goroutine has no number, so a program names the thread: that of a connection, or of a crawler. The
// main thread has none. An error of the system is followed by its number. Any program can use the
// handler: give it the output of config.Log.Open, which reopens a file that was moved, and its level:
//
//	_, level, out, err := app.Log.Open(os.Stderr)
//	log := slog.New(seedlog.New(out, app.Name, level))
package seedlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// threadKey is the key of the attribute with the number of the thread.
const threadKey = "thread"

// Thread returns the attribute with the number of the thread that writes a line.
func Thread(id int64) slog.Attr { return slog.Int64(threadKey, id) }

// Handler writes one line for each record, in one call of Write. Goroutines may share it.
type Handler struct {
	out    *output
	name   string
	level  slog.Leveler
	thread string
	attrs  string // written before those of a record
	group  string // prefix of keys
}

type output struct {
	mu sync.Mutex
	w  io.Writer
}

// New returns a handler that writes lines of a level or above to w.
func New(w io.Writer, name string, level slog.Leveler) *Handler {
	return &Handler{out: &output{w: w}, name: name, level: level}
}

// Enabled reports whether lines of the level are written.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// WithAttrs returns a handler that writes attributes in each line.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	var b strings.Builder
	for _, a := range attrs {
		n.writeAttr(&b, n.group, a)
	}
	n.attrs += b.String()
	return &n
}

// WithGroup returns a handler that writes "name." before keys.
func (h *Handler) WithGroup(name string) slog.Handler {
	n := *h
	if name != "" {
		n.group += name + "."
	}
	return &n
}

// Handle writes a record.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	line := *h // attributes may name the thread
	var data strings.Builder
	data.WriteString(oneLine(r.Message))
	data.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool { line.writeAttr(&data, h.group, a); return true })
	thread := ""
	if line.thread != "" {
		thread = "[" + line.thread + "]"
	}
	text := fmt.Sprintf("[%s] %s [%d]%s: %s: %s\n", r.Time.Format("15:04:05.000"), h.name, os.Getpid(), thread, levelName(r.Level), data.String())
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := io.WriteString(h.out.w, text)
	return err
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "DEBUG"
	case l < slog.LevelWarn:
		return "INFO"
	case l < slog.LevelError:
		return "WARN"
	}
	return "ERROR"
}

// writeAttr writes " key=value", or sets the thread.
func (h *Handler) writeAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	switch {
	case a.Key == threadKey:
		h.thread = oneLine(v.String())
		return
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			h.writeAttr(b, prefix, inner)
		}
		return
	case a.Equal(slog.Attr{}):
		return
	}
	text := v.String()
	if v.Kind() == slog.KindTime {
		text = v.Time().Format("2006-01-02T15:04:05.000Z07:00")
	}
	fmt.Fprintf(b, " %s=%s", oneLine(prefix+a.Key), quoteIfNeeded(text))
	if err, ok := v.Any().(error); ok {
		if number := syscall.Errno(0); errors.As(err, &number) {
			fmt.Fprintf(b, " errno=%d", int(number))
		}
	}
}

// quoteIfNeeded returns text, in quotes if it could be misread.
func quoteIfNeeded(text string) string {
	plain := text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool {
		return c == ' ' || c == '"' || c == '=' || !unicode.IsPrint(c)
	})
	if plain {
		return text
	}
	return strconv.Quote(text)
}

// oneLine returns text without control characters: nothing that is logged begins a new line.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return text
	}
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}
