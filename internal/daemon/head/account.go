package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/errormask"
)

// account is the ledger of one site while one node is answered.
type account struct {
	*quotas
	site, node string
	ledger     ledger
	revision   uint64
	stored     string // the ledger in the table

	holders []string
	step    int64
	heard   map[string]cluster.QuotaReport // in this answer
	absent  []string                       // nodes without the site
}

func (a *account) loadLedger(ctx context.Context) (err error) {
	if a.holders, a.step = a.quotas.holders(); len(a.holders) == 0 {
		return errors.New("the cluster has no members")
	}
	e, err := a.ledgers.Get(ctx, a.site)
	switch {
	case errors.Is(err, broker.ErrNotFound):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(e.Value, &a.ledger); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		a.revision, a.stored = e.Revision, string(e.Value)
	}
	if a.ledger.Nodes == nil {
		a.ledger = ledger{Step: a.step, Nodes: map[string]*grant{}}
	}
	a.ledger.forgetHolders(a.holders)
	return nil
}

// saveLedger writes the ledger if it has changed.
func (a *account) saveLedger(ctx context.Context) error {
	value, err := json.Marshal(a.ledger)
	if err != nil || string(value) == a.stored {
		return err
	}
	if a.revision == 0 {
		a.revision, err = a.ledgers.Create(ctx, a.site, value)
	} else {
		a.revision, err = a.ledgers.Update(ctx, a.site, value, a.revision)
	}
	a.stored = string(value)
	return err
}

// recordReport takes a report of this moment. That a node does not have the site counts only when it has applied
// what the asking node has: SITE_NEW may be on its way.
func (a *account) recordReport(name string, r cluster.QuotaReport) {
	if r.Gone {
		if r.From < a.heard[a.node].Until {
			return
		}
		a.absent = append(a.absent, name)
	} else if !slices.Contains(a.holders, name) {
		return // its rows have left
	}
	a.ledger.recordReport(name, r)
	a.heard[name] = r
	a.step = max(a.step, r.Step)
}

func (a *account) freeAmount(kind int) int64 { return a.ledger.freeAmount(kind, a.holders, a.absent) }

// hasUnheard reports whether the ledger has nothing of some node.
func (a *account) hasUnheard() bool {
	return slices.ContainsFunc(a.holders, func(name string) bool {
		return a.ledger.Nodes[name] == nil && !slices.Contains(a.absent, name)
	})
}

// heardAtOneStep reports whether all nodes were heard at one step of the placement: a row that moves is then
// counted once or twice, and never not at all.
func (a *account) heardAtOneStep() bool {
	for _, name := range a.holders {
		if g := a.ledger.Nodes[name]; g != nil && g.Step < a.step {
			return false
		}
	}
	return a.ledger.Step == a.step || !a.hasUnheard()
}

// allNodesAgree reports whether all nodes were heard now, have had their last orders, and agree about the site: it
// is active and has the same limits. A node where the site is not active counts if it has applied all
// that active nodes have: otherwise a client has started the site again, and the entry is on its way.
func (a *account) allNodesAgree() bool {
	var until int64
	for _, r := range a.heard {
		if r.Active {
			until = max(until, r.Until)
		}
	}
	for _, name := range a.holders {
		r, heard := a.heard[name]
		switch {
		case !heard:
			return false
		case r.Gone:
		case r.Seq != a.ledger.Nodes[name].Seq, !r.Active && r.From < until:
			return false
		}
	}
	return !a.hasUnheard() && a.heardAtOneStep() && a.ledger.limitsAgree()
}

// decideOrder finds the order for the node, writes the ledger, and passes a suspension on to the others.
func (a *account) decideOrder(ctx context.Context) (cluster.QuotaOrder, error) {
	r, g := a.heard[a.node], a.ledger.Nodes[a.node]
	if g == nil { // the node has no rows, or the site is gone: nothing is left to wait for
		order := cluster.QuotaOrder{Site: a.site, Seq: r.Seq + 1, Limit: r.Limit}
		for k := range order.Final {
			order.Final[k] = true
		}
		return order, a.saveLedger(ctx)
	}
	gathered := a.needsOthers(r)
	if gathered {
		if err := a.gatherReports(ctx); err != nil {
			return cluster.QuotaOrder{}, err
		}
	}
	order := a.makeOrder(r, g, gathered && a.allNodesAgree())
	if err := a.saveLedger(ctx); err != nil {
		return order, err
	}
	if order.Suspend != 0 {
		a.suspendOthers(ctx, order)
	}
	return order, nil
}

// needsOthers reports whether the ledger alone does not have the answer.
func (a *account) needsOthers(r cluster.QuotaReport) bool {
	for k, limit := range r.Limit {
		switch {
		case limit == 0 || !r.Wants[k] && !r.Short[k]:
		case a.hasUnheard(), !a.heardAtOneStep(), r.Short[k] && a.freeAmount(k) <= 0, k == cluster.QuotaErrors && a.freeAmount(k) < 0:
			return true
		}
	}
	return false
}

// gatherReports hears all other nodes, and lets those give back what they do not use.
func (a *account) gatherReports(ctx context.Context) error {
	questions := map[string]cluster.QuotaCommand{}
	for _, name := range a.holders {
		if name != a.node {
			questions[name] = cluster.QuotaCommand{Site: a.site}
		}
	}
	a.askNodes(ctx, questions)
	orders := map[string]cluster.QuotaCommand{}
	for name := range questions {
		r, heard := a.heard[name]
		g := a.ledger.Nodes[name]
		if !heard || g == nil {
			continue
		}
		order := cluster.QuotaOrder{Site: a.site, Lease: g.Most, Limit: r.Limit}
		back := r.Seq != g.Seq // an order was lost: this one ends it
		for k, limit := range r.Limit {
			if limit > 0 && g.Most[k] > r.Used[k] && a.freeAmount(k) <= 0 {
				order.Lease[k], back = cluster.QuotaReturn, true
			}
		}
		if back {
			g.Seq++
			order.Seq = g.Seq
			orders[name] = cluster.QuotaCommand{Site: a.site, Order: &order}
		}
	}
	if err := a.saveLedger(ctx); err != nil {
		return err
	}
	a.askNodes(ctx, orders)
	return nil
}

// askNodes sends commands to nodes side by side, and hears those that answer.
func (a *account) askNodes(ctx context.Context, commands map[string]cluster.QuotaCommand) {
	var mu sync.Mutex
	var work sync.WaitGroup
	answers := map[string]cluster.QuotaReport{}
	for name, c := range commands {
		delete(a.heard, name)
		work.Go(func() {
			if until, ok := a.silent.Load(name); ok && time.Now().Before(until.(time.Time)) {
				return
			}
			r, err := a.command(ctx, name, c)
			if err != nil {
				a.silent.Store(name, time.Now().Add(silence))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers[name] = r
		})
	}
	work.Wait()
	for name, r := range answers {
		a.recordReport(name, r)
	}
}

// suspensions are the bits of a site that exceeds a limit (docs/spec/DECISIONS.md 3.2).
var suspensions = [cluster.QuotaKinds]errormask.Mask{cluster.QuotaResources: errormask.SiteMaxResources, cluster.QuotaErrors: errormask.SiteMaxErrors}

// makeOrder changes the part of the node. last says that all nodes were asked and are sure.
func (a *account) makeOrder(r cluster.QuotaReport, g *grant, last bool) cluster.QuotaOrder {
	order := cluster.QuotaOrder{Site: a.site, Lease: g.Most, Limit: r.Limit}
	for k, limit := range r.Limit {
		if limit == 0 {
			continue
		}
		free := a.freeAmount(k)
		if last && a.isExhausted(k, free, r) {
			order.Final[k] = true
			order.Suspend |= suspensions[k]
		}
		switch {
		case free < 0 && g.Most[k] > r.Used[k]:
			order.Lease[k] = cluster.QuotaReturn
		case free >= 0 && a.heardAtOneStep():
			order.Lease[k] = g.heldAmount(k)
			if r.Wants[k] || r.Short[k] {
				order.Lease[k] += nodeShare(free, len(a.holders))
			}
		}
	}
	order.Seq = g.Seq
	if order.Lease != r.Lease || order.Final != (cluster.Kinds{}) || r.Seq != g.Seq {
		g.Seq++
		order.Seq = g.Seq
	}
	for k, n := range order.Lease {
		g.Most[k] = max(g.Most[k], n)
	}
	return order
}

// nodeShare is the part of what is free that one node gets: the last ones get single pieces, so that a
// small limit is filled exactly.
func nodeShare(free int64, nodes int) int64 {
	n := int64(nodes) + 1
	return (free + n - 1) / n
}

// isExhausted reports whether the node will not get more of a kind, whatever the others do.
func (a *account) isExhausted(kind int, free int64, r cluster.QuotaReport) bool {
	switch kind {
	case cluster.QuotaErrors:
		return free < 0
	case cluster.QuotaResources: // pages in a batch may not become resources
		for _, other := range a.heard {
			if other.Busy[kind] > 0 {
				return false
			}
		}
	}
	return r.Short[kind] && free <= 0
}

// suspendOthers tells the other nodes. One that does not answer gets it when it asks.
func (a *account) suspendOthers(ctx context.Context, order cluster.QuotaOrder) {
	commands := map[string]cluster.QuotaCommand{}
	for name, r := range a.heard {
		g := a.ledger.Nodes[name]
		if name == a.node || g == nil || !r.Active {
			continue
		}
		one := order
		g.Seq++
		one.Seq, one.Lease = g.Seq, g.Most
		commands[name] = cluster.QuotaCommand{Site: a.site, Order: &one}
	}
	if len(commands) > 0 && a.saveLedger(ctx) == nil {
		a.askNodes(ctx, commands)
	}
}
