package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/search"
	"hce/dc/internal/search/query"
	"hce/dc/internal/wire"
)

// Config are the settings of a manager. Zero values are the defaults.
type Config struct {
	Bus      *bus.Bus
	Endpoint string // of the TCP socket
	// AllowInsecure lets other machines connect. They see all questions, and answers of theirs are
	// shown.
	AllowInsecure bool
	Queue         int           // waiting questions; default 100
	Deadline      time.Duration // of a question; default 5 s
	Silence       time.Duration // after which a processor is lost; default 2 s
	Log           *slog.Logger
}

const (
	attempts  = 5           // processors that may be lost with one question
	takeLimit = time.Second // before a Take without a question is answered
	reported  = time.Second // after which a question must be in Alive
	keepLost  = 20          // lost processors that the status shows
	maxJoined = 256         // processors
	topOf     = 20          // entries of a ranking in the status
	tick      = 100 * time.Millisecond
	atOnce    = 200 // messages of a socket
)

// Manager is a Query Manager.
type Manager struct {
	Config
	local   string
	bound   chan string // the TCP endpoint, once
	started time.Time

	sockets    []*bus.Socket
	queue      []*question // the first one is next
	running    map[string]*question
	processors []*processor // in the order in which they joined
	lost       []Processor
	turn       int // the processor after the one that got the last question

	asked, refused, late, again int64
	words, shown, opened        ranking
}

// peer is where an answer goes.
type peer struct {
	socket *bus.Socket
	route  bus.Route
	event  wire.Event
}

type question struct {
	peer
	id       string
	ask      search.Ask
	deadline time.Time
	tries    int
	given    time.Time  // to owner
	owner    *processor // nil while it waits
}

type processor struct {
	Processor
	takes []take // waiting connections
}

type take struct {
	peer
	slot  int
	since time.Time
}

// New returns a manager; Run starts it.
func New(c Config) *Manager {
	c.Queue = cmp.Or(c.Queue, 100)
	c.Deadline = cmp.Or(c.Deadline, 5*time.Second)
	c.Silence = cmp.Or(c.Silence, 2*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Manager{
		Config: c, local: bus.Inproc("search.manager." + bus.NewUID()), bound: make(chan string, 1), started: time.Now(),
		running: map[string]*question{}, words: ranking{}, shown: ranking{}, opened: ranking{},
	}
}

// Local is the endpoint inside of this process.
func (m *Manager) Local() string { return m.local }

// Bound receives the TCP endpoint, with its port, once Run listens.
func (m *Manager) Bound() <-chan string { return m.bound }

// Run answers until ctx is done. Questions that wait then get an error.
func (m *Manager) Run(ctx context.Context) error {
	tcp, err := m.Bus.Bind(m.Endpoint, bus.Options{AllowInsecure: m.AllowInsecure, Log: m.Log, Connections: 1024, Linger: 200 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("start query manager: %w", err)
	}
	defer tcp.Close()
	local, err := m.Bus.Bind(m.local, bus.Options{Linger: 200 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("start query manager: %w", err)
	}
	defer local.Close()
	m.sockets = []*bus.Socket{tcp, local}
	m.bound <- tcp.Endpoint()
	m.Log.Info("query manager waits for processors", "endpoint", tcp.Endpoint())
	poll := bus.NewPoller(m.sockets...)
	defer m.end()
	for ctx.Err() == nil {
		ready, err := poll.Wait(tick)
		if err != nil {
			return fmt.Errorf("query manager: %w", err)
		}
		for _, s := range ready {
			if err := m.drain(s); err != nil {
				return fmt.Errorf("query manager: %w", err)
			}
		}
		m.expire(time.Now())
		m.dispatch(time.Now())
	}
	return nil
}

// drain handles the messages of a socket, at most atOnce: a flood must not keep the loop from its other
// work.
func (m *Manager) drain(s *bus.Socket) error {
	for range atOnce {
		message, err := s.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.Is(err, bus.ErrNone):
			return nil
		case errors.As(err, &bad):
			if bad.Answerable() && bad.Route != nil {
				m.answer(peer{s, bad.Route, bad.Event}, search.Reply{Error: bad.Error(), Refused: true})
			}
			continue
		case err != nil:
			return err
		}
		m.handle(peer{s, message.Route, message.Event})
	}
	return nil
}

// answer sends the answer to a request. It reports whether the peer was there.
func (m *Manager) answer(p peer, object any) bool {
	e, err := p.event.Answer(p.event.Type+AnswerOffset, object)
	if err == nil {
		_, err = p.socket.Send(p.route, e)
	}
	if err != nil {
		p.socket.Forget(p.route)
		m.Log.Debug("answer not delivered", "type", p.event.Type, "error", err)
	}
	return err == nil
}

// handle takes one request.
func (m *Manager) handle(p peer) {
	now := time.Now()
	switch p.event.Type {
	case TypeAsk:
		read(m, p, func(a search.Ask) { m.receive(p, a, now) })
	case TypeTake:
		read(m, p, func(t Take) { m.take(p, t, now) })
	case TypeResult:
		read(m, p, func(r Result) {
			m.finish(r)
			m.answer(p, struct{}{})
		})
	case TypeAlive:
		read(m, p, func(a Alive) {
			if one := m.join(a.Join, now); one != nil {
				m.compare(one, a.Running, now)
			}
			m.answer(p, struct{}{})
		})
	case TypeStatus:
		m.answer(p, m.status())
	case TypeOpened:
		read(m, p, func(o Opened) {
			m.opened.add(o.URL, o.Title)
			m.answer(p, struct{}{})
		})
	default:
		m.answer(p, search.Reply{Error: "request type " + strconv.Itoa(p.event.Type) + " is unknown", Refused: true})
	}
}

// read decodes the object of a request; a wrong one is answered.
func read[T any](m *Manager, p peer, use func(T)) {
	var value T
	if err := json.Unmarshal(p.event.Object, &value); err != nil {
		m.answer(p, search.Reply{Error: "the request cannot be read: " + err.Error(), Refused: true})
		return
	}
	use(value)
}

// receive takes a question.
func (m *Manager) receive(p peer, a search.Ask, now time.Time) {
	if len(a.Text) > search.MaxText {
		m.answer(p, search.Reply{Error: fmt.Sprintf("the question has %d bytes; the limit is %d", len(a.Text), search.MaxText), Refused: true})
		return
	}
	m.asked++
	if len(m.queue) >= m.Queue {
		m.refused++
		m.answer(p, search.Reply{Error: fmt.Sprintf("%s: %d questions wait; try again later", Busy, len(m.queue))})
		return
	}
	if a.Op == search.OpSearch && a.Offset == 0 {
		m.count(a.Text)
	}
	m.queue = append(m.queue, &question{peer: p, id: bus.NewUID(), ask: a, deadline: now.Add(m.Deadline)})
}

// Busy begins the error of a question that was refused because the queue is full, Late that of a
// question without an answer at its deadline.
const (
	Busy = "the search engine is busy"
	Late = "no answer in time"
)

// count adds the words of a question to the ranking.
func (m *Manager) count(text string) {
	q, err := query.Parse(text)
	if err != nil {
		return
	}
	for _, t := range q.Terms {
		m.words.add(strings.ToLower(t.Text), "")
	}
}

// join returns the processor of a Join, nil for wrong values.
func (m *Manager) join(j Join, now time.Time) *processor {
	if !j.valid() {
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

// take keeps a connection until there is a question for it. A connection that takes again has given up
// its earlier Take.
func (m *Manager) take(p peer, t Take, now time.Time) {
	one := m.join(t.Join, now)
	if one == nil || t.Slot < 0 || t.Slot >= t.Connections {
		m.answer(p, Work{})
		return
	}
	one.takes = slices.DeleteFunc(one.takes, func(old take) bool {
		if old.slot == t.Slot {
			m.answer(old.peer, Work{})
		}
		return old.slot == t.Slot
	})
	one.takes = append(one.takes, take{p, t.Slot, now})
}

// finish passes the answer to a question on. Late and second answers count for nothing.
func (m *Manager) finish(r Result) {
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
			m.shown.add(h.URL, cmp.Or(h.Title, h.Name))
		}
	}
	m.answer(q.peer, r.Reply)
}

// compare takes questions back that a processor does not work on: the connection broke between.
func (m *Manager) compare(one *processor, running []string, now time.Time) {
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
		m.answer(q.peer, search.Reply{Error: fmt.Sprintf("the question was lost with %d processors", q.tries)})
		return
	}
	m.queue = slices.Insert(m.queue, 0, q)
}

// expire ends what has waited too long.
func (m *Manager) expire(now time.Time) {
	m.processors = slices.DeleteFunc(m.processors, func(one *processor) bool {
		silent := now.Sub(one.Heard) > m.Silence
		if silent {
			m.lose(one)
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
				m.answer(t.peer, Work{})
			}
			return over
		})
	}
}

// giveUp answers a question at its deadline.
func (m *Manager) giveUp(q *question) {
	m.late++
	reason := fmt.Sprintf("%s (%v)", Late, m.Deadline)
	if q.ask.Op == search.OpSearch && !slices.ContainsFunc(m.processors, func(one *processor) bool { return one.serves(q.ask) }) {
		reason = fmt.Sprintf("%s: no processor for %s has joined; start one with: hce-search processor", Late, q.ask.Kind)
	}
	m.answer(q.peer, search.Reply{Error: reason})
}

// lose ends a processor: its questions go to others.
func (m *Manager) lose(one *processor) {
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

// serves reports whether a processor takes a question. Any may read a document by its UUID.
func (p *processor) serves(a search.Ask) bool {
	return a.Op != search.OpSearch || !a.Kind.Valid() || slices.Contains(p.Kinds, a.Kind)
}

// dispatch gives waiting questions to free connections, in the order of the queue.
func (m *Manager) dispatch(now time.Time) {
	m.queue = slices.DeleteFunc(m.queue, func(q *question) bool { return m.give(q, now) })
}

// give gives a question to the next processor that has a free connection for it.
func (m *Manager) give(q *question, now time.Time) bool {
	for n := range m.processors {
		i := (m.turn + n) % len(m.processors)
		one := m.processors[i]
		if !one.serves(q.ask) {
			continue
		}
		for len(one.takes) > 0 {
			t := one.takes[0]
			one.takes = one.takes[1:]
			if m.answer(t.peer, Work{q.id, q.deadline.Sub(now).Milliseconds(), q.ask}) {
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

// end answers everybody who waits.
func (m *Manager) end() {
	for _, q := range m.queue {
		m.answer(q.peer, search.Reply{Error: "the search engine stops"})
	}
	for _, q := range m.running {
		m.answer(q.peer, search.Reply{Error: "the search engine stops"})
	}
	for _, one := range m.processors {
		for _, t := range one.takes {
			m.answer(t.peer, Work{})
		}
	}
}

func (m *Manager) status() Status {
	s := Status{
		Since: m.started.UTC(), Asked: m.asked, Refused: m.refused, Late: m.late, Again: m.again,
		Waiting: len(m.queue), Running: len(m.running), QueueLimit: m.Queue, Processors: []Processor{},
		Words: m.words.top(topOf), Shown: m.shown.top(topOf), Opened: m.opened.top(topOf),
	}
	for _, one := range m.processors {
		state := one.Processor
		state.Free = len(one.takes)
		s.Processors = append(s.Processors, state)
	}
	s.Processors = append(s.Processors, m.lost...)
	return s
}
