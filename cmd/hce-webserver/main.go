// hce-webserver serves a folder, indexes it for a search engine, and receives what other servers have
// indexed.
package main

import (
	"os"

	"hce/dc/internal/apps/webserver/program"
)

func main() { os.Exit(program.Command().Main(os.Args[1:])) }
