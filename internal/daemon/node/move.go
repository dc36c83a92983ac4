package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
)

// A step of a change of members on one node (docs/decisions/0018-moving-hosts.md). It is an entry of
// the journal, which comes again until step has returned nil.
//
//	placement.json              says which steps are done; written last
//	dc_moves/E-G-FROM-TO.pack   rows and contents that leave; HOSTS_PACK writes it, HOSTS_DROP removes it
//	dc_moves/E-G-FROM-TO.pauses delays and cookies of the hosts that leave
//	dc_moves/*.part, *.in       what came so far of such a file, and a whole one
//	notes in the store          HOSTS_UNPACK and HOSTS_DROP know what they did
//
// The sender sends everything again while it is not confirmed. The receiver confirms what it has
// stored as often as it comes. No node waits for a lost one.

const (
	packLimit = 2 * time.Hour // of one operation on hosts
	moveLook  = 100 * time.Millisecond
)

// moves is the state of moving hosts. Goroutines share it.
type moves struct {
	// storing is read-locked while links are stored, and locked while a step runs.
	storing sync.RWMutex

	mu      sync.Mutex
	changed chan struct{}     // closed at each change
	arrived map[parcel]string // the staged file, "" for an empty one
	stored  map[journey]bool  // confirmed to this node
	came    map[journey]bool  // stored by this node
	lost    []string          // nodes that never come back
	damaged int64             // pages that left without their contents, since the start
}

// mover moves hosts between this node and others. Goroutines share it.
type mover struct {
	cfg   Config
	moves *moves
}

// damageNotice says how many pages have left with damaged contents; "" for none.
func (m *moves) damageNotice() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.damaged == 0 {
		return ""
	}
	return fmt.Sprintf("pages with damaged contents that have moved from here: %d; their new nodes fetch or process them again. Check the disk; db-task --check finds further ones", m.damaged)
}

func newMoves() *moves {
	return &moves{changed: make(chan struct{}), arrived: map[parcel]string{}, stored: map[journey]bool{}, came: map[journey]bool{}}
}

func (m *moves) applyChange(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	close(m.changed)
	m.changed = make(chan struct{})
}

// awaitChange returns when done, which runs locked, is true.
func (m *moves) awaitChange(ctx context.Context, done func() bool) error {
	for {
		m.mu.Lock()
		ready, changed := done(), m.changed
		m.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// runStep does one step of a change. conn is the connection of the session.
func (a *Agent) runStep(ctx context.Context, conn *broker.Conn, t executor.Task) error {
	var m cluster.HostsMove
	if err := json.Unmarshal(t.Stdin, &m); err != nil {
		return fmt.Errorf("read step: %w", err)
	}
	m.Self = a.cfg.Join.Name
	if err := m.Check("step"); err != nil {
		return err
	}
	p, err := a.cfg.readPlacement()
	if err != nil {
		return err
	}
	if hasPassed(p, m.Epoch, m.Moved) || !slices.Contains(m.Holders(), m.Self) {
		return nil
	}
	begun := time.Now()
	a.postToLoop(func() { a.setMoving(true) })
	defer func() { a.postToLoop(func() { a.setMoving(false) }) }()
	if err := a.quiesce(ctx); err != nil {
		return err
	}
	a.moves.storing.Lock()
	defer a.moves.storing.Unlock()
	if err := a.mover.exchangeHosts(ctx, conn, m); err != nil {
		return err
	}
	if err := a.writePlacement(m.Next()); err != nil {
		return err
	}
	a.Log().Info("a group of hosts has moved", "epoch", m.Epoch, "group", m.Moved, "groups", m.Groups, "took", time.Since(begun).Round(time.Millisecond))
	return nil
}

// hasPassed reports whether a node with a placement has done a step.
func hasPassed(p placement.Placement, epoch int64, group int) bool {
	return p.Epoch > epoch || p.Epoch == epoch && (p.Groups == 0 || p.Moved > group)
}

// quiesce returns when the batch managers are held, none of their tasks runs, and no links are sent. It
// stops the tasks: they take what they have requested, and hand the rest back.
func (a *Agent) quiesce(ctx context.Context) error {
	tick := time.NewTicker(moveLook)
	defer tick.Stop()
	for {
		type state struct{ held, sending bool }
		now := make(chan state, 1)
		a.postToLoop(func() { now <- state{a.allHeld(), a.out.sending} })
		var s state
		select {
		case s = <-now:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if s.held {
			if err := cancelOwn(ctx, a.cfg.Pool); err != nil {
				return err
			}
		}
		tasks, err := activeTasks(ctx, a.cfg.Pool)
		if err != nil || s == (state{held: true}) && len(tasks) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// exchangeHosts sends what leaves, stores what comes, and deletes what has left.
func (v mover) exchangeHosts(ctx context.Context, conn *broker.Conn, m cluster.HostsMove) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var work sync.WaitGroup
	run := func(part func() error) {
		work.Go(func() {
			if err := part(); err != nil {
				cancel(err)
			}
		})
	}
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		v.watchLost(ctx, conn)
	}()
	if slices.Contains(m.Previous, m.Self) {
		run(func() error { return v.giveHosts(ctx, conn, m) })
	}
	if slices.Contains(m.Members, m.Self) {
		run(func() error { return v.takeHosts(ctx, conn, m) })
	}
	work.Wait()
	err := context.Cause(ctx)
	if err == nil && m.Next().Groups == 0 && slices.Contains(m.Members, m.Self) {
		err = v.adoptHosts(ctx, conn, m)
	}
	cancel(nil)
	<-watching
	return err
}

// watchLost follows the names of nodes that are lost, until ctx ends.
func (v mover) watchLost(ctx context.Context, conn *broker.Conn) {
	for ctx.Err() == nil {
		table, err := conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
		if err == nil {
			err = table.Watch(ctx, cluster.GoneKey, func(e broker.Entry) {
				if gone, err := parseGone(e.Value); err == nil {
					v.moves.applyChange(func() { v.moves.lost = gone.Lost })
				}
			})
		}
		if err != nil && ctx.Err() == nil {
			v.cfg.log.Warn("cannot follow which nodes are lost", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// adoptHosts gives this node its part of the hosts of lost nodes.
func (v mover) adoptHosts(ctx context.Context, conn *broker.Conn, m cluster.HostsMove) error {
	table, err := conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return err
	}
	gone, err := readGone(ctx, table)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(m.Previous, func(name string) bool { return slices.Contains(gone.Lost, name) }) {
		return nil
	}
	var adopted cluster.HostsMoved
	if err := v.cfg.openStore().runOperation(ctx, packLimit, wire.HostsAdopt, cluster.HostsAdoptRequest{Placement: m.Next()}, &adopted); err != nil {
		return err
	}
	v.cfg.log.Info("roots of lost hosts begin again", "rows", adopted.Rows)
	return nil
}

func parseGone(value []byte) (gone cluster.Gone, err error) {
	if len(value) > 0 {
		err = json.Unmarshal(value, &gone)
	}
	return gone, err
}

func readGone(ctx context.Context, table *broker.Table) (gone cluster.Gone, err error) {
	e, err := table.Get(ctx, cluster.GoneKey)
	if err != nil {
		if errors.Is(err, broker.ErrNotFound) {
			err = nil
		}
		return gone, err
	}
	return parseGone(e.Value)
}

// hostPauses runs crawler-task --host-pauses: it keeps delays and cookies of hosts, or returns those of
// this node.
func (v mover) hostPauses(ctx context.Context, request []byte) ([]byte, error) {
	program := v.cfg.Crawler
	program.Args = append(slices.Clone(program.Args), "--host-pauses")
	answer, err := v.cfg.openStore().runProgram(ctx, program, storeLimit, request)
	if err != nil {
		return nil, fmt.Errorf("crawler-task --host-pauses: %w", err)
	}
	return answer, nil
}
