package manager

import (
	"errors"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

// Errors of a request without an answer, in addition to bus.ErrBusy and bus.ErrGone.
var (
	ErrNoAnswer = errors.New("no answer in time")
	ErrStopped  = errors.New("the manager stops")
)

// Ask sends a request with a new uid and calls done exactly once, from the loop and never
// from inside Ask. done gets the answer or an error: ErrNoAnswer after timeout, bus.ErrBusy
// or bus.ErrGone if the request cannot be sent or too many are pending, ErrStopped if the
// loop stops first.
func (l *Loop) Ask(to Peer, class string, eventType int, object any, timeout time.Duration, done func(answer wire.Event, err error)) {
	e, err := newEvent(class, eventType, object)
	if err != nil {
		l.pending.addRequest(waiting{uid: bus.NewUID(), socket: to.Socket, deadline: l.Now(), done: done, err: err})
		return
	}
	l.Forward(to, e, timeout, done)
}

// Forward is Ask for an existing event. It replaces the uid, so that equal uids of two
// clients cannot collide, and keeps the cookie.
func (l *Loop) Forward(to Peer, e wire.Event, timeout time.Duration, done func(answer wire.Event, err error)) {
	e.UID = bus.NewUID()
	w := waiting{uid: e.UID, socket: to.Socket, deadline: l.Now().Add(timeout), done: done, err: ErrNoAnswer}
	if l.pending.isFull() {
		w.deadline, w.err = l.Now(), bus.ErrBusy
	} else if err := l.Send(to, e); err != nil {
		w.deadline, w.err = l.Now(), err
	}
	l.pending.addRequest(w)
}

// Waiting returns the number of requests without an answer.
func (l *Loop) Waiting() int { return len(l.pending.byUID) }

// waiting is one pending request.
type waiting struct {
	uid      string
	socket   string
	deadline time.Time
	done     func(wire.Event, error)
	err      error // what done gets at the deadline
}

// pending is the table of pending requests.
type pending struct {
	limit int
	byUID map[string]waiting
	// soonest is not later than the earliest deadline. The table is searched only after it.
	soonest time.Time
}

func (p *pending) isFull() bool { return len(p.byUID) >= p.limit }

func (p *pending) addRequest(w waiting) {
	if p.byUID == nil {
		p.byUID = map[string]waiting{}
	}
	if len(p.byUID) == 0 || w.deadline.Before(p.soonest) {
		p.soonest = w.deadline
	}
	p.byUID[w.uid] = w
}

// takeRequest removes and returns the request that an event of that socket answers.
func (p *pending) takeRequest(socket, uid string) (waiting, bool) {
	w, ok := p.byUID[uid]
	if !ok || w.socket != socket {
		return waiting{}, false
	}
	delete(p.byUID, uid)
	return w, true
}

// takeExpired removes and returns the requests whose deadline is not after now.
func (p *pending) takeExpired(now time.Time) []waiting {
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

func (p *pending) takeAll() []waiting {
	var all []waiting
	for uid, w := range p.byUID {
		all = append(all, w)
		delete(p.byUID, uid)
	}
	return all
}

// nextDeadline returns a time before which nothing expires; false if nothing is pending.
func (p *pending) nextDeadline() (time.Time, bool) { return p.soonest, len(p.byUID) > 0 }
