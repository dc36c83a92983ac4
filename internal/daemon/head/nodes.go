package head

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/load"
	"hce/dc/internal/wire/cluster"
)

// nodeAdded is the state of a node that has a key and was never here.
const nodeAdded = "added"

// listNodes lists the members and all other nodes with a key, in the order of their names.
func (h *Head) listNodes(ctx context.Context) ([]cluster.Node, error) {
	all, err := h.pool.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	known := h.Members()
	keyed, err := h.keys.Nodes()
	if err != nil {
		return nil, err
	}
	for _, name := range unionNames(keyed, h.leavingNodes()) {
		if !slices.ContainsFunc(all, func(n executor.Node) bool { return n.Name == name }) {
			all = append(all, executor.Node{Name: name, State: h.stateOf(name), Load: load.Unknown})
		}
	}
	var list []cluster.Node
	for _, n := range all {
		one := cluster.Node{
			Name: n.Name, Address: n.Address, State: n.State, Member: slices.Contains(known, n.Name),
			Load: n.Load, Version: n.Version, Busy: sumCounts(n.Busy), Slots: sumCounts(n.Slots), Lag: -1,
		}
		if !n.Seen.IsZero() {
			one.Seen = n.Seen.UTC().Format(time.DateTime + ".000")
		}
		one.Reason = strings.TrimPrefix(strings.TrimSuffix(h.moveProgress(n.Name)+"; "+n.Notice, "; "), "; ")
		one.Refused = h.identities.refusedOf(n.Name)
		if state, err := h.conn.ConsumerState(ctx, broker.StreamJournal, broker.NodeDurable(n.Name)); err == nil {
			one.Lag = int64(state.Pending)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// leavingNodes are the nodes that leave.
func (h *Head) leavingNodes() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.members.gone.Leaving
}

// stateOf is the state of a node without data.
func (h *Head) stateOf(name string) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	seen, joins := h.joining[name]
	switch {
	case slices.Contains(h.members.gone.Leaving, name):
		return executor.NodeDraining
	case joins && time.Since(seen) < h.cfg.Silence:
		return executor.NodeCatching
	case joins:
		return executor.NodeSilent
	}
	return nodeAdded
}

func sumCounts(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// addNode creates the key of a node and its consumers. It returns its join file.
func (h *Head) addNode(ctx context.Context, name string) (json.RawMessage, error) {
	if len(h.cfg.URLs) == 0 && isWildcardAddress(h.cfg.Listen) {
		return nil, fmt.Errorf("listen = %s names no address that nodes can connect to: set urls of [Cluster], for example tls://10.0.0.5:4222", h.cfg.Listen)
	}
	h.mu.RLock()
	gone := h.members.gone
	h.mu.RUnlock()
	if slices.Contains(gone.Lost, name) || slices.Contains(gone.Removed, name) {
		return nil, fmt.Errorf("node %s was in this cluster, and %s", name, goneReason)
	}
	seed, err := h.keys.AddNode(name)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("node %s exists; \"dc-admin node remove %s\" first gives it a new key", name, name)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(h.identities.forgetIdentity(ctx, name), h.provisionStreams(ctx), h.describeKeys()); err != nil {
		return nil, errors.Join(err, h.keys.RemoveNode(name))
	}
	return json.MarshalIndent(h.joinFor(name, seed), "", "  ")
}

// removeNode revokes the key of a node and forgets it. If the node owns hosts, they move first, and the state
// is leaving.
func (h *Head) removeNode(ctx context.Context, name string) (state string, err error) {
	if err := broker.CheckName(name); err != nil {
		return "", err
	}
	if known, err := h.isKnown(name); err != nil || !known {
		return "", cmp.Or(err, errUnknown(name))
	}
	if silent := h.silentNodes([]string{name}); len(silent) > 0 && h.ownsHosts(name) {
		return "", fmt.Errorf("node %s owns hosts and is silent: start it, so that they can move to other nodes, or give it up with \"dc-admin node lost %s\"", name, name)
	}
	leaving, err := h.removeMember(ctx, name)
	if err != nil || leaving {
		return "leaving", err
	}
	if err := h.keys.RemoveNode(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	h.mu.Lock()
	delete(h.joining, name) // a late sign of life
	h.mu.Unlock()
	return "removed", errors.Join(h.describeKeys(), h.conn.Forget(ctx, name))
}

// isKnown reports whether a node has a key, or is leaving.
func (h *Head) isKnown(name string) (bool, error) {
	keyed, err := h.keys.Nodes()
	return slices.Contains(keyed, name) || slices.Contains(h.Members(), name) || slices.Contains(h.leavingNodes(), name), err
}

// ownsHosts reports whether a node has hosts with data.
func (h *Head) ownsHosts(name string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.cfg.Hosts && h.members.Sealed && slices.Contains(h.members.Holders(), name)
}

// loseNode gives a node up that is dead for good. Its key is revoked at once.
func (h *Head) loseNode(ctx context.Context, name string) (state string, err error) {
	if err := broker.CheckName(name); err != nil {
		return "", err
	}
	if !h.ownsHosts(name) && !slices.Contains(h.leavingNodes(), name) {
		return h.removeNode(ctx, name)
	}
	if silent := h.silentNodes([]string{name}); len(silent) == 0 && slices.Contains(h.Members(), name) {
		return "", fmt.Errorf("node %s gives signs of life: \"dc-admin node remove %s\" moves its hosts to other nodes; to give it up all the same, stop it and wait until it is silent", name, name)
	}
	if err := h.giveUp(ctx, name); err != nil {
		return "", err
	}
	if err := h.keys.RemoveNode(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "lost", h.describeKeys()
}

// setDraining starts or ends draining of a node and returns its state.
func (h *Head) setDraining(ctx context.Context, name string, on, only bool) (string, error) {
	if err := broker.CheckName(name); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	request, err := json.Marshal(map[string]bool{"on": on, "only": only})
	if err != nil {
		return "", err
	}
	replies, err := h.conn.Request(ctx, broker.NodeSubject(name, "drain"), request, 1)
	if err == nil && len(replies) == 0 {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return "", fmt.Errorf("node %s does not answer; is it running and connected? (%w)", name, err)
	}
	var answer struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(replies[0].Data, &answer); err != nil {
		return "", fmt.Errorf("answer of node %s: %w", name, err)
	}
	return answer.State, nil
}

// acceptFolder lets any data folder be a node once.
func (h *Head) acceptFolder(ctx context.Context, name string) (state string, err error) {
	if err := broker.CheckName(name); err != nil {
		return "", err
	}
	if known, err := h.isKnown(name); err != nil || !known {
		return "", cmp.Or(err, errUnknown(name))
	}
	return "accepted", h.identities.acceptAnyFolder(ctx, name)
}

func errUnknown(name string) error {
	return fmt.Errorf("node %s is not known; \"dc-admin node ls\" lists the nodes", name)
}
