// archive keeps all versions of web sites: it crawls them again and again, and stores each crawl as a
// commit (docs/archive.md).
package main

import (
	"os"

	"hce/dc/internal/apps/archive/program"
	"hce/dc/internal/cli/command"
)

func main() {
	os.Exit(program.Command(command.SignalContext(), os.Stdout, os.Stderr).Main(os.Args[1:]))
}
