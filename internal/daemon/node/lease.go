package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// OwnTasks are the types of the tasks that the batch managers submit.
var OwnTasks = []string{batches.CrawlTask, batches.ProcessTask, batches.AgeTask, batches.PurgeTask}

const holdTimeout = 10 * time.Second

// lease says whether the batch managers may work. It belongs to the loop.
type lease struct {
	good       bool
	held       map[string]bool // by manager: what it has confirmed
	asking     map[string]bool
	cancelling bool
}

func (a *Agent) declareLease() {
	l := &a.lease
	l.held, l.asking = map[string]bool{}, map[string]bool{}
	for _, name := range a.cfg.Held {
		l.held[name] = true // as they start
	}
	a.Maintain("lease", func() time.Duration { return a.cfg.Lease / 5 }, a.checkLease)
	a.Gauge("cluster_lease", func() any { return intFromBool(l.good) })
	a.Gauge("batches_held", func() any { return intFromBool(a.mustHold()) })
}

// isConfirmed reports whether the broker has confirmed the membership within the lease.
func (a *Agent) isConfirmed(now time.Time) bool {
	return a.session.member != nil && now.Sub(a.session.member.Confirmed()) <= a.cfg.Lease
}

// mustHold reports whether the batch managers may not work now.
func (a *Agent) mustHold() bool {
	return !a.lease.good || !a.session.caughtUp || a.drain.on || a.moving || a.cfg.Placement != "" && !a.owner.Load()
}

// setMoving holds the batch managers during a step of a change of members.
func (a *Agent) setMoving(on bool) {
	a.moving = on
	a.checkLease(a.Now())
	if !on {
		a.wantSend()
		a.wantQuota()
	}
}

// checkLease holds or releases the batch managers, and cancels their tasks without a lease.
func (a *Agent) checkLease(now time.Time) {
	l := &a.lease
	if good := a.isConfirmed(now); good != l.good {
		l.good = good
		if good {
			a.Log().Info("the membership is confirmed")
		} else {
			a.Log().Warn("the membership is not confirmed: no page is requested until it is", "limit", a.cfg.Lease)
			if a.session.end != nil {
				a.session.end()
			}
		}
	}
	hold := a.mustHold()
	for _, name := range a.cfg.Held {
		a.setHeld(name, hold)
	}
	if !l.good {
		a.cancelTasks()
	}
}

// setHeld tells a manager to hold or to go on, unless it has confirmed that or is being asked.
func (a *Agent) setHeld(name string, hold bool) {
	l := &a.lease
	if l.held[name] == hold || l.asking[name] {
		return
	}
	l.asking[name] = true
	a.Ask(manager.Peer{Socket: name}, wire.ClassInternal, wire.InternalHold, wire.Hold{Held: hold}, holdTimeout, func(_ wire.Event, err error) {
		l.asking[name] = false
		switch {
		case errors.Is(err, manager.ErrStopped):
		case err != nil:
			a.Log().Warn("a manager does not confirm its hold", "to", name, "held", hold, "error", err)
		default:
			l.held[name] = hold
			a.setHeld(name, a.mustHold()) // it may have changed meanwhile
			if !hold {
				a.Tell(name, wire.InternalWork, nil)
			}
		}
	})
}

// cancelTasks cancels the tasks of the batch managers. It is repeated while the lease is lost: a
// selection that was under way may still submit one.
func (a *Agent) cancelTasks() {
	if a.lease.cancelling {
		return
	}
	a.lease.cancelling = true
	a.Go(func(ctx context.Context) error { return cancelOwn(ctx, a.cfg.Pool) }, func(err error) {
		a.lease.cancelling = false
		if err != nil && !errors.Is(err, context.Canceled) {
			a.Log().Warn("cannot cancel the tasks of the batch managers", "error", err)
		}
	})
}

// cancelOwn cancels all tasks of the batch managers side by side, and returns when they are over.
func cancelOwn(ctx context.Context, pool executor.Executor) error {
	all, err := activeTasks(ctx, pool)
	ended := make(chan error, len(all))
	for _, s := range all {
		go func() { ended <- pool.Cancel(ctx, s.ID, 0) }()
	}
	for range all {
		if e := <-ended; e != nil && !errors.Is(e, executor.ErrUnknown) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// activeTasks returns the tasks of the batch managers that are not over.
func activeTasks(ctx context.Context, pool executor.Executor) ([]executor.Status, error) {
	all, err := pool.Status(ctx)
	return slices.DeleteFunc(all, func(s executor.Status) bool {
		return s.State.Over() || !isOwn(s.Type)
	}), err
}

func isOwn(kind string) bool { return slices.Contains(OwnTasks, kind) }
