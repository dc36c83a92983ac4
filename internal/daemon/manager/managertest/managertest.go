// Package managertest is what the tests of managers share: a bus that must be
// left clean, a manager that runs until the test ends, a peer that asks it, a
// server and an environment that are functions.
//
//	b := managertest.Bus(t)
//	ready := make(chan struct{})
//	m := sites.New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }}, cfg)
//	stop := managertest.Run(t, m, ready)
//	answer := managertest.Call(t, b, bus.Inproc("SitesManager")).Ask(wire.ClassClient, 1, nil)
//
// Neighbours: bus and env; the tests of the packages above manager.
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
	"hce/dc/internal/wire"
)

// Patience is how long a test waits for what must come; it decides nothing else.
const Patience = 20 * time.Second

// Quiet is a logger that says nothing.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Bus is a bus for one test. At the test's end all its sockets must be closed
// and no goroutine more must run than at the start.
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

// NoLeaks fails the test when more goroutines run at its end than now.
func NoLeaks(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(Patience); runtime.NumGoroutine() > before; {
			if time.Now().After(end) {
				t.Errorf("%d goroutines at the end, %d at the start", runtime.NumGoroutine(), before)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// Runner is a manager.
type Runner interface {
	Run(ctx context.Context) error
}

// Run runs m until the test ends or stop is called, which waits for its end. It
// returns when ready is closed.
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

// Serve binds an endpoint and sends what answer gives for each event, in a
// goroutine of its own, until the test ends. A peer that left meanwhile is no
// fault. It gives the endpoint, with its port where the system chose that.
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

// Caller is a peer of the test's goroutine.
type Caller struct {
	t    testing.TB
	s    *bus.Socket
	poll *bus.Poller
}

// Call connects a peer to an endpoint.
func Call(t testing.TB, b *bus.Bus, endpoint string) *Caller {
	t.Helper()
	s, err := b.Connect(endpoint, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &Caller{t, s, bus.NewPoller(s)}
}

// Event makes an event with a fresh uid.
func Event(t testing.TB, class string, eventType int, object any) wire.Event {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Class: class, UID: bus.NewUID(), Type: eventType, Object: raw}
}

// Send sends one event, waiting while the queue is full.
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

// Poll waits for one event, at most that long.
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
		c.t.Fatalf("answer of class %s to %s, asked %s", answer.Class, answer.UID, e.UID)
	}
	return answer
}

// Object reads the object of an event.
func Object[T any](t testing.TB, e wire.Event) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(e.Object, &v); err != nil {
		t.Fatalf("%s: %v", e.Object, err)
	}
	return v
}

// Env is an environment whose Run is a function. It has no other operation.
type Env struct {
	executor.Environment
	RunFunc func(ctx context.Context, t executor.Task) ([]executor.Result, error)
}

// Run calls RunFunc.
func (e Env) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	return e.RunFunc(ctx, t)
}

// Close does nothing.
func (e Env) Close(context.Context) error { return nil }

// Finished is the result of a task that wrote stdout on a node.
func Finished(node, stdout string) executor.Result {
	now := time.Now()
	return executor.Result{
		Status: executor.Status{State: executor.Finished, Node: node, Started: now, Ended: now.Add(5 * time.Millisecond)},
		Stdout: []byte(stdout),
	}
}
