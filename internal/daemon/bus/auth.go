package bus

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// authenticator decides about the keys of clients of one socket, and logs refusals.
type authenticator struct {
	allowed  Allower
	log      *slog.Logger
	throttle Throttle
}

// allowsClient checks the list. A list that panics refuses every client.
func (g *authenticator) allowsClient(public string) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
			g.logWarning("list of clients", "error", fmt.Sprint(r))
		}
	}()
	ok, err := g.allowed.Allowed(public)
	if err != nil {
		g.logWarning("list of clients", "error", err)
	}
	return ok
}

// logRefusal logs a refused client. The reason is one of a few constants.
func (g *authenticator) logRefusal(reason string, args ...any) {
	level := slog.LevelWarn
	if reason == errLeftEarly.reason { // port scans and health checks do that, too
		level = slog.LevelInfo
	}
	if n, ok := g.throttle.Allow(reason, time.Now()); ok {
		g.log.Log(context.Background(), level, "client refused", append(append([]any{"reason", reason}, args...), "unlogged", n)...)
	}
}

func (g *authenticator) logWarning(message string, args ...any) {
	if n, ok := g.throttle.Allow(message, time.Now()); ok {
		g.log.Warn(message, append(args, "unlogged", n)...)
	}
}

func isInterrupted(err error) bool { return zmq.AsErrno(err) == zmq.Errno(syscall.EINTR) }
