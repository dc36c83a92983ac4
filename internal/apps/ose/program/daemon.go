package program

import (
	"context"
	"sync"
	"time"

	"hce/dc/internal/apps/ose/cycle"
	"hce/dc/internal/cli/command"
)

// shortestRound is the shortest time between two rounds of the daemon.
const shortestRound = time.Second

// longestRound is the longest one.
const longestRound = 365 * 24 * time.Hour

// daemonCommand returns the sub-command that runs cycles all the time.
func (p program) daemonCommand() *command.Command {
	o := &stepOptions{wait: "10s-30s", timeout: "30s", maxURLs: "1000000"}
	every := "10m"
	c := p.newLeafCommand(command.Text{
		Name: "daemon", Summary: "runs the cycles of all targets every ten minutes",
		Description: `Does what ose run does, at once and then every --every, until it gets SIGTERM or SIGINT. A target whose
steps take longer does not delay the others. New targets in DIR are found in the next round. A kill
loses nothing.`,
		Examples: "  ose daemon /srv/sites\n  ose daemon /srv/sites --every 1h --quiet",
	}, func() error {
		d, err := command.Time{Option: "--every", Least: shortestRound, Most: longestRound}.Parse(every)
		if err != nil {
			return err
		}
		return p.runDaemon(o, d)
	})
	o.declareOptions(c, "")
	c.Text(&every, "every", "", "TIME", "time between two rounds")
	return c
}

// runDaemon runs rounds until the context ends. Then it returns nil: that is its usual end.
func (p program) runDaemon(o *stepOptions, every time.Duration) error {
	if _, err := targetFolders(o.dirs); err != nil {
		return err
	}
	c, closeAll, err := o.newCycle(p, "")
	if err != nil {
		return err
	}
	defer closeAll()
	r := &rounds{program: p, cycle: c, dirs: o.dirs, running: map[string]bool{}, slots: make(chan struct{}, targetsAtOnce)}
	defer r.all.Wait()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		r.startRound(p.ctx)
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return nil
		}
	}
}

// rounds starts the cycles of a daemon.
type rounds struct {
	program
	cycle *cycle.Cycle
	dirs  []string
	slots chan struct{}
	all   sync.WaitGroup

	mu      sync.Mutex
	running map[string]bool // by folder
}

// startRound starts a round: the targets whose cycle does not run.
func (r *rounds) startRound(ctx context.Context) {
	list, err := targetFolders(r.dirs)
	if err != nil {
		r.cycle.Log.Error("targets cannot be found", "error", err)
		return
	}
	for _, f := range list {
		r.mu.Lock()
		free := !r.running[f.Dir]
		r.running[f.Dir] = true
		r.mu.Unlock()
		if !free {
			continue
		}
		r.all.Go(func() {
			select {
			case r.slots <- struct{}{}:
				_, _ = r.runTarget(ctx, r.cycle, f, "") // has logged its error; the next round tries again
				<-r.slots
			case <-ctx.Done():
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.running, f.Dir)
		})
	}
}
