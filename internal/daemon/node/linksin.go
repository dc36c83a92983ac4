package node

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
)

// incoming stores the links of other nodes. While tasks run here, a delivery waits for those that follow
// within the pause of a round, and all are stored in one transaction, since a transaction of
// another process empties the page cache of the tasks. The more nodes there are, the smaller are their
// messages. A delivery that comes again is stored at once and alone.
type incoming struct {
	pause    atomic.Int64 // a time.Duration; 0 while no task runs, and while crawls begin
	received int64        // cumulative; belongs to the loop
}

const (
	pauseLook    = 250 * time.Millisecond // between two looks at the pause, which may have ended
	mostTogether = 128 << 10              // bytes of deliveries, some thousand links
)

// receiveWhenReady stores the links of other nodes from the time at which the journal is applied,
// because their sites are known then, until ctx ends.
func (a *Agent) receiveWhenReady(ctx context.Context, conn *broker.Conn, member Member) error {
	select {
	case <-member.CaughtUp():
		a.postToLoop(func() { a.caughtUp(member) })
	case <-ctx.Done():
		return nil
	}
	name, came := a.cfg.Join.Name, make(chan broker.Delivery)
	c, err := conn.Consume(ctx, broker.StreamLinks, broker.NodeDurable(name), "links."+name, broker.ConsumeOptions{}, func(d broker.Delivery) {
		select {
		case came <- d:
		case <-ctx.Done():
			giveBack(0, d)
		}
	})
	if err != nil {
		return err
	}
	defer c.Stop()
	for last := time.Now(); ctx.Err() == nil; last = time.Now() {
		list := a.in.gatherDeliveries(ctx, came, last)
		if n := len(list) - 1; n > 0 && list[n].Count > 1 {
			a.takeDeliveries(ctx, list[:n]...)
			list = list[n:]
		}
		a.takeDeliveries(ctx, list...)
	}
	return nil
}

// gatherDeliveries returns the next delivery and those that follow until the pause after the last round is over, or
// until one comes again. It returns none after the end of ctx.
func (i *incoming) gatherDeliveries(ctx context.Context, came <-chan broker.Delivery, last time.Time) (list []broker.Delivery) {
	size := 0
	for len(list) == 0 || size < mostTogether && time.Since(last) < time.Duration(i.pause.Load()) {
		var look <-chan time.Time // never while nothing waits
		if len(list) > 0 {
			look = time.After(pauseLook)
		}
		select {
		case d := <-came:
			list, size = append(list, d), size+len(d.Data)
			if d.Count > 1 {
				return list
			}
		case <-look:
		case <-ctx.Done():
			giveBack(0, list...)
			return nil
		}
	}
	return list
}

func giveBack(pause time.Duration, list ...broker.Delivery) {
	for _, d := range list {
		_ = d.Nak(pause) // otherwise it comes again after the ack wait
	}
}

// takeDeliveries stores the links of deliveries and acknowledges them. If they cannot be stored together, each
// is stored alone.
func (a *Agent) takeDeliveries(ctx context.Context, list ...broker.Delivery) {
	if len(list) == 0 {
		return
	}
	stored, err := a.storeDeliveries(ctx, list)
	switch {
	case errors.Is(err, errMoving):
		giveBack(firstPause, list...)
		return
	case err != nil && len(list) > 1:
		for _, d := range list {
			a.takeDeliveries(ctx, d)
		}
		return
	case err != nil:
		a.refuseDelivery(ctx, list[0], err)
		return
	}
	if stored.Dropped > 0 {
		a.Log().Info("links were dropped: their sites are full or unknown here", "links", stored.Dropped, "unknown", stored.Unknown)
	}
	// Before the acknowledgement: the head asks whether this node has links to send when all are acknowledged.
	a.postToLoop(func() { a.linksStored(stored) })
	for _, d := range list {
		if err := d.Ack(ctx); err != nil && ctx.Err() == nil {
			a.Log().Info("links will come again: they are stored, but not acknowledged", "message", d.Sequence, "error", err)
		}
	}
}

// storeDeliveries stores the links of deliveries in one transaction.
func (a *Agent) storeDeliveries(ctx context.Context, list []broker.Delivery) (cluster.LinksStored, error) {
	if !a.moves.storing.TryRLock() {
		return cluster.LinksStored{}, errMoving
	}
	defer a.moves.storing.RUnlock()
	var messages [][]byte
	for _, d := range list {
		messages = append(messages, d.Data)
	}
	return a.cfg.openStore().storeLinks(ctx, messages)
}

// refuseDelivery drops a delivery that can never be stored, and gives back another one.
func (a *Agent) refuseDelivery(ctx context.Context, d broker.Delivery, err error) {
	if errors.Is(err, errUnusable) {
		a.Log().Error("links of another node cannot be stored", "message", d.Sequence, "error", err)
		_ = d.Term(err.Error())
		return
	}
	pause := min(firstPause<<min(d.Count, 6), longestPause)
	if ctx.Err() == nil && d.Count == 1 {
		a.Log().Warn("cannot store links of another node", "message", d.Sequence, "pause", pause, "error", err)
	}
	giveBack(pause, d)
}

func (a *Agent) linksStored(stored cluster.LinksStored) {
	a.in.received += int64(stored.New + stored.Known + stored.Waiting + stored.Dropped)
	if stored.New > 0 {
		a.hintWork()
	}
	if stored.New+stored.Waiting > 0 {
		a.wantQuota()
	}
	if stored.Passed > 0 { // their hosts have moved
		a.drain.done, a.drain.flushed = false, false
		a.wantSend()
	}
}
