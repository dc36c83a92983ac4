package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hce/dc/examples/rig"
)

// Intervals of the progress line.
const (
	pollEvery  = 500 * time.Millisecond // between two requests to the daemon
	plainEvery = 3 * time.Second        // between two lines without a terminal
	stallLimit = 3 * time.Minute        // without any change: an error
)

// follow shows the progress until the site has no work left. It fails if the daemon ends or
// nothing changes for stallLimit.
func (d *demo) follow(ctx context.Context, r *rig.Rig, id string, start time.Time) error {
	defer func() {
		if d.live {
			fmt.Fprintln(d.talk)
		}
	}()
	var last rig.Status
	var said time.Time
	crawled := 0
	changed := time.Now()
	for {
		status, err := r.Status(ctx, id)
		if err != nil {
			return err
		}
		if status != last {
			last, changed = status, time.Now()
		}
		done, err := r.Done(ctx, id, status)
		if err != nil {
			return err
		}
		// No counter includes pages that are being processed, so the sum may fall for a
		// moment.
		crawled = max(crawled, status.Resources+status.Contents+status.Errors)
		line := progressLine(status, crawled, time.Since(start))
		switch {
		case d.live:
			fmt.Fprintf(d.talk, "\r%s\x1b[K", line)
		case done || time.Since(said) >= plainEvery:
			fmt.Fprintln(d.talk, line)
			said = time.Now()
		}
		if done {
			if status.State != rig.SiteActive {
				return fmt.Errorf("the site was suspended (state %d): a limit was reached", status.State)
			}
			return nil
		}
		if time.Since(changed) > stallLimit {
			return fmt.Errorf("nothing has changed for %v, and there are URLs left", stallLimit)
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

// progressLine formats the counters of a site. crawled counts stored and failed pages;
// images only count in the bytes.
func progressLine(s rig.Status, crawled int, took time.Duration) string {
	rate := 0.0
	if seconds := took.Seconds(); seconds > 0 {
		rate = float64(crawled) / seconds
	}
	return fmt.Sprintf("crawled %d  processed %d  waiting %d  errors %d  %s  %.1f pages/s",
		crawled, s.Contents, s.NewURLs, s.Errors, size(s.Size), rate)
}

// size formats a number of bytes.
func size(bytes int64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes), 0
	for value >= 1000 && unit < 3 {
		value /= 1000
		unit++
	}
	return strings.TrimSpace(fmt.Sprintf("%.1f %s", value, [...]string{"B", "kB", "MB", "GB"}[unit]))
}
