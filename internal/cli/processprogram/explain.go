package processprogram

import (
	"context"
	"log/slog"
	"os"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// explanation is the options that go with --explain.
type explanation struct{ site string }

func (e *explanation) newCommand() taskprogram.Command {
	return taskprogram.Command{
		Option: "explain", Value: "URL", Help: "print as JSON what processing a crawled URL would decide, and why",
		More: func(c *command.Command) {
			c.Text(&e.site, "site", "", "ID", "with --explain: the site of the URL; default: the site whose root URL is a prefix of the URL")
		},
		Run: e.runExplanation,
	}
}

func (e *explanation) runExplanation(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, url string) error {
	if e.site != "" {
		if err := wire.CheckSiteID("option", "--site", e.site); err != nil {
			return err
		}
	}
	n, err := openNode(ctx, f, app, log, 0)
	if err != nil {
		return err
	}
	defer n.close()
	answer, err := n.job.Explain(ctx, n.repository, url, e.site)
	if err != nil {
		return err
	}
	return command.PrintJSON(os.Stdout, answer)
}
