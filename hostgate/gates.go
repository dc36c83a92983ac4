// Package hostgate applies package politeness across processes: the holder of a Pass of a
// host may send one request to it, and all others wait.
//
// Each host has one small file in a folder that all crawling processes share. The file
// stores the politeness.State, and locks on single bytes of it protect it. The kernel drops
// the locks of a process that dies. The mark "in flight" in the file then makes the next
// holder wait a whole gap. So a kill needs no repair, and no server process is needed.
//
// A caller holds a Pass during each request: pages, robots.txt, HEAD requests and redirects
// alike.
//
//	gates, err := hostgate.Open(dir)
//	pass, err := gates.Acquire(ctx, "example.com", delay, 1)
//	if err != nil { ... }
//	defer pass.Release(delay)
//	// send the request, read the whole response
//
// Sources: docs/spec/crawling.md 7.2, docs/spec/DECISIONS.md 6.1.
// docs/decisions/0003-host-gates-by-locked-bytes.md explains the choice of locks.
package hostgate

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// maxIdle is the number of files of idle hosts that stay open.
	maxIdle = 128
	// MaxConcurrency is the highest number of concurrent requests to one host.
	MaxConcurrency = 64
	// suffix ends the name of each gate file.
	suffix = ".gate"
)

// ErrClosed is the error of Acquire after Close.
var ErrClosed = errors.New("hostgate: closed")

// Gates gives out passes from one folder. Goroutines may share it, and any number of Gates,
// in this and other processes, may share the folder.
type Gates struct {
	dir   string
	clock clock

	mu     sync.Mutex
	byHost map[string]*gate
	idle   *list.List // *gate without users, last used first
	closed bool
}

// Open returns the gates of dir and creates dir if missing. All crawling processes must use
// the same folder, on a local file system.
func Open(dir string) (*Gates, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open host gates: %w", err)
	}
	return &Gates{dir: dir, clock: machine(), byHost: make(map[string]*gate), idle: list.New()}, nil
}

// Acquire waits until a request to host may begin and returns its Pass.
//
// With a concurrency of 1 or less the Pass is exclusive: no other Pass of the host exists
// in any process, and the last one was released at least one gap ago. The gap is the longer
// of delay and the delay of the last Release. With a concurrency of n, up to
// MaxConcurrency, at most n passes exist at once, and the gap is counted between two calls
// of Acquire. An exclusive Pass stays exclusive even if other callers use a higher
// concurrency.
//
// Callers are served in order of arrival, strictly within a process and nearly between
// processes. The comparison of hosts ignores case and a final dot. Whether host includes a
// port is the caller's choice. The error is that of ctx, ErrClosed or a file error. Then
// there is no Pass, and the host is unchanged.
func (gs *Gates) Acquire(ctx context.Context, host string, delay time.Duration, concurrency int) (*Pass, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" {
		return nil, errors.New("acquire host gate: empty host")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire gate of host %q: %w", host, err)
	}
	g, err := gs.useGate(host)
	if err != nil {
		return nil, err
	}
	p, err := g.acquirePass(ctx, delay, min(max(concurrency, 1), MaxConcurrency))
	if err != nil {
		gs.leaveGate(g)
		return nil, fmt.Errorf("acquire gate of host %q: %w", host, err)
	}
	p.gates = gs
	return p, nil
}

// Close closes the files of idle hosts and refuses further passes. Held passes stay valid
// and running calls of Acquire continue; their files are closed when they end.
func (gs *Gates) Close() error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.closed = true
	return gs.closeIdle(0)
}

// useGate returns the gate of host and counts the caller as a user.
func (gs *Gates) useGate(host string) (*gate, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		return nil, ErrClosed
	}
	g := gs.byHost[host]
	if g == nil {
		g = newGate(host, filepath.Join(gs.dir, fileName(host)), gs.clock)
		gs.byHost[host] = g
	}
	if g.place != nil {
		gs.idle.Remove(g.place)
		g.place = nil
	}
	g.users++
	return g, nil
}

// leaveGate ends one use of g. It closes the file of the longest idle host if too many are
// open.
func (gs *Gates) leaveGate(g *gate) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g.users--
	if g.users > 0 {
		return nil
	}
	g.place = gs.idle.PushFront(g)
	if gs.closed {
		return gs.closeIdle(0)
	}
	return gs.closeIdle(maxIdle)
}

// closeIdle closes idle files until at most n are open. gs.mu must be held.
func (gs *Gates) closeIdle(n int) error {
	var errs []error
	for gs.idle.Len() > n {
		last := gs.idle.Back()
		g := gs.idle.Remove(last).(*gate)
		delete(gs.byHost, g.host)
		errs = append(errs, g.closeFile())
	}
	return errors.Join(errs...)
}

// fileName returns the name of host's file. A digest has a fixed length and alphabet,
// whatever a hostile link contains as its host.
func fileName(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:16]) + suffix
}

// Next returns when a request to host with this delay could begin, and whether a request is
// in flight or has ended without a record of it. It is information for people: it takes no
// lock, and the record may change at once. For a host without requests it returns now.
func (gs *Gates) Next(host string, delay time.Duration, concurrency int, now time.Time) (at time.Time, inFlight bool, err error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if delay <= 0 && gs.isLeased(host) {
		return now, true, nil
	}
	f, err := os.Open(filepath.Join(gs.dir, fileName(host)))
	if errors.Is(err, fs.ErrNotExist) {
		return now, false, nil
	}
	if err != nil {
		return now, false, fmt.Errorf("read gate of host %q: %w", host, err)
	}
	defer f.Close()
	state, fresh, err := gs.clock.readState(f)
	if err != nil {
		return now, false, fmt.Errorf("read gate of host %q: %w", host, err)
	}
	if fresh {
		return now, false, nil
	}
	inFlight = state.InFlight
	steady := gs.clock.currentTime()
	state = state.Settle(steady)
	wait := state.Wait(steady, delay)
	if concurrency > 1 {
		wait = state.WaitStart(steady, delay)
	}
	return now.Add(wait), inFlight, nil
}

// isLeased reports whether this process keeps the locks of host.
func (gs *Gates) isLeased(host string) bool {
	gs.mu.Lock()
	g := gs.byHost[host]
	gs.mu.Unlock()
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lease.held
}
