// hce is the crawler for people: one command crawls a site, and others manage sites, show pages and
// export them (docs/hce.md).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/cli/hce"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(hce.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
}
