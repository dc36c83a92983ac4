// Command demo is what "make demo" runs: it serves a site, and lets hce crawl it into a new
// data folder, list its URLs and show one page. It prints each command of hce.
//
//	demo                                crawls the example site on loopback
//	demo -dir /some/html/folder         serves that folder and crawls it without delay
//	demo -site https://example.org/     crawls that site, politely
//
// Stdout has the summary, the list, the page and, as the last line, "pages=<n> urls=<n> errors=<n>
// bytes=<n> seconds=<s>". Stderr has messages. The exit code is 0 on success, 1 on failure,
// 2 for wrong flags. No process that it starts outlives it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the program at once; the daemon dies with it.
	context.AfterFunc(ctx, stop)

	options, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	d := demo{options: options, out: os.Stdout, talk: os.Stderr}
	if err := d.runSteps(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// options are the flags of the demo.
type options struct {
	site, dir string
	bin       string
	keep      bool
}

// parseFlags writes its errors to talk before it returns them.
func parseFlags(args []string, talk io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(talk)
	flags.StringVar(&o.site, "site", "", "crawl this `URL`, politely")
	flags.StringVar(&o.dir, "dir", "", "serve this `folder` on loopback and crawl it")
	flags.StringVar(&o.bin, "bin", "bin", "`folder` of the programs")
	flags.BoolVar(&o.keep, "keep", false, "keep the data folder, with pages.jsonl")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	wrong := func(text string) (options, error) {
		fmt.Fprintln(talk, "demo:", text)
		return options{}, errors.New(text)
	}
	if flags.NArg() > 0 {
		return wrong("unexpected argument: " + flags.Arg(0))
	}
	if o.site != "" && o.dir != "" {
		return wrong("-site and -dir exclude each other")
	}
	if o.site != "" {
		u, err := url.Parse(o.site)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return wrong("-site must be an absolute URL, such as https://example.org/, not " + o.site)
		}
	}
	if o.dir != "" {
		if info, err := os.Stat(o.dir); err != nil || !info.IsDir() {
			return wrong("-dir is not a folder: " + o.dir)
		}
	}
	return o, nil
}
