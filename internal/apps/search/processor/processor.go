// Package processor is a Query Processor: it joins a Query Manager, takes questions of its kinds and
// answers them from the newest snapshot of the index.
//
//	p := processor.New(processor.Config{Bus: b, Manager: "tcp://127.0.0.1:5511", Dir: dir, Connections: 4})
//	err := p.Run(ctx)
//
// Each connection is a goroutine with a socket of its own that takes one question after the other.
// Another goroutine says every half second that the processor lives and what it works on. A new snapshot
// is opened while the old one is in use, which is closed when the last question on it is answered. Without a
// snapshot the processor waits and takes no question. A manager that is away is tried again for ever.
package processor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/daemon/bus"
)

// Config are the settings of a processor.
type Config struct {
	Bus         *bus.Bus
	Manager     string // endpoint
	Dir         string // of the index
	Name        string
	Kinds       []search.Kind // empty: all
	Connections int           // questions at the same time; default 4
	Delay       time.Duration // before each answer, for tests
	Log         *slog.Logger
}

const (
	aliveEvery = 500 * time.Millisecond
	lookEvery  = 500 * time.Millisecond // for a new snapshot
	takeWait   = 3 * time.Second        // for the answer to a Take, before it is sent again
	checkEvery = 24 * time.Hour         // of all files of the snapshot
)

// Processor is a Query Processor.
type Processor struct {
	Config
	join manager.Join

	mu      sync.Mutex
	current *held
	running map[string]bool
}

// held is an open snapshot and the questions that use it.
type held struct {
	*index.Snapshot
	users sync.WaitGroup
}

// New returns a processor; Run starts it.
func New(c Config) *Processor {
	c.Connections = cmp.Or(c.Connections, 4)
	if len(c.Kinds) == 0 {
		c.Kinds = search.Kinds
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	id := bus.NewUID()
	c.Name = cmp.Or(c.Name, id[:8])
	return &Processor{
		Config: c, running: map[string]bool{},
		join: manager.Join{ID: id, Name: c.Name, Kinds: c.Kinds, Connections: c.Connections, DelayMs: c.Delay.Milliseconds()},
	}
}

// GCPercent suits a process that is a processor and nothing else: it has little on its heap and makes
// much garbage (runtime/debug.SetGCPercent).
const GCPercent = 400

// Run works until ctx is done, or until an error of a socket.
func (p *Processor) Run(ctx context.Context) error {
	if p.Connections < 1 || p.Connections > manager.MaxConnections {
		return fmt.Errorf("start processor: %d connections; the limit is %d", p.Connections, manager.MaxConnections)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer p.exchangeSnapshot(nil)
	if err := p.awaitSnapshot(ctx); err != nil {
		return ignoreStop(ctx, err)
	}
	var group sync.WaitGroup
	failed := make(chan error, p.Connections+2)
	run := func(work func(context.Context) error) {
		group.Go(func() {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				failed <- err
				stop()
			}
		})
	}
	run(p.followSnapshots)
	run(p.sendAlive)
	for slot := range p.Connections {
		run(func(ctx context.Context) error { return p.serveConnection(ctx, slot) })
	}
	group.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("processor %s: %w", p.Name, err)
	default:
		return nil
	}
}

func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// canWait reports whether hce-search index mends what keeps a snapshot from being opened.
func canWait(err error) bool {
	return errors.Is(err, index.ErrNone) || errors.Is(err, index.ErrFormat) || errors.Is(err, index.ErrDamaged)
}

// awaitSnapshot opens the first snapshot.
func (p *Processor) awaitSnapshot(ctx context.Context) error {
	for told := false; ; told = true {
		s, err := index.OpenSnapshot(p.Dir)
		switch {
		case err == nil:
			p.exchangeSnapshot(s)
			return nil
		case !canWait(err):
			return err
		case !told:
			p.Log.Warn("waiting for the index", "dir", p.Dir, "error", err)
		}
		if err := sleepContext(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// followSnapshots changes to newer snapshots, and ends with an error when the current one is damaged.
func (p *Processor) followSnapshots(ctx context.Context) error {
	checked := time.Now()
	for sleepContext(ctx, lookEvery) == nil {
		if time.Since(checked) >= checkEvery {
			checked = time.Now()
			if err := p.current.Check(); err != nil {
				return err
			}
		}
		if p.current.Newest(p.Dir) {
			continue
		}
		s, err := index.OpenSnapshot(p.Dir)
		if err != nil {
			p.Log.Warn("new snapshot cannot be opened; answering from the old one", "error", err)
			continue
		}
		p.Log.Debug("new snapshot", "name", s.Name())
		p.exchangeSnapshot(s)
	}
	return nil
}

// exchangeSnapshot makes s the current snapshot and closes the one before after its last question.
func (p *Processor) exchangeSnapshot(s *index.Snapshot) {
	p.mu.Lock()
	old := p.current
	p.current = nil
	if s != nil {
		p.current = &held{Snapshot: s}
	}
	p.mu.Unlock()
	if old == nil {
		return
	}
	ended := func() {
		old.users.Wait()
		if err := old.Close(); err != nil {
			p.Log.Warn("snapshot cannot be closed", "error", err)
		}
	}
	if s == nil {
		ended()
		return
	}
	go ended() // ends with the last question on the old snapshot
}

// sendAlive tells the manager that this processor lives.
func (p *Processor) sendAlive(ctx context.Context) error {
	c, err := manager.Dial(p.Bus, p.Manager)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if _, err := c.Send(manager.TypeAlive, manager.Alive{Join: p.join, Running: p.runningIDs()}); err != nil && !errors.Is(err, bus.ErrBusy) {
			return err
		}
		end, cancel := context.WithTimeout(ctx, aliveEvery)
		_, err := c.Recv(end)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err == nil {
			if err := sleepContext(ctx, aliveEvery); err != nil {
				return err
			}
		}
	}
}

func (p *Processor) runningIDs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []string{}
	for id := range p.running {
		list = append(list, id)
	}
	return list
}

// serveConnection is one connection.
func (p *Processor) serveConnection(ctx context.Context, slot int) error {
	c, err := manager.Dial(p.Bus, p.Manager)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		uid, err := c.Send(manager.TypeTake, manager.Take{Join: p.join, Slot: slot})
		if err != nil && !errors.Is(err, bus.ErrBusy) {
			return err
		}
		work, err := receiveWork(ctx, c, uid)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case err != nil:
			return err
		case work.ID == "":
			continue
		}
		if err := p.answerQuestion(ctx, c, work); err != nil {
			return err
		}
	}
}

// receiveWork waits for the answer to a Take, or for a question that answers an earlier one. That an earlier
// one got no question, or the answer to a Result, counts for nothing.
func receiveWork(ctx context.Context, c *manager.Conn, uid string) (work manager.Work, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	for {
		e, err := c.Recv(ctx)
		if err != nil {
			return work, err
		}
		work = manager.Work{}
		if e.Type == manager.TypeTake+manager.AnswerOffset && json.Unmarshal(e.Object, &work) == nil && (work.ID != "" || e.UID == uid) {
			return work, nil
		}
	}
}

// answerQuestion answers one question and sends the result.
func (p *Processor) answerQuestion(ctx context.Context, c *manager.Conn, work manager.Work) error {
	p.mu.Lock()
	p.running[work.ID] = true
	snapshot := p.current
	snapshot.users.Add(1)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.running, work.ID)
		p.mu.Unlock()
	}()
	limited, cancel := context.WithTimeout(ctx, max(time.Duration(work.BudgetMs)*time.Millisecond, time.Millisecond))
	defer cancel()
	start := time.Now()
	reply := p.runQuestion(limited, snapshot, work.Ask)
	snapshot.users.Done()
	if p.Delay > 0 {
		_ = sleepContext(ctx, p.Delay)
	}
	p.Log.Debug("question", "text", work.Ask.Text, "kind", string(work.Ask.Kind), "count", reply.Count, "ms", time.Since(start).Milliseconds())
	if _, err := c.Send(manager.TypeResult, manager.Result{ID: work.ID, From: p.join.ID, Reply: reply}); err != nil && !errors.Is(err, bus.ErrBusy) {
		return err
	}
	return nil
}

// runQuestion runs a question. A fault of the library is an error of this question only.
func (p *Processor) runQuestion(ctx context.Context, s *held, a search.Ask) (reply search.Reply) {
	defer func() {
		if fault := recover(); fault != nil {
			p.Log.Error("question failed", "text", a.Text, "error", fmt.Sprint(fault))
			reply = search.Reply{Error: "the question cannot be answered: a fault of the index; the log of the processor has it"}
		}
	}()
	return s.Run(ctx, a)
}

func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
