package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// Leases of the limits of sites (docs/decisions/0019-quota.md). Out: a round reads the sites that want a
// larger lease (QUOTA_READ), asks the head, and applies its orders (QUOTA_SET). In: the head asks for the
// lease of a site, perhaps with an order. A round starts when one of links would, and again after a pause
// while something waits; an idle node runs none.
//
// A kill loses nothing: what waits is in the store, an order has a number and changes nothing the second
// time, and one that was lost is part of the next.

// quota is the state of the rounds. It belongs to the loop.
type quota struct {
	backoff
	wanted  bool // there may be sites that want more
	all     bool // the next round reports all sites, because orders may be lost
	running bool
	waiting int64 // sites that wait for more after the last round
}

const (
	quotaAsk  = 20 * time.Second // until the head has answered
	quotaPage = 50               // sites of one question
)

// errMoving means that hosts move at this moment.
var errMoving = errors.New("hosts move; leases and links do not change now")

func (a *Agent) declareQuota() {
	q := &a.quota
	a.Maintain("quota", func() time.Duration {
		if a.cfg.Placement == "" || !q.wanted || q.running || !a.session.caughtUp {
			return 0
		}
		return time.Second
	}, a.askForMore)
	a.Gauge("limits_waiting", func() any { return q.waiting })
}

// wantQuota starts a round as soon as the head can answer.
func (a *Agent) wantQuota() {
	a.quota.wanted = true
	a.Kick("quota")
}

// changedSites is what follows a change of sites by a client.
func (a *Agent) changedSites() {
	a.hintWork()
	a.wantQuota()
}

// askForMore starts a round.
func (a *Agent) askForMore(now time.Time) {
	q := &a.quota
	if now.Before(q.due) {
		return
	}
	all := q.all
	q.wanted, q.running = false, true
	conn, member := a.session.conn, a.session.member
	manager.Work(a.Loop, func(ctx context.Context) (quotaRound, error) { return a.quotaRound(ctx, conn, member, all) }, func(r quotaRound, err error) {
		q.running = false
		q.waiting = r.short
		if r.changed {
			a.hintWork()
		}
		if !a.owner.Load() {
			a.wantSend() // links that waited here go to the owners of their hosts
		}
		switch {
		case err != nil:
			q.wanted = true
			q.recordFailure(a.Log(), a.Now(), "cannot ask for the limits of sites", err)
			return
		case r.short > 0: // other nodes are away, or use what is left
			q.wanted = true
			q.setPause(a.Now(), r.changed)
		default:
			q.resetPause()
		}
		q.all = q.all && !all
	})
}

// setPause sets the next pause, which grows while nothing changes.
func (q *quota) setPause(now time.Time, changed bool) {
	pause := min(max(2*q.pause, firstPause), longestPause)
	if changed {
		pause = firstPause
	}
	q.backoff = backoff{pause: pause, due: now.Add(pause)}
}

// quotaRound is what one round has done.
type quotaRound struct {
	changed bool  // batches may have more to do
	short   int64 // sites that still wait
}

// quotaRound asks for the sites that want more, and with all before that for the other ones.
func (a *Agent) quotaRound(ctx context.Context, conn *broker.Conn, member Member, all bool) (r quotaRound, err error) {
	if all {
		err = a.askFor(ctx, conn, member, false, &r)
	}
	if err == nil {
		r.short = 0
		err = a.askFor(ctx, conn, member, true, &r)
	}
	return r, err
}

func (a *Agent) askFor(ctx context.Context, conn *broker.Conn, member Member, wanted bool, r *quotaRound) error {
	for after := ""; ; {
		reports, err := a.readQuota(ctx, member, cluster.QuotaReadRequest{Wanted: wanted, After: after, Max: quotaPage})
		if err != nil || len(reports) == 0 {
			return err
		}
		orders, err := askHead(ctx, conn, reports)
		if err != nil {
			return err
		}
		answer, err := a.setQuota(ctx, orders)
		if err != nil {
			return err
		}
		for i, now := range answer.Reports {
			if now.AnyShort() {
				r.short++
			}
			r.changed = r.changed || now.Lease != reports[i].Lease
		}
		r.changed = r.changed || answer.Added > 0
		if len(reports) < quotaPage {
			return nil
		}
		after = reports[len(reports)-1].Site
	}
}

// askHead returns the orders of the head, one for each report.
func askHead(ctx context.Context, conn *broker.Conn, reports []cluster.QuotaReport) ([]cluster.QuotaOrder, error) {
	question, err := json.Marshal(cluster.QuotaReports{Reports: reports})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, quotaAsk)
	defer cancel()
	replies, err := conn.Request(ctx, broker.HeadSubject(conn.Name(), "quota"), question, 1)
	if err != nil {
		return nil, err
	}
	var answer cluster.QuotaOrders
	if err := json.Unmarshal(replies[0].Data, &answer); err != nil {
		return nil, fmt.Errorf("read the answer of the head: %w", err)
	}
	if len(answer.Orders) != len(reports) {
		return nil, fmt.Errorf("the head has answered %d of %d questions", len(answer.Orders), len(reports))
	}
	return answer.Orders, nil
}

// readQuota reads leases. The step and the first position are those before the rows were read: the rows
// are of then or later.
func (a *Agent) readQuota(ctx context.Context, member Member, request cluster.QuotaReadRequest) ([]cluster.QuotaReport, error) {
	place, err := a.cfg.readPlacement()
	if err != nil {
		return nil, err
	}
	from := member.Position()
	var answer cluster.QuotaReports
	if err := a.cfg.openStore().runOperation(ctx, storeLimit, wire.QuotaRead, request, &answer); err != nil {
		return nil, err
	}
	markReports(answer.Reports, place.Step(), from, member.Position())
	return answer.Reports, nil
}

func markReports(reports []cluster.QuotaReport, step, from, until int64) {
	for i := range reports {
		r := &reports[i]
		r.Step, r.From, r.Until = step, from, until
	}
}

// setQuota applies orders, unless hosts move.
func (a *Agent) setQuota(ctx context.Context, orders []cluster.QuotaOrder) (answer cluster.QuotaReports, err error) {
	if !a.moves.storing.TryRLock() {
		return answer, errMoving
	}
	defer a.moves.storing.RUnlock()
	err = a.cfg.openStore().runOperation(ctx, storeLimit, wire.QuotaSet, cluster.QuotaSetRequest{Orders: orders}, &answer)
	if err == nil && len(answer.Reports) != len(orders) {
		err = fmt.Errorf("%s: %d of %d orders", wire.QuotaSet, len(answer.Reports), len(orders))
	}
	return answer, err
}

// quotaCommands bounds the commands of the head that run at the same time.
const quotaCommands = 4

// serveQuota answers the head until ctx ends. A command that fails has no answer: the head asks again.
func (a *Agent) serveQuota(ctx context.Context, conn *broker.Conn, member Member) error {
	if a.cfg.Placement == "" {
		return nil
	}
	slots := make(chan struct{}, quotaCommands)
	stop, err := conn.Serve(broker.NodeSubject(a.cfg.Join.Name, "quota"), "", func(m broker.Message) {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			if err := a.obeyCommand(ctx, member, m); err != nil && ctx.Err() == nil && !errors.Is(err, errMoving) {
				a.Log().Warn("cannot answer the head about the limits of a site", "error", err)
			}
		}()
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	for range quotaCommands { // those that run
		slots <- struct{}{}
	}
	return nil
}

// obeyCommand answers one command of the head.
func (a *Agent) obeyCommand(ctx context.Context, member Member, m broker.Message) error {
	var c cluster.QuotaCommand
	if err := json.Unmarshal(m.Data, &c); err != nil {
		return fmt.Errorf("read a command: %w", err)
	}
	if c.Order != nil {
		answer, err := a.setQuota(ctx, []cluster.QuotaOrder{*c.Order})
		if err != nil {
			return err
		}
		if answer.Added > 0 {
			a.postToLoop(a.hintWork)
		}
	}
	reports, err := a.readQuota(ctx, member, cluster.QuotaReadRequest{Site: c.Site})
	if err != nil {
		return err
	}
	data, err := json.Marshal(reports[0])
	if err != nil {
		return err
	}
	return m.Respond(data)
}
