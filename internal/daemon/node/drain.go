package node

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/files"
)

// drain is the end of the node's work on request of the head. It belongs to the loop.
type drain struct {
	on      bool
	done    bool // no task runs, and all links are sent
	looking bool
	flushed bool // a round was started after the last task
}

// Drain is the object of a request to NodeSubject(name, "drain"): start or end draining, or with
// Only the state.
type Drain struct {
	On   bool `json:"on"`
	Only bool `json:"only,omitempty"`
}

// Draining is the answer.
type Draining struct {
	State string `json:"state"` // working, draining or drained
}

func (a *Agent) declareDrain() {
	d := &a.drain
	if a.cfg.DrainFile != "" {
		_, err := os.Stat(a.cfg.DrainFile)
		d.on = err == nil
		a.draining.Store(d.on)
	}
	a.Maintain("drain", func() time.Duration {
		if !d.on || d.done {
			return 0
		}
		return time.Second
	}, func(time.Time) { a.drainStep() })
	a.Gauge("drain_state", func() any { return a.drainState() })
}

func (a *Agent) drainState() string {
	switch d := a.drain; {
	case d.done:
		return "drained"
	case d.on:
		return "draining"
	}
	return "working"
}

// serveDrain answers the head until ctx ends.
func (a *Agent) serveDrain(ctx context.Context, conn *broker.Conn) error {
	stop, err := conn.Serve(broker.NodeSubject(a.cfg.Join.Name, "drain"), "", func(m broker.Message) {
		var request Drain
		if err := json.Unmarshal(m.Data, &request); err != nil {
			a.Log().Warn("ignored an unreadable request to drain", "error", err)
			return
		}
		a.postToLoop(func() {
			if !request.Only {
				a.setDrain(request.On)
			}
			answer, _ := json.Marshal(Draining{a.drainState()})
			if err := m.Respond(answer); err != nil {
				a.Log().Warn("cannot answer a request to drain", "error", err)
			}
		})
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

// setDrain holds the batch managers, also after a restart of the node, or lets them go on.
func (a *Agent) setDrain(on bool) {
	d := &a.drain
	if d.on == on {
		return
	}
	*d = drain{on: on}
	if err := a.keepDrain(); err != nil {
		a.Log().Error("cannot keep the state of draining over a restart", "error", err)
	}
	a.Log().Info("draining changed", "on", on)
	a.draining.Store(on)
	a.checkLease(a.Now())
}

// keepDrain creates or removes the file that keeps the state over a restart.
func (a *Agent) keepDrain() error {
	switch {
	case a.cfg.DrainFile == "":
		return nil
	case a.drain.on:
		return files.Write(a.cfg.DrainFile, nil, 0o600)
	}
	return files.IgnoreMissing(os.Remove(a.cfg.DrainFile))
}

// drainStep looks whether the node has finished: no task of a batch manager runs, then a whole
// round has sent all links.
func (a *Agent) drainStep() {
	d, o := &a.drain, &a.out
	if !d.on || d.done || d.looking || o.sending {
		return
	}
	d.looking = true
	manager.Work(a.Loop, func(ctx context.Context) (int, error) {
		tasks, err := activeTasks(ctx, a.cfg.Pool)
		return len(tasks), err
	}, func(tasks int, err error) {
		d.looking = false
		switch {
		case err != nil, tasks > 0, !a.allHeld():
		case !d.flushed:
			d.flushed = true
			a.wantSend()
		case o.wanted || o.sending:
			a.Kick("links")
		case a.cfg.Placement != "" && !a.owner.Load() && (a.quota.wanted || a.quota.running || a.quota.waiting > 0): // links to pass on
		case o.left == 0 && d.on:
			d.done = true
			a.Log().Info("drained")
		}
	})
}

// allHeld reports whether all managers have confirmed their hold.
func (a *Agent) allHeld() bool {
	for _, name := range a.cfg.Held {
		if !a.lease.held[name] {
			return false
		}
	}
	return true
}
