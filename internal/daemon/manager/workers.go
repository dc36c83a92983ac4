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

// Workers is the name of the socket that receives the reports of workers.
const Workers = "workers"

// workerEnded is the event type of a worker's last message. Managers use higher types.
const workerEnded = 0

// sendPause is how long a worker waits if the queue to the loop is full.
const sendPause = 5 * time.Millisecond

// workers are the goroutines of one loop that do slow work.
type workers struct {
	loop    *Loop
	ctx     context.Context
	cancel  context.CancelFunc
	joined  sync.WaitGroup
	running map[string]func(error) // by uid: the callback at the end
}

func (w *workers) init(l *Loop) {
	w.loop = l
	w.running = map[string]func(error){}
	l.Bind(Workers, bus.Inproc(l.cfg.Name+".workers"), bus.Options{})
	l.Handle(Workers, wire.ClassInternal, workerEnded, w.ended)
}

// start creates the workers' context. join ends it, after pending requests were answered:
// a worker must not report "cancelled" for them first.
func (w *workers) start(ctx context.Context) {
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
}

func (w *workers) join() {
	w.cancel()
	w.joined.Wait()
}

// Go starts a worker: a goroutine that runs work with its own socket for reports. Its ctx
// ends when the loop stops; Run waits for it. ended may be nil; the loop calls it after the
// last report with the text of work's error or panic, but not after the loop has stopped.
// Go returns the uid of the worker's reports, or bus.ErrBusy if MaxWorkers run.
func (l *Loop) Go(work func(ctx context.Context, r *Reporter) error, ended func(err error)) (uid string, err error) {
	w := &l.workers
	if len(w.running) >= l.cfg.MaxWorkers {
		return "", fmt.Errorf("start worker: %d workers run: %w", len(w.running), bus.ErrBusy)
	}
	// Opened here to return its error; the go statement hands it over.
	s, err := l.cfg.Bus.Connect(l.Endpoint(Workers), bus.Options{})
	if err != nil {
		return "", fmt.Errorf("start worker: %w", err)
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
		_ = r.Send(workerEnded, failure) // fails only if the loop has stopped
	})
	return r.uid, nil
}

// Working returns the number of running workers.
func (l *Loop) Working() int { return len(l.workers.running) }

// HandleReport declares the handler for one event type of the workers' reports.
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

// protect turns a panic of f into an error.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// Reporter sends a worker's reports to its manager. It belongs to the worker's goroutine.
type Reporter struct {
	ctx    context.Context
	socket *bus.Socket
	uid    string
}

// Send reports an object. It waits while the queue is full. It fails if the manager stops
// meanwhile or the object has no JSON form.
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
			return fmt.Errorf("send report: %w", r.ctx.Err())
		case <-time.After(sendPause):
		}
	}
}
