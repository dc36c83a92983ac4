package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
)

const (
	drainLimit   = 1500 * time.Second // as 300 queries, 5 s apart (docs/spec/daemon.md 1.5)
	longestDrain = 7 * 24 * time.Hour
	quietLimit   = 30 * time.Second // after which an unchanged line is printed again
)

// runDrain runs DRAIN.
func (r request) runDrain(ctx context.Context, i client.Installation) client.Outcome {
	d := client.Drain{Server: i.Admin, Limit: drainLimit, Force: r.force}
	if r.classes != "" || r.fields != "" {
		return reportUsageError(errors.New("DRAIN is for the whole daemon: it takes neither --classes nor --fields"))
	}
	if r.timeout != "" {
		var err error
		if d.Limit, err = (command.Time{Option: "--timeout", Least: time.Second, Most: longestDrain, Bare: time.Second}).Parse(r.timeout); err != nil {
			return reportUsageError(err)
		}
	}
	_, d.Stop = i.Managers(ctx)
	p := &progress{out: os.Stderr, width: livescreen.Width(os.Stderr)}
	d.Progress = p.showRemaining
	out := d.Do(ctx)
	p.endLine()
	return out
}

// progress prints the remaining work of a drain: one updated line on a terminal, a line
// for each change on a pipe.
type progress struct {
	out   io.Writer
	width int // columns of the terminal; 0 for a pipe
	last  string
	at    time.Duration
}

func (p *progress) showRemaining(left client.Remaining) {
	line := "draining, " + left.String()
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line[:min(len(line), p.width-1)])
		p.last = line
		return
	}
	_, what, _ := strings.Cut(left.String(), ": ")
	if what == p.last && left.Since-p.at < quietLimit {
		return
	}
	p.last, p.at = what, left.Since
	fmt.Fprintln(p.out, "dc-admin:", line)
}

func (p *progress) endLine() {
	if p.width > 0 && p.last != "" {
		fmt.Fprintln(p.out)
	}
}
