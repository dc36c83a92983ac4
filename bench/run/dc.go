package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"hce/dc/examples/rig"
)

// Pace of the measurement. A poll starts one dc-client, whose CPU time is not
// counted but taken from the same processors, so it is not done too often; the
// end of the crawl is seen at most one pollEvery late.
const (
	pollEvery   = 250 * time.Millisecond
	sampleEvery = 100 * time.Millisecond
	stallLimit  = 2 * time.Minute
)

// crawlWithDC crawls the site at root with dc-daemon on a fresh data folder,
// from SITE_NEW until no URL is new or in flight and, with processing, none waits
// to be processed. CPU time and memory are those of the daemon and all processes
// below it in that time. The folder is removed at the end.
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
	// On a database server the site would outlive its data folder, and the next
	// measurement makes the same one.
	if err := r.DeleteSite(ctx, id); err != nil {
		return Report{}, err
	}
	return report, r.Stop(ctx)
}

// wait returns when the site is done.
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
			return fmt.Errorf("nothing has changed for %v: %+v", stallLimit, status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Ended():
			return errors.New("dc-daemon has ended in the middle of the crawl")
		case <-time.After(pollEvery):
		}
	}
}
