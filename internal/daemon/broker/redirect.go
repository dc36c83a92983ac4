package broker

import (
	"context"
	"fmt"
	"time"
)

// Redirect gives the messages of a consumer without a taker another subject of the same stream,
// until none is left. Only the head may call it. A kill in between leaves messages on both subjects.
func (c *Conn) Redirect(ctx context.Context, stream, durable, from, to string) error {
	state, err := c.ConsumerState(ctx, stream, durable)
	if err != nil {
		if isMissing(err) {
			return nil // they were redirected before
		}
		return err
	}
	if state.Pending == 0 {
		return nil
	}
	running, err := c.Consume(ctx, stream, durable, from, ConsumeOptions{}, func(d Delivery) {
		if err := c.Publish(ctx, to, d.ID+" "+to, d.Data); err != nil {
			_ = d.Nak(time.Second)
			return
		}
		_ = d.Ack(ctx) // otherwise it comes again, and is dropped as a copy
	})
	if err != nil {
		return fmt.Errorf("redirect %s: %w", from, err)
	}
	defer running.Stop()
	for {
		if state, err := c.ConsumerState(ctx, stream, durable); err == nil && state.Pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redirect %s: %w", from, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
