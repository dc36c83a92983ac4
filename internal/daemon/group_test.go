package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
)

// runFunc is a function as a manager.
type runFunc func(ctx context.Context) error

func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

// fake returns a builder of a manager that is ready at once and then runs f.
func fake(f runFunc) func(manager.Config) runner {
	return func(base manager.Config) runner {
		return runFunc(func(ctx context.Context) error {
			base.Ready()
			return f(ctx)
		})
	}
}

func TestFailureStopsAll(t *testing.T) {
	managertest.NoLeaks(t)
	var stopped []string // without a lock, because stops are sequential
	until := func(name string) runFunc {
		return func(ctx context.Context) error {
			<-ctx.Done()
			stopped = append(stopped, name)
			return nil
		}
	}
	g := newGroup(managertest.Quiet(), managertest.Patience)
	for _, m := range []struct {
		name string
		run  runFunc
	}{
		{"a", until("a")}, {"b", until("b")}, {"c", func(context.Context) error { return errors.New("socket broke") }}, {"d", until("d")},
	} {
		if err := g.startManager(context.Background(), m.name, manager.Config{}, fake(m.run)); err != nil && m.name != "c" {
			t.Fatal(err)
		}
	}
	if err := g.waitForEnd(context.Background()); err == nil || !strings.Contains(err.Error(), "class c failed: socket broke") {
		t.Errorf("error %v", err)
	}
	if err := g.stopAll(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(stopped, " "); got != "d b a" {
		t.Errorf("order of stops: %s", got)
	}
}

func TestStopLimit(t *testing.T) {
	managertest.NoLeaks(t)
	release, fine := make(chan struct{}), false
	g := newGroup(managertest.Quiet(), time.Millisecond)
	polite := func(ctx context.Context) error { <-ctx.Done(); fine = true; return nil }
	stuck := func(context.Context) error { <-release; return nil }
	if err := errors.Join(
		g.startManager(context.Background(), "polite", manager.Config{}, fake(polite)),
		g.startManager(context.Background(), "stuck", manager.Config{}, fake(stuck)),
	); err != nil {
		t.Fatal(err)
	}
	err := g.stopAll()
	if err == nil || !strings.Contains(err.Error(), "class stuck did not stop") {
		t.Errorf("error %v", err)
	}
	close(release)
	<-g.members[0].done
	<-g.members[1].done
	if !fine {
		t.Error("the other managers were not stopped")
	}
}
