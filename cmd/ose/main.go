// ose collects web sites in folders of plain files, in cycles of three steps (docs/ose.md).
package main

import (
	"os"

	"hce/dc/internal/apps/ose/program"
	"hce/dc/internal/cli/command"
)

func main() {
	os.Exit(program.Command(command.SignalContext(), os.Stdout, os.Stderr).Main(os.Args[1:]))
}
