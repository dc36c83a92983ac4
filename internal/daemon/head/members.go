package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
)

// members is what the table "cluster" says. Head.mu guards it.
type members struct {
	cluster.Ownership
	revision uint64 // 0: there is no key

	base    int64 // epoch of the base: that of the first entry of the journal
	gone    cluster.Gone
	goneRev uint64
}

// membersKey is the key of the members. Nodes follow the first one: it says who owns a host.
func (h *Head) membersKey() string {
	if h.cfg.Hosts {
		return cluster.PlacementKey
	}
	return cluster.MembersKey
}

// Members returns the names of the nodes that have data, sorted. During a change these are the nodes
// before it, and from its first step on also those that come.
func (h *Head) Members() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.members.Placement
	switch {
	case p.Groups == 0:
		return slices.Clone(p.Members)
	case p.Moved == 0:
		return slices.Clone(p.Previous)
	}
	return unionNames(p.Members, p.Previous)
}

// unionNames returns the names of both lists, sorted, each once.
func unionNames(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// subtractNames returns the names of a that are not in b.
func subtractNames(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}

// readMembers reads the table "cluster".
func (h *Head) readMembers(ctx context.Context) error {
	m := &h.members
	var base placement.Placement
	for _, part := range []struct {
		key      string
		value    any
		revision *uint64
	}{
		{h.membersKey(), &m.Ownership, &m.revision},
		{cluster.BaseKey, &base, new(uint64)},
		{cluster.GoneKey, &m.gone, &m.goneRev},
	} {
		e, err := h.table.Get(ctx, part.key)
		if errors.Is(err, broker.ErrNotFound) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(e.Value, part.value)
		}
		if err != nil {
			return fmt.Errorf("read the %s of the cluster: %w", part.key, err)
		}
		*part.revision = e.Revision
	}
	m.base, m.Self = base.Epoch, broker.Head
	return nil
}

// storeValue writes a value with the revision that was read, and returns the new one.
func (h *Head) storeValue(ctx context.Context, key string, value any, revision uint64) (uint64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		return h.table.Create(ctx, key, text)
	}
	return h.table.Update(ctx, key, text, revision)
}

// storePlacement stores a placement. Call it with h.mu held.
func (h *Head) storePlacement(ctx context.Context, next cluster.Ownership) error {
	next.Self = broker.Head
	revision, err := h.storeValue(ctx, h.membersKey(), next, h.members.revision)
	if err != nil {
		return fmt.Errorf("store the placement: %w", err)
	}
	h.members.Ownership, h.members.revision = next, revision
	return nil
}

// keepGone stores the names of nodes that leave. Call it with h.mu held.
func (h *Head) keepGone(ctx context.Context, next cluster.Gone) error {
	revision, err := h.storeValue(ctx, cluster.GoneKey, next, h.members.goneRev)
	if err != nil {
		return fmt.Errorf("store the names of nodes that leave: %w", err)
	}
	h.members.gone, h.members.goneRev = next, revision
	return nil
}

// sealData notes that there is data before the first change of the journal: from now on hosts move only with
// their rows. It returns the epoch that nodes need for a task of the journal, and false without members.
func (h *Head) sealData(ctx context.Context) (epoch int64, some bool, err error) {
	h.mu.RLock()
	m := h.members
	h.mu.RUnlock()
	if len(m.Members) == 0 || m.Sealed || !h.cfg.Hosts {
		return m.base, len(m.Members) > 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m = h.members; m.Sealed {
		return m.base, true, nil
	}
	text, err := json.Marshal(m.Placement)
	if err == nil {
		_, err = h.table.Put(ctx, cluster.BaseKey, text)
	}
	if err != nil {
		return 0, true, err
	}
	h.members.base = m.Epoch
	next := m.Ownership
	next.Sealed = true
	return m.Epoch, true, h.storePlacement(ctx, next)
}

// followNodes notes the signs of life of all nodes, until Close.
func (h *Head) followNodes() {
	for h.ctx.Err() == nil {
		err := h.watchNodes()
		if h.ctx.Err() != nil {
			return
		}
		h.cfg.Log.Warn("cannot follow the nodes of the cluster; trying again", "error", err)
		h.pauseFor(time.Second)
	}
}

func (h *Head) watchNodes() error {
	table, err := h.conn.Table(h.ctx, broker.TableNodes, broker.TableConfig{})
	if err != nil {
		return err
	}
	return table.Watch(h.ctx, "*", func(e broker.Entry) {
		if e.Value == nil {
			return
		}
		ctx, cancel := context.WithTimeout(h.ctx, callLimit)
		defer cancel()
		if err := h.identities.recordHeartbeat(ctx, e); err != nil && h.ctx.Err() == nil {
			h.cfg.Log.Warn("cannot read which process is a node", "node", e.Key, "error", err)
		}
		if err := h.admitNode(ctx, e.Key, e.Changed); err != nil && h.ctx.Err() == nil {
			h.cfg.Log.Warn("cannot add a node to the members", "node", e.Key, "error", err)
		}
	})
}

// goneReason is why a node cannot come back.
const goneReason = "it was removed, and its name cannot come back; add the machine with another name and an empty data folder"

// admitNode makes a node with a sign of life a member. With owners of hosts, Head.settleMembers does that, because
// hosts may have to move to it.
func (h *Head) admitNode(ctx context.Context, name string, seen time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members
	switch {
	case slices.Contains(m.Members, name):
	case slices.Contains(m.gone.Lost, name) || slices.Contains(m.gone.Removed, name):
		h.cfg.Log.Warn("a node may not join", "node", name, "reason", goneReason)
	case slices.Contains(m.gone.Leaving, name):
	case h.cfg.Hosts:
		h.joining[name] = seen
		h.wakeSettle()
	default:
		return h.changeMembers(ctx, unionNames(m.Members, []string{name}), "node joined", name)
	}
	return nil
}

// changeMembers writes members that have no data yet. Call it with h.mu held.
func (h *Head) changeMembers(ctx context.Context, list []string, what, name string) error {
	next := cluster.Ownership{Placement: placement.Placement{Epoch: h.members.Epoch + 1, Members: list}}
	if err := h.storePlacement(ctx, next); err != nil {
		return err
	}
	h.cfg.Log.Info(what, "node", name, "epoch", next.Epoch, "members", len(list))
	return nil
}

// removeMember removes a node from the members. If there is data, its hosts move first: then it is leaving, and
// Head.settleMembers removes it.
func (h *Head) removeMember(ctx context.Context, name string) (leaving bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members
	delete(h.joining, name)
	switch {
	case slices.Contains(m.gone.Leaving, name):
		return true, nil
	case !slices.Contains(m.Holders(), name):
		return false, nil
	case !h.cfg.Hosts || !m.Sealed:
		return false, h.changeMembers(ctx, subtractNames(m.Members, []string{name}), "node removed", name)
	}
	next := m.gone
	next.Leaving = unionNames(next.Leaving, []string{name})
	if len(h.wantedMembers(next)) == 0 {
		return false, fmt.Errorf("node %s is the only one: no other node can take its hosts; add one first", name)
	}
	if err := h.keepGone(ctx, next); err != nil {
		return false, err
	}
	h.cfg.Log.Info("a node leaves: its hosts move to the others", "node", name)
	h.wakeSettle()
	return true, nil
}

// wantedMembers returns the members that the cluster should have. Call it with h.mu held.
func (h *Head) wantedMembers(gone cluster.Gone) []string {
	list := h.members.Members
	for name, seen := range h.joining {
		if time.Since(seen) < h.cfg.Silence {
			list = unionNames(list, []string{name})
		}
	}
	return subtractNames(subtractNames(list, gone.Leaving), gone.Lost)
}

// giveUp notes that a node is lost: no node waits for it, and its hosts begin again on the others.
func (h *Head) giveUp(ctx context.Context, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members
	if slices.Contains(m.gone.Lost, name) {
		return nil
	}
	if !slices.Contains(m.Holders(), name) && !slices.Contains(m.gone.Leaving, name) {
		return fmt.Errorf("node %s owns no hosts; \"dc-admin node remove %s\" revokes its key", name, name)
	}
	next := m.gone
	next.Lost, next.Leaving = unionNames(next.Lost, []string{name}), subtractNames(next.Leaving, []string{name})
	if len(h.wantedMembers(next)) == 0 {
		return fmt.Errorf("node %s is the only one: no other node can take its hosts; add one first", name)
	}
	if err := h.keepGone(ctx, next); err != nil {
		return err
	}
	h.cfg.Log.Warn("a node is given up: its pages are lost, and its hosts begin again on the other nodes", "node", name)
	h.wakeSettle()
	return nil
}

// moveProgress says how far the hosts of a node have moved; "" if none of them move.
func (h *Head) moveProgress(name string) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m := h.members
	member, before := slices.Contains(m.Members, name), slices.Contains(m.Previous, name)
	_, waits := h.joining[name]
	progress := fmt.Sprintf("%d of %d groups of hosts have moved", m.Moved, m.Groups)
	if m.Groups > 0 && h.awaited != "" {
		progress += "; " + h.awaited
	}
	switch lost, leaving := slices.Contains(m.gone.Lost, name), slices.Contains(m.gone.Leaving, name); {
	case lost && (member || before):
		return "lost: " + progress
	case lost:
		return "lost"
	case m.Groups > 0 && before && !member:
		return "leaving: " + progress
	case leaving && member:
		return "leaving: waits for another change of the members"
	case leaving:
		return "leaving: its hosts have moved; it sends its last links"
	case m.Groups > 0 && member && !before:
		return "joining: " + progress
	case waits && !member:
		return "joining: waits for another change of the members"
	case slices.Contains(m.gone.Removed, name):
		return goneReason
	}
	return ""
}
