package jetstream

import (
	"context"
	"errors"
	"testing"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
)

// A server that lags behind answers with the outcome of the start, or with none: the result is that of the end.
func TestOutcomeOfALaggingServer(t *testing.T) {
	running := outcome{Status: executor.Status{State: executor.Running}}
	over := outcome{Status: executor.Status{State: executor.Finished}, output: output{Stdout: []byte("{}")}}
	reads := []outcome{{}, running, running, over}
	o, err := awaitEnd(t.Context(), func(context.Context) (outcome, error) {
		first := reads[0]
		reads = reads[1:]
		return first, nil
	})
	if err != nil || string(o.Stdout) != "{}" || len(reads) != 0 {
		t.Errorf("%+v, %v, %d reads are left", o, err, len(reads))
	}
	if _, err := awaitEnd(t.Context(), func(context.Context) (outcome, error) { return outcome{}, broker.ErrNotFound }); !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("an error of the read: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := awaitEnd(ended, func(context.Context) (outcome, error) { return running, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
