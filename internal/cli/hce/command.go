package hce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

const exitText = `0 done; 1 done, with errors: pages failed, doctor found faults, or a node of a cluster that is
away makes the change later; 2 refused: wrong arguments or values, nothing was changed; 3 failed: no
daemon, a node of a cluster that is away, a full disk, a failure of a program; 4 interrupted: the
same command continues. All sub-commands use these numbers.`

// exitOf returns the exit status of an error.
func exitOf(err error) int {
	status := command.ExitOf(err)
	if status != command.ExitFailed && status != command.ExitRefused {
		return status
	}
	var (
		byService *service.Refusal
		part      *service.Incomplete
		problems  strict.Error
	)
	switch {
	case isDeferred(err):
		return command.ExitErrors
	case errors.As(err, &part):
		return command.ExitFailed
	case errors.As(err, &byService), errors.As(err, &problems), errors.Is(err, export.ErrExists):
		return command.ExitRefused
	}
	return status
}

// program is hce.
type program struct {
	ctx        context.Context
	openEngine OpenEngine
	out, talk  io.Writer
}

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
	p := program{ctx, open, out, talk}
	root := command.New(command.Text{
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
		ExitStatus: exitText,
	}, nil)
	for _, sub := range []*command.Command{
		p.crawlCommand(), p.siteCommand(), p.urlCommand(), p.pageCommand(), p.explainCommand(), p.statusCommand(), p.topCommand(), p.exportCommand(), p.extractCommand(), p.importCommand(), p.repairCommand(), p.doctorCommand(), p.keyCommand(), p.mcpCommand(),
	} {
		root.Add(sub)
	}
	return root
}

// newLeafCommand returns a sub-command with the common options.
func (p program) newLeafCommand(text command.Text, o *options, do func(s *session) error) *command.Command {
	text.UsageError, text.ExitStatus = command.ExitRefused, exitText
	c := command.New(text, func() int {
		out := &output{Writer: p.out}
		s := &session{ctx: p.ctx, options: *o, out: out, talk: p.talk}
		err := do(s)
		s.closeAll()
		err = files.ExplainFull(out.firstFailure(err), s.workDir())
		if err != nil && !errors.Is(err, command.ErrWithErrors) {
			for line := range strings.SplitSeq(describeError(err), "\n") {
				fmt.Fprintf(p.talk, "hce: %s\n", line)
			}
		}
		return exitOf(err)
	})
	c.Text(&o.server, "server", "", "HOST:PORT", "client port of the daemon to talk to")
	c.Text(&o.config, "config", "c", "FILE", "ini file of dc-client, for address and keys of the daemon")
	c.Text(&o.data, "data", "", "DIR", "data folder of hce, instead of a daemon")
	c.Flag(&o.json, "json", "", "print JSON for machines instead of tables")
	c.Flag(&o.showRequest, "show-request", "", "print each operation on stderr as it is sent")
	return c
}

// workDir is the folder that the run works in; "" for a daemon.
func (s *session) workDir() string {
	if s.node == nil {
		return ""
	}
	return s.node.Dir
}

// newGroupCommand returns a command that has only sub-commands.
func newGroupCommand(name, summary, description, examples string, subs ...*command.Command) *command.Command {
	c := command.New(command.Text{
		Name: name, Summary: summary, Description: description, Examples: examples, ExitStatus: exitText, UsageError: command.ExitRefused,
	}, nil)
	for _, sub := range subs {
		c.Add(sub)
	}
	return c
}

// describeError returns the message of an error for a person.
func describeError(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}
