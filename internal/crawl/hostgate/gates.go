// Package hostgate is package politeness across processes: whoever holds a Pass of
// a host may send one request to it, and all others wait.
//
// Each host has one small file in a folder that every crawling process shares.
// It keeps the politeness.State, and locks on single bytes of it say who may go.
// The kernel drops the locks of a process that dies; the mark "in flight" that
// it leaves in the file makes the next holder wait a whole gap first. Nothing
// has to be repaired after a kill, and no server process is needed.
//
// polite below knows the arithmetic, crawl above holds a Pass around each
// request: pages, robots.txt, HEAD requests and redirect hops alike.
//
//	gates, err := hostgate.Open(dir)
//	pass, err := gates.Acquire(ctx, "example.com", delay, 1)
//	if err != nil { ... }
//	defer pass.Release(delay)
//	// send the request, read the whole answer
//
// Sources: docs/spec/crawling.md 7.2, docs/spec/DECISIONS.md 6.1. DESIGN.md tells why the locks are as
// they are.
package hostgate

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// maxIdle is how many files of hosts without a request are kept open.
	maxIdle = 128
	// MaxConcurrency is the most requests at once that a host can be given.
	MaxConcurrency = 64
	// suffix ends the name of each gate file.
	suffix = ".gate"
)

// ErrClosed is the error of a Gates that was closed.
var ErrClosed = errors.New("hostgate: closed")

// Gates hands out passes from one folder. It may be used by many goroutines,
// and any number of Gates, in this process and others, may share the folder.
type Gates struct {
	dir string

	mu     sync.Mutex
	byHost map[string]*gate
	idle   *list.List // of *gate without users, last used first
	closed bool
}

// Open returns the gates kept in dir, which is made when missing. All processes
// that crawl must use the same folder of a local file system.
func Open(dir string) (*Gates, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("hostgate.Open: %w", err)
	}
	return &Gates{dir: dir, byHost: make(map[string]*gate), idle: list.New()}, nil
}

// Acquire waits until a request to host may begin, and returns the Pass for it.
//
// With a concurrency of 1 (or less) the Pass is alone: no other Pass of the host
// exists in any process, and the last one was released at least the gap ago. The
// gap is the longer of delay and what the last Release promised.
// With a concurrency of n up to MaxConcurrency at most n passes exist at once,
// and the gap is counted from one Acquire to the next. Callers that name
// different numbers for one host respect each other: an alone Pass stays alone.
//
// Who came first goes first, within a process strictly, between processes
// nearly. The host is compared without regard to case or a final dot; whether
// ports belong to it is the caller's choice.
// The error is the context's when that ends first, ErrClosed, or a file error;
// then no Pass exists and the host is as it was.
func (gs *Gates) Acquire(ctx context.Context, host string, delay time.Duration, concurrency int) (*Pass, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" {
		return nil, errors.New("hostgate.Acquire: no host")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("hostgate.Acquire: host %q: %w", host, err)
	}
	g, err := gs.use(host)
	if err != nil {
		return nil, err
	}
	p, err := g.acquire(ctx, delay, min(max(concurrency, 1), MaxConcurrency))
	if err != nil {
		gs.leave(g)
		return nil, fmt.Errorf("hostgate.Acquire: host %q: %w", host, err)
	}
	p.gates = gs
	return p, nil
}

// Close closes the files of idle hosts and refuses further passes. A Pass still
// held stays valid, and a wait under way goes on; their files are closed when
// they end.
func (gs *Gates) Close() error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.closed = true
	return gs.trim(0)
}

// use returns the gate of host and counts the caller as its user.
func (gs *Gates) use(host string) (*gate, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		return nil, ErrClosed
	}
	g := gs.byHost[host]
	if g == nil {
		g = newGate(host, filepath.Join(gs.dir, fileName(host)))
		gs.byHost[host] = g
	}
	if g.place != nil {
		gs.idle.Remove(g.place)
		g.place = nil
	}
	g.users++
	return g, nil
}

// leave ends one use of g. The file of the host idle for longest is closed when
// there are too many.
func (gs *Gates) leave(g *gate) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g.users--
	if g.users > 0 {
		return nil
	}
	g.place = gs.idle.PushFront(g)
	if gs.closed {
		return gs.trim(0)
	}
	return gs.trim(maxIdle)
}

// trim closes idle files until at most n are left. gs.mu is held.
func (gs *Gates) trim(n int) error {
	var errs []error
	for gs.idle.Len() > n {
		last := gs.idle.Back()
		g := gs.idle.Remove(last).(*gate)
		delete(gs.byHost, g.host)
		errs = append(errs, g.close())
	}
	return errors.Join(errs...)
}

// fileName returns the name of host's file. A digest is of one length and one
// alphabet, whatever a hostile link put in the place of a host.
func fileName(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:16]) + suffix
}
