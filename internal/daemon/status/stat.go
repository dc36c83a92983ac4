package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/wire"
)

const (
	patience = 2 * time.Second  // of one round, for all managers together
	forget   = 30 * time.Second // a request without an answer blocks the next one at most so long
	slice    = 100 * time.Millisecond
)

// round holds the answers of all managers to one round of STAT.
type round struct {
	classes map[string]answer
}

// answer is the STAT of one manager, or a fault.
type answer struct {
	fields map[string]any
	fault  string
	silent bool // neither the manager nor AdminInterfaceServer answered
}

// statReader requests STAT of all managers. It belongs to one goroutine.
type statReader struct {
	classes  []string
	socket   *bus.Socket
	poller   *bus.Poller
	patience time.Duration
	now      func() time.Time
	stopped  func() bool

	pending map[string]request // by class
	byUID   map[string]string  // class by uid
}

type request struct {
	uid string
	at  time.Time
}

func newStatReader(b *bus.Bus, endpoint string, classes []string) (*statReader, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		return nil, fmt.Errorf("connect status server: %w", err)
	}
	return &statReader{
		classes: classes, socket: s, poller: bus.NewPoller(s), patience: patience, now: time.Now,
		stopped: func() bool { return false }, pending: map[string]request{}, byUID: map[string]string{},
	}, nil
}

// runRound requests STAT of all managers and returns the answers, after patience at the latest.
func (a *statReader) runRound() round {
	r := round{classes: map[string]answer{}}
	a.receiveAnswers(func(string, answer) {}) // late answers of the last round
	start := a.now()
	for _, class := range a.classes {
		if q, waits := a.pending[class]; waits {
			if start.Sub(q.at).Abs() < forget {
				continue
			}
			a.forgetPending(class)
		}
		if err := a.requestStat(class, start); err != nil {
			r.classes[class] = answer{fault: err.Error()}
		}
	}
	for len(r.classes) < len(a.classes) && !a.stopped() {
		left := a.patience - a.now().Sub(start)
		if left <= 0 {
			break
		}
		if _, err := a.poller.Wait(min(left, slice)); err != nil {
			break
		}
		a.receiveAnswers(func(class string, got answer) { r.classes[class] = got })
	}
	for _, class := range a.classes {
		if _, ok := r.classes[class]; !ok {
			r.classes[class] = answer{fault: fmt.Sprintf("no answer within %v", a.patience), silent: true}
		}
	}
	return r
}

func (a *statReader) requestStat(class string, now time.Time) error {
	object, err := json.Marshal(wire.AdminFields{ClassName: class})
	if err != nil {
		return err
	}
	uid := bus.NewUID()
	if _, err := a.socket.Send(nil, wire.Event{Class: wire.ClassAdmin, UID: uid, Type: wire.AdminStat, Object: object}); err != nil {
		return err
	}
	a.pending[class], a.byUID[uid] = request{uid, now}, class
	return nil
}

func (a *statReader) forgetPending(class string) {
	delete(a.byUID, a.pending[class].uid)
	delete(a.pending, class)
}

// receiveAnswers takes all waiting answers.
func (a *statReader) receiveAnswers(take func(class string, got answer)) {
	drainSocket(a.socket, func(e wire.Event) {
		if class, ours := a.byUID[e.UID]; ours {
			a.forgetPending(class)
			take(class, parseAnswer(e))
		}
	})
}

// drainSocket passes all waiting events of a socket to take and drops unreadable ones.
func drainSocket(s *bus.Socket, take func(wire.Event)) {
	for {
		m, err := s.Recv()
		var bad *bus.BadMessage
		switch {
		case err == nil:
			take(m.Event)
		case !errors.As(err, &bad):
			return
		}
	}
}

const invalidAnswer = "invalid answer"

// parseAnswer converts the answer to STAT.
func parseAnswer(e wire.Event) answer {
	if e.Type != wire.AdminStatAns {
		var refused wire.AdminCommand
		if json.Unmarshal(e.Object, &refused) != nil || refused.Message == "" {
			return answer{fault: invalidAnswer}
		}
		return answer{fault: clipText(refused.Message)}
	}
	var stat wire.AdminFields
	if err := json.Unmarshal(e.Object, &stat); err != nil || stat.Fields == nil {
		return answer{fault: invalidAnswer}
	}
	return answer{fields: stat.Fields}
}

// shown is how many bytes of a foreign message are passed on.
const shown = 300

func clipText(text string) string {
	if len(text) > shown {
		return text[:shown] + "..."
	}
	return text
}
