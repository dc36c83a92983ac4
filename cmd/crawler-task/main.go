// crawler-task crawls batches of URLs (docs/spec/crawling.md 1).
package main

import (
	"os"

	"hce/dc/internal/cli/crawlprogram"
)

func main() { os.Exit(crawlprogram.Main()) }
