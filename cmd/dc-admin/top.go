package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/config"
)

var topText = command.Text{
	Name: "top", Summary: "shows a running dc-daemon as a live screen", UsageError: client.AdminWrong,
	Description: `Keys: q quits, p pauses the screen and resumes it. Without a terminal on stdout, top
prints one screen as text. It prints no colours or lines if NO_COLOR is set or the
terminal does not support them.

With --json each interval prints one line with a JSON object: time, managers, batches,
rates (per second; null in the first line), sites, process and schedules. While the
daemon cannot be reached, the object has the reason in "away", and top tries again at
the next interval.`,
	Examples: `  dc-admin top
  dc-admin top --json --interval 10 --count 6`,
	ExitStatus: "0 success; 1 the last query did not reach the daemon; 2 wrong options or ini file.",
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
		exit, err := r.run(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, "dc-admin top:", err)
		}
		return exit
	})
	c.Config(&r.config, "dc-admin")
	c.Text(&r.interval, "interval", "i", "SECONDS", "time between two queries, 0.1 to 3600")
	c.Flag(&r.json, "json", "", "print one JSON object per interval instead of a screen")
	c.Text(&r.count, "count", "n", "NUMBER", "with --json: exit after this number of objects; 0: run until a signal")
	return c
}

func (r topRequest) run(ctx context.Context) (exit int, err error) {
	seconds, err := strconv.ParseFloat(r.interval, 64)
	if err != nil || !(seconds >= 0.1 && seconds <= longestInterval.Seconds()) {
		return client.AdminWrong, fmt.Errorf("--interval is %q, must be 0.1 to %d seconds", r.interval, int(longestInterval.Seconds()))
	}
	every := time.Duration(seconds * float64(time.Second))
	count, err := strconv.Atoi(r.count)
	if err != nil || count < 0 || r.count != "0" && !r.json {
		return client.AdminWrong, fmt.Errorf("--count is %q, must be a number from 0, and is for --json", r.count)
	}
	i, err := load(r.config)
	if errors.Is(err, config.ErrNoFile) {
		return client.AdminFailed, err
	}
	if err != nil {
		return client.AdminWrong, err
	}
	source, err := livescreen.Open(i.server, i.clients, i.start)
	if err != nil {
		return client.AdminFailed, err
	}
	defer source.Close()
	style := livescreen.Style{Title: fmt.Sprintf("%s:%d", i.server.Host, i.server.Port), Plain: plain(os.Getenv)}
	term := os.Getenv("TERM")
	switch {
	case r.json:
		err = livescreen.JSON(ctx, os.Stdout, source.Read, every, count)
	case !livescreen.IsTerminal(os.Stdout), !livescreen.IsTerminal(os.Stdin), term == "", term == "dumb":
		err = livescreen.Once(ctx, os.Stdout, source.Read, style, every)
	default:
		err = live(ctx, source, style, every)
	}
	switch {
	case errors.Is(err, livescreen.ErrUnreachable):
		return client.AdminFailed, nil // the output says so
	case err != nil:
		return client.AdminFailed, err
	}
	return client.AdminOK, nil
}

func live(ctx context.Context, source *livescreen.Source, style livescreen.Style, every time.Duration) error {
	terminal, err := livescreen.OpenTerminal(os.Stdin, os.Stdout)
	if err != nil {
		return err
	}
	defer terminal.Close()
	return livescreen.Live(ctx, terminal, source.Read, style, every)
}

// plain reports whether the screen is ASCII without colours: NO_COLOR is set, the
// terminal has no colours, or its character set is not UTF-8.
func plain(env func(string) string) bool {
	term := env("TERM")
	if env("NO_COLOR") != "" || term == "" || term == "dumb" || strings.HasPrefix(term, "vt") {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(env(name)); locale != "" {
			return !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
		}
	}
	return true // the C locale
}
