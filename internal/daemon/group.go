package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hce/dc/internal/daemon/manager"
)

// runner is one manager.
type runner interface {
	Run(ctx context.Context) error
}

// listener is a manager with a TCP endpoint, which is known when it is ready.
type listener interface{ Addr() string }

// group holds the started managers in the order of their start.
type group struct {
	log       *slog.Logger
	stopLimit time.Duration
	members   []*member
	ended     chan *member // each one whose Run has returned
	endpoints map[string]string
}

// maxMembers is more than there are classes.
const maxMembers = 16

// member is one running manager.
type member struct {
	class string
	stop  context.CancelFunc
	done  chan struct{} // closed when Run has returned
	err   error         // of Run, once done
}

func newGroup(log *slog.Logger, stopLimit time.Duration) *group {
	return &group{log: log, stopLimit: stopLimit, ended: make(chan *member, maxMembers), endpoints: map[string]string{}}
}

// startManager runs a manager in a goroutine and waits until it is ready or ctx ends. The end of ctx
// does not stop the manager: stopAll does, in the right order.
func (g *group) startManager(ctx context.Context, class string, base manager.Config, build func(manager.Config) runner) error {
	var m runner
	ready := make(chan struct{})
	endpoint := ""
	base.Ready = func() {
		if l, ok := m.(listener); ok {
			endpoint = l.Addr()
		}
		close(ready)
	}
	m = build(base)
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &member{class: class, stop: cancel, done: make(chan struct{})}
	g.members = append(g.members, one)
	go func() {
		one.err = m.Run(own)
		close(one.done)
		g.ended <- one
	}()
	select {
	case <-ready:
		if endpoint != "" {
			g.endpoints[class] = endpoint
		}
		return nil
	case <-one.done:
		return fmt.Errorf("class %s did not start: %w", class, one.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitForEnd returns nil when ctx ends or all managers have ended, and an error as soon as one fails.
func (g *group) waitForEnd(ctx context.Context) error {
	for range g.members {
		select {
		case one := <-g.ended:
			if one.err != nil {
				return fmt.Errorf("class %s failed: %w", one.class, one.err)
			}
			g.log.Info("class has stopped", "class", one.class)
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// stopAll stops the managers in reverse order and waits for each.
func (g *group) stopAll() error {
	var failures []error
	for i := len(g.members) - 1; i >= 0; i-- {
		one := g.members[i]
		one.stop()
		timer := time.NewTimer(g.stopLimit)
		select {
		case <-one.done:
		case <-timer.C:
			failures = append(failures, fmt.Errorf("class %s did not stop within %v", one.class, g.stopLimit))
		}
		timer.Stop()
	}
	return errors.Join(failures...)
}
