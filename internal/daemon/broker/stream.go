package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish appends data to the stream that has the subject. When it returns nil, the message
// is on disk. A message with the id of one that the stream took within the last two minutes is
// not stored again. After an error the stream may have it: publish again with the same id.
func (c *Conn) Publish(ctx context.Context, subject, id string, data []byte) error {
	if len(data) > MaxPayload {
		return fmt.Errorf("publish %s: %w", subject, ErrTooLarge)
	}
	var options []jetstream.PublishOpt
	if id != "" {
		options = append(options, jetstream.WithMsgID(id))
	}
	if _, err := c.js.Publish(ctx, subject, data, options...); err != nil {
		return fmt.Errorf("publish %s: %w", subject, err)
	}
	return nil
}

// ConsumeOptions configures a consumer. Only the head creates consumers, in Provision or with these
// options; a node uses the options that the head chose.
type ConsumeOptions struct {
	AckWait       time.Duration // after it a delivery without Ack comes again; default 30 s
	MaxUnfinished int           // deliveries without Ack at one time; default 1: one after the other
	Ahead         int           // deliveries that wait in this process; default 1
}

func (o ConsumeOptions) consumerConfig(durable, subject string) jetstream.ConsumerConfig {
	if o.AckWait <= 0 {
		o.AckWait = DefaultAckWait
	}
	return jetstream.ConsumerConfig{
		Durable: durable, FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: o.AckWait, MaxAckPending: max(o.MaxUnfinished, 1), MaxDeliver: -1, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}

// DefaultAckWait is the time after which a delivery without Ack or InProgress comes again.
const DefaultAckWait = 30 * time.Second

// Consumption is a running consumer.
type Consumption struct {
	AckWait time.Duration // of the consumer

	messages jetstream.MessagesContext
	ended    chan struct{}
	once     sync.Once
}

// Stop ends the consumption. It waits for a handler that runs. Deliveries that wait in this
// process come again after the ack wait.
func (c *Consumption) Stop() {
	c.once.Do(c.messages.Stop)
	<-c.ended
}

// Consume takes messages of a durable consumer and calls handler for each, one after the other.
// The head creates or changes the consumer; a node waits until it exists or ctx ends. After
// Consume has returned, ctx has no effect: use Stop.
func (c *Conn) Consume(ctx context.Context, stream, durable, subject string, o ConsumeOptions, handler func(Delivery)) (*Consumption, error) {
	consumer, err := c.openConsumer(ctx, stream, durable, subject, o)
	if err != nil {
		return nil, fmt.Errorf("consume %s of %s: %w", durable, stream, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(max(o.Ahead, 1)), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return nil, fmt.Errorf("consume %s of %s: %w", durable, stream, err)
	}
	running := &Consumption{AckWait: consumer.CachedInfo().Config.AckWait, messages: messages, ended: make(chan struct{})}
	go c.deliverMessages(running, durable, handler)
	return running, nil
}

func (c *Conn) openConsumer(ctx context.Context, stream, durable, subject string, o ConsumeOptions) (jetstream.Consumer, error) {
	if c.name == Head {
		return c.js.CreateOrUpdateConsumer(ctx, stream, o.consumerConfig(durable, subject))
	}
	for logged := false; ; logged = true {
		consumer, err := c.js.Consumer(ctx, stream, durable)
		if err == nil || ctx.Err() != nil {
			return consumer, err
		}
		if !logged {
			c.log.Info("broker: waiting for the head to create the consumer", "stream", stream, "consumer", durable, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// deliverMessages passes messages to handler until the consumption stops.
func (c *Conn) deliverMessages(running *Consumption, durable string, handler func(Delivery)) {
	defer close(running.ended)
	for {
		m, err := running.messages.Next()
		switch {
		case err == nil:
			handler(newDelivery(m))
		case errors.Is(err, jetstream.ErrMsgIteratorClosed) || c.nc.IsClosed():
			return
		default: // the iterator asks again by itself
			if suppressed, ok := c.throttle.Allow("deliver", time.Now()); ok {
				c.log.Warn("broker: cannot take messages", "consumer", durable, "error", err, "suppressed", suppressed)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Delivery is a message that the consumer must finish: exactly one of Ack, Nak and Term.
type Delivery struct {
	Subject  string
	ID       string // of Publish
	Data     []byte
	Sequence uint64    // in the stream
	Count    uint64    // 1 for the first delivery
	Stored   time.Time // UTC

	message jetstream.Msg
}

func newDelivery(m jetstream.Msg) Delivery {
	d := Delivery{Subject: m.Subject(), ID: m.Headers().Get(nats.MsgIdHdr), Data: m.Data(), message: m}
	if meta, err := m.Metadata(); err == nil {
		d.Sequence, d.Count, d.Stored = meta.Sequence.Stream, meta.NumDelivered, meta.Timestamp.UTC()
	}
	return d
}

// Ack finishes the message. It returns nil after the server has confirmed it. After an error the
// message may come again.
func (d Delivery) Ack(ctx context.Context) error {
	return d.wrapError("acknowledge", d.message.DoubleAck(ctx))
}

// Nak gives the message back; it comes again after delay.
func (d Delivery) Nak(delay time.Duration) error {
	return d.wrapError("give back", d.message.NakWithDelay(delay))
}

// InProgress restarts the ack wait.
func (d Delivery) InProgress() error { return d.wrapError("prolong", d.message.InProgress()) }

// Term finishes a message that can never be handled: it does not come again.
func (d Delivery) Term(reason string) error {
	return d.wrapError("drop", d.message.TermWithReason(reason))
}

func (d Delivery) wrapError(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s message %d on %s: %w", what, d.Sequence, d.Subject, err)
	}
	return nil
}
