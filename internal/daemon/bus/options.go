package bus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	zmq "github.com/pebbe/zmq4"

	"hce/dc/internal/wire"
)

// Options are the settings of one socket. The zero value fits inproc and TCP on loopback.
type Options struct {
	// Linger is how long a closed socket continues to send; default 1 s, negative for 0.
	Linger time.Duration
	// HighWater limits the waiting messages per peer and direction; default 1000. It has no
	// effect on a TCP socket that listens.
	HighWater int
	// MaxFrame limits one message of a TCP peer in bytes; default 24 MiB for a socket that
	// listens, at most the size of Budget; for one that connects default 1 GiB. A request
	// that is larger is refused; with keys its sender is disconnected.
	MaxFrame int64
	// MaxPlain limits requests of operations that carry no contents (wire.Op.Contents), in
	// bytes; default 4 MiB.
	MaxPlain int64
	// Budget limits the requests of all peers of all sockets that share it, in bytes; nil
	// for a budget of its own of DefaultBudget.
	Budget *Budget
	// Connections limits the TCP connections of a socket that listens; default 256. When
	// there are more, the one that is idle for the longest time is closed.
	Connections int
	// stall limits the wait for each piece of a request; default stallLimit.
	stall time.Duration
	// AllowInsecure lets Bind listen for other machines without keys
	// (docs/spec/DECISIONS.md 8.2).
	AllowInsecure bool
	// Curve encrypts TCP and lists the clients; nil for plain text. It has no effect on inproc.
	Curve *Curve
	// Watch makes a connecting socket return ErrRefused when handshakes fail for good, and ErrGone when
	// the peer has disconnected. Otherwise it connects again for ever.
	Watch bool
	// Log gets refused clients of a binding socket with keys, at most one line in ten
	// seconds for each reason; nil for no log.
	Log *slog.Logger
}

const (
	defaultLinger    = time.Second
	defaultHighWater = 1000
	defaultMaxFrame  = 24 << 20
	defaultMaxPlain  = 4 << 20
	maxAnswer        = 1 << 30 // the default of MaxFrame for a client
	defaultConnects  = 256

	handshake        = 5 * time.Second  // a TCP peer that needs longer is disconnected
	heartbeat        = 10 * time.Second // between pings of a TCP connection
	heartbeatTimeout = 30 * time.Second // a peer without any answer is disconnected
)

// DefaultBudget is the size of the budget of a socket without Options.Budget, in bytes.
const DefaultBudget = 32 << 20

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
	return o
}

// forListener adds the defaults of a TCP socket that listens.
func (o Options) forListener() Options {
	if o.Budget == nil {
		o.Budget = NewBudget(DefaultBudget)
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = defaultMaxFrame
	}
	o.MaxFrame = min(o.MaxFrame, o.Budget.Size())
	if o.MaxPlain <= 0 {
		o.MaxPlain = defaultMaxPlain
	}
	if o.Connections <= 0 {
		o.Connections = defaultConnects
	}
	o.stall = cmp.Or(o.stall, stallLimit)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// requestLimit returns the largest request of an operation, in bytes.
func (o Options) requestLimit(op wire.Op) int64 {
	if op.Contents() {
		return o.MaxFrame
	}
	return min(o.MaxPlain, o.MaxFrame)
}

// tooLarge is the refusal of a request of size bytes.
func (o Options) tooLarge(op wire.Op, size int64) error {
	key := "MaxMessageSize, PeersMemory"
	if !op.Contents() && o.MaxPlain <= o.MaxFrame {
		key = "MaxPlainSize"
	}
	return fmt.Errorf("the request has %d bytes; the limit is %d (%s of dc-daemon.ini)", size, o.requestLimit(op), key)
}

// configureSocket sets the options that binding and connecting sockets share.
func (o Options) configureSocket(s *zmq.Socket, endpoint string) error {
	errs := []error{
		s.SetLinger(o.Linger),
		s.SetSndhwm(o.HighWater),
		s.SetRcvhwm(o.HighWater),
	}
	if host, tcp := tcpHost(endpoint); tcp {
		errs = append(errs,
			s.SetMaxmsgsize(cmp.Or(o.MaxFrame, maxAnswer)),
			s.SetHandshakeIvl(handshake),
			s.SetHeartbeatIvl(heartbeat),
			s.SetHeartbeatTimeout(heartbeatTimeout),
			s.SetIpv6(strings.Contains(host, ":")),
		)
	}
	return errors.Join(errs...)
}
