package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Workers is the name of the socket on which workers report.
const Workers = "workers"

// workerEnded is the event type of a worker's last message, below the types
// that managers use.
const workerEnded = 0

// sendPause is how long a worker waits when the loop does not keep up.
const sendPause = 5 * time.Millisecond

// workers are the goroutines of one loop that do slow work.
type workers struct {
	loop    *Loop
	ctx     context.Context
	cancel  context.CancelFunc
	joined  sync.WaitGroup
	running map[string]func(error) // by uid: what to call when it ends
}

func (w *workers) init(l *Loop) {
	w.loop = l
	w.running = map[string]func(error){}
	l.Bind(Workers, bus.Inproc(l.cfg.Name+".workers"), bus.Options{})
	l.Handle(Workers, wire.ClassInternal, workerEnded, w.ended)
}

// start makes the workers' ctx. It ends in join, not with the loop's, so that
// nobody reports "cancelled" for a request before the last words are said.
func (w *workers) start(ctx context.Context) {
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
}

func (w *workers) join() {
	w.cancel()
	w.joined.Wait()
}

// Go starts a worker: a goroutine that runs work, with one socket of its own to
// report on. Its ctx is done when the loop is left; Run waits for its return.
// ended, which may be nil, is called from the loop after the last report, with
// work's error (as a text of it) or that of its panic; it is not called once
// the loop has been left. Go answers the worker's uid, which is the uid of its
// reports, or bus.ErrBusy when as many workers run as may.
func (l *Loop) Go(work func(ctx context.Context, r *Reporter) error, ended func(err error)) (uid string, err error) {
	w := &l.workers
	if len(w.running) >= l.cfg.MaxWorkers {
		return "", fmt.Errorf("manager.Go: %d workers run: %w", len(w.running), bus.ErrBusy)
	}
	// Opened here, so that the lack of a socket is an answer at once; the go
	// statement hands it over for good.
	s, err := l.cfg.Bus.Connect(l.Endpoint(Workers), bus.Options{})
	if err != nil {
		return "", fmt.Errorf("manager.Go: %w", err)
	}
	r := &Reporter{ctx: w.ctx, socket: s, uid: bus.NewUID()}
	if ended == nil {
		ended = func(error) {}
	}
	w.running[r.uid] = ended
	w.joined.Go(func() {
		defer s.Close()
		failure := ""
		if err := protect(func() error { return work(w.ctx, r) }); err != nil {
			failure = err.Error()
		}
		_ = r.Send(workerEnded, failure) // fails only when nobody listens any more
	})
	return r.uid, nil
}

// Working is the number of workers that run.
func (l *Loop) Working() int { return len(l.workers.running) }

// HandleReport declares the handler for one type of the workers' reports.
func (l *Loop) HandleReport(eventType int, h func(uid string, object json.RawMessage)) {
	l.Handle(Workers, wire.ClassInternal, eventType, func(_ Peer, e wire.Event) { h(e.UID, e.Object) })
}

func (w *workers) ended(_ Peer, e wire.Event) {
	ended, ok := w.running[e.UID]
	if !ok {
		return
	}
	delete(w.running, e.UID)
	var failure string
	if err := json.Unmarshal(e.Object, &failure); err != nil {
		failure = err.Error()
	}
	if failure != "" {
		ended(errors.New(failure))
		return
	}
	ended(nil)
}

// protect turns a panic of f into an error: one worker's fault is not the
// daemon's end.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// Reporter is how a worker talks to its manager. It belongs to the worker's
// goroutine and is dead when that returns.
type Reporter struct {
	ctx    context.Context
	socket *bus.Socket
	uid    string
}

// Send reports an object. It waits while the manager does not keep up, and
// fails when the manager stops meanwhile or the object has no JSON.
func (r *Reporter) Send(eventType int, object any) error {
	e, err := newEvent(wire.ClassInternal, eventType, object)
	if err != nil {
		return err
	}
	e.UID = r.uid
	for {
		_, err := r.socket.Send(nil, e)
		if !errors.Is(err, bus.ErrBusy) {
			return err
		}
		select {
		case <-r.ctx.Done():
			return fmt.Errorf("manager.Reporter.Send: %w", r.ctx.Err())
		case <-time.After(sendPause):
		}
	}
}
