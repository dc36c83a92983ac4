package manager

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/apps/search"
)

// joinProcessor returns the processor of a Join, nil for wrong values.
func (m *Manager) joinProcessor(j Join, now time.Time) *processor {
	if !j.isValid() {
		return nil
	}
	for _, one := range m.processors {
		if one.ID == j.ID {
			one.Join, one.Heard = j, now
			return one
		}
	}
	if len(m.processors) >= maxJoined {
		return nil
	}
	one := &processor{Processor: Processor{Join: j, Joined: now, Heard: now}}
	m.processors = append(m.processors, one)
	m.Log.Info("processor joined", "name", j.Name, "kinds", j.Kinds, "connections", j.Connections, "delayMs", j.DelayMs)
	return one
}

// takeConnection keeps a connection until there is a question for it. A connection that takes again has given up
// its earlier Take.
func (m *Manager) takeConnection(p peer, t Take, now time.Time) {
	one := m.joinProcessor(t.Join, now)
	if one == nil || t.Slot < 0 || t.Slot >= t.Connections {
		m.sendAnswer(p, Work{})
		return
	}
	one.takes = slices.DeleteFunc(one.takes, func(old take) bool {
		if old.slot == t.Slot {
			m.sendAnswer(old.peer, Work{})
		}
		return old.slot == t.Slot
	})
	one.takes = append(one.takes, take{p, t.Slot, now})
}

// finishQuestion passes the answer to a question on. Late and second answers count for nothing.
func (m *Manager) finishQuestion(r Result) {
	q := m.running[r.ID]
	if q == nil {
		return
	}
	delete(m.running, r.ID)
	q.owner.Running--
	switch {
	case r.Reply.Error != "" && !r.Reply.Refused:
		q.owner.Failed++
	case r.Reply.Count > 0:
		q.owner.Found++
	default:
		q.owner.Empty++
	}
	r.Reply.Processor = q.owner.Name
	for _, h := range r.Reply.Hits {
		if q.ask.Op == search.OpSearch {
			m.shown.countName(h.URL, cmp.Or(h.Title, h.Name))
		}
	}
	m.sendAnswer(q.peer, r.Reply)
}

// requeueLostQuestions takes questions back that a processor does not work on: the connection broke between.
func (m *Manager) requeueLostQuestions(one *processor, running []string, now time.Time) {
	for id, q := range m.running {
		if q.owner == one && now.Sub(q.given) > reported && !slices.Contains(running, id) {
			m.takeBack(q, "it does not work on it")
		}
	}
}

// takeBack puts a question to the front of the queue again.
func (m *Manager) takeBack(q *question, reason string) {
	delete(m.running, q.id)
	q.owner.Running--
	q.owner.Abandoned++
	m.again++
	m.Log.Warn("question goes to another processor", "question", q.id, "processor", q.owner.Name, "reason", reason)
	q.owner = nil
	if q.tries++; q.tries >= attempts {
		m.sendAnswer(q.peer, search.Reply{Error: fmt.Sprintf("the question was lost with %d processors", q.tries)})
		return
	}
	m.queue = slices.Insert(m.queue, 0, q)
}

// expireWaiting ends what has waited too long.
func (m *Manager) expireWaiting(now time.Time) {
	m.processors = slices.DeleteFunc(m.processors, func(one *processor) bool {
		silent := now.Sub(one.Heard) > m.Silence
		if silent {
			m.dropProcessor(one)
		}
		return silent
	})
	m.queue = slices.DeleteFunc(m.queue, func(q *question) bool {
		over := !now.Before(q.deadline)
		if over {
			m.giveUp(q)
		}
		return over
	})
	for id, q := range m.running {
		if !now.Before(q.deadline) {
			delete(m.running, id)
			q.owner.Running--
			m.giveUp(q)
		}
	}
	for _, one := range m.processors {
		one.takes = slices.DeleteFunc(one.takes, func(t take) bool {
			over := now.Sub(t.since) >= takeLimit
			if over {
				m.sendAnswer(t.peer, Work{})
			}
			return over
		})
	}
}

// giveUp answers a question at its deadline.
func (m *Manager) giveUp(q *question) {
	m.late++
	reason := fmt.Sprintf("%s (%v)", Late, m.Deadline)
	if q.ask.Op == search.OpSearch && !slices.ContainsFunc(m.processors, func(one *processor) bool { return one.canServe(q.ask) }) {
		reason = fmt.Sprintf("%s: no processor for %s has joined; start one with: hce-search processor", Late, q.ask.Kind)
	}
	m.sendAnswer(q.peer, search.Reply{Error: reason})
}

// dropProcessor ends a processor: its questions go to others.
func (m *Manager) dropProcessor(one *processor) {
	m.Log.Warn("processor lost", "name", one.Name, "questions", one.Running)
	for _, t := range one.takes {
		t.socket.Forget(t.route)
	}
	one.takes = nil
	for _, q := range m.running {
		if q.owner == one {
			m.takeBack(q, "it is lost")
		}
	}
	one.Lost = true
	m.lost = append(m.lost, one.Processor)
	m.lost = m.lost[max(0, len(m.lost)-keepLost):]
}

// canServe reports whether a processor takes a question. Any may read a document by its UUID.
func (p *processor) canServe(a search.Ask) bool {
	return a.Op != search.OpSearch || !a.Kind.Valid() || slices.Contains(p.Kinds, a.Kind)
}

// dispatchQuestions gives waiting questions to free connections, in the order of the queue.
func (m *Manager) dispatchQuestions(now time.Time) {
	m.queue = slices.DeleteFunc(m.queue, func(q *question) bool { return m.giveQuestion(q, now) })
}

// giveQuestion gives a question to the next processor that has a free connection for it.
func (m *Manager) giveQuestion(q *question, now time.Time) bool {
	for n := range m.processors {
		i := (m.turn + n) % len(m.processors)
		one := m.processors[i]
		if !one.canServe(q.ask) {
			continue
		}
		for len(one.takes) > 0 {
			t := one.takes[0]
			one.takes = one.takes[1:]
			if m.sendAnswer(t.peer, Work{q.id, q.deadline.Sub(now).Milliseconds(), q.ask}) {
				q.owner, q.given = one, now
				one.Running++
				m.running[q.id] = q
				m.turn = i + 1
				return true
			}
		}
	}
	return false
}

// answerAllWaiting answers everybody who waits.
func (m *Manager) answerAllWaiting() {
	for _, q := range m.queue {
		m.sendAnswer(q.peer, search.Reply{Error: "the search engine stops"})
	}
	for _, q := range m.running {
		m.sendAnswer(q.peer, search.Reply{Error: "the search engine stops"})
	}
	for _, one := range m.processors {
		for _, t := range one.takes {
			m.sendAnswer(t.peer, Work{})
		}
	}
}

func (m *Manager) status() Status {
	s := Status{
		Since: m.started.UTC(), Asked: m.asked, Refused: m.refused, Late: m.late, Again: m.again,
		Waiting: len(m.queue), Running: len(m.running), QueueLimit: m.Queue, Processors: []Processor{},
		Words: m.words.topNames(topOf), Shown: m.shown.topNames(topOf), Opened: m.opened.topNames(topOf),
	}
	for _, one := range m.processors {
		state := one.Processor
		state.Free = len(one.takes)
		s.Processors = append(s.Processors, state)
	}
	s.Processors = append(s.Processors, m.lost...)
	return s
}
