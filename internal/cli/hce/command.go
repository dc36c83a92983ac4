package hce

import (
	"context"
	"hce/dc/internal/cli/apicommands"
	"io"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/doctor"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/overview"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/urlcommands"
	"hce/dc/internal/wire"
)

// Engine crawls in a data folder, in this process. Package engine implements it; programs that do not crawl do without its
// libraries.
type Engine interface {
	service.Service
	// Crawl crawls a site until none of its URLs waits. each may be nil. See engine.Crawl.
	Crawl(ctx context.Context, site wire.Site, each func(*pages.Page) error, show func(look follow.Look, done bool) error) error
	// RenewDue lets URLs of a site be fetched again if its recrawl date has passed. It reports whether it did.
	RenewDue(ctx context.Context, site string) (bool, error)
	// Fault returns the error of the last request of a site that failed or was put off, "" without one.
	Fault(site string) string
	Close()
}

// OpenEngine creates what is missing of a folder and opens it. Networks are those of --allow-network. The error wraps
// files.ErrLocked if another crawl works in the folder.
type OpenEngine func(ctx context.Context, dir, networks string) (Engine, error)

// Command returns hce with all sub-commands. When ctx is done, they end in order.
func Command(ctx context.Context, open OpenEngine, out, talk io.Writer) *command.Command {
	p := subcommand.Program{Ctx: ctx, Out: out, Talk: talk}
	return command.NewGroup(command.Text{
		Name: "hce", Summary: "crawls sites, and shows and exports their pages", UsageError: command.ExitRefused,
		Description: `hce talks to the dc-daemon of --server, of --config, or of this machine. If none runs, hce
works in a folder of its own ($XDG_DATA_HOME/hce, or --data) and crawls by itself.

It refuses what the service would ignore: unknown properties, filters that do not compile,
addresses without a scheme, sites and URLs that are not known.`,
		Examples: `  hce crawl example.org
  hce crawl https://example.org/docs/ --scope prefix --out pages.jsonl
  hce top
  hce site ls
  hce page https://example.org/ --markdown
  hce export example.org --format csv --out pages.csv
  hce doctor`,
		ExitStatus: subcommand.ExitText,
	},
		crawlCommand(p, open), siteCommand(p), urlcommands.URLCommand(p), urlcommands.PageCommand(p), urlcommands.ExplainCommand(p), overview.StatusCommand(p), overview.TopCommand(p), exportCommand(p), extractCommand(p), importCommand(p), repairCommand(p), doctor.Command(p), apicommands.KeyCommand(p), apicommands.ModelCommand(p))
}
