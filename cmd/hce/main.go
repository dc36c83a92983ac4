// hce is the crawler for people: one command crawls a site, and others manage sites, show pages and
// export them (docs/hce.md). archive, ose, hce-search and hce-webserver serve are sub-commands, too.
package main

import (
	"context"
	"os"
	"runtime/debug"

	archive "hce/dc/internal/apps/archive/program"
	ose "hce/dc/internal/apps/ose/program"
	search "hce/dc/internal/apps/search/program"
	webserver "hce/dc/internal/apps/webserver/program"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/hce"
	"hce/dc/internal/daemon/load"
	"hce/dc/internal/engine"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
)

func main() {
	process.RunIfWorker(storage.Evaluate, nil)
	ctx := command.SignalContext()
	c := hce.Command(ctx, openEngine, os.Stdout, os.Stderr)
	c.AddAs("archive", "archive", archive.Command(ctx, os.Stdout, os.Stderr))
	c.AddAs("ose", "ose", ose.Command(ctx, os.Stdout, os.Stderr))
	c.AddAs("search", "hce-search", search.Command(ctx, os.Stdout, os.Stderr))
	c.AddAs("serve", "hce-webserver serve", webserver.ServeCommand())
	os.Exit(c.Main(os.Args[1:]))
}

// openEngine opens a folder for a crawl, which works as crawler-task and processor-task do. So less frequent garbage collection
// saves time, up to a limit.
func openEngine(ctx context.Context, dir, networks string) (hce.Engine, error) {
	e, err := engine.Open(ctx, dir, engine.Options{AllowNetworks: networks, LogFiles: true, Workers: true, Waits: true})
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(200)
	load.New(load.Config{}).SetMemoryLimit(e.Memory())
	return e, nil
}
