package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/daemon/broker"
)

// members is the value of the key of the members in the table "cluster".
type members struct {
	Epoch   int64    `json:"epoch"`
	Members []string `json:"members"`

	revision uint64 // 0: there is no key
}

// key is the key of the members. Nodes follow the first one: it says who owns a host.
func (h *Head) key() string {
	if h.cfg.Hosts {
		return "placement"
	}
	return "members"
}

// Members returns the names of the members, sorted.
func (h *Head) Members() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Clone(h.members.Members)
}

// readMembers reads the members, and whether the list is closed.
func (h *Head) readMembers(ctx context.Context) error {
	table, err := h.conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return err
	}
	e, err := table.Get(ctx, h.key())
	switch {
	case errors.Is(err, broker.ErrNotFound):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(e.Value, &h.members); err != nil {
			return fmt.Errorf("read the members of the cluster: %w", err)
		}
		h.members.revision = e.Revision
	}
	journal, err := h.conn.StreamState(ctx, broker.StreamJournal)
	h.sealed = journal.Last > 0
	return err
}

// seal closes the list of members before the first change of the journal, and returns the epoch of
// the placement. It returns false without members.
func (h *Head) seal() (epoch int64, some bool) {
	h.mu.RLock()
	sealed, epoch, some := h.sealed, h.members.Epoch, len(h.members.Members) > 0
	h.mu.RUnlock()
	if sealed || !some {
		return epoch, some
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sealed = true
	return h.members.Epoch, true
}

// followNodes makes each node with a sign of life a member, until Close.
func (h *Head) followNodes() {
	for h.ctx.Err() == nil {
		err := h.watchNodes()
		if h.ctx.Err() != nil {
			return
		}
		h.cfg.Log.Warn("cannot follow the nodes of the cluster; trying again", "error", err)
		select {
		case <-h.ctx.Done():
		case <-time.After(time.Second):
		}
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
		if err := h.admit(ctx, e.Key); err != nil && h.ctx.Err() == nil {
			h.cfg.Log.Warn("cannot add a node to the members", "node", e.Key, "error", err)
		}
	})
}

// closedReason is why a node cannot join any more.
const closedReason = "it is no member: the cluster had sites when it joined, and moving hosts to new nodes is not possible yet"

// admit makes a node a member, or notes why not.
func (h *Head) admit(ctx context.Context, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.members.Members, name) || h.refused[name] != "" {
		return nil
	}
	if h.cfg.Hosts && h.sealed {
		h.refused[name] = closedReason
		h.cfg.Log.Warn("a node may not join", "node", name, "reason", closedReason)
		return nil
	}
	list := append(slices.Clone(h.members.Members), name)
	slices.Sort(list)
	return h.change(ctx, list, "node joined", name)
}

// change writes the members. Call it with h.mu held.
func (h *Head) change(ctx context.Context, list []string, what, name string) error {
	table, err := h.conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return err
	}
	next := members{Epoch: h.members.Epoch + 1, Members: list}
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if h.members.revision == 0 {
		next.revision, err = table.Create(ctx, h.key(), value)
	} else {
		next.revision, err = table.Update(ctx, h.key(), value, h.members.revision)
	}
	if err != nil {
		return err
	}
	h.members = next
	h.cfg.Log.Info(what, "node", name, "epoch", next.Epoch, "members", len(list))
	return nil
}

// leave removes a node from the members, if it owns nothing.
func (h *Head) leave(ctx context.Context, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cfg.Hosts && h.sealed && slices.Contains(h.members.Members, name) {
		return fmt.Errorf("node %s owns hosts with their pages, and moving hosts to other nodes is not possible yet: keep it; \"dc-admin node drain %s\" stops its crawling", name, name)
	}
	delete(h.refused, name)
	if !slices.Contains(h.members.Members, name) {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(h.members.Members), func(m string) bool { return m == name })
	return h.change(ctx, list, "node removed", name)
}
