package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// crawlWithFloor runs the floor program repeat times and reports the fastest run.
func crawlWithFloor(ctx context.Context, root, program string, workers, repeat int) (Report, error) {
	best := Report{Name: fmt.Sprintf("floor, %d connection", workers)}
	if workers > 1 {
		best.Name += "s"
	}
	for i := range max(repeat, 1) {
		cmd := exec.CommandContext(ctx, program, "-url", root, "-workers", strconv.Itoa(workers))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return Report{}, fmt.Errorf("floor: %w", err)
		}
		var got struct {
			Pages      int     `json:"pages"`
			URLs       int     `json:"urls"`
			Bytes      int64   `json:"bytes"`
			Seconds    float64 `json:"seconds"`
			CPUSeconds float64 `json:"cpu_seconds"`
			MaxRSS     int64   `json:"max_rss"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			return Report{}, fmt.Errorf("floor: %w", err)
		}
		if i == 0 || got.Seconds < best.Seconds {
			best = Report{best.Name, got.Pages, got.URLs, got.Bytes, got.Seconds, got.CPUSeconds, got.MaxRSS}
		}
	}
	return best, nil
}
