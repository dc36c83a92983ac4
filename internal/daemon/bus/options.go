package bus

import (
	"errors"
	"log/slog"
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
	// From a TCP peer no more are kept than 1 GiB of the largest ones, or 16.
	HighWater int
	// MaxFrame bounds one frame from a TCP peer in bytes; default 64 MiB. A peer
	// that sends more is disconnected. It does not bind inproc.
	MaxFrame int64
	// AllowInsecure lets Bind listen on addresses other machines can reach,
	// without keys (docs/spec/DECISIONS.md 8.2).
	AllowInsecure bool
	// Curve encrypts TCP and says who may come; nil for plain. It does not bind
	// inproc.
	Curve *Curve
	// Watch makes Recv of a connecting socket answer ErrRefused as soon as the
	// handshake fails for good, instead of nothing for ever.
	Watch bool
	// Log gets a line, at most one in ten seconds for each reason, about clients
	// that a binding socket with keys has refused; nil for none.
	Log *slog.Logger
}

const (
	defaultLinger    = time.Second
	defaultHighWater = 1000
	defaultMaxFrame  = 64 << 20

	// What one TCP peer may make us keep unread, in bytes, but never fewer than
	// that many messages: it waits then, and nothing is lost.
	maxUnread = 1 << 30
	minUnread = 16

	handshake         = 5 * time.Second  // a TCP peer that says nothing is dropped
	heartbeat         = 10 * time.Second // between pings of a TCP connection
	heartbeatPatience = 30 * time.Second // without any answer, until it is dropped
	backlog           = 256
)

func (o Options) withDefaults(endpoint string) Options {
	if _, tcp := tcpHost(endpoint); !tcp {
		o.Curve = nil
	}
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

// unread is how many messages of one peer wait to be received.
func (o Options) unread(endpoint string) int {
	if _, tcp := tcpHost(endpoint); !tcp {
		return o.HighWater
	}
	return min(o.HighWater, max(minUnread, int(maxUnread/o.MaxFrame)))
}

// apply sets the options that both kinds of sockets have.
func (o Options) apply(s *zmq.Socket, endpoint string) error {
	errs := []error{
		s.SetLinger(o.Linger),
		s.SetSndhwm(o.HighWater),
		s.SetRcvhwm(o.unread(endpoint)),
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
