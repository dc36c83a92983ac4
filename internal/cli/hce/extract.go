package hce

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/extraction"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/config"
)

// extractOptions are the options of hce extract.
type extractOptions struct {
	format, mode, from, url, kind, networks string
	records                                 bool
	names                                   []string
}

func extractCommand(p subcommand.Program) *command.Command {
	o := extractOptions{format: "markdown", mode: "balanced"}
	c := command.New(command.Text{
		Name: "extract", Summary: "prints the text of a page: a file, a URL or stdin", UsageError: command.ExitRefused, ExitStatus: subcommand.ExitText,
		Description: `It needs no daemon and stores nothing. It reads HTML, PDF, office documents and plain text, and prints the
article: without menus, teasers and footers. A URL is fetched once, as the crawler would: robots.txt is obeyed, and
only public addresses are asked.

With several pages, --files-from or --ndjson, it prints a line of JSON for each page, in the order of the input; a page
that cannot be read has the member "error", and the status is 1. Each line has title, author, date, language, links and
more, and the text in the format.`,
		Examples: `  hce extract page.html
  hce extract https://example.org/ --format text
  curl -s https://example.org/ | hce extract - --url https://example.org/
  find pages -name '*.html' | hce extract --files-from - --format json > pages.jsonl
  hce extract --ndjson < pages-with-html.jsonl > texts.jsonl`,
	}, func() int { return subcommand.ExitOf(reportExtract(p, extractPages(p, &o))) })
	c.Words(&o.names, "[FILE|URL|-]...", 0, 0)
	c.Choice(&o.format, "format", "f", "FORMAT", "text, markdown (default), json or html", extraction.Formats...)
	c.Choice(&o.mode, "mode", "", "MODE", "what to do with doubtful lines: balanced (default), precision, recall; whole: all visible text", "balanced", "precision", "recall", "whole")
	c.Text(&o.from, "files-from", "", "FILE", "read the names of files or URLs from this file, one on a line, with the address of the page behind a tab if it is known; -: from stdin")
	c.Flag(&o.records, "ndjson", "", "read pages from stdin: an object of JSON on each line, with html, and url if it is known")
	c.Text(&o.url, "url", "", "URL", "address of the page, for its relative links; with one page only")
	c.Text(&o.kind, "content-type", "", "TYPE", "type of the page, such as 'text/html; charset=koi8-r'; without it the page says so")
	c.Networks(&o.networks, "networks that are not public and may be fetched, such as 127.0.0.0/8")
	return c
}

// reportExtract prints an error for a person.
func reportExtract(p subcommand.Program, err error) error {
	command.PrintError(p.Talk, "hce", err)
	return err
}

// extractPages reads the pages.
func extractPages(p subcommand.Program, o *extractOptions) error {
	inputs, lines, end, err := o.openInputs()
	if err != nil {
		return err
	}
	defer end()
	debug.SetGCPercent(400) // pages are short-lived
	job := extraction.Job{
		Format: o.format, Lines: lines, Mode: extraction.Modes[o.mode], Stdin: os.Stdin, Out: p.Out,
		Report: func(name string, err error) {
			fmt.Fprintf(p.Talk, "hce: %s\n", strings.TrimPrefix(name+": "+command.BareMessage(name, err), ": "))
		},
	}
	if o.mayFetch() {
		get, closeFetcher, err := o.newFetcher()
		if err != nil {
			return err
		}
		defer closeFetcher()
		job.Fetch = get
	}
	failed, err := job.Run(p.Ctx, inputs)
	switch {
	case err != nil:
		return err
	case failed > 0:
		return command.ErrWithErrors
	}
	return nil
}

// openInputs returns the pages to read, and whether each gets a line of JSON.
func (o *extractOptions) openInputs() (list iter.Seq[extraction.Input], lines bool, end func(), err error) {
	end = func() {}
	_, known := extraction.Modes[o.mode]
	switch {
	case !slices.Contains(extraction.Formats, o.format):
		return nil, false, end, command.Refuse("--format %q is not known; there are %s", o.format, strings.Join(extraction.Formats, ", "))
	case !known:
		return nil, false, end, command.Refuse("--mode %q is not known; there are balanced, precision, recall and whole", o.mode)
	case o.countWays() > 1:
		return nil, false, end, command.Refuse("choose one of FILE, --files-from and --ndjson")
	case o.url != "" && len(o.names) != 1:
		return nil, false, end, command.Refuse("--url is for one page; with --files-from write the address behind a tab, with --ndjson as \"url\"")
	case o.url != "" && !extraction.IsURL(o.url):
		return nil, false, end, command.Refuse("--url %q is no address such as https://example.org/page", o.url)
	case o.records:
		return extraction.Records(os.Stdin), true, end, nil
	case o.from != "":
		return o.readFileList()
	case len(o.names) == 0:
		return nil, false, end, command.Refuse("name a FILE or a URL, or - for stdin; hce extract --help shows examples")
	}
	list = extraction.Files(extraction.Input{URL: o.url, ContentType: o.kind}, o.names...)
	return list, len(o.names) > 1 || o.format == "json", end, nil
}

// countWays counts how the pages are named.
func (o *extractOptions) countWays() (n int) {
	for _, given := range []bool{len(o.names) > 0, o.from != "", o.records} {
		if given {
			n++
		}
	}
	return n
}

// readFileList reads the names of --files-from.
func (o *extractOptions) readFileList() (iter.Seq[extraction.Input], bool, func(), error) {
	if o.from == "-" {
		return extraction.List(os.Stdin), true, func() {}, nil
	}
	f, err := os.Open(o.from)
	if err != nil {
		return nil, false, func() {}, command.Refuse("--files-from %s: %s", o.from, command.BareMessage(o.from, err))
	}
	return extraction.List(bufio.NewReader(f)), true, func() { _ = f.Close() }, nil
}

// mayFetch reports whether a page may have to be fetched.
func (o *extractOptions) mayFetch() bool {
	return o.from != "" || slices.ContainsFunc(o.names, extraction.IsURL)
}

// newFetcher returns the function that fetches pages. Its host gates are those of the crawler of hce.
func (o *extractOptions) newFetcher() (get func(context.Context, string) ([]byte, string, string, error), end func(), err error) {
	networks, err := config.Networks(o.networks)
	if err != nil {
		return nil, nil, command.Refuse("--allow-network has %w", err)
	}
	dir, err := datafolder.GatesDir(os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	return extraction.Fetcher(dir, networks)
}
