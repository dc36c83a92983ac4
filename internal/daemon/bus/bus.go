package bus

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// Errors of sockets, to be tested with errors.Is.
var (
	// ErrBusy: the queue to the peer is full, or nobody is connected.
	ErrBusy = errors.New("the queue of the peer is full")
	// ErrGone: the peer of that route is not connected any more.
	ErrGone = errors.New("the peer has gone")
	// ErrNone: no message waits.
	ErrNone = errors.New("no message")
	// ErrRefused: the server ends the handshakes, on account of keys.
	ErrRefused = errors.New("the server refuses the connection")
)

// Bus is the messaging of one process: a ZMQ context of its own. It is safe for
// use by several goroutines; its sockets are not.
type Bus struct {
	ctx  *zmq.Context
	open atomic.Int64

	door     door           // who may come in
	watchers sync.WaitGroup // one goroutine for each binding socket with keys
	monitors atomic.Int64   // numbers the endpoints of monitors

	ending  sync.Once
	ended   chan struct{} // closed when Term is through
	failure error         // of Term; to be read after ended
}

// New starts a bus with one I/O thread. [Bus.Term] ends it.
func New() (*Bus, error) {
	seed()
	ctx, err := zmq.NewContext()
	if err != nil {
		return nil, fmt.Errorf("bus.New: %w", err)
	}
	// A poll that starts again in full after each signal would stretch a turn.
	ctx.SetRetryAfterEINTR(false)
	// A linger of 0 for sockets that somebody forgets to set or to close.
	if err := ctx.SetBlocky(false); err != nil {
		_ = ctx.Term()
		return nil, fmt.Errorf("bus.New: %w", err)
	}
	return &Bus{ctx: ctx, ended: make(chan struct{})}, nil
}

// Term ends the bus. All sockets must have been closed; what they still had to
// send gets at most their linger. Term itself never waits longer than limit: it
// then answers an error that says how many sockets nobody closed. It may be
// called again to wait longer.
func (b *Bus) Term(limit time.Duration) error {
	b.ending.Do(func() {
		go func() {
			defer close(b.ended)
			b.failure = b.term()
		}()
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.ended:
		if b.failure != nil {
			return fmt.Errorf("bus.Term: %w", b.failure)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("bus.Term: not ended after %v, %d sockets are open", limit, b.open.Load())
	}
}

// term waits for the sockets with keys before it shuts the door, as libzmq lets
// everybody in where there is none.
func (b *Bus) term() error {
	b.watchers.Wait()
	err := b.shutDoor()
	b.ctx.SetRetryAfterEINTR(true)
	return errors.Join(err, b.ctx.Term())
}

// Open is the number of open sockets.
func (b *Bus) Open() int { return int(b.open.Load()) }

// NewUID is a fresh uid for an event: 128 random bits in hexadecimal.
func NewUID() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // it never fails: crypto/rand ends the program instead
	return hex.EncodeToString(bits[:])
}
