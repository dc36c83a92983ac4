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
	forget   = 30 * time.Second // a question without an answer does not bar the next one longer
	slice    = 100 * time.Millisecond
)

// round is what the managers answered when they were asked together.
type round struct {
	classes map[string]answer
}

// answer is one manager's STAT, or why there is none.
type answer struct {
	fields map[string]any
	fault  string
	silent bool // nobody answered, not even for it
}

// asker asks all managers. It belongs to one goroutine.
type asker struct {
	classes  []string
	socket   *bus.Socket
	poller   *bus.Poller
	patience time.Duration
	now      func() time.Time
	stopped  func() bool

	asked map[string]question // by class: without an answer yet
	by    map[string]string   // class by uid
}

type question struct {
	uid string
	at  time.Time
}

func newAsker(b *bus.Bus, endpoint string, classes []string) (*asker, error) {
	s, err := b.Connect(endpoint, bus.Options{Linger: -1})
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return &asker{
		classes: classes, socket: s, poller: bus.NewPoller(s), patience: patience, now: time.Now,
		stopped: func() bool { return false }, asked: map[string]question{}, by: map[string]string{},
	}, nil
}

// ask gives the answers of one round, after patience at the latest.
func (a *asker) ask() round {
	r := round{classes: map[string]answer{}}
	a.receive(func(string, answer) {}) // what came since the last round is old
	start := a.now()
	for _, class := range a.classes {
		if q, waits := a.asked[class]; waits {
			if start.Sub(q.at).Abs() < forget {
				continue
			}
			a.forget(class)
		}
		if err := a.send(class, start); err != nil {
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
		a.receive(func(class string, told answer) { r.classes[class] = told })
	}
	for _, class := range a.classes {
		if _, ok := r.classes[class]; !ok {
			r.classes[class] = answer{fault: fmt.Sprintf("no answer within %v", a.patience), silent: true}
		}
	}
	return r
}

func (a *asker) send(class string, now time.Time) error {
	object, err := json.Marshal(wire.AdminFields{ClassName: class})
	if err != nil {
		return err
	}
	uid := bus.NewUID()
	if _, err := a.socket.Send(nil, wire.Event{Class: wire.ClassAdmin, UID: uid, Type: wire.AdminStat, Object: object}); err != nil {
		return err
	}
	a.asked[class], a.by[uid] = question{uid, now}, class
	return nil
}

func (a *asker) forget(class string) {
	delete(a.by, a.asked[class].uid)
	delete(a.asked, class)
}

// receive takes all answers that are there.
func (a *asker) receive(take func(class string, told answer)) {
	for {
		m, err := a.socket.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.As(err, &bad):
			continue
		case err != nil:
			return
		}
		class, ours := a.by[m.Event.UID]
		if !ours {
			continue
		}
		a.forget(class)
		take(class, read(m.Event))
	}
}

// read is what an event says about a manager.
func read(e wire.Event) answer {
	if e.Type != wire.AdminStatAns {
		var refused wire.AdminCommand
		if json.Unmarshal(e.Object, &refused) != nil || refused.Message == "" {
			return answer{fault: "an answer that is none"}
		}
		return answer{fault: clip(refused.Message)}
	}
	var told wire.AdminFields
	if err := json.Unmarshal(e.Object, &told); err != nil || told.Fields == nil {
		return answer{fault: "an answer that is none"}
	}
	return answer{fields: told.Fields}
}

// shown is how much of a message from elsewhere is passed on, in bytes.
const shown = 300

func clip(text string) string {
	if len(text) > shown {
		return text[:shown] + "..."
	}
	return text
}
