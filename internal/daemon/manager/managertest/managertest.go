// Package managertest holds the helpers of the managers' tests: a bus that checks for leaks,
// a manager that runs until the test ends, a client, a server and a fake executor.
//
//	b := managertest.Bus(t)
//	ready := make(chan struct{})
//	m := sites.New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }}, cfg)
//	stop := managertest.Run(t, m, ready)
//	answer := managertest.Call(t, b, bus.Inproc("SitesManager")).Ask(wire.ClassClient, 1, nil)
package managertest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// Patience bounds a test that hangs; no result depends on it.
const Patience = time.Minute

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Bus returns a bus for one test. At the end of the test all its sockets must be closed and
// no new goroutine may be running.
func Bus(t testing.TB) *bus.Bus {
	t.Helper()
	NoLeaks(t)
	b, err := bus.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Term(Patience); err != nil {
			t.Error(err)
		}
	})
	return b
}

// NoLeaks fails the test if more goroutines run at its end than now.
func NoLeaks(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		testwait.Until(t, "the goroutines of the test end", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// Runner is a manager.
type Runner interface {
	Run(ctx context.Context) error
}

// Run starts m and returns when ready is closed. stop stops m and waits for its end; the end
// of the test calls it, too.
func Run(t testing.TB, m Runner, ready <-chan struct{}) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("the manager did not start: %v", err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Serve binds an endpoint and sends the results of answer for each event until the test ends.
// It calls answer from its own goroutine and ignores peers that have disconnected. It returns
// the endpoint with the chosen port.
func Serve(t testing.TB, b *bus.Bus, endpoint string, answer func(e wire.Event) []wire.Event) string {
	t.Helper()
	s, err := b.Bind(endpoint, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var joined sync.WaitGroup
	joined.Go(func() {
		defer s.Close()
		poll := bus.NewPoller(s)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := poll.Wait(5 * time.Millisecond); err != nil {
				t.Error(err)
				return
			}
			for {
				m, err := s.Recv()
				if errors.Is(err, bus.ErrNone) {
					break
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range answer(m.Event) {
					if _, err := s.Send(m.Route, e); err != nil && !errors.Is(err, bus.ErrGone) {
						t.Error(err)
					}
				}
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		joined.Wait()
	})
	return s.Endpoint()
}

// Caller is a client. It belongs to the goroutine of the test.
type Caller struct {
	t    testing.TB
	s    *bus.Socket
	poll *bus.Poller
}

// Call connects a client to an endpoint.
func Call(t testing.TB, b *bus.Bus, endpoint string) *Caller {
	t.Helper()
	s, err := b.Connect(endpoint, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &Caller{t, s, bus.NewPoller(s)}
}

// Event returns an event with a new uid.
func Event(t testing.TB, class string, eventType int, object any) wire.Event {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Class: class, UID: bus.NewUID(), Type: eventType, Object: raw}
}

// Send sends one event. It waits while the queue is full.
func (c *Caller) Send(e wire.Event) {
	c.t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		_, err := c.s.Send(nil, e)
		if err == nil {
			return
		}
		if !errors.Is(err, bus.ErrBusy) || time.Now().After(end) {
			c.t.Fatal(err)
		}
	}
}

// Recv waits for one event.
func (c *Caller) Recv() wire.Event {
	c.t.Helper()
	e, ok := c.Poll(Patience)
	if !ok {
		c.t.Fatal("no message")
	}
	return e
}

// Poll waits at most limit for one event.
func (c *Caller) Poll(limit time.Duration) (wire.Event, bool) {
	c.t.Helper()
	for end := time.Now().Add(limit); ; {
		m, err := c.s.Recv()
		if err == nil {
			return m.Event, true
		}
		if !errors.Is(err, bus.ErrNone) {
			c.t.Fatal(err)
		}
		left := time.Until(end)
		if left <= 0 {
			return wire.Event{}, false
		}
		if _, err := c.poll.Wait(left); err != nil {
			c.t.Fatal(err)
		}
	}
}

// Ask sends a request and waits for its answer, which must be the next event.
func (c *Caller) Ask(class string, eventType int, object any) wire.Event {
	c.t.Helper()
	e := Event(c.t, class, eventType, object)
	c.Send(e)
	answer := c.Recv()
	if answer.UID != e.UID || answer.Class != class {
		c.t.Fatalf("answer has class %s and uid %s, request has uid %s", answer.Class, answer.UID, e.UID)
	}
	return answer
}

// Object decodes the object of an event.
func Object[T any](t testing.TB, e wire.Event) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(e.Object, &v); err != nil {
		t.Fatalf("%s: %v", e.Object, err)
	}
	return v
}

// Executor is an executor whose Run is a function. Its other operations panic.
type Executor struct {
	executor.Executor
	RunFunc func(ctx context.Context, t executor.Task) ([]executor.Result, error)
}

// Run calls RunFunc.
func (e Executor) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	return e.RunFunc(ctx, t)
}

// Close does nothing.
func (e Executor) Close(context.Context) error { return nil }

// Finished returns the result of a task that wrote stdout on a node.
func Finished(node, stdout string) executor.Result {
	now := time.Now()
	return executor.Result{
		Status: executor.Status{State: executor.Finished, Node: node, Started: now, Ended: now.Add(5 * time.Millisecond)},
		Stdout: []byte(stdout),
	}
}
