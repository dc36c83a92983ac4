package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/apps/archive/filter"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// Config says how sites are crawled.
type Config struct {
	Depth     int           // links from a start URL, at least 0
	Interval  time.Duration // from the start of a round to that of the next one; 0: one round
	Instances int           // jobs at once, at least 1
	Filters   []string      // names of filters; see package filter
	FilterDir string        // folder of their configuration files
	Robots    bool          // obey robots.txt
	UserAgent string        // "": that of the crawler
	Delay     time.Duration // between two requests to a host, at least
	Networks  string        // networks that are not public and may be crawled
}

// Manager runs crawls. One goroutine uses it.
type Manager struct {
	Config
	Repository *repository.Repository
	Programs   string // folder of dc-daemon and the task programs
	Say        func(format string, args ...any)
	Log        *slog.Logger
}

// ErrFailed means that some jobs of a round failed; they were reported.
var ErrFailed = errors.New("some domains were not archived, or not completely")

// Job is the crawl of one domain.
type Job struct {
	Domain string
	Roots  []string // canonical
}

// Queue returns the jobs of start URLs as people type them, in their order.
func Queue(urls []string) (jobs []Job, err error) {
	for _, typed := range urls {
		url, err := target.ParseFull(typed)
		if err != nil {
			return nil, err
		}
		domain, err := repository.Domain(url)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(jobs, func(j Job) bool { return j.Domain == domain })
		if i < 0 {
			jobs, i = append(jobs, Job{Domain: domain}), len(jobs)
		}
		if !slices.Contains(jobs[i].Roots, url) {
			jobs[i].Roots = append(jobs[i].Roots, url)
		}
	}
	if len(jobs) == 0 {
		return nil, errors.New("give at least one URL to start from")
	}
	return jobs, nil
}

// Run crawls the start URLs, again and again if there is an interval, until ctx is done. The error wraps
// ErrFailed if all rounds ended and a job of the last one failed.
func (m *Manager) Run(ctx context.Context, urls []string) error {
	jobs, err := Queue(urls)
	if err != nil {
		return err
	}
	if err := m.checkNetworks(jobs); err != nil {
		return err
	}
	if check, err := filter.Open(m.FilterDir, m.Filters); err != nil { // before anything is fetched
		return err
	} else if err := check.Close(); err != nil {
		return err
	}
	n, err := node.Open(filepath.Join(m.Repository.Dir(), "crawler"), m.Programs)
	if err != nil {
		return err
	}
	return m.repeatRounds(ctx, func() error { return m.crawlRound(ctx, n, jobs) })
}

// repeatRounds calls round once, or at each interval until ctx is done. A round that takes longer than the
// interval delays the next one.
func (m *Manager) repeatRounds(ctx context.Context, round func() error) error {
	for {
		began := time.Now()
		err := round()
		if m.Interval <= 0 || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil && !errors.Is(err, ErrFailed) {
			m.Say("this round failed: %v", err)
			m.Log.Error("crawl", "op", "round", "error", err)
		}
		next := began.Add(m.Interval)
		m.Say("the next round begins at %s", next.Format(time.DateTime))
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// checkNetworks refuses start URLs that the egress guard will not let pass.
func (m *Manager) checkNetworks(jobs []Job) error {
	if m.Networks != "" {
		return nil
	}
	for _, j := range jobs {
		if target.Private(j.Roots[0]) {
			return command.Refuse("%s is not public, and the crawler connects to public addresses only; if you mean it, set allow_networks = 127.0.0.0/8 (or its network)", j.Roots[0])
		}
	}
	return nil
}

// crawlRound crawls all jobs once. One process at a time has a round in an archive.
func (m *Manager) crawlRound(ctx context.Context, n *node.Node, jobs []Job) error {
	release, err := n.Reserve()
	if errors.Is(err, files.ErrLocked) {
		return fmt.Errorf("another crawl works in %s (%w); wait for its end", m.Repository.Dir(), err)
	}
	if err != nil {
		return err
	}
	defer release()
	daemon, err := n.Start(ctx, node.Options{AllowNetworks: m.Networks})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with the daemon
		<-daemon.Ended()
		cancel(errors.New("dc-daemon has ended in the middle of the crawl; see " + n.LogDir() + "/dc-daemon.log"))
	}()
	err = removeSites(ctx, daemon, n)
	failed := 0
	if err == nil {
		failed = m.atOnce(jobs, func(j Job) error {
			err := m.crawlJob(ctx, daemon, j)
			if cause := context.Cause(ctx); err != nil && cause != nil {
				err = cause
			}
			return err
		})
	}
	if cause := context.Cause(ctx); err == nil && cause != nil {
		err = cause
	}
	err = errors.Join(err, daemon.Stop())
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d: %w", failed, len(jobs), ErrFailed)
	}
	return err
}

// atOnce runs jobs in the order of the queue, at most Instances at once, and returns how many failed.
// Errors are reported.
func (m *Manager) atOnce(jobs []Job, run func(Job) error) (failed int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(m.Instances, 1))
	for _, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := run(j); err != nil {
				m.Say("%s: %v", j.Domain, err)
				m.Log.Error("crawl", "op", "job", "domain", j.Domain, "error", err)
				mu.Lock()
				defer mu.Unlock()
				failed++
			}
		})
	}
	wg.Wait()
	return failed
}

// removeSites deletes the sites that a killed round has left.
func removeSites(ctx context.Context, service service.Service, n *node.Node) error {
	for {
		var sites []wire.Site
		err := service.Ask(ctx, wire.SiteFind, map[string]any{
			"url": nil, "excludeList": []string{"urls", "filters", "properties"},
			"criterions": map[string]any{"WHERE": "`Id`<>'" + wire.GeneralSite + "'", "ORDER BY": "`Id` ASC", "LIMIT": 100},
		}, &sites)
		if err != nil {
			return fmt.Errorf("list the sites in %s: %w", n.Dir, err)
		}
		if len(sites) == 0 {
			return nil
		}
		for _, site := range sites {
			if err := removeSite(ctx, service, site.ID); err != nil {
				return err
			}
		}
	}
}

func removeSite(ctx context.Context, service service.Service, id string) error {
	err := service.Ask(ctx, wire.SiteDelete, map[string]any{"id": id, "taskType": 1, "delayedType": wire.Immediate}, nil)
	if err != nil {
		return fmt.Errorf("delete site %s of an earlier crawl: %w", id, err)
	}
	return nil
}
