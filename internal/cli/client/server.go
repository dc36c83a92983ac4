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
	Curve   *bus.Curve    // keys of this client and of the server; nil for none
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

var (
	errTimeout = errors.New("no answer in time") // also if the server is down
	errKeys    = errors.New("the keys do not fit")
	errAddress = errors.New("wrong address")
)

// maxAnswer limits the frame of an answer, in bytes. The daemon limits requests only.
const maxAnswer = 1 << 30

// ask sends e and waits for the answer with its uid.
func (s Server) ask(ctx context.Context, b *bus.Bus, e wire.Event) (wire.Event, error) {
	socket, err := b.Connect(bus.TCP(s.Host, s.Port), bus.Options{Linger: -1, MaxFrame: maxAnswer, Curve: s.Curve, Watch: true})
	if err != nil {
		return wire.Event{}, fmt.Errorf("%w: %w", errAddress, err)
	}
	defer socket.Close()
	if _, err := socket.Send(nil, e); err != nil {
		return wire.Event{}, s.explain(err)
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
			return wire.Event{}, fmt.Errorf("wait for the answer: %w", err)
		}
		if len(ready) == 0 {
			continue
		}
		m, err := socket.Recv()
		switch {
		case errors.Is(err, bus.ErrNone):
		case err != nil:
			return wire.Event{}, s.explain(err)
		case m.Event.UID == e.UID:
			return m.Event, nil
		}
	}
}

// explain adds to the error of a socket what the user can do.
func (s Server) explain(err error) error {
	if errors.Is(err, bus.ErrRefused) {
		return fmt.Errorf("%s:%d: %w: %w; %s", s.Host, s.Port, errKeys, err, s.keysHint())
	}
	return fmt.Errorf("talk to %s:%d: %w", s.Host, s.Port, err)
}

// noAnswer is the message for a missing answer; within is empty or the waiting time. It
// suggests to check the keys, except for a client without keys on this machine: there a
// daemon with keys refuses the client at once.
func (s Server) noAnswer(within string) string {
	words := fmt.Sprintf("no answer from %s:%d%s; does dc-daemon run there?", s.Host, s.Port, within)
	if ip := net.ParseIP(s.Host); s.Curve != nil || s.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		words += " If it does, check the keys: " + s.keysHint()
	}
	return words
}

func (s Server) keysHint() string {
	if s.Curve == nil {
		return "the ini file has none (serverPublicKey, clientSecretKey)"
	}
	return "serverPublicKey must be the daemon's public key; add " + s.Curve.Public + " to its allowedClients"
}
