package head

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// Name is the class name.
const Name = "Cluster"

// viewPeriod is how old the nodes in STAT may be.
const viewPeriod = 5 * time.Second

// Manager is the class Cluster. It serves the operators' port only. Create it with NewManager.
type Manager struct {
	*manager.Loop
	head    *Head
	nodes   []cluster.Node // the last view
	looking bool
}

// NewManager returns the manager of a head; it opens nothing.
func NewManager(base manager.Config, h *Head) *Manager {
	base.Name, base.MaxWorkers = Name, 8
	m := &Manager{Loop: manager.New(base), head: h}
	m.Handle(manager.AdminSocket, wire.ClassAdmin, wire.AdminCluster, m.answerCommand)
	m.Maintain("nodes", func() time.Duration { return viewPeriod }, func(time.Time) { m.refreshNodes() })
	if h.cfg.External {
		m.Maintain("rival", func() time.Duration { return time.Second }, func(time.Time) { m.endForRival() })
	}
	m.Gauge("nodes", func() any { return byName(m.nodes) })
	m.Gauge("nodes_silent", func() any { return m.silentMembers() })
	m.Gauge("nodes_refused", func() any { return m.listRefused() })
	return m
}

// byName are the nodes for STAT.
func byName(list []cluster.Node) map[string]cluster.Node {
	all := map[string]cluster.Node{}
	for _, n := range list {
		all[n.Name] = n
	}
	return all
}

// silentMembers returns the names of the members without a sign of life.
func (m *Manager) silentMembers() []string {
	names := []string{}
	for _, n := range m.nodes {
		if n.Member && n.State == executor.NodeSilent {
			names = append(names, n.Name)
		}
	}
	return names
}

// endForRival ends this head if another one has taken over.
func (m *Manager) endForRival() {
	select {
	case err := <-m.head.rival:
		m.Fail(err)
	default:
	}
}

// listRefused says which processes with the identity of a node were refused.
func (m *Manager) listRefused() []string {
	reasons := []string{}
	for _, n := range m.nodes {
		for _, r := range n.Refused {
			reasons = append(reasons, r.Reason)
		}
	}
	return reasons
}

// refreshNodes renews the view of the nodes.
func (m *Manager) refreshNodes() {
	if m.looking {
		return
	}
	m.looking = true
	manager.Work(m.Loop, func(ctx context.Context) ([]cluster.Node, error) {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		return m.head.listNodes(ctx)
	}, func(list []cluster.Node, err error) {
		m.looking = false
		if err != nil {
			m.Log().Warn("cannot list the nodes", "error", err)
			return
		}
		m.nodes = list
	})
}

// answerCommand answers one command of an operator.
func (m *Manager) answerCommand(from manager.Peer, e wire.Event) {
	var r cluster.Command
	if err := json.Unmarshal(e.Object, &r); err != nil {
		m.ReplyError(from, e, "the object is not {className, command, node}: "+err.Error())
		return
	}
	manager.Work(m.Loop, func(ctx context.Context) (cluster.Answer, error) {
		ctx, cancel := context.WithTimeout(ctx, 3*callLimit)
		defer cancel()
		return m.head.runCommand(ctx, r)
	}, func(answer cluster.Answer, err error) {
		if err != nil {
			m.Log().Warn("command refused", "op", r.Command, "node", r.Node, "error", err)
			m.ReplyError(from, e, err.Error())
			return
		}
		if r.Command != cluster.List {
			m.Log().Info("command done", "op", r.Command, "node", r.Node)
		}
		m.Reply(from, e, wire.AdminClusterAns, answer)
	})
}

func (h *Head) runCommand(ctx context.Context, r cluster.Command) (answer cluster.Answer, err error) {
	answer.ClassName = Name
	switch r.Command {
	case cluster.List:
		answer.Nodes, err = h.listNodes(ctx)
	case cluster.Add:
		answer.Join, err = h.addNode(ctx, r.Node)
	case cluster.Drain:
		answer.State, err = h.setDraining(ctx, r.Node, true, false)
	case cluster.Undrain:
		answer.State, err = h.setDraining(ctx, r.Node, false, false)
	case cluster.Remove:
		answer.State, err = h.removeNode(ctx, r.Node)
	case cluster.Lost:
		answer.State, err = h.loseNode(ctx, r.Node)
	case cluster.Accept:
		answer.State, err = h.acceptFolder(ctx, r.Node)
	default:
		err = fmt.Errorf("command %.40q is not list, add, drain, undrain, remove, lost or accept", r.Command)
	}
	return answer, err
}
