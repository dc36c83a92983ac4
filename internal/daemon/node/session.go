package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/jetstream"
	"hce/dc/internal/files"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
)

const (
	dialLimit  = 10 * time.Second
	closeLimit = 10 * time.Second

	longestDial = 2 * time.Second // the longest pause between two sessions

	memberLimit = 15 * time.Second // until the head gives a new node its place
	memberPause = 200 * time.Millisecond
)

// session is the connection to the broker and the membership. It belongs to the loop.
type session struct {
	backoff
	running   bool // a worker dials, or is connected
	conn      *broker.Conn
	member    Member // nil: not joined
	end       func() // ends it; nil: it goes on after the end of the lease
	connected bool
	caughtUp  bool
}

func (a *Agent) declareSession() {
	s := &a.session
	a.Maintain("session", whileFalse(&s.running), func(now time.Time) {
		if !now.Before(s.due) {
			s.running = true
			a.Go(a.connectBroker, a.planReconnect)
		}
	})
	a.Gauge("cluster_connected", func() any { return intFromBool(s.connected) })
	a.Gauge("cluster_caught_up", func() any { return intFromBool(s.caughtUp) })
	a.Gauge("journal_position", func() any {
		if s.member == nil {
			return 0
		}
		return s.member.Position()
	})
}

// connectBroker dials the broker, joins, and returns when ctx ends or the membership breaks. The
// connection itself comes back after faults of the network. It runs in a worker.
func (a *Agent) connectBroker(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := broker.Dial(dialing, broker.DialConfig{
		Join: a.cfg.Join, Log: a.Log(),
		OnState: func(connected bool) { go a.postToLoop(func() { a.linkChanged(connected) }) },
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	table, err := conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return err
	}
	if err := a.checkMode(ctx, table); err != nil {
		return err
	}
	name, err := a.claimIdentity(ctx, conn, table)
	if err != nil {
		return err
	}
	if a.cfg.Placement != "" {
		if err := a.becomeMember(ctx, conn, table); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	member, err := a.cfg.Enter(ctx, conn, Session{
		Name: name, Changed: func() { go a.postToLoop(a.changedSites) }, Draining: a.draining.Load,
		Confirm: func(ctx context.Context, last time.Time) error {
			err := a.confirmIdentity(ctx, table, name, last)
			if errors.Is(err, jetstream.ErrReplaced) {
				end(err)
			}
			return err
		},
	})
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		member.Close(limited)
	}()
	a.postToLoop(func() { a.recordJoin(conn, member, func() { end(errLapsed) }, name != "") })
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return a.watchPlacement(ctx, table) },
		func(ctx context.Context) error { return a.serveDrain(ctx, conn) },
		func(ctx context.Context) error { return a.receiveWhenReady(ctx, conn, member) },
		func(ctx context.Context) error { return a.mover.receiveMoves(ctx, conn) },
		func(ctx context.Context) error { return a.serveQuota(ctx, conn, member) },
	}
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				end(err)
			}
		})
	}
	<-ctx.Done()
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// checkMode refuses a head with another placement: batches would run nowhere, or twice.
func (a *Agent) checkMode(ctx context.Context, table *broker.Table) error {
	other, mode := cluster.PlacementKey, "hosts"
	if a.cfg.Placement != "" {
		other, mode = cluster.MembersKey, "propagate"
	}
	_, err := table.Get(ctx, other)
	if err == nil {
		return fmt.Errorf("the head has placement = %s in [Cluster] of dc-daemon.ini: set the same in [Node] of dc-node.ini and start this node again", mode)
	}
	if errors.Is(err, broker.ErrNotFound) {
		err = nil
	}
	return err
}

// planReconnect plans the next session.
func (a *Agent) planReconnect(err error) {
	s := &a.session
	back := s.backoff
	*s = session{backoff: back}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		a.Fail(refused)
	case err != nil:
		s.recordFailure(a.Log(), a.Now(), "not connected to the cluster", err)
		if latest := a.Now().Add(longestDial); s.due.After(latest) {
			s.due = latest
		}
	}
	a.checkLease(a.Now())
}

// errLapsed ends a session whose lease has ended.
var errLapsed = errors.New("the lease has ended: another process may be this node now, so a new session asks the head")

func (a *Agent) recordJoin(conn *broker.Conn, member Member, end func(), claimed bool) {
	s := &a.session
	s.conn, s.member, s.connected = conn, member, conn.Connected()
	if claimed {
		s.end = end
	}
	s.resetPause()
	a.Log().Info("joined the cluster", "node", a.cfg.Join.Name)
	a.wantSend()
	a.checkLease(a.Now())
}

func (a *Agent) linkChanged(connected bool) {
	if a.session.connected == connected {
		return
	}
	a.session.connected = connected
	a.Log().Info("link to the broker changed", "connected", connected)
	if connected {
		a.wantSend()
	}
}

// caughtUp notes that the sites of all links are known now.
func (a *Agent) caughtUp(member Member) {
	if a.session.member != member {
		return
	}
	a.session.caughtUp = true
	a.quota.all = true
	a.wantQuota()
	a.Log().Info("the journal is applied", "position", member.Position())
	a.checkLease(a.Now())
}

// watchPlacement writes placement.json at each change, until ctx ends or the cluster has data: then the
// placement changes at places of the journal. It runs outside of the loop.
func (a *Agent) watchPlacement(ctx context.Context, table *broker.Table) error {
	if a.cfg.Placement == "" {
		return nil
	}
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := table.Watch(watching, cluster.PlacementKey, func(e broker.Entry) {
		sealed, err := a.usePlacement(ctx, table, e.Value)
		if err == nil && sealed {
			err = errSealed
		}
		if err != nil && !errors.Is(err, errNoMember) {
			end(err)
		}
	})
	switch cause := context.Cause(watching); {
	case ctx.Err() != nil:
		return err
	case errors.Is(cause, errSealed):
		return nil
	default:
		return fmt.Errorf("use the placement of the cluster: %w", cause)
	}
}

// errSealed ends the watch of the placement.
var errSealed = errors.New("the cluster has data")

// writePlacement writes placement.json if it changes.
func (a *Agent) writePlacement(p placement.Placement) error {
	a.placing.Lock()
	defer a.placing.Unlock()
	return a.keepPlacement(p)
}

// keepPlacement is writePlacement with a.placing held.
func (a *Agent) keepPlacement(p placement.Placement) error {
	text, err := encodePlacement(p)
	if err != nil {
		return err
	}
	a.noteOwnership(p)
	if old, err := os.ReadFile(a.cfg.Placement); err == nil && string(old) == string(text) {
		return nil
	}
	if err := files.Write(a.cfg.Placement, text, 0o600); err != nil {
		return fmt.Errorf("write placement: %w", err)
	}
	a.Log().Info("placement written", "epoch", p.Epoch, "members", len(p.Members))
	return nil
}

// noteOwnership notes whether this node has hosts.
func (a *Agent) noteOwnership(p placement.Placement) {
	a.owner.Store(slices.Contains(p.Holders(), p.Self))
}

// becomeMember writes placement.json before the node applies the journal: task programs need it. A
// node without a place sends a sign of life, so that the head gives it one.
func (a *Agent) becomeMember(ctx context.Context, conn *broker.Conn, table *broker.Table) error {
	ctx, cancel := context.WithTimeout(ctx, memberLimit)
	defer cancel()
	name := a.cfg.Join.Name
	nodes, err := conn.Table(ctx, broker.TableNodes, broker.TableConfig{})
	if err == nil {
		err = a.readPlacement(ctx, table)
	}
	if !errors.Is(err, errNoMember) {
		return err
	}
	sign, err := json.Marshal(executor.Node{Name: name, State: executor.NodeCatching, Address: a.cfg.Address, Version: a.cfg.Version, Seen: time.Now().UTC()})
	if err == nil {
		_, err = nodes.Put(ctx, name, sign)
	}
	if err != nil {
		return err
	}
	for {
		err := a.readPlacement(ctx, table)
		if !errors.Is(err, errNoMember) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(memberPause):
		}
	}
}

// errNoMember means that the cluster has no place for this node yet.
var errNoMember = errors.New("this node has no place in the cluster yet; \"dc-admin node ls\" on the head says why")

// readPlacement writes placement.json if this node is a member.
func (a *Agent) readPlacement(ctx context.Context, table *broker.Table) error {
	e, err := table.Get(ctx, cluster.PlacementKey)
	if errors.Is(err, broker.ErrNotFound) {
		return errNoMember
	}
	if err == nil {
		_, err = a.usePlacement(ctx, table, e.Value)
	}
	return err
}

// usePlacement writes placement.json for the value of the key "placement". sealed says that there is data.
func (a *Agent) usePlacement(ctx context.Context, table *broker.Table, value []byte) (sealed bool, err error) {
	var v cluster.Ownership
	if err := json.Unmarshal(value, &v); err != nil {
		return false, fmt.Errorf("read placement: %w", err)
	}
	if v.Sealed {
		return true, a.readSealed(ctx, table, v)
	}
	v.Self = a.cfg.Join.Name
	if err := v.Check(); err != nil {
		return false, err
	}
	if err := a.writePlacement(v.Placement); err != nil {
		return false, err
	}
	if !slices.Contains(v.Members, v.Self) {
		return false, errNoMember
	}
	return false, nil
}

// readSealed finds the placement of this node in a cluster with data. Only the journal changes it,
// so the node goes on with its own one, or begins with that of the first entry, or as one that owns
// nothing until a change gives it hosts.
func (a *Agent) readSealed(ctx context.Context, table *broker.Table, v cluster.Ownership) error {
	name := a.cfg.Join.Name
	gone, err := readGone(ctx, table)
	if err != nil {
		return err
	}
	if slices.Contains(gone.Lost, name) || slices.Contains(gone.Removed, name) {
		return fmt.Errorf("node %s was removed from the cluster, and its name cannot come back: stop it; to use this machine again, empty its data folder and add it with another name", name)
	}
	e, err := table.Get(ctx, cluster.BaseKey)
	if err != nil {
		return fmt.Errorf("read the first placement: %w", err)
	}
	base, err := readMembers(e.Value, name)
	if err != nil {
		return err
	}
	first := slices.Contains(base.Members, name)
	a.placing.Lock()
	defer a.placing.Unlock()
	p, err := a.cfg.readPlacement()
	switch {
	case err == nil && (p.Epoch >= base.Epoch || !first):
		a.noteOwnership(p)
		return nil
	case files.IgnoreMissing(err) != nil:
		return err
	case first:
		return a.keepPlacement(base)
	case slices.Contains(v.Holders(), name):
		return fmt.Errorf("node %s owns hosts, but %s is missing: its data are gone; restore them, or give the node up with \"dc-admin node lost %s\" on the head", name, a.cfg.Placement, name)
	}
	return a.keepPlacement(placement.Placement{Epoch: v.Epoch, Self: name, Members: v.Members})
}
