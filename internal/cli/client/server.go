package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
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

	keysFolder string // where OperatorKeys has looked; "" for a client
	builtIn    bool   // there is no ini file
}

// LongestTimeout bounds the wait for one answer.
const LongestTimeout = 24 * time.Hour

// ReadServer reads clientHost, clientPort and the keys from a section of an ini file.
// port is the default port. Errors are collected in the Err of the file.
func ReadServer(s *config.Section, port int64, timeout time.Duration) Server {
	return readServer(s, port, 1, timeout)
}

// Address of the daemon of this machine, if no ini file and no option has another one.
const (
	LocalHost   = "127.0.0.1"
	DefaultPort = 5504 // of clients
	adminPort   = 5503
)

// ReadClients reads the section [dcc] of dc-client.ini. Without a file, and without an explicit path, the server
// is the daemon of this machine. Errors of the values are in the Err of the file.
func ReadClients(path string) (Server, *config.File, error) {
	f, found, err := config.OpenOr("dc-client", path, "ini")
	if err != nil {
		return Server{}, nil, err
	}
	section := f.Section("dcc")
	server := ReadServer(section, DefaultPort, Timeout(section))
	server.builtIn = !found
	return server, f, f.Err()
}

// readServer is ReadServer with the least value of clientPort.
func readServer(s *config.Section, port, least int64, timeout time.Duration) Server {
	return Server{
		Host:    strings.Trim(s.Text("clientHost", LocalHost), `"'`),
		Port:    int(s.Int("clientPort", port, least, 65535)),
		Timeout: timeout,
		Curve:   readKeys(s),
	}
}

// Timeout reads the key timeout from a section of an ini file, in milliseconds.
func Timeout(s *config.Section) time.Duration {
	return s.Duration("timeout", time.Millisecond, 90*time.Second, time.Millisecond, LongestTimeout)
}

var (
	errTimeout = errors.New("no answer in time")
	errLost    = fmt.Errorf("%w: the daemon has ended the connection", errTimeout)
	errAway    = errors.New("cannot reach the daemon")
	errKeys    = errors.New("the keys do not fit")
	errAddress = errors.New("wrong address")
)

// maxAnswer limits the frame of an answer, in bytes. The daemon limits requests only.
const maxAnswer = 1 << 30

// sendAndWait sends e and waits for the answer with its uid.
func (s Server) sendAndWait(ctx context.Context, b *bus.Bus, e wire.Event) (answer wire.Event, err error) {
	err = s.exchangeEvents(ctx, b, []wire.Event{e}, func(_ int, a wire.Event) { answer = a })
	return answer, err
}

// A server that does not answer at once is dialled: libzmq itself tries again for ever and does not say
// that no program listens. A daemon that is starting has until giveUp.
const (
	probeAfter = 300 * time.Millisecond
	giveUp     = 900 * time.Millisecond
)

// exchangeEvents sends events over one connection and passes on each answer, with the index of its
// event. It returns errAway if no program listens, errTimeout if an answer is missing after the
// server's timeout, and errLost, which is also an errTimeout, if the server has ended the connection before.
func (s Server) exchangeEvents(ctx context.Context, b *bus.Bus, events []wire.Event, answered func(i int, answer wire.Event)) error {
	socket, err := b.Connect(bus.TCP(s.Host, s.Port), bus.Options{Linger: -1, MaxFrame: maxAnswer, Curve: s.Curve, Watch: true})
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	defer socket.Close()
	waiting := map[string]int{}
	for i, e := range events {
		if _, err := socket.Send(nil, e); err != nil {
			return s.explainSocket(err)
		}
		waiting[e.UID] = i
	}
	poller := bus.NewPoller(socket)
	began, reached := time.Now(), false
	for len(waiting) > 0 {
		passed := time.Since(began)
		left := s.Timeout - passed
		if left <= 0 {
			return errTimeout
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !reached && passed >= probeAfter {
			err := s.checkListening(ctx, max(giveUp-passed, 100*time.Millisecond))
			if reached = err == nil; !reached && (passed >= giveUp || errors.Is(err, errAddress)) {
				return err
			}
		}
		if _, err := poller.Wait(min(left, 100*time.Millisecond)); err != nil {
			return fmt.Errorf("wait for the answer: %w", err)
		}
		m, err := socket.Recv()
		if errors.Is(err, bus.ErrNone) {
			continue
		}
		if err != nil {
			return s.explainSocket(err)
		}
		if i, ok := waiting[m.Event.UID]; ok {
			delete(waiting, m.Event.UID)
			answered(i, m.Event)
		}
	}
	return nil
}

// checkListening reports whether a program listens: nil, errAway or errAddress.
func (s Server) checkListening(ctx context.Context, limit time.Duration) error {
	host := strings.Trim(s.Host, "[]")
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // as package bus does
	}
	dialer := net.Dialer{Timeout: limit}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(s.Port)))
	if err == nil {
		return conn.Close()
	}
	var dns *net.DNSError
	var cause *os.SyscallError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%w: %w", errAddress, err)
	case errors.As(err, &cause):
		err = cause.Err
	}
	remedy := "correct clientHost and clientPort of the ini file"
	if s.builtIn {
		remedy = "name the ini file of the daemon with --config: no ini file was found"
	}
	return fmt.Errorf("%w at %s:%d: %w; start dc-daemon, or %s", errAway, s.Host, s.Port, err, remedy)
}

// explainExchange describes an error of exchange for the user.
func (s Server) explainExchange(err error) string {
	switch {
	case errors.Is(err, errLost):
		return fmt.Sprintf("no answer from %s:%d, which has ended the connection; did dc-daemon stop? It may have done the work: look before you send it again.", s.Host, s.Port)
	case errors.Is(err, errTimeout):
		return s.noAnswer(fmt.Sprintf(" within %d ms", s.Timeout.Milliseconds()))
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return err.Error()
}

// explainSocket adds to the error of a socket what the user can do.
func (s Server) explainSocket(err error) error {
	if errors.Is(err, bus.ErrGone) {
		return errLost
	}
	if errors.Is(err, bus.ErrRefused) {
		return fmt.Errorf("%s:%d: %w: %w; %s", s.Host, s.Port, errKeys, err, s.keysHint())
	}
	return fmt.Errorf("talk to %s:%d: %w", s.Host, s.Port, err)
}

// noAnswer is the message for a missing answer; within is empty or the waiting time. It
// suggests to check the keys, except for a client without keys on this machine: there a
// daemon with keys refuses the client at once.
func (s Server) noAnswer(within string) string {
	words := fmt.Sprintf("no answer from %s:%d%s; does dc-daemon run there? If it is busy, set a longer timeout.", s.Host, s.Port, within)
	if ip := net.ParseIP(s.Host); s.Curve != nil || s.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		words += " If it does, check the keys: " + s.keysHint()
	}
	return words
}

func (s Server) keysHint() string {
	switch {
	case s.Curve == nil && s.keysFolder != "":
		return "the folder " + s.keysFolder + " has no keys: set keys of dc-admin.ini to the folder keys in the data_dir of dc-daemon.ini, or set serverPublicKey and clientSecretKey"
	case s.Curve == nil:
		return "the ini file has none (serverPublicKey, clientSecretKey)"
	}
	return "serverPublicKey must be the daemon's public key; add " + s.Curve.Public + " to its allowedClients"
}
