package broker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// tryTimeout is how long one request waits for its answer. A cluster of servers without a leader
	// drops requests: one from before an election never has an answer.
	tryTimeout = 3 * time.Second
	tryPause   = 200 * time.Millisecond
)

// retryUntilAnswered calls a function that may be repeated until it has an answer of the server, or ctx ends.
// Without a deadline of ctx it ends after apiTimeout.
func retryUntilAnswered(ctx context.Context, call func(context.Context) error) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, apiTimeout)
		defer cancel()
	}
	for {
		one, cancel := context.WithTimeout(ctx, tryTimeout)
		err := call(one)
		cancel()
		if err == nil || ctx.Err() != nil || !isUnanswered(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(tryPause):
		}
	}
}

// isUnanswered reports whether a request had no answer of a leader.
func isUnanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && api.Code == 503
}
