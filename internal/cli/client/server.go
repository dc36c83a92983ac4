package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Server is where the daemon listens.
type Server struct {
	Host    string
	Port    int
	Timeout time.Duration // for one answer
	// Curve are the keys of this client and of the server; nil for a server
	// without.
	Curve *bus.Curve
}

// LongestTimeout bounds the wait for one answer.
const LongestTimeout = 24 * time.Hour

// ReadServer reads clientHost, clientPort and the keys from a section of an ini file.
// port is the default port. Errors are collected in the Err of the file.
func ReadServer(s *config.Section, port int64, timeout time.Duration) Server {
	return Server{
		Host:    strings.Trim(s.Text("clientHost", "127.0.0.1"), `"'`),
		Port:    int(s.Int("clientPort", port, 1, 65535)),
		Timeout: timeout,
		Curve:   readKeys(s),
	}
}

// Timeout reads the key timeout from a section of an ini file, in milliseconds.
func Timeout(s *config.Section) time.Duration {
	return s.Duration("timeout", time.Millisecond, 90*time.Second, time.Millisecond, LongestTimeout)
}

// errTimeout says that no answer came in time; a server that is down looks the
// same.
var errTimeout = errors.New("no answer in time")

// errKeys says that the server has refused the connection on account of keys.
var errKeys = errors.New("the keys do not fit")

// errAddress says that no connection can be made to such an address.
var errAddress = errors.New("wrong address")

// maxAnswer bounds the frame of an answer, in bytes. The daemon's own limit is
// for what it is asked.
const maxAnswer = 1 << 30

// ask sends e and waits for the answer with its uid.
func (s Server) ask(ctx context.Context, b *bus.Bus, e wire.Event) (wire.Event, error) {
	socket, err := b.Connect(bus.TCP(s.Host, s.Port), bus.Options{Linger: -1, MaxFrame: maxAnswer, Curve: s.Curve, Watch: true})
	if err != nil {
		return wire.Event{}, fmt.Errorf("%w: %w", errAddress, err)
	}
	defer socket.Close()
	if _, err := socket.Send(nil, e); err != nil {
		return wire.Event{}, s.why(err)
	}
	poller := bus.NewPoller(socket)
	deadline := time.Now().Add(s.Timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return wire.Event{}, errTimeout
		}
		if ctx.Err() != nil {
			return wire.Event{}, ctx.Err()
		}
		ready, err := poller.Wait(min(left, 100*time.Millisecond))
		if err != nil {
			return wire.Event{}, fmt.Errorf("client.ask: %w", err)
		}
		if len(ready) == 0 {
			continue
		}
		m, err := socket.Recv()
		switch {
		case errors.Is(err, bus.ErrNone):
		case err != nil:
			return wire.Event{}, s.why(err)
		case m.Event.UID == e.UID:
			return m.Event, nil
		}
	}
}

// why adds to the error of a socket where to look.
func (s Server) why(err error) error {
	if errors.Is(err, bus.ErrRefused) {
		return fmt.Errorf("%s:%d: %w: %w; %s", s.Host, s.Port, errKeys, err, s.keysHint())
	}
	return fmt.Errorf("client.ask: %w", err)
}

// noAnswer says in words that nothing came, and what may be the reason; within is
// "" or how long it was waited for. On this machine a daemon that wants keys says so
// at once, and nobody has to think of them.
func (s Server) noAnswer(within string) string {
	words := fmt.Sprintf("no answer from %s:%d%s; does dc-daemon run there?", s.Host, s.Port, within)
	if ip := net.ParseIP(s.Host); s.Curve != nil || s.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		words += " If it does, its keys may be the reason: " + s.keysHint()
	}
	return words
}

func (s Server) keysHint() string {
	if s.Curve == nil {
		return "the ini file has none (serverPublicKey, clientSecretKey)"
	}
	return "serverPublicKey must be the daemon's public key, and " + s.Curve.Public + " must stand in its allowedClients"
}
