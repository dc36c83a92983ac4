package manager

import (
	"errors"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Errors that the function of Ask gets instead of an answer, beside bus.ErrBusy
// and bus.ErrGone.
var (
	ErrNoAnswer = errors.New("no answer in time")
	ErrStopped  = errors.New("the manager stops")
)

// Ask sends a request under a uid of its own and calls done exactly once, from
// the loop and never from inside Ask: with the answer, or with the error
// ErrNoAnswer after timeout, bus.ErrBusy or bus.ErrGone when the request could
// not be sent or too many wait already, ErrStopped when the loop is left first.
func (l *Loop) Ask(to Peer, class string, eventType int, object any, timeout time.Duration, done func(answer wire.Event, err error)) {
	e, err := newEvent(class, eventType, object)
	if err != nil {
		l.pending.add(waiting{uid: bus.NewUID(), socket: to.Socket, deadline: l.Now(), done: done, err: err})
		return
	}
	l.Forward(to, e, timeout, done)
}

// Forward is Ask with an event at hand. Its uid is replaced by one of our own,
// so that uids chosen by two clients cannot meet; its cookie is sent along.
func (l *Loop) Forward(to Peer, e wire.Event, timeout time.Duration, done func(answer wire.Event, err error)) {
	e.UID = bus.NewUID()
	w := waiting{uid: e.UID, socket: to.Socket, deadline: l.Now().Add(timeout), done: done, err: ErrNoAnswer}
	if l.pending.full() {
		w.deadline, w.err = l.Now(), bus.ErrBusy
	} else if err := l.Send(to, e); err != nil {
		w.deadline, w.err = l.Now(), err
	}
	l.pending.add(w)
}

// Waiting is the number of requests without an answer yet.
func (l *Loop) Waiting() int { return len(l.pending.byUID) }

// waiting is one request under way.
type waiting struct {
	uid      string
	socket   string
	deadline time.Time
	done     func(wire.Event, error)
	err      error // what done gets at the deadline
}

// pending is the table of requests under way, up to limit of them.
type pending struct {
	limit int
	byUID map[string]waiting
	// soonest is no later than the earliest deadline: the table is searched only
	// when it has passed.
	soonest time.Time
}

func (p *pending) full() bool { return len(p.byUID) >= p.limit }

func (p *pending) add(w waiting) {
	if p.byUID == nil {
		p.byUID = map[string]waiting{}
	}
	if len(p.byUID) == 0 || w.deadline.Before(p.soonest) {
		p.soonest = w.deadline
	}
	p.byUID[w.uid] = w
}

// take removes the request that an event of that socket answers.
func (p *pending) take(socket, uid string) (waiting, bool) {
	w, ok := p.byUID[uid]
	if !ok || w.socket != socket {
		return waiting{}, false
	}
	delete(p.byUID, uid)
	return w, true
}

// expire removes the requests whose deadline is not after now.
func (p *pending) expire(now time.Time) []waiting {
	if len(p.byUID) == 0 || now.Before(p.soonest) {
		return nil
	}
	var due []waiting
	p.soonest = time.Time{}
	for uid, w := range p.byUID {
		switch {
		case !w.deadline.After(now):
			due = append(due, w)
			delete(p.byUID, uid)
		case p.soonest.IsZero() || w.deadline.Before(p.soonest):
			p.soonest = w.deadline
		}
	}
	return due
}

func (p *pending) all() []waiting {
	var all []waiting
	for uid, w := range p.byUID {
		all = append(all, w)
		delete(p.byUID, uid)
	}
	return all
}

// next is a time before which nothing expires; false when nothing waits.
func (p *pending) next() (time.Time, bool) { return p.soonest, len(p.byUID) > 0 }
