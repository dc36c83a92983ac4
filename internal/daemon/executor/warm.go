package executor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// warm owns all child processes: the busy ones and the idle ones that wait for the next request
// to the same program. Its caller limits how many run at once.
type warm struct {
	cfg      LocalConfig
	log      *slog.Logger
	starters map[int]*starter // by nice value
	running  sync.WaitGroup   // one for each process that is not forgotten yet

	mu   sync.Mutex
	all  map[*process]bool
	idle map[string][]*process // by key, most recently used last
}

func newWarm(cfg LocalConfig) *warm {
	starters := map[int]*starter{0: newStarter(0)}
	for _, nice := range cfg.Nice {
		if starters[nice] == nil {
			starters[nice] = newStarter(nice)
		}
	}
	return &warm{cfg: cfg, log: cfg.Log, starters: starters,
		all: map[*process]bool{}, idle: map[string][]*process{}}
}

// keyOf identifies a command: processes with the same key are interchangeable.
func keyOf(s Stage, nice int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %q", nice, s.Dir, s.Program)
	for _, a := range s.Args {
		fmt.Fprintf(&b, " %q", a)
	}
	b.WriteString(" with")
	for _, e := range s.Env {
		fmt.Fprintf(&b, " %q", e)
	}
	return b.String()
}

// runPipeline runs the stages of t; the answer of one is the input of the next. It stops at the
// first stage that does not finish. When it returns, no process works for it.
func (w *warm) runPipeline(ctx context.Context, t *Task) outcome {
	var total outcome
	line := append(t.Stdin[:len(t.Stdin):len(t.Stdin)], '\n')
	for i, stage := range t.Stages {
		o := w.runStage(ctx, stage, w.cfg.Nice[t.Type], line)
		total.stderr = append(total.stderr, o.stderr...)
		total.RSS = max(total.RSS, o.RSS)
		total.CPU += o.CPU
		if total.state = o.state; o.state != Finished {
			total.exit = o.exit
			total.reason = fmt.Sprintf("stage %d of %d, %s: %s", i+1, len(t.Stages), stage.Program, o.reason)
			if i == len(t.Stages)-1 {
				total.stdout = o.stdout
			}
			return total
		}
		if i == len(t.Stages)-1 {
			total.stdout = o.stdout
		} else {
			line = append(o.stdout, '\n')
		}
	}
	return total
}

// runStage sends one request to a warm process, or starts one.
func (w *warm) runStage(ctx context.Context, s Stage, nice int, line []byte) outcome {
	if ctx.Err() != nil {
		cause := causeOf(ctx, w.cfg.KillGrace)
		return outcome{state: cause.state, reason: cause.reason}
	}
	key := keyOf(s, nice)
	p := w.takeProcess(key)
	if p == nil {
		var err error
		if p, err = w.startProcess(s, nice, key); err != nil {
			return outcome{state: Failed, exit: exitNotStarted, reason: "cannot start: " + err.Error()}
		}
	}
	o := p.sendRequest(ctx, line, w.cfg.MaxOutput, w.cfg.KillGrace)
	if o.state != Finished {
		w.forgetProcess(p)
		return o
	}
	spent := w.cfg.MaxRequests > 0 && p.served >= w.cfg.MaxRequests
	if spent || w.cfg.MaxRSS > 0 && o.RSS > w.cfg.MaxRSS {
		w.log.Debug("recycling a process", "op", "executor.recycle", "program", s.Program,
			"pid", p.pid, "requests", p.served, "rss", o.RSS)
		go w.retireProcess(p)
		return o
	}
	w.mu.Lock()
	p.idleSince = w.cfg.Now()
	w.idle[key] = append(w.idle[key], p)
	w.mu.Unlock()
	return o
}

// exitNotStarted is the exit status of a program that cannot be started, as in a shell.
const exitNotStarted = 127

// takeProcess returns the most recently used idle process of key that is fit for a request, or nil.
func (w *warm) takeProcess(key string) *process {
	for {
		w.mu.Lock()
		list := w.idle[key]
		if len(list) == 0 {
			w.mu.Unlock()
			return nil
		}
		p := list[len(list)-1]
		w.setIdle(key, list[:len(list)-1])
		w.mu.Unlock()
		if !p.isDirty() {
			return p
		}
		w.log.Warn("an idle process exited or wrote without a request", "op", "executor.take", "pid", p.pid, "command", key)
		go w.retireProcess(p)
	}
}

// setIdle replaces the list of key. Call it with w.mu held.
func (w *warm) setIdle(key string, list []*process) {
	if len(list) == 0 {
		delete(w.idle, key)
		return
	}
	w.idle[key] = list
}

func (w *warm) startProcess(s Stage, nice int, key string) (*process, error) {
	p, err := startProcess(w.starters[nice], s, key)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.all[p] = true
	w.running.Add(1)
	w.mu.Unlock()
	go p.reapGroup()
	return p, nil
}

// forgetProcess removes a process after its exit.
func (w *warm) forgetProcess(p *process) {
	<-p.exited
	p.closePipes()
	w.mu.Lock()
	delete(w.all, p)
	w.mu.Unlock()
	w.running.Done()
}

// retireProcess ends an idle process: it closes its input and kills it after the grace. It returns
// when the process has exited.
func (w *warm) retireProcess(p *process) {
	p.in.Close()
	p.awaitExit(w.cfg.KillGrace)
	w.forgetProcess(p)
}

// retireIdle retires the processes that were idle for too long and returns when the next one is
// due; zero for never.
func (w *warm) retireIdle(now time.Time) (next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, list := range w.idle {
		kept := list[:0]
		for _, p := range list {
			end := p.idleSince.Add(w.cfg.IdleTimeout)
			if !end.After(now) {
				go w.retireProcess(p)
				continue
			}
			kept = append(kept, p)
			next = earlierTime(next, end)
		}
		clear(list[len(kept):])
		w.setIdle(key, kept)
	}
	return next
}

// killAll sends SIGKILL to every process.
func (w *warm) killAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.all {
		p.signalGroup(unix.SIGKILL)
	}
}

// close retires the idle processes and returns when no child is left. No request may be
// running or follow.
func (w *warm) close() {
	w.mu.Lock()
	for key, list := range w.idle {
		for _, p := range list {
			go w.retireProcess(p)
		}
		delete(w.idle, key)
	}
	w.mu.Unlock()
	w.running.Wait()
	for _, s := range w.starters {
		s.stop()
	}
}
