package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"hce/dc/internal/apps/search/feed"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/apps/search/processor"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/files"
)

const exitText = `0 done, or a service that was stopped by a signal; 2 wrong arguments or a wrong configuration; 3 failed:
no daemon, no manager, a locked folder, a full disk; 4 interrupted by Ctrl-C or SIGTERM. All sub-commands use these
numbers.`

// program is hce-search.
type program struct {
	ctx       context.Context
	out, talk io.Writer
}

// options are those of the command lines.
type options struct {
	config, dir          string
	server, client, data string
	json, once           bool
	name, kinds          string
	connections, delay   string
	processors           string
	words                []string
	kind, limit, offset  string
}

// run is one run of a sub-command.
type run struct {
	program
	options
	*settings
	log *slog.Logger
}

// Command returns hce-search with all sub-commands. When ctx is done, they end in order.
func Command(ctx context.Context, out, talk io.Writer) *command.Command {
	p := program{ctx, out, talk}
	return command.NewGroup(command.Text{
		Name: name, Summary: "searches the pages, images and documents of the crawler", UsageError: command.ExitRefused,
		Description: `The search engine has three parts, each a process: "hce-search index" reads what the crawler has stored
and keeps the index; "hce-search serve" is the web page and the Query Manager; "hce-search processor"
is a Query Processor, which answers questions for the manager. Processors may be started and stopped at
any time. "hce-search ask" answers one question on the command line. docs/search.md has all of it.

Without an ini file all settings have their defaults, and everything listens on this machine only.`,
		Examples: `  hce-search index --once
  hce-search ask kernel scheduler
  hce-search serve
  hce-search status`,
		ExitStatus: exitText,
	}, p.indexCommand(), p.serveCommand(), p.processorCommand(), p.askCommand(), p.statusCommand(), p.rebuildCommand(), p.checkCommand())
}

// newSubcommand returns a sub-command with the common options.
func (p program) newSubcommand(text command.Text, o *options, do func(r *run) error) *command.Command {
	text.UsageError, text.ExitStatus = command.ExitRefused, exitText
	c := command.New(text, func() int {
		err := files.ExplainFull(p.startRun(*o, do), "")
		command.PrintError(p.talk, name, err)
		return command.ExitOf(err)
	})
	c.Config(&o.config, name)
	return c
}

func (p program) startRun(o options, do func(r *run) error) error {
	s, err := readSettings(o.config)
	if err != nil {
		return command.Refusal{Err: err}
	}
	log, end, err := s.openLog(p.talk)
	if err != nil {
		return err
	}
	defer end()
	return do(&run{p, o, s, log})
}

func dirOption(c *command.Command, o *options) {
	c.Text(&o.dir, "dir", "", "DIR", "folder of the index; overrides dir of [Index]")
}

func clusterOptions(c *command.Command, o *options) {
	c.Text(&o.server, "server", "", "HOST:PORT", "client port of the daemon of the cluster")
	c.Text(&o.client, "client-config", "", "FILE", "ini file of dc-client, for address and keys of the daemon")
	c.Text(&o.data, "data", "", "DIR", "data folder of hce, instead of a daemon")
}

func (r *run) newCluster() *cluster {
	return &cluster{options: subcommand.Options{Server: r.server, Config: r.client, Data: r.data}, talk: r.talk}
}

func (p program) indexCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "index", Summary: "keeps the index as the cluster is",
		Description: `Reads what has changed in the cluster since the last run, writes it to the index and publishes it for the
processors. It works with the daemon of --server, of --client-config or of this machine, or, as hce
does, with the user's folder or --data. One process can write an index. It may be killed at any time.`,
		Examples: `  hce-search index
  hce-search index --once --data ~/crawl`,
	}, &o, (*run).runIndex)
	dirOption(c, &o)
	clusterOptions(c, &o)
	c.Flag(&o.once, "once", "", "read what has changed, and end")
	return c
}

func (r *run) runIndex() error {
	dir, err := r.indexFolder(r.dir())
	if err != nil {
		return command.Refusal{Err: err}
	}
	service := r.newCluster()
	defer service.Close()
	r.feed.Service, r.feed.Log = service, r.log
	for {
		err := r.feedIndex(dir)
		if r.once || !errors.Is(err, index.ErrDamaged) && !errors.Is(err, index.ErrBroken) {
			return err
		}
		r.log.Error("the index is opened again", "error", err)
		select {
		case <-r.ctx.Done():
			return nil
		case <-time.After(openAgain):
		}
	}
}

// openAgain is the pause after an index failed.
const openAgain = 5 * time.Second

// feedIndex opens the index and brings it to the state of the cluster, until the end with --once, else until
// the context is done.
func (r *run) feedIndex(dir string) error {
	x, err := r.openIndex(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	r.feed.Index = x
	f := feed.New(r.feed)
	if !r.once {
		r.log.Info("indexing", "dir", dir)
		return f.Run(r.ctx)
	}
	n, err := f.Round(r.ctx)
	if err == nil {
		err = x.Publish()
	}
	if err != nil {
		return err
	}
	count, err := x.Count(r.ctx)
	fmt.Fprintf(r.out, "%d documents changed, %d in the index\n", n, count)
	for _, s := range f.Skipped() {
		fmt.Fprintln(r.out, plaintext.Clean(s.String()))
	}
	if n := f.Damaged(); err == nil && n > 0 {
		err = fmt.Errorf("%d damaged pages were not indexed", n)
	}
	return err
}

// openIndex opens an index for writing. One of an earlier format is converted first; instead of a damaged one it
// begins an empty one, which the feed fills again.
func (r *run) openIndex(dir string) (*index.Index, error) {
	x, err := index.Open(dir)
	if errors.Is(err, index.ErrDamaged) {
		r.log.Error("the index is damaged; reading all documents of the cluster again", "dir", dir, "error", err)
		if err := index.Replace(dir); err != nil {
			return nil, err
		}
		return index.Open(dir)
	}
	if !errors.Is(err, index.ErrFormat) {
		return x, err
	}
	r.log.Info("the index has an earlier format; writing it again", "dir", dir)
	n, err := index.Rebuild(r.ctx, dir)
	if err != nil {
		return nil, err
	}
	r.log.Info("the index is written again", "dir", dir, "documents", n)
	return index.Open(dir)
}

// dir is the option --dir.
func (r *run) dir() string { return r.options.dir }

func (p program) processorCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "processor", Summary: "answers questions for the Query Manager",
		Description: `Joins the manager of [Manager] and answers questions from the newest published index. It waits for both. It
may be started and stopped at any time; a question that it has is then asked again from another one.`,
		Examples: `  hce-search processor
  hce-search processor --kinds images,documents --connections 2 --delay 500ms`,
	}, &o, (*run).runProcess)
	dirOption(c, &o)
	c.Text(&o.name, "name", "", "NAME", "name in the status; overrides name of [Processor]")
	c.Choices(&o.kinds, "kinds", "", "LIST", "kinds of questions: pages, images, documents; overrides kinds of [Processor]", "pages", "images", "documents")
	c.Text(&o.connections, "connections", "", "N", "questions at the same time, 1 to 64; overrides connections of [Processor]")
	c.Text(&o.delay, "delay", "", "TIME", "wait before each answer, for tests; a number without a unit counts milliseconds; overrides delay of [Processor]")
	return c
}

func (r *run) runProcess() error {
	c := r.settings.processor
	var err error
	if c.Dir, err = r.indexFolder(r.dir()); err != nil {
		return command.Refusal{Err: err}
	}
	if r.options.name != "" {
		c.Name = r.options.name
	}
	if r.kinds != "" {
		if c.Kinds, err = parseKinds(r.kinds); err != nil {
			return command.Refusal{Err: err}
		}
	}
	n, err := parseNumber("--connections", r.connections, 1, manager.MaxConnections)
	if err != nil {
		return command.Refusal{Err: err}
	}
	if n > 0 {
		c.Connections = int(n)
	}
	if r.delay != "" {
		if c.Delay, err = (command.Time{Option: "--delay", Most: time.Minute, Bare: time.Millisecond}).Parse(r.delay); err != nil {
			return err
		}
	}
	b, err := bus.New()
	if err != nil {
		return err
	}
	defer b.Term(time.Second)
	c.Bus, c.Manager, c.Log = b, r.manager.Endpoint, r.log
	debug.SetGCPercent(processor.GCPercent)
	r.log.Info("processor starts", "manager", c.Manager, "dir", c.Dir)
	return processor.New(c).Run(r.ctx)
}

// parseNumber reads the value of an option; 0 for "".
func parseNumber(option, text string, least, most int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return command.ParseNumber(option, text, least, most)
}

func (p program) rebuildCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "rebuild", Summary: "writes the index again",
		Description: `Converts an index of another version of this program, and repairs one whose documents were analysed
differently. It reads the old index only, not the cluster. Processors answer from the last published
index meanwhile. After a kill the old index is unchanged.`,
		Examples: "  hce-search rebuild",
	}, &o, func(r *run) error {
		dir, err := r.indexFolder(r.dir())
		if err != nil {
			return command.Refusal{Err: err}
		}
		n, err := index.Rebuild(r.ctx, dir)
		if err == nil {
			fmt.Fprintf(r.out, "%d documents\n", n)
		}
		return err
	})
	dirOption(c, &o)
	return c
}

func (p program) checkCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "check", Summary: "reads the whole index and names a damaged file",
		Description: `Compares each file of the newest published index, and of the working index unless "hce-search index" works on
it, with the checksum that was written with it. It changes nothing. Exit status 3: a file is damaged.`,
		Examples: "  hce-search check",
	}, &o, func(r *run) error {
		dir, err := r.indexFolder(r.dir())
		if err != nil {
			return command.Refusal{Err: err}
		}
		if err := index.Verify(dir); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "%s: the index is whole\n", dir)
		return nil
	})
	dirOption(c, &o)
	return c
}

func (p program) statusCommand() *command.Command {
	var o options
	c := p.newSubcommand(command.Text{
		Name: "status", Summary: "shows processors, queue and rankings",
		Description: `Asks the manager of [Manager]: for each processor the kinds, the connections and the questions with and
without results; the queue; the words that were asked most, and the pages and files that were opened
and shown most, since the start of the manager.`,
		Examples: "  hce-search status --json",
	}, &o, (*run).runStatus)
	c.Flag(&o.json, "json", "", "print JSON for machines")
	return c
}

func (r *run) runStatus() error {
	b, err := bus.New()
	if err != nil {
		return err
	}
	defer b.Term(time.Second)
	s, err := manager.Client{Bus: b, Endpoint: r.manager.Endpoint, Timeout: 3 * time.Second}.Status(r.ctx)
	if err != nil {
		return err
	}
	if r.json {
		return command.PrintJSON(r.out, s)
	}
	printStatus(r.out, s)
	return nil
}

var _ service.Service = (*cluster)(nil)
