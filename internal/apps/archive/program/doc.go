// Package program is the program archive: its sub-commands, and its settings from archive.ini and from
// options (docs/archive.md).
//
//	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
package program
