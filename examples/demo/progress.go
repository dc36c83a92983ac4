package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hce/dc/examples/rig"
)

// Pace of the progress line.
const (
	pollEvery  = 500 * time.Millisecond // how often the daemon is asked
	plainEvery = 3 * time.Second        // between two lines without a terminal
	stallLimit = 3 * time.Minute        // without any change: something is wrong
)

// follow shows how far the site is until it has nothing left to do. It fails if
// the daemon ends or nothing changes for stallLimit.
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
		// Pages that are just being processed are in none of the counters, so
		// the sum may fall for a moment; the number of pages does not.
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

// progressLine tells the counters of a site. Crawled are the pages that are
// stored and those that failed; pictures and the like are in the bytes only.
func progressLine(s rig.Status, crawled int, took time.Duration) string {
	rate := 0.0
	if seconds := took.Seconds(); seconds > 0 {
		rate = float64(crawled) / seconds
	}
	return fmt.Sprintf("crawled %d  processed %d  waiting %d  errors %d  %s  %.1f pages/s",
		crawled, s.Contents, s.NewURLs, s.Errors, size(s.Size), rate)
}

// size is a number of bytes for people.
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
