package node

import (
	"context"
	"errors"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// Between two rounds while tasks run is at most linkPeriod: a batch may last as long as its sites have
// URLs, and the owners of its links must not wait for its end. It is less at first, because a crawl that
// begins finds its hosts from node to node.
const (
	firstLinkPeriod = time.Second
	linkPeriod      = 5 * time.Second
)

// outgoing sends the links that belong to other nodes. It belongs to the loop.
type outgoing struct {
	backoff
	wanted   bool // there may be unsent links
	sending  bool
	watching bool
	period   time.Duration // before the next round; 0: no task runs
	sent     int64         // cumulative
	left     int64         // unsent links after the last round
}

func (a *Agent) declareLinks() {
	o := &a.out
	a.Maintain("links", func() time.Duration {
		if a.cfg.Placement == "" || !o.wanted || o.sending || a.moving || !a.session.connected || a.session.member == nil {
			return 0
		}
		return time.Second
	}, a.sendLinks)
	a.Maintain("watch", whileFalse(&o.watching), func(time.Time) {
		o.watching = true
		a.watchTasks(func(ctx context.Context) (<-chan executor.Status, error) { return a.cfg.Pool.Watch(ctx, "") })
	})
	a.Counter("links_sent", &o.sent)
	a.Counter("links_received", &a.in.received)
	a.Gauge("links_waiting", func() any { return o.left })
}

// wantSend starts a round as soon as the broker is there, and the pause after a failed one is over.
func (a *Agent) wantSend() {
	a.out.wanted = true
	if a.out.pause == 0 {
		a.out.due = time.Time{}
	}
	a.Kick("links")
}

// watchTasks keeps one worker that waits for the start or the end of a task of the batch managers,
// which may find links.
func (a *Agent) watchTasks(open func(context.Context) (<-chan executor.Status, error)) {
	manager.Work(a.Loop, func(ctx context.Context) (<-chan executor.Status, error) {
		changes, err := open(ctx)
		if err != nil {
			return nil, err
		}
		for s := range changes {
			if (s.State.Over() || s.State == executor.Running) && isOwn(s.Type) {
				return changes, nil
			}
		}
		return nil, nil
	}, func(changes <-chan executor.Status, err error) {
		if a.out.watching = changes != nil; a.out.watching {
			a.watchTasks(func(context.Context) (<-chan executor.Status, error) { return changes, nil })
			a.wantSend()
			a.wantQuota()
		}
	})
}

// sendLinks starts a round.
func (a *Agent) sendLinks(now time.Time) {
	o := &a.out
	if now.Before(o.due) {
		return
	}
	o.wanted, o.sending = false, true
	conn := a.session.conn
	manager.Work(a.Loop, func(ctx context.Context) (r round, err error) {
		if r, err = a.cfg.openStore().sendAll(ctx, conn); err == nil {
			var running []executor.Status
			running, err = activeTasks(ctx, a.cfg.Pool)
			r.more = len(running) > 0
		}
		return r, err
	}, func(r round, err error) {
		o.sending = false
		o.sent += r.sent
		o.left = r.left
		if err != nil {
			o.wanted = true
			o.recordFailure(a.Log(), a.Now(), "cannot send links to their owners", err)
			return
		}
		o.resetPause()
		switch {
		case !r.more:
			o.period = 0
		case !o.wanted:
			o.period = min(max(firstLinkPeriod, o.period*3/2), linkPeriod)
			o.wanted, o.due = true, a.Now().Add(o.period)
		}
		a.in.pause.Store(int64(max(0, o.period-firstLinkPeriod)))
		a.drainStep()
	})
}

// round is what one round has done; it is valid also after an error.
type round struct {
	sent, left int64
	more       bool // tasks run, which may find links
}

// publisher appends messages to a stream: broker.Conn.
type publisher interface {
	Publish(ctx context.Context, subject, id string, data []byte) error
}

// sendAll sends links until none is left.
func (s store) sendAll(ctx context.Context, to publisher) (r round, err error) {
	for {
		t, err := s.takeLinks(ctx)
		if err != nil || len(t.Owners) == 0 {
			return r, err
		}
		sent, err := s.sendLinks(ctx, to, t.Owners)
		if r.sent += sent; err != nil {
			r.left = t.Left + 1
			return r, err
		}
	}
}

// sendLinks appends groups to the stream and then marks them as sent, together. The message id is that of the
// message: a group of the same bundles is the same one. It returns the number of links.
func (s store) sendLinks(ctx context.Context, to publisher, groups []cluster.LinkGroup) (links int64, err error) {
	var ids []int64
	for _, g := range groups {
		if err = to.Publish(ctx, "links."+g.Owner, wire.Md5(string(g.Message)), g.Message); err != nil {
			break
		}
		ids, links = append(ids, g.IDs...), links+g.Count
	}
	if len(ids) == 0 {
		return 0, err
	}
	return links, errors.Join(err, s.markSent(ctx, ids))
}
