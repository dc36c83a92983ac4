// Package program is the command line of ose: the sub-commands of the file cycle.
//
//	os.Exit(program.Command(ctx, os.Stdout, os.Stderr).Main(os.Args[1:]))
//
// Each sub-command opens what it needs, and works in several targets side by side. docs/ose.md says how
// they are used.
package program
