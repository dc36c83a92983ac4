// Package hce has the sub-commands of hce. Each turns its arguments into documented operations
// and their answers into text; --show-request prints the operations.
//
//	os.Exit(hce.Command(ctx, openEngine, os.Stdout, os.Stderr).Main(os.Args[1:]))
//
// A sub-command talks to a running daemon, or to a data folder of its own (package node), in which hce crawl crawls by itself
// (Engine). stdout is
// for data, stderr for everything else. What the service would ignore, such as an unknown property,
// is refused (package strict).
package hce
