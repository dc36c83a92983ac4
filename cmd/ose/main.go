// ose collects web sites in folders of plain files, in cycles of three steps (docs/ose.md).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/internal/apps/ose/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
}
