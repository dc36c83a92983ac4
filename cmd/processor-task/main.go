// processor-task extracts the contents of crawled URLs (docs/spec/processing.md 1).
package main

import (
	"os"

	"hce/dc/internal/cli/processprogram"
)

func main() { os.Exit(processprogram.Main()) }
