package hce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// crawlOptions are those of hce crawl.
type crawlOptions struct {
	subcommand.Options
	siteoptions.Settings
	words  []string
	list   string // file with URLs
	output exportOptions
}

func crawlCommand(p subcommand.Program, open OpenEngine) *command.Command {
	var o crawlOptions
	c := p.NewLeaf(command.Text{
		Name: "crawl", Summary: "crawls a site to its end",
		Description: `Fetches the URLs and everything that they lead to within the scope, politely: one request to a
host at a time, with a pause, and robots.txt is obeyed. A URL without a scheme gets https://,
or http:// if the host does not speak HTTPS. The id of a known site continues that site with
its own settings.

If no daemon runs, hce crawls by itself, in its data folder. Progress is on stderr, the summary on
stdout. Ctrl-C stops; the same command continues. If the site exists with other settings, the
command is refused.

--out writes the pages at the end, in the format of its name; "hce export" writes them later.

--json prints an object a line while the crawl goes on. Its member "event" is started, progress, page (a URL that was
fetched), problem (a URL that failed, or what holds the crawl up) or done: the summary, if the crawl came to its end.`,
		Examples: `  hce crawl example.org
  hce crawl https://example.org/docs/ --scope prefix --depth 5 --out docs.jsonl --markdown
  hce crawl example.org --exclude '*.pdf' --exclude 're:[?&]sort=' --max-pages 1000 --delay 1s
  hce crawl --urls-from list.txt --name list --depth 0
  hce crawl example.org --json | jq -r 'select(.event == "page") | .url'`,
	}, &o.Options, func(s *subcommand.Session) error {
		s.Options = o.Options
		return (&crawl{Session: s, o: o, open: open}).runCrawl()
	})
	c.Words(&o.words, "[URL...]", 0, 0)
	c.Text(&o.list, "urls-from", "", "FILE", "read URLs from this file too, one on a line, with their schemes; lines that begin with # do not count; -: from stdin")
	o.Settings.DeclareOptions(c)
	c.Text(&o.Name, "name", "", "ID", "id of the site; default: the md5 of the first URL")
	o.output.declareOutput(c, "the pages are stored only")
	subcommand.DeclareNetworks(c, &o.Networks)
	return c
}

// crawl is one run of hce crawl.
type crawl struct {
	*subcommand.Session
	o      crawlOptions
	open   OpenEngine
	engine Engine // nil with a daemon
	site   wire.Site
	began  time.Time
	run0   runStart
	events *events // nil without --json
}

func (c *crawl) runCrawl() error {
	if err := cmp.Or(c.checkOut(), command.CheckNetworks(c.o.Networks)); err != nil {
		return err
	}
	if err := c.readList(); err != nil { // after these: it may wait for stdin
		return err
	}
	if err := c.openCrawler(); err != nil {
		return err
	}
	if err := c.runPartly(c.prepareSite); err != nil {
		return err
	}
	if err := c.checkSettings(); err != nil {
		return err
	}
	c.noteProxy()
	if err := c.renewDue(); err != nil {
		return err
	}
	if err := c.runPartly(c.tryAgain); err != nil {
		return err
	}
	if err := c.runPartly(c.readStart); err != nil {
		return err
	}
	if err := c.activateSite(); err != nil {
		return err
	}
	c.PrintMessage("crawling %s (site %s)", plaintext.Cut(subcommand.RootOf(c.site), plaintext.LongestURL), c.site.ID)
	c.began, c.events = time.Now(), c.newEvents()
	if err := c.events.emitStarted(c.site); err != nil {
		return err
	}
	followed := c.followCrawl()
	if errors.Is(followed, context.Canceled) {
		return c.pauseSite()
	}
	if err := cmp.Or(followed, c.events.emitRest(c.Ctx)); err != nil {
		return err
	}
	result, err := c.summarizeCrawl()
	if err != nil {
		return err
	}
	written := c.writeOut()
	if written != nil && !errors.Is(written, command.ErrWithErrors) {
		return written
	}
	if err := c.printSummary(result); err != nil {
		return err
	}
	if written != nil || result.hasFailures() {
		return command.ErrWithErrors
	}
	return nil
}

// readList adds the URLs of --urls-from to those of the command line.
func (c *crawl) readList() error {
	if c.o.list == "" {
		if len(c.o.words) == 0 {
			return command.Refuse("argument URL... is missing; name a URL, or a file with URLs by --urls-from FILE; see: hce crawl --help")
		}
		return nil
	}
	list, err := target.ReadList(c.o.list)
	if err != nil {
		return err
	}
	typed := slices.Clone(c.o.words)
	for _, url := range list {
		if !slices.Contains(typed, url) {
			c.o.words = append(c.o.words, url)
		}
	}
	return nil
}

// runPartly runs a step that does not need the nodes of a cluster that are away.
func (c *crawl) runPartly(step func() error) error {
	whole := c.Session
	defer func() { c.Session = whole }()
	return whole.RunPartly(func(s *subcommand.Session) error {
		c.Session = s
		return step()
	})
}

// openCrawler connects to the daemon, or opens the folder that this process crawls in.
func (c *crawl) openCrawler() error {
	at, err := c.FindPlace()
	if err != nil {
		return err
	}
	if at.Server != nil {
		c.Clients = *at.Server
		c.UseService(c.Clients)
		return nil
	}
	programs, _ := node.Programs() // for other commands: the crawl needs none
	if c.Node, err = node.Open(at.Dir, programs); err != nil {
		return err
	}
	c.engine, err = c.open(c.Ctx, c.Node.Dir, c.o.Networks)
	if errors.Is(err, files.ErrLocked) {
		return command.Refuse("another crawl works in %s (%w); wait for its end, or use another folder with --data", c.Node.Dir, err)
	}
	if err != nil {
		return err
	}
	c.Closers = append(c.Closers, c.engine.Close)
	c.UseService(c.engine)
	return nil
}

// checkOut refuses an output that cannot be written, before the crawl.
func (c *crawl) checkOut() error {
	e := c.o.output
	if e.out == "" {
		switch {
		case e.markdown:
			return command.Refuse("--markdown is for --out FILE; show one page with: %s", c.CommandHint("page", "URL", "--markdown"))
		case e.noindex:
			return command.Refuse("--noindex is for --out FILE: all pages are stored, whatever they ask robots; write them later with: %s", c.CommandHint("export", "SITE", "--noindex"))
		case e.force, e.raw, e.format != "", e.fields != "":
			return command.Refuse("--format, --fields, --raw and --force are for --out FILE; write the pages with it, or later with: %s", c.CommandHint("export", "SITE"))
		}
		return nil
	}
	job, err := e.readJob(time.Now())
	if err == nil && job.Out != "" {
		if err = export.CheckOut(c.Ctx, job); err != nil {
			err = command.Refuse("--out %w", err)
		}
	}
	return err
}

// renewDue begins the recrawl of a site whose date has passed, which is the work of a daemon if there is one.
func (c *crawl) renewDue() error {
	if c.engine == nil {
		return nil
	}
	due, err := c.engine.RenewDue(c.Ctx, c.site.ID)
	if due {
		c.PrintMessage("the recrawl date of the site has passed; asking for its root URLs again")
	}
	return err
}

// tryAgain lets the URLs of a site be fetched again that its last crawl gave up, because their answers
// meant "later", and all that failed if it has no page.
func (c *crawl) tryAgain() error {
	site, _, err := c.SiteStatus(c.site.ID, "urls", "filters", "properties")
	if err != nil || site.Errors == 0 {
		return err
	}
	n, err := renewURLs(c.Session, site.ID, "`Status` IN (4,7) AND `ErrorMask`<>0 AND `RetryCause`<>''", false)
	if err != nil {
		return err
	}
	if n > 0 {
		c.PrintMessage("asking again for %s that the last crawl gave up", plaintext.Count(n, "URL", "URLs"))
	}
	if site.Contents > 0 || site.NewURLs > 0 || n > 0 && n == site.Errors {
		return nil
	}
	n, err = renewURLs(c.Session, site.ID, "`Status` IN (4,7) AND `ErrorMask`<>0", false)
	if err == nil && n > 0 {
		c.PrintMessage("the last crawl fetched no page; trying %s again", plaintext.Count(n, "URL", "URLs"))
	}
	return err
}

// activateSite lets the site be crawled.
func (c *crawl) activateSite() error {
	if c.site.State == 0 || c.site.State == wire.SiteActive {
		return nil
	}
	err := updateSite(c.Session, map[string]any{"id": c.site.ID, "state": wire.SiteActive})
	if subcommand.IsDeferred(err) {
		return nil
	}
	return err
}

// pauseSite pauses the site and says how to continue.
func (c *crawl) pauseSite() error {
	s := *c.Session
	s.Ctx = context.WithoutCancel(c.Ctx)
	if err := updateSite(&s, map[string]any{"id": c.site.ID, "state": wire.SiteSuspended}); err != nil {
		return err
	}
	if err := c.events.emitRest(s.Ctx); err != nil {
		return err
	}
	c.PrintMessage("stopped; nothing is lost. Continue with the same command, or with: %s", c.CommandHint("crawl", c.site.ID))
	return context.Canceled
}

// writeOut writes the pages of --out.
func (c *crawl) writeOut() error {
	if c.o.output.out == "" {
		return nil
	}
	job, err := c.o.output.readJob(time.Now())
	if err != nil {
		return err
	}
	s := *c.Session
	s.JSON = false // the summary is the object
	return writePages(&s, c.o.output, job, []wire.Site{c.site})
}

// summaryTo is where the summary goes: stdout, unless the pages are there.
func (c *crawl) summaryTo() io.Writer {
	if c.o.output.out == command.Standard {
		return c.Talk
	}
	return c.Session.Out
}

// printSummary prints the summary.
func (c *crawl) printSummary(r summary) error {
	if c.JSON {
		return c.events.emitLine("done", r)
	}
	_, err := fmt.Fprint(c.summaryTo(), r.summaryText())
	return err
}
