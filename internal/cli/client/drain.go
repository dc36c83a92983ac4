package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/daemon/bus"
)

// drainGauges count unfinished work: a drain waits until each is 0. A missing gauge counts
// as 0 (docs/spec/daemon.md 1.5). Requests for URLs are included because their answers
// become batches.
var drainGauges = []string{
	"batches_crawl_queue", "batches_crawl_url_fetch_requests", "purge_batches", "age_batches",
	"batches_process_queue", "recrawl_sites_queue", "batches_realtime_threads",
}

// Drain suspends the managers, waits until their work has ended, and stops the daemon. It
// resumes the managers and fails at the limit, when ctx is done, or if a manager refuses.
//
//	out := client.Drain{Server: server, Stop: classes, Limit: 25 * time.Minute, Progress: show}.Do(ctx)
type Drain struct {
	Server Server
	Stop   []string      // classes to stop, in this order
	Limit  time.Duration // of the wait; above 0
	Force  bool          // stop at the limit although work still runs
	Every  time.Duration // between two queries; 0 means 1 s
	// Progress receives the result of each query. It may be nil.
	Progress func(Remaining)
}

// Remaining is the work that a drain still waits for.
type Remaining struct {
	Since time.Duration // since the managers were suspended
	Work  []Work        // in the order of the managers' names
}

// Work is the unfinished work of one manager.
type Work struct {
	Class  string
	Queues map[string]int // gauges above 0
	Err    error          // no statistics from the manager
}

// Empty reports whether every manager has answered that it has no work.
func (r Remaining) Empty() bool {
	return !slices.ContainsFunc(r.Work, func(w Work) bool { return w.Err != nil || len(w.Queues) > 0 })
}

// String describes the work in one line.
func (r Remaining) String() string {
	var parts []string
	for _, w := range r.Work {
		switch {
		case w.Err != nil:
			parts = append(parts, w.Class+" "+w.Err.Error())
		case len(w.Queues) > 0:
			for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
				parts = append(parts, fmt.Sprintf("%s %s %d", w.Class, name, w.Queues[name]))
			}
		default:
			parts = append(parts, w.Class+" 0")
		}
	}
	return fmt.Sprintf("%d s: %s", int(r.Since.Seconds()), strings.Join(parts, ", "))
}

// Do drains the daemon. The output is that of STOP, or one failure. The exit status is
// command.ExitDone if all work ended, or Force is set, and every class stopped.
func (d Drain) Do(ctx context.Context) Outcome {
	if d.Every <= 0 {
		d.Every = time.Second
	}
	b, err := bus.New()
	if err != nil {
		return AdminFailure(command.ExitFailed, err.Error())
	}
	defer b.Term(0)
	classes, err := d.runningManagers(ctx, b)
	if err != nil {
		return AdminFailure(adminExit(ctx, err), "cannot drain: "+d.Server.explainExchange(err))
	}
	resuming := d.Server
	resuming.Timeout = min(resuming.Timeout, 10*time.Second) // a person waits at the terminal
	// abort resumes all managers that were running, even if ctx is done.
	abort := func(cause error) Outcome {
		result := "they run again"
		if len(classes.running) == 0 {
			result = "they stay suspended, as they were before"
		} else if _, _, err := resuming.setSuspended(context.WithoutCancel(ctx), b, 1, classes.running); err != nil {
			result = "they may still be suspended (dc-admin --cmd RESUME): " + d.Server.explainExchange(err)
		}
		return AdminFailure(adminExit(ctx, cause), fmt.Sprintf("the managers are not drained: %s; %s", d.Server.explainExchange(cause), result))
	}
	if _, _, err := d.Server.setSuspended(ctx, b, 0, classes.all); err != nil {
		return abort(err)
	}
	if err := d.awaitNoWork(ctx, b, classes.all); err != nil && !(d.Force && errors.Is(err, errLimit)) {
		return abort(err)
	}
	// The stop cannot be cancelled.
	return Command{Name: "STOP", Classes: d.Stop, Server: d.Server}.Do(context.WithoutCancel(ctx))
}

// managers are the classes that can be suspended, and those of them that run.
type managers struct{ all, running []string }

// runningManagers lists the managers. Managers that an operator had suspended already are not in
// managers.running: they stay suspended if the drain fails.
func (d Drain) runningManagers(ctx context.Context, b *bus.Bus) (managers, error) {
	server, err := d.Server.Stats(ctx, b, []string{"AdminInterfaceServer"}, []string{"clients"})
	if err == nil {
		err = server[0].Err
	}
	if err != nil {
		return managers{}, err
	}
	var m managers
	list, _ := server[0].Fields["clients"].([]any)
	for _, name := range list {
		if class, ok := name.(string); ok {
			m.all = append(m.all, class)
		}
	}
	if len(m.all) == 0 {
		return managers{}, errors.New("no manager is registered")
	}
	stats, err := d.Server.Stats(ctx, b, m.all, []string{"state"})
	if err != nil {
		return managers{}, err
	}
	for _, s := range stats {
		if s.Fields["state"] != "suspended" {
			m.running = append(m.running, s.Class)
		}
	}
	return m, nil
}

// errLimit means that work was left at the limit.
var errLimit = errors.New("not in time")

// awaitNoWork queries the managers until no work is left.
func (d Drain) awaitNoWork(ctx context.Context, b *bus.Bus, classes []string) error {
	start := time.Now()
	ticker := time.NewTicker(d.Every)
	defer ticker.Stop()
	var left Remaining
	for {
		next, err := d.remainingWork(ctx, b, classes)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted after %s", left)
		case err != nil:
			return err
		}
		left = next
		left.Since = time.Since(start)
		if d.Progress != nil {
			d.Progress(left)
		}
		if left.Empty() {
			return nil
		}
		if left.Since >= d.Limit {
			return fmt.Errorf("%w, after %s", errLimit, left)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted after %s", left)
		case <-ticker.C:
		}
	}
}

// remainingWork reads the unfinished work of the managers.
func (d Drain) remainingWork(ctx context.Context, b *bus.Bus, classes []string) (Remaining, error) {
	stats, err := d.Server.Stats(ctx, b, classes, drainGauges)
	if err != nil {
		return Remaining{}, err
	}
	var left Remaining
	for _, s := range stats {
		w := Work{Class: s.Class, Err: s.Err, Queues: map[string]int{}}
		for _, name := range drainGauges {
			if n := int(s.Number(name)); n > 0 {
				w.Queues[name] = n
			}
		}
		left.Work = append(left.Work, w)
	}
	return left, nil
}
