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
// from SITE_NEW until no URL is new, in flight or waiting to be processed. CPU
// time and memory are those of the daemon and all processes below it in that
// time. The folder is removed at the end.
func crawlWithDC(ctx context.Context, root, bin, ini string) (report Report, err error) {
	data, err := os.MkdirTemp("", "dc-bench-")
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	r, err := rig.Start(ctx, rig.Options{Bin: bin, Ini: ini, Data: data, AllowLoopback: true})
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
	if err := wait(ctx, r, id); err != nil {
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
	report.Name = "dc, stored, processed"

	rows, err := r.AllRows(ctx, id)
	if err != nil {
		return Report{}, err
	}
	for _, row := range rows {
		report.URLs++
		report.Bytes += row.Size
		if row.Status == rig.StatusProcessed && row.HTTPCode == 200 && row.ErrorMask == 0 {
			report.Pages++
		}
	}
	return report, r.Stop(ctx)
}

// wait returns when the site has nothing left to do.
func wait(ctx context.Context, r *rig.Rig, id string) error {
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
		if done, err := r.Done(ctx, id, status); err != nil || done {
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
