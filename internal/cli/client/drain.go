package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/bus"
)

// Gauges of work under way: a drain waits until each is 0. One that a manager
// does not have counts as 0 (docs/spec/daemon.md 1.5). The requests for URLs belong to them:
// their answers become batches.
var drainGauges = []string{
	"batches_crawl_queue", "batches_crawl_url_fetch_requests", "purge_batches", "age_batches",
	"batches_process_queue", "recrawl_sites_queue", "batches_realtime_threads",
}

// Drain suspends the managers, waits until what runs has ended, and stops the
// daemon. What it suspended it lets run again when it gives up: at the limit,
// when ctx is done, when a manager refuses.
//
//	out := client.Drain{Server: server, Stop: classes, Limit: 25 * time.Minute, Progress: show}.Do(ctx)
type Drain struct {
	Server Server
	Stop   []string      // classes of the STOP, in its order
	Limit  time.Duration // of the wait; above 0
	Force  bool          // stop at the limit, whatever still runs
	Every  time.Duration // between two looks; default 1 s
	// Progress is told what is left after each look. It may be nil.
	Progress func(Remaining)
}

// Remaining is what a drain still waits for.
type Remaining struct {
	Since time.Duration // since the managers were suspended
	Work  []Work        // in the order of the managers' names
}

// Work is one manager's part.
type Work struct {
	Class  string
	Queues map[string]int // those above 0
	Err    error          // the manager did not say
}

// Empty reports whether nothing is left, by the word of every manager.
func (r Remaining) Empty() bool {
	return !slices.ContainsFunc(r.Work, func(w Work) bool { return w.Err != nil || len(w.Queues) > 0 })
}

// String is one line.
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

// Do drains. Its output is that of STOP, or one failure; its exit status is
// AdminFailed unless everything ended and every class stopped.
func (d Drain) Do(ctx context.Context) Outcome {
	if d.Every <= 0 {
		d.Every = time.Second
	}
	b, err := bus.New()
	if err != nil {
		return AdminFailure(AdminFailed, err.Error())
	}
	defer b.Term(0)
	classes, err := d.running(ctx, b)
	if err != nil {
		return AdminFailure(AdminFailed, "nothing is drained: "+err.Error())
	}
	c := Command{Server: d.Server}
	back := Command{Server: d.Server}
	back.Server.Timeout = min(back.Server.Timeout, 10*time.Second) // somebody waits at the terminal
	// Suspended by now or not: whoever gives up tells all that were running.
	giveUp := func(why error) Outcome {
		words := "they run again"
		// The way back is not cut off by what ended the way there.
		if len(classes.running) == 0 {
			words = "they stay suspended, as they were before"
		} else if _, _, err := back.suspend(context.WithoutCancel(ctx), b, 1, classes.running); err != nil {
			words = "they may still be suspended (dc-admin --cmd RESUME): " + err.Error()
		}
		return AdminFailure(AdminFailed, fmt.Sprintf("the managers are not drained: %v; %s", why, words))
	}
	if _, _, err := c.suspend(ctx, b, 0, classes.all); err != nil {
		return giveUp(err)
	}
	if err := d.wait(ctx, b, classes.all); err != nil && !(d.Force && errors.Is(err, errLimit)) {
		return giveUp(err)
	}
	// From here the daemon stops; nothing calls it back.
	return Command{Name: "STOP", Classes: d.Stop, Server: d.Server}.Do(context.WithoutCancel(ctx))
}

// managers are the classes that can be suspended.
type managers struct{ all, running []string }

// running asks which managers there are and which of them an operator had
// suspended already: those stay so when the drain gives up.
func (d Drain) running(ctx context.Context, b *bus.Bus) (managers, error) {
	door, err := d.Server.Stats(ctx, b, []string{"AdminInterfaceServer"}, []string{"clients"})
	if err == nil {
		err = door[0].Err
	}
	if err != nil {
		return managers{}, errors.New(Command{Server: d.Server}.reason(err))
	}
	var m managers
	list, _ := door[0].Fields["clients"].([]any)
	for _, name := range list {
		if class, ok := name.(string); ok {
			m.all = append(m.all, class)
		}
	}
	if len(m.all) == 0 {
		return managers{}, errors.New("no manager has announced itself")
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

// errLimit is the end of a drain's patience.
var errLimit = errors.New("not in time")

// wait looks again and again until nothing is left.
func (d Drain) wait(ctx context.Context, b *bus.Bus, classes []string) error {
	began := time.Now()
	ticker := time.NewTicker(d.Every)
	defer ticker.Stop()
	var left Remaining
	for {
		next, err := d.look(ctx, b, classes)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted after %s", left)
		case err != nil:
			return err
		}
		left = next
		left.Since = time.Since(began)
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

func (d Drain) look(ctx context.Context, b *bus.Bus, classes []string) (Remaining, error) {
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
