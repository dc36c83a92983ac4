package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"

	"hce/dc/internal/daemon/bus"
)

// Errors of this package.
var (
	// ErrNoResponders means that no client serves the subject of a request.
	ErrNoResponders = nats.ErrNoResponders
	// ErrNotFound means a missing key, object or consumer.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that another writer changed or created the key first.
	ErrConflict = errors.New("changed by another writer")
	// ErrTooLarge means data above MaxPayload; Objects carry larger ones.
	ErrTooLarge = fmt.Errorf("larger than %d bytes", MaxPayload)
	// ErrRefused means that the permissions of this key do not allow the subject.
	ErrRefused = errors.New("the key of this program may not do this")
)

const (
	dialTimeout   = 5 * time.Second
	reconnectWait = time.Second
	apiTimeout    = 10 * time.Second
)

// DialConfig configures a connection.
type DialConfig struct {
	Join
	Log     *slog.Logger
	OnState func(connected bool) // called on each change, and once by Dial; must not block

	inProcess *server.Server
	err       error
}

// Conn is a connection to the broker. It reconnects by itself until Close. It may be used by any
// number of goroutines.
type Conn struct {
	name     string
	nc       *nats.Conn
	js       jetstream.JetStream
	log      *slog.Logger
	throttle bus.Throttle
}

// Dial connects. It tries once, until ctx ends but not longer than 5 seconds for each address.
// Later the connection reconnects by itself.
func Dial(ctx context.Context, c DialConfig) (*Conn, error) {
	conn, err := dialBroker(ctx, c)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		err = fmt.Errorf("it refuses the key of %s, which is unknown there or was removed; \"dc-admin node add\" on the head makes a new join file (%w)", c.Name, err)
	case errors.Is(err, nats.ErrNoServers):
		err = fmt.Errorf("nothing answers there; does the head run, and does a firewall let its port pass? (%w)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to broker %s: %w", strings.Join(c.URLs, ","), err)
	}
	return conn, nil
}

func dialBroker(ctx context.Context, c DialConfig) (*Conn, error) {
	if c.err != nil {
		return nil, c.err
	}
	if err := c.Join.check(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	conn := &Conn{name: c.Name, log: c.Log}
	options, err := conn.natsOptions(ctx, c)
	if err != nil {
		return nil, err
	}
	if conn.nc, err = nats.Connect(strings.Join(c.URLs, ","), options...); err != nil {
		return nil, err
	}
	if conn.js, err = jetstream.New(conn.nc, jetstream.WithDefaultTimeout(apiTimeout)); err != nil {
		conn.nc.Close()
		return nil, err
	}
	if c.OnState != nil {
		c.OnState(true)
	}
	return conn, nil
}

func (c *Conn) natsOptions(ctx context.Context, d DialConfig) ([]nats.Option, error) {
	public, err := publicOf([]byte(d.Seed))
	if err != nil {
		return nil, err
	}
	state := func(connected bool) {
		if d.OnState != nil {
			d.OnState(connected)
		}
	}
	timeout := dialTimeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(end), time.Millisecond))
	}
	options := []nats.Option{
		nats.Name(d.Name), nats.Timeout(timeout), nats.CustomInboxPrefix(inboxPrefix(d.Name)),
		nats.Nkey(public, func(nonce []byte) ([]byte, error) { return signNonce(d.Seed, nonce) }),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(500*time.Millisecond, time.Second),
		nats.ReconnectBufSize(-1), // a publish without a connection is an error at once
		nats.IgnoreAuthErrorAbort(), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // without one the connection was closed on this side
				c.log.Warn("broker: connection lost", "error", err)
			}
			state(false)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("broker: connected again", "address", nc.ConnectedUrlRedacted())
			state(true)
		}),
		nats.ErrorHandler(c.logFault),
	}
	if d.inProcess != nil {
		return append(options, nats.InProcessServer(d.inProcess)), nil
	}
	return appendTLS(options, d.Join)
}

// appendTLS adds the verification of the server for tls addresses. The certificate authority of
// the join file is the only one that is trusted.
func appendTLS(options []nats.Option, j Join) ([]nats.Option, error) {
	if j.CA == "" && !strings.HasPrefix(j.URLs[0], "tls://") {
		for _, url := range j.URLs {
			host := strings.TrimPrefix(url, "nats://")
			if i := strings.LastIndexByte(host, ':'); i >= 0 {
				host = strings.Trim(host[:i], "[]")
			}
			if !isLoopback(host) {
				return nil, fmt.Errorf("%s is another machine: the connection needs TLS (tls:// and a CA)", url)
			}
		}
		return options, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: j.ServerName}
	if j.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(j.CA)) {
			return nil, errors.New("the CA of the join file is not a certificate in PEM")
		}
	}
	options = append(options, nats.Secure(config))
	if j.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options, nil
}

func signNonce(seed string, nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(seed)))
	if err != nil {
		return nil, err
	}
	return pair.Sign(nonce)
}

// logFault logs errors that belong to no call, for example a refused subscription.
func (c *Conn) logFault(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	if suppressed, ok := c.throttle.Allow("fault", time.Now()); ok {
		c.log.Warn("broker: error of the connection", "subject", subject, "error", err, "suppressed", suppressed)
	}
}

// Name is the name of this connection's key.
func (c *Conn) Name() string { return c.name }

// Connected reports whether the connection is open at this moment.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// Close ends the connection and all its subscriptions and consumers.
func (c *Conn) Close() { c.nc.Close() }

// Message is a request or a reply.
type Message struct {
	Subject string
	From    string // of a reply: who sent it; the server guarantees it
	Data    []byte

	reply string
	conn  *Conn
}

// Respond answers a request, from any goroutine. A requester that no longer waits is not an error.
func (m Message) Respond(data []byte) error {
	if m.reply == "" {
		return nil
	}
	if len(data) > MaxPayload {
		return fmt.Errorf("answer to %s: %w", m.Subject, ErrTooLarge)
	}
	to := m.reply
	if base, ok := strings.CutSuffix(to, "."+replyHole); ok {
		to = base + "." + m.conn.name // the replier, as its permissions demand
	}
	if err := m.conn.nc.Publish(to, data); err != nil {
		return fmt.Errorf("answer to %s: %w", m.Subject, err)
	}
	return nil
}

// replyHole is the last token of a reply subject, which a node replaces by its name. The head cannot:
// the server hides the reply subject of a node from it, and passes the answer back.
const replyHole = "_"

// Request publishes data and returns n replies, or those that came before ctx ended, with the
// error of ctx. ErrNoResponders means that no client serves the subject.
func (c *Conn) Request(ctx context.Context, subject string, data []byte, n int) ([]Message, error) {
	if len(data) > MaxPayload {
		return nil, fmt.Errorf("request %s: %w", subject, ErrTooLarge)
	}
	base := "dc.reply." + c.name + "." + nuid.Next() + "."
	sub, err := c.nc.SubscribeSync(base + "*")
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	defer sub.Unsubscribe()
	if err := c.nc.PublishRequest(subject, base+replyHole, data); err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	var replies []Message
	for len(replies) < n {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return replies, fmt.Errorf("request %s: %d of %d replies: %w", subject, len(replies), n, err)
		}
		from := strings.TrimPrefix(m.Subject, base)
		if from == replyHole { // of the server itself, or of the head for a request of a node
			if from = Head; len(m.Data) == 0 && m.Header.Get("Status") == "503" {
				return replies, fmt.Errorf("request %s: %w", subject, ErrNoResponders)
			}
		}
		replies = append(replies, Message{Subject: m.Subject, From: from, Data: m.Data})
	}
	return replies, nil
}

// Serve calls handler for each request on subject, one after the other: slow work belongs into
// another goroutine, which calls Respond later. Of connections with the same queue, one
// gets a request; an empty queue gets all. stop waits for no handler.
func (c *Conn) Serve(subject, queue string, handler func(Message)) (stop func(), err error) {
	sub, err := c.nc.QueueSubscribe(subject, queue, func(m *nats.Msg) {
		if !matchesSubject(subject, m.Subject) { // delivered for another subject: not a request
			return
		}
		handler(Message{Subject: m.Subject, Data: m.Data, reply: m.Reply, conn: c})
	})
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", subject, err)
	}
	if err := c.nc.FlushTimeout(apiTimeout); err != nil {
		_ = sub.Unsubscribe()
		return nil, fmt.Errorf("serve %s: %w", subject, err)
	}
	if err := c.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), subject) {
		_ = sub.Unsubscribe()
		return nil, fmt.Errorf("serve %s: %w", subject, ErrRefused)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// matchesSubject reports whether a subject matches a pattern of NATS.
func matchesSubject(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s) || token != "*" && token != s[i]:
			return false
		}
	}
	return len(p) == len(s)
}
