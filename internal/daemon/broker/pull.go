package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Puller takes messages of a durable consumer one at a time, when its user is ready: no message
// waits in this process. Use Consume if all messages are welcome.
type Puller struct {
	AckWait time.Duration // of the consumer

	consumer jetstream.Consumer
	name     string
}

// pullWait is how long the server keeps one request for a message. A restarted server does not have it;
// without a heartbeat for twice pullHeartbeat the request is repeated.
const (
	pullWait      = 10 * time.Second
	pullHeartbeat = 2 * time.Second
)

// Pull opens a consumer that the head has created; it waits until the consumer exists or ctx ends.
func (c *Conn) Pull(ctx context.Context, stream, durable string) (*Puller, error) {
	for logged := false; ; logged = true {
		consumer, err := c.js.Consumer(ctx, stream, durable)
		if err == nil {
			return &Puller{AckWait: consumer.CachedInfo().Config.AckWait, consumer: consumer, name: durable + " of " + stream}, nil
		}
		if !logged && ctx.Err() == nil {
			c.log.Info("broker: waiting for the head to create the consumer", "stream", stream, "consumer", durable, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("pull %s of %s: %w", durable, stream, errors.Join(ctx.Err(), err))
		case <-time.After(time.Second):
		}
	}
}

// Next waits for the next message until ctx ends. A message that arrives at the moment when ctx
// ends comes again after the ack wait.
func (p *Puller) Next(ctx context.Context) (Delivery, error) {
	for {
		one, cancel := context.WithTimeout(ctx, pullWait)
		m, err := p.consumer.Next(fetchOptions(one)...)
		cancel()
		switch {
		case err == nil:
			return newDelivery(m), nil
		case ctx.Err() != nil:
			return Delivery{}, ctx.Err()
		case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, jetstream.ErrServerShutdown): // no connection, whose loss is logged once
			select {
			case <-ctx.Done():
			case <-time.After(reconnectWait):
			}
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages), errors.Is(err, jetstream.ErrNoHeartbeat), errors.Is(err, context.DeadlineExceeded):
		default:
			return Delivery{}, fmt.Errorf("pull %s: %w", p.name, err)
		}
	}
}

// fetchOptions bounds a request by the end of ctx. A short one has no heartbeat: the library refuses
// a heartbeat above half of its time.
func fetchOptions(ctx context.Context) []jetstream.FetchOpt {
	options := []jetstream.FetchOpt{jetstream.FetchContext(ctx)}
	if end, ok := ctx.Deadline(); ok && time.Until(end) > 3*pullHeartbeat {
		options = append(options, jetstream.FetchHeartbeat(pullHeartbeat))
	}
	return options
}
