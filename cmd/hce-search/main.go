// hce-search searches what the crawler has stored: an index, a web page, and processors that share the
// questions (docs/search.md).
package main

import (
	"os"

	"hce/dc/internal/apps/search/program"
	"hce/dc/internal/cli/command"
)

func main() {
	os.Exit(program.Command(command.SignalContext(), os.Stdout, os.Stderr).Main(os.Args[1:]))
}
