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

// Errors of sockets; test them with errors.Is.
var (
	ErrBusy    = errors.New("the queue to the peer is full") // also: no peer is connected
	ErrGone    = errors.New("the peer has disconnected")
	ErrNone    = errors.New("no message")
	ErrRefused = errors.New("the server refuses the connection") // its keys and ours do not match
)

// Bus is the ZMQ context of one process. It is safe for concurrent use; its sockets are not.
type Bus struct {
	ctx  *zmq.Context
	open atomic.Int64

	serving sync.WaitGroup // goroutines of TCP sockets that listen
	names   atomic.Int64   // numbers the endpoints of monitors and of pairs

	objects sync.Map // of events between sockets of this bus, by number
	object  atomic.Uint64

	ending  sync.Once
	ended   chan struct{} // closed when Term is done
	failure error         // of Term; read it after ended
}

// New starts a bus with one I/O thread. Call [Bus.Term] at the end.
func New() (*Bus, error) {
	ctx, err := zmq.NewContext()
	if err != nil {
		return nil, fmt.Errorf("create ZMQ context: %w", err)
	}
	// A restart of poll after each signal would extend its timeout.
	ctx.SetRetryAfterEINTR(false)
	// Without it, a socket that is never closed would block Term.
	if err := ctx.SetBlocky(false); err != nil {
		_ = ctx.Term()
		return nil, fmt.Errorf("set options of ZMQ context: %w", err)
	}
	return &Bus{ctx: ctx, ended: make(chan struct{})}, nil
}

// Term ends the bus after all sockets were closed; unsent messages get their linger time.
// It waits at most limit, then returns an error with the number of open sockets. A second
// call continues to wait.
func (b *Bus) Term(limit time.Duration) error {
	b.ending.Do(func() {
		go func() {
			defer close(b.ended)
			b.failure = b.terminate()
		}()
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.ended:
		if b.failure != nil {
			return fmt.Errorf("end message bus: %w", b.failure)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("end message bus: not ended after %v, %d sockets are open", limit, b.open.Load())
	}
}

func (b *Bus) terminate() error {
	b.serving.Wait()
	b.ctx.SetRetryAfterEINTR(true)
	return b.ctx.Term()
}

// Open returns the number of open sockets.
func (b *Bus) Open() int { return int(b.open.Load()) }

// NewUID returns a new uid for an event: 128 random bits in hexadecimal.
func NewUID() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // crypto/rand never returns an error
	return hex.EncodeToString(bits[:])
}
