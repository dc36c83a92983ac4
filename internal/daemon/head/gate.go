package head

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// gate holds requests back while a step moves hosts: in that time a host can be on two nodes, or on none.
type gate struct {
	mu      sync.Mutex
	closed  chan struct{} // nil: open
	inside  int
	changed chan struct{} // inside became 0
}

// closeGate makes new requests wait.
func (g *gate) closeGate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// openGate lets requests go on. It may be called twice.
func (g *gate) openGate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// enterGate waits until the gate is open, or ctx ends. The caller calls leave after nil.
func (g *gate) enterGate(ctx context.Context) error {
	for {
		g.mu.Lock()
		closed := g.closed
		if closed == nil {
			g.inside++
		}
		g.mu.Unlock()
		if closed == nil {
			return nil
		}
		select {
		case <-closed:
		case <-ctx.Done():
			return fmt.Errorf("hosts are moving between nodes; try again: %w", ctx.Err())
		}
	}
}

func (g *gate) leaveGate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// awaitDrained waits until all requests that were let in have ended. It returns false if that takes longer than
// limit, or if ctx ends.
func (g *gate) awaitDrained(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	g.mu.Lock()
	if g.inside == 0 {
		g.mu.Unlock()
		return ctx.Err() == nil
	}
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	changed := g.changed
	g.mu.Unlock()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}
