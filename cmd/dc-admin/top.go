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
	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/config"
)

const topNotes = `Keys: q quits, p pauses the screen and goes on with it. Without a terminal on
stdout one screen is printed as text. Colours and lines are left out when NO_COLOR
is set or TERM is a plain one.

With --json each interval gives one JSON object on a line of its own: time,
managers, batches, rates (per second; null in the first), sites, process and
schedules. While the daemon is away the object says so in "away", and the next
interval tries again.

Exit status: 0; 1 when the last look found no daemon; 2 wrong options or ini file.`

const longestInterval = time.Hour

// topRequest is what the options of top ask for.
type topRequest struct {
	config, interval, count string
	json                    bool
}

func topOptions(r *topRequest) *flags.Set {
	s := flags.New("dc-admin top", "shows a running dc-daemon live")
	s.Text(&r.config, "config", "c", "FILE", "ini file, as of dc-admin")
	s.Text(&r.interval, "interval", "i", "SECONDS", "between two looks; 1 by default")
	s.Flag(&r.json, "json", "", "one JSON object per interval instead of a screen")
	s.Text(&r.count, "count", "n", "NUMBER", "with --json: end after so many objects; 0, the default, goes on")
	s.Note(topNotes)
	return s
}

// topCommand runs dc-admin top.
func topCommand(ctx context.Context, args []string) int {
	var r topRequest
	s := topOptions(&r)
	err := s.Parse(args)
	if errors.Is(err, flags.ErrHelp) {
		fmt.Print(s.Help())
		return client.AdminOK
	}
	exit := client.AdminWrong
	if err == nil {
		exit, err = showTop(ctx, r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-admin top:", err)
	}
	return exit
}

func showTop(ctx context.Context, r topRequest) (exit int, err error) {
	every, count := time.Second, 0
	if r.interval != "" {
		seconds, err := strconv.ParseFloat(r.interval, 64)
		if every = time.Duration(seconds * float64(time.Second)); err != nil || !(seconds >= 0.1 && seconds <= longestInterval.Seconds()) {
			return client.AdminWrong, fmt.Errorf("--interval is %q, must be 0.1 to %d seconds", r.interval, int(longestInterval.Seconds()))
		}
	}
	if r.count != "" {
		if count, err = strconv.Atoi(r.count); err != nil || count < 0 || !r.json {
			return client.AdminWrong, fmt.Errorf("--count is %q, must be a number from 0, and is for --json", r.count)
		}
	}
	i, err := load(r.config)
	if errors.Is(err, errNoFile) {
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
		err = livescreen.JSON(ctx, os.Stdout, source, every, count)
	case !livescreen.IsTerminal(os.Stdout), !livescreen.IsTerminal(os.Stdin), term == "", term == "dumb":
		err = livescreen.Once(ctx, os.Stdout, source, style, every)
	default:
		err = live(ctx, source, style, every)
	}
	switch {
	case errors.Is(err, livescreen.ErrAway):
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
	return livescreen.Live(ctx, terminal, source, style, every)
}

// plain reports whether a screen is ASCII without colours: NO_COLOR is set, or
// the terminal has none, or its characters are not UTF-8.
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

// clientPort reads where clients ask, for the sums over sites.
func clientPort(f *config.File) client.Server {
	s := f.Section("dcc")
	return client.Server{
		Host:    s.Text("clientHost", "127.0.0.1"),
		Port:    int(s.Int("clientPort", 5504, 1, 65535)),
		Timeout: 2 * time.Second,
		Curve:   client.Keys(s),
	}
}
