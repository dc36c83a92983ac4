package head

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
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
	holders func() (names []string, step int64)
	// command asks a node.
	command func(ctx context.Context, node string, c cluster.QuotaCommand) (cluster.QuotaReport, error)
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
	q := &quotas{ledgers: table, holders: h.rowHolders, command: h.askQuota}
	_, err = h.conn.Serve(broker.HeadSubject("*", "quota"), "", func(m broker.Message) {
		h.work.Go(func() { h.answerQuota(q, m) })
	})
	return err
}

func (h *Head) answerQuota(q *quotas, m broker.Message) {
	ctx, cancel := context.WithTimeout(h.ctx, quotaLimit)
	defer cancel()
	node := strings.Split(m.Subject, ".")[2]
	var question cluster.QuotaReports
	err := json.Unmarshal(m.Data, &question)
	var data []byte
	if err == nil {
		data, err = json.Marshal(cluster.QuotaOrders{Orders: q.answerAll(ctx, node, question.Reports, h.cfg.Log)})
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil && h.ctx.Err() == nil {
		h.cfg.Log.Warn("cannot answer a node about limits of sites; it asks again", "node", node, "error", err)
	}
}

// rowHolders returns the nodes that may have rows, and the step of the placement.
func (h *Head) rowHolders() (names []string, step int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.members.Holders(), h.members.Step()
}

// askQuota asks a node about one site.
func (h *Head) askQuota(ctx context.Context, node string, c cluster.QuotaCommand) (r cluster.QuotaReport, err error) {
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
func (q *quotas) answerAll(ctx context.Context, node string, reports []cluster.QuotaReport, log *slog.Logger) []cluster.QuotaOrder {
	orders := make([]cluster.QuotaOrder, len(reports))
	var work sync.WaitGroup
	slots := make(chan struct{}, siteAnswers)
	for i, r := range reports {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			var err error
			if orders[i], err = q.answerReport(ctx, node, r); err != nil {
				orders[i] = cluster.QuotaOrder{Site: r.Site}
				log.Warn("cannot answer a node about the limits of a site; it asks again", "node", node, "site", r.Site, "error", err)
			}
		})
	}
	work.Wait()
	return orders
}

// answerReport returns the order for a node that has sent a report.
func (q *quotas) answerReport(ctx context.Context, node string, r cluster.QuotaReport) (cluster.QuotaOrder, error) {
	hash := fnv.New32a()
	hash.Write([]byte(r.Site))
	lock := &q.locks[hash.Sum32()%uint32(len(q.locks))]
	lock.Lock()
	defer lock.Unlock()
	a := account{quotas: q, site: r.Site, node: node, heard: map[string]cluster.QuotaReport{}}
	if err := a.loadLedger(ctx); err != nil {
		return cluster.QuotaOrder{}, fmt.Errorf("limits of site %s: %w", r.Site, err)
	}
	a.heard[node] = r
	a.recordReport(node, r)
	order, err := a.decideOrder(ctx)
	if err != nil {
		return order, fmt.Errorf("limits of site %s: %w", r.Site, err)
	}
	return order, nil
}
