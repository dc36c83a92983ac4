package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
)

// A change of the members of a cluster with data (docs/decisions/0018-moving-hosts.md). One goroutine
// makes the members those of Head.wantedMembers:
//
//	no data, other members wanted     store them; if a member has brought data with it, note that
//	no change, other members wanted   store the begin of a change
//	a change                          append the step to the journal, wait until all nodes have done it,
//	                                  store that its group has moved; then a pause
//	a node has left                   drain it, wait until its links are sent, forget it
//	a node is lost                    give its links to another node, forget it
//
// What a kill leaves is found again in the table "cluster": each of these is done again, and a repeated
// step does nothing.

const (
	stepLook    = 100 * time.Millisecond
	stepRun     = 10 * time.Second
	settleLook  = 2 * time.Second
	longestRest = 30 * time.Second // between two steps
)

// wakeSettle wakes settle.
func (h *Head) wakeSettle() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *Head) pauseFor(d time.Duration) {
	select {
	case <-h.ctx.Done():
	case <-time.After(d):
	}
}

// settleMembers makes the members those that are wanted, until Close.
func (h *Head) settleMembers() {
	for said := ""; h.ctx.Err() == nil; {
		busy, err := h.settleNext()
		text := ""
		if err != nil && h.ctx.Err() == nil {
			if text = err.Error(); text != said {
				h.cfg.Log.Warn("a change of the members waits", "error", err)
			}
		}
		said = text
		switch {
		case err != nil:
			h.noteWait(err.Error())
			h.pauseFor(settleLook)
		case !busy:
			select {
			case <-h.ctx.Done():
			case <-h.wake:
			}
		}
	}
}

// noteWait notes what a change waits for.
func (h *Head) noteWait(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaited = reason
}

// settleNext does the next thing. It returns false if there is nothing to do.
func (h *Head) settleNext() (busy bool, err error) {
	h.mu.RLock()
	m := h.members
	wanted := h.wantedMembers(m.gone)
	h.mu.RUnlock()
	switch {
	case m.Groups > 0:
		return true, h.moveGroup(m)
	case len(wanted) == 0 || slices.Equal(wanted, m.Members):
	case m.Sealed:
		return true, h.beginChange(m, wanted)
	default:
		return true, h.extendMembers(m)
	}
	for _, name := range m.gone.Leaving {
		if !slices.Contains(m.Members, name) {
			return true, h.dismissNode(name)
		}
	}
	for _, name := range slices.Concat(m.gone.Lost, m.gone.Removed) {
		if !slices.Contains(m.Members, name) && !h.forgotten[name] {
			return true, h.forgetNode(name, slices.Contains(m.gone.Lost, name))
		}
	}
	return false, nil
}

// extendMembers adds nodes to a cluster without data. If a member has rows, such as a machine that worked
// alone before, the cluster has data from now on, and its hosts move to the new nodes.
func (h *Head) extendMembers(m members) error {
	ctx, cancel := context.WithTimeout(h.ctx, 2*callLimit)
	defer cancel()
	if len(m.Members) > 0 {
		rows, err := h.countRows(nil)
		if err != nil {
			return err
		}
		if rows > 0 {
			_, _, err = h.sealData(ctx)
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members.Sealed { // a client was faster
		return nil
	}
	list := h.wantedMembers(h.members.gone)
	return h.changeMembers(ctx, list, "nodes joined", strings.Join(subtractNames(list, h.members.Members), ", "))
}

// beginChange stores the begin of a change, when all nodes that have data answer. Requests wait until its first
// step is done: a new node has no sites before it.
func (h *Head) beginChange(m members, wanted []string) error {
	rows, err := h.countRows(m.gone.Lost)
	if err != nil {
		return err
	}
	moving := rows * int64(countChanged(m.Members, wanted)) / int64(max(len(wanted), len(m.Members)))
	groups := int(min(max(moving/h.cfg.MoveURLs, 1), placement.MaxGroups))
	h.gate.closeGate()
	ctx, cancel := context.WithTimeout(h.ctx, callLimit)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	next := cluster.Ownership{Placement: h.members.Begun(h.members.Epoch+1, wanted, groups), Sealed: true}
	if err := h.storePlacement(ctx, next); err != nil {
		h.gate.openGate()
		return err
	}
	h.cfg.Log.Info("the members change", "epoch", next.Epoch, "from", next.Previous, "to", next.Members, "groups", groups, "urls", rows)
	return nil
}

// countChanged returns the number of names that are in one of two lists only.
func countChanged(a, b []string) int { return len(subtractNames(a, b)) + len(subtractNames(b, a)) }

// countRows asks all nodes but the lost ones for the number of their URLs.
func (h *Head) countRows(lost []string) (rows int64, err error) {
	request, err := json.Marshal(wire.Call{Op: wire.HostsState, Object: json.RawMessage("{}")})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(h.ctx, stepRun)
	defer cancel()
	results, err := h.pool.Run(ctx, executor.Task{
		ID: bus.NewUID(), Type: sites.TaskType, Stages: []executor.Stage{h.cfg.DBTask}, Stdin: request, Target: executor.Target{All: true}, TimeLimit: stepRun,
	})
	for _, r := range results {
		if slices.Contains(lost, r.Node) {
			continue
		}
		var counted cluster.HostsCounted
		object, failed := sites.Answer(wire.HostsState, []executor.Result{r})
		if failed == nil {
			failed = json.Unmarshal(object, &counted)
		}
		if failed != nil {
			return 0, fmt.Errorf("node %s does not answer: %w; start it, or give it up with \"dc-admin node lost %s\"", r.Node, failed, r.Node)
		}
		rows += counted.Rows
	}
	return rows, err
}

// moveGroup makes one step of a change on all nodes. Requests wait meanwhile, but not for a node that is
// silent: it is an error of each answer anyway.
func (h *Head) moveGroup(m members) error {
	h.gate.closeGate()
	defer h.gate.openGate()
	if !h.gate.awaitDrained(h.ctx, stepRun) {
		return errors.New("a request of a client runs for long; the step begins after it")
	}
	begun := time.Now()
	step, err := json.Marshal(cluster.HostsMove{Placement: m.Placement})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, stepRun)
	_, err = h.pool.Run(ctx, executor.Task{
		ID: fmt.Sprintf("move-%d-%d", m.Epoch, m.Moved), Type: cluster.MoveTask, Target: executor.Target{All: true}, Journal: true, Agent: true, Stdin: step,
	})
	cancel()
	if err != nil {
		return fmt.Errorf("append a step to the journal: %w", err)
	}
	if err := h.awaitStep(m.Placement); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(h.ctx, callLimit)
	defer cancel()
	h.mu.Lock()
	next := h.members.Ownership
	next.Placement = next.After(m.Moved + 1)
	err = h.storePlacement(ctx, next)
	h.awaited = ""
	h.mu.Unlock()
	if err != nil {
		return err
	}
	h.gate.openGate()
	took := time.Since(begun)
	h.cfg.Log.Info("a group of hosts has moved", "epoch", m.Epoch, "group", m.Moved, "groups", m.Groups, "took", took.Round(time.Millisecond))
	if next.Groups > 0 {
		h.pauseFor(min(took, longestRest)) // the crawl goes on
	}
	return nil
}

// awaitStep waits until all nodes of a change have applied what is in the journal now, but for those that
// are lost.
func (h *Head) awaitStep(p placement.Placement) error {
	journal, err := h.journalState("")
	if err != nil {
		return err
	}
	for h.ctx.Err() == nil {
		h.mu.RLock()
		open := subtractNames(p.Holders(), h.members.gone.Lost)
		h.mu.RUnlock()
		open = slices.DeleteFunc(open, func(name string) bool {
			state, err := h.journalState(name)
			return err == nil && state.Last >= journal.Last
		})
		if len(open) == 0 {
			return nil
		}
		if silent := h.silentNodes(open); len(silent) > 0 {
			h.gate.openGate()
			h.noteWait("waits for node " + strings.Join(silent, ", "))
		}
		h.pauseFor(stepLook)
	}
	return h.ctx.Err()
}

// journalState is that of the journal, or of what a node has applied of it.
func (h *Head) journalState(node string) (broker.StreamState, error) {
	ctx, cancel := context.WithTimeout(h.ctx, callLimit)
	defer cancel()
	if node == "" {
		return h.conn.StreamState(ctx, broker.StreamJournal)
	}
	return h.conn.ConsumerState(ctx, broker.StreamJournal, broker.NodeDurable(node))
}

// silentNodes returns those names whose nodes give no sign of life.
func (h *Head) silentNodes(names []string) (list []string) {
	nodes, err := h.pool.Nodes(h.ctx)
	if err != nil {
		return nil
	}
	for _, name := range names {
		state := h.stateOf(name) // before its first step
		if at := slices.IndexFunc(nodes, func(n executor.Node) bool { return n.Name == name }); at >= 0 {
			state = nodes[at].State
		}
		if state == executor.NodeSilent {
			list = append(list, name)
		}
	}
	return list
}

// dismissNode removes a node whose hosts have moved, when it has sent all links.
func (h *Head) dismissNode(name string) error {
	for range 2 { // the node may pass on links that came after the first look
		state, err := h.setDraining(h.ctx, name, true, false)
		if err != nil {
			return err
		}
		if state != "drained" {
			return fmt.Errorf("node %s has hosts no more; it sends its last links", name)
		}
		ctx, cancel := context.WithTimeout(h.ctx, callLimit)
		links, err := h.conn.ConsumerState(ctx, broker.StreamLinks, broker.NodeDurable(name))
		cancel()
		if err == nil && links.Pending > 0 {
			err = fmt.Errorf("node %s has %d messages with links to pass on", name, links.Pending)
		}
		if err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(h.ctx, callLimit)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.members.gone
	next.Leaving, next.Removed = subtractNames(next.Leaving, []string{name}), unionNames(next.Removed, []string{name})
	if err := h.keepGone(ctx, next); err != nil {
		return err
	}
	h.cfg.Log.Info("a node has left", "node", name)
	return nil
}

// forgetNode revokes the key of a node that is gone, and removes what the broker has for it. Another node
// passes the links on that a lost node did not take.
func (h *Head) forgetNode(name string, lost bool) error {
	ctx, cancel := context.WithTimeout(h.ctx, openLimit)
	defer cancel()
	if err := h.keys.RemoveNode(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := h.describeKeys(); err != nil {
		return err
	}
	if to := h.Members(); lost && len(to) > 0 {
		if err := h.conn.Redirect(ctx, broker.StreamLinks, broker.NodeDurable(name), "links."+name, "links."+to[0]); err != nil {
			return err
		}
	}
	if err := h.conn.Forget(ctx, name); err != nil {
		return err
	}
	h.forgotten[name] = true
	return nil
}
