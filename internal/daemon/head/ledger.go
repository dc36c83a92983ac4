package head

import (
	"maps"
	"slices"

	"hce/dc/internal/wire/cluster"
)

// ledger is what the nodes of a cluster may have of the limits of one site: a value of the table
// "quota". Its law: for each kind the sum of what the nodes hold is not above the limit, unless clients
// or roots, which no limit stops, have added more. A node holds the larger one of what it may have and
// what it has.
type ledger struct {
	Step  int64             `json:"step"` // of the placement when the ledger was made
	Nodes map[string]*grant `json:"nodes"`
}

// grant is the part of one node.
type grant struct {
	Seq   int64           `json:"seq"`   // number of the last order
	Most  cluster.Amounts `json:"most"`  // no order that the node may still get gives it more
	Used  cluster.Amounts `json:"used"`  // by its last report
	Limit cluster.Amounts `json:"limit"` // as the node knows it
	Step  int64           `json:"step"`  // of the placement, by its last report
}

func (g *grant) heldAmount(kind int) int64 { return max(g.Most[kind], g.Used[kind]) }

// recordReport takes a report. A node that has had the last order has exactly the lease that it reports: no older
// order can change it. Otherwise an order may be under way.
func (l *ledger) recordReport(name string, r cluster.QuotaReport) {
	if r.Gone {
		delete(l.Nodes, name)
		return
	}
	g := l.Nodes[name]
	switch {
	case g == nil:
		g = &grant{Seq: r.Seq, Most: r.Lease}
		l.Nodes[name] = g
	case r.Seq == g.Seq:
		g.Most = r.Lease
	default:
		for k := range g.Most {
			g.Most[k] = max(g.Most[k], r.Lease[k])
		}
		g.Seq = max(g.Seq, r.Seq)
	}
	g.Used, g.Limit, g.Step = r.Used, r.Limit, r.Step
}

// forgetHolders removes nodes that have no rows any more.
func (l *ledger) forgetHolders(holders []string) {
	maps.DeleteFunc(l.Nodes, func(name string, _ *grant) bool { return !slices.Contains(holders, name) })
}

// smallestLimit is the smallest limit that a node knows: while a change of it is on its way to the nodes, the
// sum keeps both. 0 means no limit.
func (l *ledger) smallestLimit(kind int) (least int64) {
	for _, g := range l.Nodes {
		if n := g.Limit[kind]; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// limitsAgree reports whether all nodes know the same limits.
func (l *ledger) limitsAgree() bool {
	var first *grant
	for _, g := range l.Nodes {
		if first == nil {
			first = g
		}
		if g.Limit != first.Limit {
			return false
		}
	}
	return true
}

// freeAmount is what no node holds; below 0 if they hold too much. A node that was not heard yet is taken for one
// with an equal share. absent are the nodes without the site.
func (l *ledger) freeAmount(kind int, holders, absent []string) int64 {
	limit, n := l.smallestLimit(kind), int64(len(holders))
	left := limit
	for _, name := range holders {
		switch g := l.Nodes[name]; {
		case g != nil:
			left -= g.heldAmount(kind)
		case !slices.Contains(absent, name):
			left -= (limit + n - 1) / n
		}
	}
	return left
}
