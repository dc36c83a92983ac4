package manager

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Workers is the name of the socket that receives the messages of workers.
const Workers = "workers"

// workers are the goroutines of one loop that do slow work.
type workers struct {
	loop    *Loop
	ctx     context.Context
	cancel  context.CancelFunc
	joined  sync.WaitGroup
	running map[string]func() // by uid: the callback at the end
}

func (w *workers) init(l *Loop) {
	w.loop = l
	w.running = map[string]func(){}
	l.Bind(Workers, bus.Inproc(l.cfg.Name+".workers"), bus.Options{})
	l.Handle(Workers, wire.ClassInternal, wire.InternalTaskDone, w.finishWorker)
	l.Quiet(Workers)
}

// startWorkers creates the workers' context. join ends it, after pending requests were answered:
// a worker must not report "cancelled" for them first. One worker wakes the loop when ctx ends.
func (w *workers) startWorkers(ctx context.Context) error {
	s, err := w.loop.cfg.Bus.Connect(w.loop.Endpoint(Workers), bus.Options{})
	if err != nil {
		return err
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.joined.Go(func() {
		defer s.Close()
		select {
		case <-ctx.Done():
			_, _ = s.Send(nil, wire.Event{Class: wire.ClassInternal, UID: bus.NewUID(), Type: wire.InternalTaskDone})
		case <-w.ctx.Done():
		}
	})
	return nil
}

func (w *workers) cancelAndWait() {
	w.cancel()
	w.joined.Wait()
}

// Go starts a worker: a goroutine with its own socket that runs work. Its ctx ends when the
// loop stops; Run waits for it. ended gets the error of work, its panic as an error, or
// bus.ErrBusy if MaxWorkers run. It runs once: in the loop, in this call if the worker cannot
// start, and not at all after the loop has stopped.
func (l *Loop) Go(work func(ctx context.Context) error, ended func(err error)) {
	w := &l.workers
	if n := len(w.running); n >= l.cfg.MaxWorkers {
		ended(fmt.Errorf("start worker: %d workers run: %w", n, bus.ErrBusy))
		return
	}
	// Opened here to get its error; the go statement hands it over.
	s, err := l.cfg.Bus.Connect(l.Endpoint(Workers), bus.Options{})
	if err != nil {
		ended(fmt.Errorf("start worker: %w", err))
		return
	}
	// The result takes a channel: the loop would parse it as a message.
	uid, result := bus.NewUID(), make(chan error, 1)
	w.running[uid] = func() { ended(<-result) }
	w.joined.Go(func() {
		defer s.Close()
		result <- callProtected(func() error { return work(w.ctx) })
		_, _ = s.Send(nil, wire.Event{Class: wire.ClassInternal, UID: uid, Type: wire.InternalTaskDone}) // a new socket has room
	})
}

// Work is Go for work that returns a value. After an error done gets the zero value.
func Work[T any](l *Loop, work func(ctx context.Context) (T, error), done func(T, error)) {
	var v, zero T // the end of the worker orders its write before done
	l.Go(func(ctx context.Context) (err error) {
		v, err = work(ctx)
		return err
	}, func(err error) {
		if err != nil {
			v = zero
		}
		done(v, err)
	})
}

func (w *workers) finishWorker(_ Peer, e wire.Event) {
	if ended, ok := w.running[e.UID]; ok {
		delete(w.running, e.UID)
		ended()
	}
}

// callProtected turns a panic of f into an error.
func callProtected(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
