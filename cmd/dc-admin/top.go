package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
)

var topText = command.Text{
	Name: "top", Summary: "shows a running dc-daemon as a live screen", UsageError: command.ExitRefused,
	Description: `Keys: q quits, p pauses the screen and resumes it. Without a terminal on stdout, top
prints one screen as text. It prints no colours or lines if NO_COLOR is set or the
terminal does not support them.

With --json each interval prints one line with a JSON object: time, managers, batches,
rates (per second; null in the first line), sites, process and schedules. While the
daemon cannot be reached, the object has the reason in "away", and top tries again at
the next interval.`,
	Examples: `  dc-admin top
  dc-admin top --json --interval 10 --count 6`,
	ExitStatus: "0 success; 2 wrong options or ini file; 3 the last query did not reach the daemon.",
}

const longestInterval = time.Hour

// topRequest is the options of dc-admin top.
type topRequest struct {
	config, interval, count string
	json                    bool
}

// topCommand is the sub-command top.
func topCommand(ctx context.Context) *command.Command {
	r := topRequest{interval: "1", count: "0"}
	c := command.New(topText, func() int {
		exit, err := r.runTop(ctx)
		if err != nil {
			printError("dc-admin top", err)
		}
		return exit
	})
	c.Config(&r.config, "dc-admin")
	c.Text(&r.interval, "interval", "i", "TIME", "time between two queries, 100ms to 1h; a number without a unit counts seconds")
	c.Flag(&r.json, "json", "", "print one JSON object per interval instead of a screen")
	c.Text(&r.count, "count", "n", "NUMBER", "with --json: exit after this number of objects; 0: run until a signal")
	return c
}

func (r topRequest) runTop(ctx context.Context) (exit int, err error) {
	every, err := command.Time{Option: "--interval", Least: 100 * time.Millisecond, Most: longestInterval, Bare: time.Second}.Parse(r.interval)
	if err != nil {
		return command.ExitRefused, err
	}
	count, err := strconv.Atoi(r.count)
	if err != nil || count < 0 || r.count != "0" && !r.json {
		return command.ExitRefused, fmt.Errorf("--count is %q, must be a number from 0, and is for --json", r.count)
	}
	i, err := client.ReadInstallation(r.config)
	if err != nil {
		return command.ExitRefused, err
	}
	source, err := livescreen.Open(i.Admin, i.Start)
	if err != nil {
		return command.ExitFailed, err
	}
	defer source.Close()
	source.SumSites(i.Clients)
	read := func(ctx context.Context) livescreen.Sample { return source.Read(ctx) }
	style := livescreen.Style{Program: "dc-admin top", Title: fmt.Sprintf("%s:%d", i.Admin.Host, i.Admin.Port), Plain: livescreen.Plain(os.Getenv)}
	switch {
	case r.json:
		err = livescreen.JSON(ctx, os.Stdout, read, every, count)
	case !livescreen.Interactive(os.Stdin, os.Stdout, os.Getenv):
		err = livescreen.Once(ctx, os.Stdout, read, style, every)
	default:
		err = livescreen.OnTerminal(ctx, os.Stdin, os.Stdout, read, style, every)
	}
	switch {
	case errors.Is(err, livescreen.ErrUnreachable):
		return command.ExitFailed, nil // the output says so
	case errors.Is(err, context.Canceled):
		return command.ExitInterrupted, nil
	case err != nil:
		return command.ExitFailed, err
	}
	return command.ExitDone, nil
}
