package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"hce/dc/examples/rig"
)

// Intervals of the measurement. Each poll starts a dc-client on the same processors, so
// polls are rare. The measured time exceeds the crawl by at most one pollEvery.
const (
	pollEvery   = 250 * time.Millisecond
	sampleEvery = 100 * time.Millisecond
	stallLimit  = 2 * time.Minute
)

// crawlWithDC crawls the site at root with dc-daemon on a temporary data folder, from
// SITE_NEW until all URLs are crawled and, with processing, processed. CPU time and memory
// are those of the daemon and its descendants in that time.
func crawlWithDC(ctx context.Context, root, bin, ini string, processing bool) (report Report, err error) {
	data, err := os.MkdirTemp("", "dc-bench-")
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	o := rig.Options{Bin: bin, Ini: ini, Data: data, AllowLoopback: true}
	done, last := (*rig.Rig).Done, rig.StatusProcessed
	report.Name = "dc, stored, processed"
	if !processing {
		o.Env = []string{"DC_BatchTasksManagerProcess_ProcessingMode=0"}
		done, last = (*rig.Rig).Crawled, rig.StatusCrawled
		report.Name = "dc, stored"
	}
	r, err := rig.Start(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer r.Close()

	before, err := rig.TreeUsage(r.PID())
	if err != nil {
		return Report{}, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	peak := make(chan int64, 1)
	go func() { peak <- rig.WatchPeak(watching, r.PID(), sampleEvery) }()
	defer stopWatching()

	begin := time.Now()
	id, err := r.NewSite(ctx, rig.Site{Root: root})
	if err != nil {
		return Report{}, err
	}
	if err := wait(ctx, r, id, done); err != nil {
		return Report{}, err
	}
	report.Seconds = time.Since(begin).Seconds()
	after, err := rig.TreeUsage(r.PID())
	if err != nil {
		return Report{}, err
	}
	stopWatching()
	report.PeakMemory = <-peak
	report.CPUSeconds = (after.CPU - before.CPU).Seconds()
	rows, err := r.AllRows(ctx, id)
	if err != nil {
		return Report{}, err
	}
	for _, row := range rows {
		report.URLs++
		report.Bytes += row.Size
		if row.Status == last && row.ContentType == "text/html" && row.HTTPCode == 200 && row.ErrorMask == 0 {
			report.Pages++
		}
	}
	// A site on a database server outlives the data folder, and the next measurement
	// creates the same one.
	if err := r.DeleteSite(ctx, id); err != nil {
		return Report{}, err
	}
	return report, r.Stop(ctx)
}

// wait returns when the site is done. It fails if nothing changes for stallLimit.
func wait(ctx context.Context, r *rig.Rig, id string, done func(*rig.Rig, context.Context, string, rig.Status) (bool, error)) error {
	var last rig.Status
	changed := time.Now()
	for {
		status, err := r.Status(ctx, id)
		if err != nil {
			return err
		}
		if status != last {
			last, changed = status, time.Now()
		}
		if over, err := done(r, ctx, id, status); err != nil || over {
			return err
		}
		if time.Since(changed) > stallLimit {
			return fmt.Errorf("no change for %v: %+v", stallLimit, status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Ended():
			return errors.New("dc-daemon has ended during the crawl")
		case <-time.After(pollEvery):
		}
	}
}
