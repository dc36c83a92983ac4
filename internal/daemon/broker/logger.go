package broker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hce/dc/internal/daemon/bus"
)

// logger writes lines of the NATS server to slog. Lines that a peer can cause pass a throttle.
type logger struct {
	log      *slog.Logger
	throttle *bus.Throttle
}

func newLogger(log *slog.Logger) logger {
	return logger{log: log.With("manager", "broker"), throttle: &bus.Throttle{}}
}

// Noticef logs starts and stops as debug lines: the daemon has its own.
func (l logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }

// Warnf logs a warning.
func (l logger) Warnf(format string, v ...any) { l.line(slog.LevelWarn, format, v) }

// Errorf logs an error.
func (l logger) Errorf(format string, v ...any) { l.line(slog.LevelError, format, v) }

// Fatalf logs an error; the process continues, and StartServer returns an error.
func (l logger) Fatalf(format string, v ...any) { l.line(slog.LevelError, format, v) }

// Debugf logs nothing.
func (l logger) Debugf(string, ...any) {}

// Tracef logs nothing.
func (l logger) Tracef(string, ...any) {}

// line logs a line. Lines about a connection begin with its address, so all of a level are one
// kind of line for the throttle; a peer must not choose the kind.
func (l logger) line(level slog.Level, format string, v []any) {
	suppressed := 0
	if strings.Contains(format, " - cid:") || strings.Contains(format, "TLS") {
		n, ok := l.throttle.Allow(level.String(), time.Now())
		if !ok {
			return
		}
		suppressed, level = n, slog.LevelWarn
	}
	text := fmt.Sprintf(format, v...)
	if suppressed > 0 {
		l.log.Log(context.Background(), level, text, "suppressed", suppressed)
		return
	}
	l.log.Log(context.Background(), level, text)
}
