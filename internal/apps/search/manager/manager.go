package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/query"
	"hce/dc/internal/daemon/bus"
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
	defer m.answerAllWaiting()
	for ctx.Err() == nil {
		ready, err := poll.Wait(tick)
		if err != nil {
			return fmt.Errorf("query manager: %w", err)
		}
		for _, s := range ready {
			if err := m.drainSocket(s); err != nil {
				return fmt.Errorf("query manager: %w", err)
			}
		}
		m.expireWaiting(time.Now())
		m.dispatchQuestions(time.Now())
	}
	return nil
}

// drainSocket handles the messages of a socket, at most atOnce: a flood must not keep the loop from its other
// work.
func (m *Manager) drainSocket(s *bus.Socket) error {
	for range atOnce {
		message, err := s.Recv()
		var bad *bus.BadMessage
		switch {
		case errors.Is(err, bus.ErrNone):
			return nil
		case errors.As(err, &bad):
			if bad.Answerable() && bad.Route != nil {
				m.sendAnswer(peer{s, bad.Route, bad.Event}, search.Reply{Error: bad.Error(), Refused: true})
			}
			continue
		case err != nil:
			return err
		}
		m.handleRequest(peer{s, message.Route, message.Event})
	}
	return nil
}

// sendAnswer sends the answer to a request. It reports whether the peer was there.
func (m *Manager) sendAnswer(p peer, object any) bool {
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

// handleRequest takes one request.
func (m *Manager) handleRequest(p peer) {
	now := time.Now()
	switch p.event.Type {
	case TypeAsk:
		readObject(m, p, func(a search.Ask) { m.receiveQuestion(p, a, now) })
	case TypeTake:
		readObject(m, p, func(t Take) { m.takeConnection(p, t, now) })
	case TypeResult:
		readObject(m, p, func(r Result) {
			m.finishQuestion(r)
			m.sendAnswer(p, struct{}{})
		})
	case TypeAlive:
		readObject(m, p, func(a Alive) {
			if one := m.joinProcessor(a.Join, now); one != nil {
				m.requeueLostQuestions(one, a.Running, now)
			}
			m.sendAnswer(p, struct{}{})
		})
	case TypeStatus:
		m.sendAnswer(p, m.status())
	case TypeOpened:
		readObject(m, p, func(o Opened) {
			m.opened.countName(o.URL, o.Title)
			m.sendAnswer(p, struct{}{})
		})
	default:
		m.sendAnswer(p, search.Reply{Error: "request type " + strconv.Itoa(p.event.Type) + " is unknown", Refused: true})
	}
}

// readObject decodes the object of a request; a wrong one is answered.
func readObject[T any](m *Manager, p peer, use func(T)) {
	var value T
	if err := json.Unmarshal(p.event.Object, &value); err != nil {
		m.sendAnswer(p, search.Reply{Error: "the request cannot be read: " + err.Error(), Refused: true})
		return
	}
	use(value)
}

// receiveQuestion takes a question.
func (m *Manager) receiveQuestion(p peer, a search.Ask, now time.Time) {
	if len(a.Text) > search.MaxText {
		m.sendAnswer(p, search.Reply{Error: fmt.Sprintf("the question has %d bytes; the limit is %d", len(a.Text), search.MaxText), Refused: true})
		return
	}
	m.asked++
	if len(m.queue) >= m.Queue {
		m.refused++
		m.sendAnswer(p, search.Reply{Error: fmt.Sprintf("%s: %d questions wait; try again later", Busy, len(m.queue))})
		return
	}
	if a.Op == search.OpSearch && a.Offset == 0 {
		m.countWords(a.Text)
	}
	m.queue = append(m.queue, &question{peer: p, id: bus.NewUID(), ask: a, deadline: now.Add(m.Deadline)})
}

// Busy begins the error of a question that was refused because the queue is full, Late that of a
// question without an answer at its deadline.
const (
	Busy = "the search engine is busy"
	Late = "no answer in time"
)

// countWords adds the words of a question to the ranking.
func (m *Manager) countWords(text string) {
	q, err := query.Parse(text)
	if err != nil {
		return
	}
	for _, t := range q.Terms {
		m.words.countName(strings.ToLower(t.Text), "")
	}
}
