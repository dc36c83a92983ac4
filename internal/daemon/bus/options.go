package bus

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// Options are the settings of one socket. The zero value fits inproc and TCP on loopback.
type Options struct {
	// Linger is how long a closed socket continues to send; default 1 s, negative for 0.
	Linger time.Duration
	// HighWater limits the waiting messages per peer and direction; default 1000. Unread
	// messages of a TCP peer are also limited to 1 GiB of the largest ones, but at least 16.
	HighWater int
	// MaxFrame limits one frame of a TCP peer in bytes; default 64 MiB. A peer that sends
	// more is disconnected. It has no effect on inproc.
	MaxFrame int64
	// AllowInsecure lets Bind listen for other machines without keys
	// (docs/spec/DECISIONS.md 8.2).
	AllowInsecure bool
	// Curve encrypts TCP and lists the clients; nil for plain text. It has no effect on inproc.
	Curve *Curve
	// Watch makes a connecting socket return ErrRefused when handshakes fail for good.
	// Otherwise it waits for ever.
	Watch bool
	// Log gets refused clients of a binding socket with keys, at most one line in ten
	// seconds for each reason; nil for no log.
	Log *slog.Logger
}

const (
	defaultLinger    = time.Second
	defaultHighWater = 1000
	defaultMaxFrame  = 64 << 20

	// Limits of the unread bytes of one TCP peer, and the least number of messages. A peer
	// at its limit waits; nothing is lost.
	maxUnread = 1 << 30
	minUnread = 16

	handshake        = 5 * time.Second  // a TCP peer that sends nothing is disconnected
	heartbeat        = 10 * time.Second // between pings of a TCP connection
	heartbeatTimeout = 30 * time.Second // a peer without any answer is disconnected
	backlog          = 256
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

// unread returns how many messages of one peer may wait to be received.
func (o Options) unread(endpoint string) int {
	if _, tcp := tcpHost(endpoint); !tcp {
		return o.HighWater
	}
	return min(o.HighWater, max(minUnread, int(maxUnread/o.MaxFrame)))
}

// apply sets the options that binding and connecting sockets share.
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
			s.SetHeartbeatTimeout(heartbeatTimeout),
			s.SetBacklog(backlog),
			s.SetIpv6(strings.Contains(host, ":")),
		)
	}
	return errors.Join(errs...)
}
