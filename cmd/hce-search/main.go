// hce-search searches what the crawler has stored: an index, a web page, and processors that share the
// questions (docs/search.md).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/apps/search/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
}
