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
	gate     *gate
}

func newLogger(log *slog.Logger, g *gate) logger {
	return logger{log: log.With("manager", "broker"), throttle: &bus.Throttle{}, gate: g}
}

// Noticef logs starts and stops as debug lines: the daemon has its own.
func (l logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }

// Warnf logs a warning.
func (l logger) Warnf(format string, v ...any) { l.logLine(slog.LevelWarn, format, v) }

// Errorf logs an error.
func (l logger) Errorf(format string, v ...any) { l.logLine(slog.LevelError, format, v) }

// Fatalf logs an error; the process continues, and StartServer returns an error.
func (l logger) Fatalf(format string, v ...any) { l.logLine(slog.LevelError, format, v) }

// Debugf logs nothing but a peer that does not begin with TLS: for the server such a peer is a mere
// probe. It runs in the goroutine of the connection, before that is closed, so it slows the peer down
// as other refusals do.
func (l logger) Debugf(format string, v ...any) {
	if peer, _, is := strings.Cut(format, " - cid:"); is && strings.Contains(format, "TLS handshake error") {
		l.gate.refusePeer(peer, "no TLS, or no end of its handshake; a node needs a join file: dc-admin node add NAME")
	}
}

// Tracef logs nothing.
func (l logger) Tracef(string, ...any) {}

// logLine logs a line. Lines about a connection begin with its address, so they are two kinds of a level
// for the throttle: failed handshakes and all others. A peer cannot make more kinds.
func (l logger) logLine(level slog.Level, format string, v []any) {
	suppressed := 0
	if strings.Contains(format, " - cid:") || strings.Contains(format, "TLS") {
		kind := level.String()
		if strings.Contains(format, "TLS handshake error") {
			kind = "handshake"
		}
		n, ok := l.throttle.Allow(kind, time.Now())
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
