package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// Limits of a crawl with dc.
const (
	stallLimit = time.Minute      // without any change: an error
	quietLimit = 2 * time.Second  // without any change: ask whether work is left
	askLimit   = 30 * time.Second // for one answer
	sample     = 250 * time.Millisecond

	shortestPoll, longestPoll = 20 * time.Millisecond, 200 * time.Millisecond
)

// dcPrograms are the variants of the real system.
func dcPrograms(bin, ini string) []program {
	var list []program
	for _, what := range []string{"stored", "processed"} {
		for _, stores := range []string{"sqlite", "mariadb", "files"} {
			for _, concurrency := range []int{1, 4} {
				d := dc{bin: bin, ini: ini, mariadb: stores == "mariadb", files: stores == "files", processing: what == "processed", concurrency: concurrency}
				p := program{name: fmt.Sprintf("dc-%s-%s-%d", what, stores, concurrency), process: d.processing, crawl: d.crawlSite}
				if d.mariadb {
					p.needs = mariadbNames
				}
				list = append(list, p)
			}
		}
	}
	return list
}

// dc is the real system with one setting.
type dc struct {
	bin, ini    string
	mariadb     bool
	files       bool // raw_store = files
	processing  bool
	concurrency int    // HostConcurrency of the site
	profiles    string // folder for profiles; "" for none
	env         []string
}

// crawlSite crawls a site with a new daemon, from the answer of SITE_NEW until all pages are
// crawled and, with processing, processed.
func (d dc) crawlSite(ctx context.Context, t target, dir string) (c crawl, err error) {
	r, pids, stop, err := d.startDaemon(ctx, dir)
	if err != nil {
		return crawl{}, err
	}
	defer stop()
	meter, err := startMeter(ctx, pids)
	if err != nil {
		return crawl{}, err
	}
	id, err := d.newSite(ctx, r, t.root.String())
	if err != nil {
		return crawl{}, err
	}
	c.begin = time.Now()
	if c.end, err = d.awaitPages(ctx, r, id, c.begin, t.pages); err != nil {
		return crawl{}, err
	}
	if c.cpu, c.memory, err = meter.stop(); err != nil {
		return crawl{}, err
	}
	if c.stored, err = d.countPages(ctx, r, id); err != nil {
		return crawl{}, err
	}
	if err := r.Stop(ctx); err != nil {
		return crawl{}, err
	}
	c.contents = folderSize(filepath.Join(dir, "data", "dc_dbdata"))
	return c, nil
}

// startDaemon starts a daemon, and a database server if there is one. Their processes, with their
// descendants, are those that count. stop ends what still runs.
func (d dc) startDaemon(ctx context.Context, dir string) (r *rig.Rig, pids []int, stop func(), err error) {
	o := rig.Options{Bin: d.bin, Ini: d.ini, Data: filepath.Join(dir, "data"), AllowLoopback: true, Env: slices.Clone(d.env)}
	stopServer := func() {}
	if d.mariadb {
		s, err := startMariaDB(ctx, filepath.Join(dir, "mariadb"))
		if err != nil {
			return nil, nil, nil, err
		}
		pids, stopServer = append(pids, s.pid), s.stop
		o.Env = append(o.Env, "DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_dsn="+s.dsn)
	}
	if d.files {
		o.Env = append(o.Env, "DC_TasksManager_raw_store=files")
	}
	if !d.processing {
		o.Env = append(o.Env, "DC_BatchTasksManagerProcess_ProcessingMode=0")
	}
	if d.profiles != "" {
		o.Env = append(o.Env, command.ProfileDir+"="+d.profiles)
	}
	if r, err = rig.Start(ctx, o); err != nil {
		stopServer()
		return nil, nil, nil, err
	}
	return r, append(pids, r.PID()), func() {
		r.Close()
		stopServer()
	}, nil
}

func (d dc) newSite(ctx context.Context, r *rig.Rig, root string) (id string, err error) {
	return r.NewSite(ctx, rig.Site{Root: root, Properties: map[string]string{"HostConcurrency": strconv.Itoa(d.concurrency)}})
}

// awaitPages returns the time at which all expected pages were done. If no page is left before, it
// returns the time of the last change. The time between two requests is 5 % of the time so
// far, at least 20 ms and at most 200 ms.
func (d dc) awaitPages(ctx context.Context, r *rig.Rig, id string, begin time.Time, expected int) (time.Time, error) {
	var last rig.Status
	changed := begin
	over := (*rig.Rig).Crawled
	if d.processing {
		over = (*rig.Rig).Done
	}
	for {
		status, err := siteStatus(ctx, r, id)
		if err != nil {
			return changed, err
		}
		if status != last {
			last, changed = status, time.Now()
		}
		done := status.Contents
		if !d.processing {
			done += status.Resources
		}
		if done >= expected && status.NewURLs == 0 {
			return changed, nil
		}
		if time.Since(changed) > quietLimit {
			if end, err := over(r, ctx, id, status); err != nil || end {
				return changed, err
			}
		}
		if time.Since(changed) > stallLimit {
			return changed, fmt.Errorf("no change for %v: %+v", stallLimit, status)
		}
		select {
		case <-ctx.Done():
			return changed, ctx.Err()
		case <-r.Ended():
			return changed, errors.New("dc-daemon has ended during the crawl")
		case <-time.After(min(max(time.Since(begin)/20, shortestPoll), longestPoll)):
		}
	}
}

// siteStatus is SITE_STATUS without the start of a dc-client, which would take processor time
// from the crawl.
func siteStatus(ctx context.Context, r *rig.Rig, id string) (rig.Status, error) {
	outcome := client.Call{
		Op:     wire.SiteStatus,
		Object: json.RawMessage(`{"id":"` + id + `","deleteTaskId":null,"excludeList":["urls","filters","properties"]}`),
		Server: client.Server{Host: "127.0.0.1", Port: r.ClientPort(), Timeout: askLimit},
	}.Do(ctx)
	var answer struct {
		ItemsList []struct {
			ItemObject rig.Status `json:"itemObject"`
		} `json:"itemsList"`
	}
	text, err := json.Marshal(outcome.JSON)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || outcome.Exit != 0 || len(answer.ItemsList) != 1 {
		return rig.Status{}, fmt.Errorf("read status of site %s: %w: %s", id, err, text)
	}
	return answer.ItemsList[0].ItemObject, nil
}

// countPages counts the pages that are stored and, with processing, processed without an error.
func (d dc) countPages(ctx context.Context, r *rig.Rig, id string) (int, error) {
	rows, err := r.AllRows(ctx, id)
	want := rig.StatusCrawled
	if d.processing {
		want = rig.StatusProcessed
	}
	count := 0
	for _, row := range rows {
		if row.Status == want && row.ContentType == "text/html" && row.HTTPCode == 200 && row.ErrorMask == 0 {
			count++
		}
	}
	return count, err
}

// meter measures process trees.
type meter struct {
	pids   []int
	before time.Duration
	cancel context.CancelFunc
	peaks  chan int64 // one of each tree
}

func startMeter(ctx context.Context, pids []int) (*meter, error) {
	m := &meter{pids: pids, peaks: make(chan int64, len(pids))}
	var err error
	if m.before, err = m.cpuTime(); err != nil {
		return nil, err
	}
	ctx, m.cancel = context.WithCancel(ctx)
	for _, pid := range pids {
		go func() { m.peaks <- rig.WatchPeak(ctx, pid, sample) }()
	}
	return m, nil
}

// cpuTime is the processor time of all trees.
func (m *meter) cpuTime() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range m.pids {
		usage, err := rig.TreeUsage(pid)
		if err != nil {
			return 0, err
		}
		sum += usage.CPU
	}
	return sum, nil
}

// stop returns the processor time since the start and the sum of the highest resident sizes.
func (m *meter) stop() (cpu time.Duration, memory int64, err error) {
	cpu, err = m.cpuTime()
	m.cancel()
	for range m.pids {
		memory += <-m.peaks
	}
	return cpu - m.before, memory, err
}
