package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"syscall"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// zapEndpoint is the endpoint that libzmq asks in each handshake (ZeroMQ RFC 27). Without a
// handler there, libzmq accepts every client that knows the server's public key. So the
// handler starts before the first socket with keys and ends after the last one.
const zapEndpoint = "inproc://zeromq.zap.01"

// ZeroMQ RFC 27, section 5.
const (
	zapVersion  = "1.0"
	zapAccepted = "200"
	zapRefused  = "400"
)

// zapQuit ends the handler. Only the bus sends it: a request of libzmq begins with zapVersion.
const zapQuit = "quit"

// zapHandler answers libzmq's requests whether a client may connect. Each socket with keys
// has its own authenticator, found by its domain.
type zapHandler struct {
	mu             sync.Mutex
	authenticators map[string]*authenticator
	next           int
	socket         *zmq.Socket   // nil until the handler starts
	ended          chan struct{} // closed when the handler has ended
}

// authenticator decides for one socket and logs refusals.
type authenticator struct {
	domain   string
	allowed  Allower
	log      *slog.Logger
	throttle Throttle
}

// addAuthenticator registers a socket and starts the handler before the first one.
func (b *Bus) addAuthenticator(allowed Allower, log *slog.Logger) (*authenticator, error) {
	d := &b.zap
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.socket == nil {
		s, err := b.ctx.NewSocket(zmq.REP)
		if err != nil {
			return nil, fmt.Errorf("create ZAP handler: %w", err)
		}
		err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Bind(zapEndpoint) }))
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("bind ZAP handler: %w", err)
		}
		d.socket, d.ended, d.authenticators = s, make(chan struct{}), map[string]*authenticator{}
		go func() {
			defer close(d.ended)
			d.serve(s)
		}()
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d.next++
	g := &authenticator{domain: "bus." + strconv.Itoa(d.next), allowed: allowed, log: log}
	d.authenticators[g.domain] = g
	return g, nil
}

// remove unregisters a socket. Handshakes that are still open are refused.
func (d *zapHandler) remove(g *authenticator) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.authenticators, g.domain)
}

func (d *zapHandler) find(domain string) *authenticator {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.authenticators[domain]
}

// serve answers requests until zapQuit. It leaves the socket open: if it ends with an
// error, later requests get no answer and no client is accepted.
func (d *zapHandler) serve(s *zmq.Socket) {
	for {
		frames, err := receive(s)
		if err != nil {
			return
		}
		quit := len(frames) == 1 && string(frames[0]) == zapQuit
		reply := frames
		if !quit {
			reply = d.reply(frames)
		}
		if err := send(s, reply); err != nil || quit {
			return
		}
	}
}

// maxZAP limits the frames kept of a request; CURVE sends 7.
const maxZAP = 8

// receive waits for a whole message, also when signals interrupt it.
func receive(s *zmq.Socket) (frames [][]byte, err error) {
	for more := true; more && err == nil; {
		var frame []byte
		err = uninterrupted(func() (err error) { frame, err = s.RecvBytes(0); return err })
		if err == nil {
			more, err = s.GetRcvmore()
		}
		if len(frames) < maxZAP {
			frames = append(frames, frame)
		}
	}
	return frames, err
}

// send sends a whole message, also when signals interrupt it.
func send(s *zmq.Socket, frames [][]byte) (err error) {
	for i, frame := range frames {
		flags := zmq.SNDMORE
		if i == len(frames)-1 {
			flags = 0
		}
		if err = uninterrupted(func() error { _, err := s.SendBytes(frame, flags); return err }); err != nil {
			return err
		}
	}
	return nil
}

// reply answers one request: version, number, domain, address, identity, mechanism, and for
// CURVE the client's public key of 32 bytes.
func (d *zapHandler) reply(frames [][]byte) [][]byte {
	var number []byte
	if len(frames) > 1 {
		number = frames[1]
	}
	no := [][]byte{[]byte(zapVersion), number, []byte(zapRefused), []byte("no access"), nil, nil}
	if len(frames) != 7 || string(frames[0]) != zapVersion {
		return no
	}
	g := d.find(string(frames[2]))
	if g == nil || string(frames[5]) != "CURVE" || len(frames[6]) != 32 {
		return no
	}
	public := zmq.Z85encode(string(frames[6]))
	if !g.allows(public) {
		g.refused("its public key is not listed", "address", string(frames[3]), "key", public)
		return no
	}
	// The user id is the key; libzmq attaches it to each message of the connection.
	return [][]byte{[]byte(zapVersion), number, []byte(zapAccepted), nil, []byte(public), nil}
}

// allows checks the list. A list that panics refuses every client.
func (g *authenticator) allows(public string) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
			g.warn("list of clients", "error", fmt.Sprint(r))
		}
	}()
	ok, err := g.allowed.Allowed(public)
	if err != nil {
		g.warn("list of clients", "error", err)
	}
	return ok
}

// refused logs a refused client. The reason is one of a few constants.
func (g *authenticator) refused(reason string, args ...any) {
	level := slog.LevelWarn
	if reason == leftEarly { // port scans and health checks do that, too
		level = slog.LevelInfo
	}
	if n, ok := g.throttle.Allow(reason, time.Now()); ok {
		g.log.Log(context.Background(), level, "client refused", append(append([]any{"reason", reason}, args...), "unlogged", n)...)
	}
}

func (g *authenticator) warn(message string, args ...any) {
	if n, ok := g.throttle.Allow(message, time.Now()); ok {
		g.log.Warn(message, append(args, "unlogged", n)...)
	}
}

// stopZAP ends the handler if it was started. All sockets with keys must be closed.
func (b *Bus) stopZAP() error {
	d := &b.zap
	d.mu.Lock()
	handler := d.socket
	d.mu.Unlock() // requests that still wait need the lock
	if handler == nil {
		return nil
	}
	s, err := b.ctx.NewSocket(zmq.REQ)
	if err != nil {
		return err
	}
	defer s.Close()
	err = errors.Join(s.SetLinger(0), uninterrupted(func() error { return s.Connect(zapEndpoint) }))
	if err == nil {
		err = send(s, [][]byte{[]byte(zapQuit)})
	}
	if err != nil {
		return err
	}
	<-d.ended
	return handler.Close()
}

func interrupted(err error) bool { return zmq.AsErrno(err) == zmq.Errno(syscall.EINTR) }
