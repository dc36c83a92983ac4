package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/hostgate"
	"hce/dc/internal/task"
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

func hostPauses(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ string) error {
	dir := f.Section("CrawlerTask").PathIn(app.DataDir, "host_gate_dir", "dc_hosts")
	if err := f.Err(); err != nil {
		return err
	}
	gates, err := hostgate.Open(dir)
	if err != nil {
		return err
	}
	status := task.Main(ctx, task.JobFunc(func(ctx context.Context, request json.RawMessage) (any, error) {
		answer, err := keepPauses(ctx, gates, request)
		return answer, task.Critical(err)
	}), task.Options{Name: text.Name, Log: log})
	if err := gates.Close(); err != nil || status == task.ExitTrusted {
		return err
	}
	return taskprogram.Status(status)
}

// pauses is what --host-pauses reads and answers.
type pauses struct {
	Hosts []hostgate.Waiting `json:"hosts"`
}

func keepPauses(ctx context.Context, gates *hostgate.Gates, request json.RawMessage) (answer pauses, err error) {
	var given pauses
	if err := json.Unmarshal(request, &given); err != nil {
		return answer, err
	}
	for _, host := range given.Hosts {
		err = errors.Join(err, gates.Wait(ctx, host))
	}
	if err == nil {
		answer.Hosts, err = gates.Waiting()
	}
	return answer, err
}
