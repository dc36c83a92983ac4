package crawlprogram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"hce/dc/hostgate"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/task"
)

// pausesCommand is --host-pauses, which the agent of a data node runs when hosts move to or from the
// node (docs/decisions/0018-moving-hosts.md). No batch may run then.
func pausesCommand() taskprogram.Command {
	return taskprogram.Command{
		Option: "host-pauses",
		Help:   "keep the delays and cookies of each object {\"hosts\": [], \"cookies\": []} on stdin; answer an empty one with the hosts whose delay is not over, and all cookies",
		Run:    hostPauses,
	}
}

func hostPauses(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, _ string) error {
	section := f.Section("CrawlerTask")
	dir, cookieDir := section.PathIn(app.DataDir, "host_gate_dir", "dc_hosts"), section.PathIn(app.DataDir, "cookie_dir", "dc_cookies")
	if err := f.Err(); err != nil {
		return err
	}
	gates, err := hostgate.Open(dir)
	if err != nil {
		return err
	}
	status := task.Main(ctx, task.JobFunc(func(ctx context.Context, request json.RawMessage) (any, error) {
		jars := cookies.Open(cookieDir, cookies.Options{Log: log}) // it reads each file once
		answer, left, err := keepPauses(ctx, gates, jars, request)
		if left > 0 {
			log.Warn("too many cookies; some do not move with their hosts", "cookies", left)
		}
		return answer, task.Critical(err)
	}), task.Options{Name: text.Name, Log: log})
	if err := gates.Close(); err != nil || status == task.ExitTrusted {
		return err
	}
	return taskprogram.Status(status)
}

// pauses is what --host-pauses reads and answers.
type pauses struct {
	Hosts   []hostgate.Waiting `json:"hosts"`
	Cookies []cookies.Kept     `json:"cookies"`
}

func keepPauses(ctx context.Context, gates *hostgate.Gates, jars *cookies.Jars, request json.RawMessage) (answer pauses, left int, err error) {
	var given pauses
	if err := json.Unmarshal(request, &given); err != nil {
		return answer, 0, err
	}
	for _, host := range given.Hosts {
		err = errors.Join(err, gates.Wait(ctx, host))
	}
	err = errors.Join(err, jars.Take(ctx, given.Cookies))
	if err != nil || len(given.Hosts)+len(given.Cookies) > 0 {
		return answer, 0, err
	}
	if answer.Hosts, err = gates.Waiting(); err == nil {
		answer.Cookies, left, err = jars.All()
	}
	return answer, left, err
}
