// Command captures is what "make captures" runs: it crawls the example site with hce in a terminal,
// and writes what the screens show as SVG files for the documentation.
//
//	captures -bin bin -out docs/captures
//
// The files are crawl.svg, top-sites.svg and site-ls.svg, 100 columns and 30 rows.
// Addresses, the data folder and times are replaced by fixed texts. The exit code is 0 on success, 1 on
// failure, 2 for wrong flags. No process that it starts outlives it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	flags := flag.NewFlagSet("captures", flag.ExitOnError)
	bin := flags.String("bin", "bin", "`folder` of the programs")
	out := flags.String("out", "docs/captures", "write the files to this `folder`")
	_ = flags.Parse(os.Args[1:]) // ends with 2 after an error
	if flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "captures: unexpected argument:", flags.Arg(0))
		os.Exit(2)
	}
	if err := writeCaptures(ctx, *bin, *out); err != nil {
		fmt.Fprintln(os.Stderr, "captures:", err)
		os.Exit(1)
	}
}
