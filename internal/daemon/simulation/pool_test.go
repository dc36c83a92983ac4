package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/task"
)

// pool is an executor with one node that runs the stages of a task as functions, one goroutine
// per task. It has no slots: the managers' own limits apply.
type pool struct {
	t     testing.TB
	clock *clock
	jobs  map[string]func() task.Job // by program; called for each stage

	ctx    context.Context
	cancel context.CancelFunc
	joined sync.WaitGroup

	mu       sync.Mutex
	tasks    map[string]*executor.Result // submitted and not deleted
	stops    map[string]context.CancelFunc
	watchers map[chan executor.Status]string
	begun    int        // tasks so far
	running  int        // tasks now
	runs     int        // calls of Run so far
	changed  *sync.Cond // a submitted task is over
}

func newPool(t testing.TB, c *clock, jobs map[string]func() task.Job) *pool {
	p := &pool{
		t: t, clock: c, jobs: jobs, tasks: map[string]*executor.Result{}, stops: map[string]context.CancelFunc{},
		watchers: map[chan executor.Status]string{},
	}
	p.changed = sync.NewCond(&p.mu)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		p.cancel()
		p.joined.Wait()
	})
	return p
}

// nodeName is the name of the only node.
const nodeName = "node"

// backlog is more than the unread changes of one watch.
const backlog = 10000

// begin counts a started task.
func (p *pool) begin() {
	p.begun++
	p.running++
}

// Run runs t at once.
func (p *pool) Run(ctx context.Context, t executor.Task) ([]executor.Result, error) {
	p.mu.Lock()
	p.begin()
	p.runs++
	p.mu.Unlock()
	r := p.do(ctx, t)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	return []executor.Result{r}, nil
}

// do runs the stages of t, each with the answer of the one before.
func (p *pool) do(ctx context.Context, t executor.Task) executor.Result {
	r := executor.Result{Status: executor.Status{
		ID: t.ID, Type: t.Type, State: executor.Finished, Node: nodeName,
		Queued: p.clock.now(), Started: p.clock.now(),
	}}
	input := json.RawMessage(t.Stdin)
	for _, stage := range t.Stages {
		answer, err := p.stage(ctx, stage, input)
		if err != nil {
			r.State, r.Reason, r.ExitStatus = executor.Failed, err.Error(), 1
			if ctx.Err() != nil {
				r.State = executor.Cancelled
			} else {
				p.t.Errorf("%v: task %s, program %s: %v", p.clock.now(), t.ID, stage.Program, err)
			}
			break
		}
		input = answer
	}
	if r.State == executor.Finished {
		r.Stdout = input
	}
	r.Ended = p.clock.now()
	return r
}

func (p *pool) stage(ctx context.Context, s executor.Stage, input json.RawMessage) (json.RawMessage, error) {
	job := p.jobs[s.Program]
	if job == nil {
		return nil, fmt.Errorf("no such program: %s", s.Program)
	}
	answer, err := job().Run(ctx, slices.Clone(input))
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// Submit starts t; a known id does not run twice.
func (p *pool) Submit(_ context.Context, t executor.Task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return executor.ErrClosed
	}
	if p.tasks[t.ID] != nil {
		return nil
	}
	ctx, stop := context.WithCancel(p.ctx)
	p.begin()
	p.tasks[t.ID] = &executor.Result{Status: executor.Status{ID: t.ID, Type: t.Type, State: executor.Running}}
	p.stops[t.ID] = stop
	p.joined.Go(func() {
		defer stop()
		r := p.do(ctx, t)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running--
		if p.tasks[t.ID] != nil {
			p.tasks[t.ID] = &r
			p.tell(r.Status)
		}
		p.changed.Broadcast()
	})
	return nil
}

func (p *pool) tell(s executor.Status) {
	for w, kind := range p.watchers {
		if kind == "" || kind == s.Type {
			w <- s
		}
	}
}

// Status returns the statuses of tasks, or of all tasks.
func (p *pool) Status(_ context.Context, ids ...string) ([]executor.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(p.tasks))
	}
	list := make([]executor.Status, len(ids))
	for i, id := range ids {
		list[i] = executor.Status{ID: id, State: executor.Unknown}
		if r := p.tasks[id]; r != nil {
			list[i] = r.Status
		}
	}
	return list, nil
}

// Watch sends later changes.
func (p *pool) Watch(ctx context.Context, kind string) (<-chan executor.Status, error) {
	in, out := make(chan executor.Status, backlog), make(chan executor.Status)
	p.mu.Lock()
	p.watchers[in] = kind
	p.mu.Unlock()
	p.joined.Go(func() {
		defer close(out)
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.watchers, in)
		}()
		for {
			select {
			case s := <-in:
				select {
				case out <- s:
					continue
				case <-ctx.Done():
				case <-p.ctx.Done():
				}
			case <-ctx.Done():
			case <-p.ctx.Done():
			}
			return
		}
	})
	return out, nil
}

// Result returns the output of a task.
func (p *pool) Result(_ context.Context, id string) (executor.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.tasks[id]
	switch {
	case r == nil:
		return executor.Result{}, executor.ErrUnknown
	case !r.State.Over():
		return executor.Result{}, executor.ErrNotOver
	}
	return *r, nil
}

// Cancel ends a task and waits for its end.
func (p *pool) Cancel(_ context.Context, id string, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks[id] == nil {
		return executor.ErrUnknown
	}
	for p.tasks[id] != nil && !p.tasks[id].State.Over() {
		p.stops[id]()
		p.changed.Wait()
	}
	return nil
}

// Delete removes a task; a running task is cancelled first.
func (p *pool) Delete(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stop := p.stops[id]; stop != nil {
		stop()
	}
	delete(p.tasks, id)
	delete(p.stops, id)
	return nil
}

// Nodes returns the only node.
func (p *pool) Nodes(context.Context) ([]executor.Node, error) {
	return []executor.Node{{Name: nodeName, State: executor.NodeReady}}, nil
}

// work returns how many tasks run and how many have started so far.
func (p *pool) work() (running, begun int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, p.begun
}

// called returns the number of calls of Run, which only SitesManager uses.
func (p *pool) called() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}
