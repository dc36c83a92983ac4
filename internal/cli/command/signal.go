package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns a context that ends with the first SIGINT or SIGTERM of the process. The second one ends the process.
func SignalContext() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
