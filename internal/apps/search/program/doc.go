// Package program has the sub-commands of hce-search.
//
//	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
//
// index writes the index, serve is the front end with the Query Manager, processor is a Query
// Processor, ask answers on the command line, status shows the manager, and rebuild converts an index.
package program
