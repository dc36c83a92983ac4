package crawlprogram

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// explanation is the options that go with --explain.
type explanation struct {
	site  string
	fetch bool
}

// openWithoutExplain is Program.Open, for runs without --explain.
func (e *explanation) openWithoutExplain(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, maxTime time.Duration) (task.Job, func(), error) {
	if e.site != "" || e.fetch {
		return nil, nil, errors.New("--site and --fetch go with --explain URL")
	}
	return openBatchJob(ctx, f, app, log, maxTime)
}

func (e *explanation) command() taskprogram.Command {
	return taskprogram.Command{
		Option: "explain", Value: "URL", Help: "print as JSON what crawling the URL would decide, and why; -: for each line of stdin, a depth and a URL",
		More: func(c *command.Command) {
			c.Text(&e.site, "site", "", "ID", "with --explain: treat the URL as a page of this site; default: the site whose root URL is a prefix of the URL")
			c.Flag(&e.fetch, "fetch", "", "with --explain: send the request too and print the result")
		},
		Run: e.run,
	}
}

func (e *explanation) run(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, url string) error {
	if e.site != "" {
		if err := wire.CheckSiteID("option", "--site", e.site); err != nil {
			return err
		}
	}
	job, closeJob, err := openJob(ctx, f, app, log, 0)
	if err != nil {
		return err
	}
	defer closeJob()
	if url == "-" {
		return e.explainLinks(ctx, job)
	}
	answer, err := job.Explain(ctx, url, e.site, e.fetch)
	if err != nil {
		return err
	}
	return command.PrintJSON(os.Stdout, answer)
}

// explainLinks explains links that stdin names, each on a line with the depth of its page before it, and prints one JSON
// object for each on a line.
func (e *explanation) explainLinks(ctx context.Context, job *crawl.Job) error {
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		number, url, _ := strings.Cut(lines.Text(), " ")
		depth, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("line %q of stdin has no depth; write it as: 0 https://example.org/", lines.Text())
		}
		answer, err := job.ExplainLink(ctx, url, e.site, depth)
		if err == nil {
			err = out.Encode(answer)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}
