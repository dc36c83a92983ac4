package head

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// The limits of a site hold for the whole cluster (docs/decisions/0019-quota.md): the head answers nodes
// that want a larger lease. It keeps a ledger for each site in the table "quota", and writes it before it
// sends an order that gives something; what a node gives back counts when the node has reported it. So
// after a kill of either, and after lost, late or repeated messages, the sum of the leases is at most
// the limit.
//
// Most answers need the ledger only. When nothing is free, the head asks the other nodes (gather) what
// they have, and lets them give back what they do not use. If all of them have answered and nothing is
// free, the lease is final: links are dropped, or the site is suspended.

const (
	quotaLimit = 15 * time.Second // of one answer
	nodeLimit  = 5 * time.Second  // of one question to a node
	silence    = time.Second      // pause of questions to a node that did not answer
)

// quotas answers nodes. Its methods may be called from any goroutine.
type quotas struct {
	ledgers ledgers
	// holders returns the nodes that may have rows, and the step of the placement.
	holders func(context.Context) (names []string, step int64, err error)
	// command asks a node.
	command func(ctx context.Context, node string, c wire.QuotaCommand) (wire.QuotaReport, error)
	locks   [64]sync.Mutex // by site
	silent  sync.Map       // by node: the time until which it is not asked, because it did not answer
}

// ledgers stores values with revisions: broker.Table.
type ledgers interface {
	Get(ctx context.Context, key string) (broker.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// serveQuota answers the nodes until the connection ends.
func (h *Head) serveQuota(ctx context.Context) error {
	if !h.cfg.Hosts {
		return nil
	}
	table, err := h.conn.Table(ctx, broker.TableQuota, broker.TableConfig{Replicas: h.cfg.Replicas})
	if err != nil {
		return err
	}
	q := &quotas{ledgers: table, holders: h.holders, command: h.askQuota}
	_, err = h.conn.Serve(broker.HeadSubject("*", "quota"), "", func(m broker.Message) {
		h.work.Go(func() { h.answerQuota(q, m) })
	})
	return err
}

func (h *Head) answerQuota(q *quotas, m broker.Message) {
	ctx, cancel := context.WithTimeout(h.ctx, quotaLimit)
	defer cancel()
	node := strings.Split(m.Subject, ".")[2]
	var question wire.QuotaReports
	err := json.Unmarshal(m.Data, &question)
	var data []byte
	if err == nil {
		data, err = json.Marshal(wire.QuotaOrders{Orders: q.answerAll(ctx, node, question.Reports, h.cfg.Log)})
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil && h.ctx.Err() == nil {
		h.cfg.Log.Warn("cannot answer a node about limits of sites; it asks again", "node", node, "error", err)
	}
}

// holders reads the placement.
func (h *Head) holders(ctx context.Context) (names []string, step int64, err error) {
	table, err := h.conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return nil, 0, err
	}
	e, err := table.Get(ctx, "placement")
	var p placement.Placement
	if err == nil {
		err = json.Unmarshal(e.Value, &p)
	}
	return p.Holders(), p.Step(), err
}

// askQuota asks a node about one site.
func (h *Head) askQuota(ctx context.Context, node string, c wire.QuotaCommand) (r wire.QuotaReport, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	replies, err := h.conn.Request(ctx, broker.NodeSubject(node, "quota"), data, 1)
	if err == nil {
		err = json.Unmarshal(replies[0].Data, &r)
	}
	if err == nil && r.Site != c.Site {
		err = fmt.Errorf("node %s does not know its lease of site %s now", node, c.Site)
	}
	return r, err
}

// siteAnswers bounds the sites that are answered at the same time for one node.
const siteAnswers = 8

// answerAll returns an order for each report. One without an answer has order 0, which changes nothing.
func (q *quotas) answerAll(ctx context.Context, node string, reports []wire.QuotaReport, log *slog.Logger) []wire.QuotaOrder {
	orders := make([]wire.QuotaOrder, len(reports))
	var work sync.WaitGroup
	slots := make(chan struct{}, siteAnswers)
	for i, r := range reports {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			var err error
			if orders[i], err = q.answer(ctx, node, r); err != nil {
				orders[i] = wire.QuotaOrder{Site: r.Site}
				log.Warn("cannot answer a node about the limits of a site; it asks again", "node", node, "site", r.Site, "error", err)
			}
		})
	}
	work.Wait()
	return orders
}

// answer returns the order for a node that has sent a report.
func (q *quotas) answer(ctx context.Context, node string, r wire.QuotaReport) (wire.QuotaOrder, error) {
	hash := fnv.New32a()
	hash.Write([]byte(r.Site))
	lock := &q.locks[hash.Sum32()%uint32(len(q.locks))]
	lock.Lock()
	defer lock.Unlock()
	a := account{quotas: q, site: r.Site, node: node, heard: map[string]wire.QuotaReport{}}
	if err := a.load(ctx); err != nil {
		return wire.QuotaOrder{}, fmt.Errorf("limits of site %s: %w", r.Site, err)
	}
	a.heard[node] = r
	a.hear(node, r)
	order, err := a.decide(ctx)
	if err != nil {
		return order, fmt.Errorf("limits of site %s: %w", r.Site, err)
	}
	return order, nil
}

// account is the ledger of one site while one node is answered.
type account struct {
	*quotas
	site, node string
	ledger     ledger
	revision   uint64
	stored     string // the ledger in the table

	holders []string
	step    int64
	heard   map[string]wire.QuotaReport // in this answer
	absent  []string                    // nodes without the site
}

func (a *account) load(ctx context.Context) (err error) {
	if a.holders, a.step, err = a.quotas.holders(ctx); err != nil {
		return err
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
	a.ledger.forget(a.holders)
	return nil
}

// save writes the ledger if it has changed.
func (a *account) save(ctx context.Context) error {
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

// hear takes a report of this moment. That a node does not have the site counts only when it has applied
// what the asking node has: SITE_NEW may be on its way.
func (a *account) hear(name string, r wire.QuotaReport) {
	if r.Gone {
		if r.From < a.heard[a.node].Until {
			return
		}
		a.absent = append(a.absent, name)
	} else if !slices.Contains(a.holders, name) {
		return // its rows have left
	}
	a.ledger.hear(name, r)
	a.heard[name] = r
	a.step = max(a.step, r.Step)
}

func (a *account) free(kind int) int64 { return a.ledger.free(kind, a.holders, a.absent) }

// unheard reports whether the ledger has nothing of some node.
func (a *account) unheard() bool {
	return slices.ContainsFunc(a.holders, func(name string) bool {
		return a.ledger.Nodes[name] == nil && !slices.Contains(a.absent, name)
	})
}

// settled reports whether all nodes were heard at one step of the placement: a row that moves is then
// counted once or twice, and never not at all.
func (a *account) settled() bool {
	for _, name := range a.holders {
		if g := a.ledger.Nodes[name]; g != nil && g.Step < a.step {
			return false
		}
	}
	return a.ledger.Step == a.step || !a.unheard()
}

// sure reports whether all nodes were heard now, have had their last orders, and agree about the site: it
// is active and has the same limits. A node where the site is not active counts if it has applied all
// that active nodes have: otherwise a client has started the site again, and the entry is on its way.
func (a *account) sure() bool {
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
	return !a.unheard() && a.settled() && a.ledger.agreed()
}

// decide finds the order for the node, writes the ledger, and passes a suspension on to the others.
func (a *account) decide(ctx context.Context) (wire.QuotaOrder, error) {
	r, g := a.heard[a.node], a.ledger.Nodes[a.node]
	if g == nil { // the node has no rows, or the site is gone: nothing is left to wait for
		order := wire.QuotaOrder{Site: a.site, Seq: r.Seq + 1, Limit: r.Limit}
		for k := range order.Final {
			order.Final[k] = true
		}
		return order, a.save(ctx)
	}
	gathered := a.needsOthers(r)
	if gathered {
		if err := a.gather(ctx); err != nil {
			return wire.QuotaOrder{}, err
		}
	}
	order := a.order(r, g, gathered && a.sure())
	if err := a.save(ctx); err != nil {
		return order, err
	}
	if order.Suspend != 0 {
		a.suspendOthers(ctx, order)
	}
	return order, nil
}

// needsOthers reports whether the ledger alone does not have the answer.
func (a *account) needsOthers(r wire.QuotaReport) bool {
	for k, limit := range r.Limit {
		switch {
		case limit == 0 || !r.Wants[k] && !r.Short[k]:
		case a.unheard(), !a.settled(), r.Short[k] && a.free(k) <= 0, k == wire.QuotaErrors && a.free(k) < 0:
			return true
		}
	}
	return false
}

// gather hears all other nodes, and lets those give back what they do not use.
func (a *account) gather(ctx context.Context) error {
	questions := map[string]wire.QuotaCommand{}
	for _, name := range a.holders {
		if name != a.node {
			questions[name] = wire.QuotaCommand{Site: a.site}
		}
	}
	a.ask(ctx, questions)
	orders := map[string]wire.QuotaCommand{}
	for name := range questions {
		r, heard := a.heard[name]
		g := a.ledger.Nodes[name]
		if !heard || g == nil {
			continue
		}
		order := wire.QuotaOrder{Site: a.site, Lease: g.Most, Limit: r.Limit}
		back := r.Seq != g.Seq // an order was lost: this one ends it
		for k, limit := range r.Limit {
			if limit > 0 && g.Most[k] > r.Used[k] && a.free(k) <= 0 {
				order.Lease[k], back = wire.QuotaReturn, true
			}
		}
		if back {
			g.Seq++
			order.Seq = g.Seq
			orders[name] = wire.QuotaCommand{Site: a.site, Order: &order}
		}
	}
	if err := a.save(ctx); err != nil {
		return err
	}
	a.ask(ctx, orders)
	return nil
}

// ask sends commands to nodes side by side, and hears those that answer.
func (a *account) ask(ctx context.Context, commands map[string]wire.QuotaCommand) {
	var mu sync.Mutex
	var work sync.WaitGroup
	answers := map[string]wire.QuotaReport{}
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
		a.hear(name, r)
	}
}

// suspensions are the bits of a site that exceeds a limit (docs/spec/DECISIONS.md 3.2).
var suspensions = [wire.QuotaKinds]wire.ErrorMask{wire.QuotaResources: wire.ErrSiteMaxResources, wire.QuotaErrors: wire.ErrSiteMaxErrors}

// order changes the part of the node. last says that all nodes were asked and are sure.
func (a *account) order(r wire.QuotaReport, g *grant, last bool) wire.QuotaOrder {
	order := wire.QuotaOrder{Site: a.site, Lease: g.Most, Limit: r.Limit}
	for k, limit := range r.Limit {
		if limit == 0 {
			continue
		}
		free := a.free(k)
		if last && a.exhausted(k, free, r) {
			order.Final[k] = true
			order.Suspend |= suspensions[k]
		}
		switch {
		case free < 0 && g.Most[k] > r.Used[k]:
			order.Lease[k] = wire.QuotaReturn
		case free >= 0 && a.settled():
			order.Lease[k] = g.holds(k)
			if r.Wants[k] || r.Short[k] {
				order.Lease[k] += share(free, len(a.holders))
			}
		}
	}
	order.Seq = g.Seq
	if order.Lease != r.Lease || order.Final != (wire.Kinds{}) || r.Seq != g.Seq {
		g.Seq++
		order.Seq = g.Seq
	}
	for k, n := range order.Lease {
		g.Most[k] = max(g.Most[k], n)
	}
	return order
}

// share is the part of what is free that one node gets: the last ones get single pieces, so that a
// small limit is filled exactly.
func share(free int64, nodes int) int64 {
	n := int64(nodes) + 1
	return (free + n - 1) / n
}

// exhausted reports whether the node will not get more of a kind, whatever the others do.
func (a *account) exhausted(kind int, free int64, r wire.QuotaReport) bool {
	switch kind {
	case wire.QuotaErrors:
		return free < 0
	case wire.QuotaResources: // pages in a batch may not become resources
		for _, other := range a.heard {
			if other.Busy[kind] > 0 {
				return false
			}
		}
	}
	return r.Short[kind] && free <= 0
}

// suspendOthers tells the other nodes. One that does not answer gets it when it asks.
func (a *account) suspendOthers(ctx context.Context, order wire.QuotaOrder) {
	commands := map[string]wire.QuotaCommand{}
	for name, r := range a.heard {
		g := a.ledger.Nodes[name]
		if name == a.node || g == nil || !r.Active {
			continue
		}
		one := order
		g.Seq++
		one.Seq, one.Lease = g.Seq, g.Most
		commands[name] = wire.QuotaCommand{Site: a.site, Order: &one}
	}
	if len(commands) > 0 && a.save(ctx) == nil {
		a.ask(ctx, commands)
	}
}
