package node

import (
	"context"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/jetstream"
	"hce/dc/internal/daemon/sites"
)

// extra are the arguments that the head may add to those of a program.
var extra = []string{"--finalize"}

// joinExecutor joins the executor of the cluster.
func (a *Agent) joinExecutor(ctx context.Context, conn *broker.Conn, s Session) (Member, error) {
	c := a.cfg
	return jetstream.Serve(ctx, conn, jetstream.ServeConfig{
		Name: c.Join.Name, Pool: c.Pool, Programs: c.Programs, Extra: extra,
		Address: c.Address, Version: c.Version, Heartbeat: c.Lease / 3, Log: c.log,
		Session: s.Name, Confirm: s.Confirm,
		State: func() string {
			if s.Draining() {
				return executor.NodeDraining
			}
			return ""
		},
		Notice: a.moves.damageNotice,
		Before: func(ctx context.Context, t executor.Task) { c.awaitPlacement(ctx, t.Epoch) },
		Handle: func(ctx context.Context, t executor.Task) error { return a.runStep(ctx, conn, t) },
		Skip:   func() bool { return c.Placement != "" && !a.owner.Load() },
		Done: func(t executor.Task, r executor.Result) {
			if sites.MadeWork(t, r) {
				s.Changed()
			}
		},
	})
}

// awaitPlacement waits until placement.json has an epoch. watchPlacement writes it. Otherwise the
// task programs would store rows of other nodes.
func (c Config) awaitPlacement(ctx context.Context, epoch int64) {
	for c.Placement != "" && epoch > 0 && ctx.Err() == nil {
		if p, err := c.readPlacement(); err == nil && p.Epoch >= epoch {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(memberPause):
		}
	}
}

var _ Member = (*jetstream.Node)(nil)
