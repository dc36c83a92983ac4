package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/hostgate"
)

// pausesCommand is --host-pauses, which the agent of a data node runs when hosts move to or from the
// node (docs/decisions/0018-moving-hosts.md). No batch may run then.
func pausesCommand() taskprogram.Command {
	return taskprogram.Command{
		Option: "host-pauses",
		Help:   "answer each object {\"hosts\": []} on stdin with the hosts whose delay is not over, and keep the delays of the hosts in it",
		Run:    hostPauses,
	}
}

// pauses is what --host-pauses reads and answers.
type pauses struct {
	Hosts []hostgate.Waiting `json:"hosts"`
}

func hostPauses(ctx context.Context, f *config.File, app config.Application, _ *slog.Logger, _ string) error {
	dir := f.Section("CrawlerTask").PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	if err := f.Err(); err != nil {
		return err
	}
	gates, err := hostgate.Open(dir)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for err == nil {
		var given pauses
		switch err = in.Decode(&given); {
		case errors.Is(err, io.EOF):
			return gates.Close()
		case err != nil:
			err = fmt.Errorf("stdin is not {\"hosts\": [...]}: %w", err)
		default:
			err = given.answer(ctx, gates, out)
		}
	}
	return errors.Join(err, gates.Close())
}

func (p pauses) answer(ctx context.Context, gates *hostgate.Gates, out *json.Encoder) (err error) {
	for _, host := range p.Hosts {
		err = errors.Join(err, gates.Wait(ctx, host))
	}
	var answer pauses
	if err == nil {
		answer.Hosts, err = gates.Waiting()
	}
	if err != nil {
		return err
	}
	return out.Encode(answer)
}
