// archive keeps all versions of web sites: it crawls them again and again, and stores each crawl as a
// commit (docs/archive.md).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/apps/archive/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
}
