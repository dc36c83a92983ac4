package bus

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// Options are the settings of one socket. The zero value is right for inproc
// and for TCP on the loopback address.
type Options struct {
	// Linger is how long a closed socket may go on sending; default 1 s,
	// negative for not at all.
	Linger time.Duration
	// HighWater bounds the messages that wait per peer and direction; default 1000.
	HighWater int
	// MaxFrame bounds one frame from a TCP peer in bytes; default 64 MiB. A peer
	// that sends more is disconnected. It does not bind inproc.
	MaxFrame int64
	// AllowInsecure lets Bind listen on addresses other machines can reach,
	// without keys (DECISIONS 8.2).
	AllowInsecure bool
	// Curve encrypts TCP; nil for plain.
	Curve *Curve
}

// Curve holds the keys of one side, Z85 text of 40 characters each. A binding
// socket needs Secret; a connecting one needs all three. Whoever holds the
// server's public key is let in.
type Curve struct {
	Public, Secret string
	ServerPublic   string
}

const (
	defaultLinger    = time.Second
	defaultHighWater = 1000
	defaultMaxFrame  = 64 << 20

	handshake         = 5 * time.Second  // a TCP peer that says nothing is dropped
	heartbeat         = 10 * time.Second // between pings of a TCP connection
	heartbeatPatience = 30 * time.Second // without any answer, until it is dropped
	backlog           = 256
)

func (o Options) withDefaults() Options {
	switch {
	case o.Linger == 0:
		o.Linger = defaultLinger
	case o.Linger < 0:
		o.Linger = 0
	}
	if o.HighWater <= 0 {
		o.HighWater = defaultHighWater
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = defaultMaxFrame
	}
	return o
}

// apply sets the options that both kinds of sockets have.
func (o Options) apply(s *zmq.Socket, endpoint string) error {
	errs := []error{
		s.SetLinger(o.Linger),
		s.SetSndhwm(o.HighWater),
		s.SetRcvhwm(o.HighWater),
	}
	if host, tcp := tcpHost(endpoint); tcp {
		errs = append(errs,
			s.SetMaxmsgsize(o.MaxFrame),
			s.SetHandshakeIvl(handshake),
			s.SetHeartbeatIvl(heartbeat),
			s.SetHeartbeatTimeout(heartbeatPatience),
			s.SetBacklog(backlog),
			s.SetIpv6(strings.Contains(host, ":")),
		)
	}
	return errors.Join(errs...)
}

func (o Options) applyServerKeys(s *zmq.Socket) error {
	if o.Curve == nil {
		return nil
	}
	return errors.Join(s.SetCurveServer(1), s.SetCurveSecretkey(o.Curve.Secret))
}

func (o Options) applyClientKeys(s *zmq.Socket) error {
	if o.Curve == nil {
		return nil
	}
	return errors.Join(
		s.SetCurveServerkey(o.Curve.ServerPublic),
		s.SetCurvePublickey(o.Curve.Public),
		s.SetCurveSecretkey(o.Curve.Secret),
	)
}

// exposed refuses a TCP endpoint that other machines can reach in the open.
// Anything but a literal loopback address counts as such: "*", an interface's
// name, the unspecified address.
func (o Options) exposed(endpoint string) error {
	host, tcp := tcpHost(endpoint)
	if !tcp || o.AllowInsecure || o.Curve != nil {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %q: %w", host, ErrExposed)
}

// tcpHost is the host of a TCP endpoint, without brackets and zone.
func tcpHost(endpoint string) (host string, tcp bool) {
	rest, tcp := strings.CutPrefix(endpoint, "tcp://")
	if !tcp {
		return "", false
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	return strings.Trim(rest, "[]"), true
}

// TCP is the endpoint of host and port; port 0 lets the system choose one,
// which [Socket.Endpoint] then tells. The name localhost means 127.0.0.1, as
// a socket is bound to an address, never to a name.
func TCP(host string, port int) string {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	if port == 0 {
		return fmt.Sprintf("tcp://%s:*", host)
	}
	return fmt.Sprintf("tcp://%s:%d", host, port)
}

// Inproc is the endpoint of that name inside one bus.
func Inproc(name string) string { return "inproc://" + name }
