// Trainlang makes the model of package language: model.bin.
//
//	trainlang collect DEBS TEXTS    # the texts of a folder of Debian packages, by package and language
//	trainlang train TEXTS MODEL     # the model; the same texts give the same bytes
//	trainlang measure TEXTS MODEL   # how often it is right about other texts
//
// packages.txt lists the packages; docs/language.md says how to make the model again.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "trainlang:", err)
		os.Exit(1)
	}
}

func runCommand(args []string) error {
	if len(args) != 3 {
		return errors.New("expected collect, train or measure and two paths")
	}
	switch args[0] {
	case "collect":
		return collectTexts(args[1], args[2])
	case "train":
		return trainModel(args[1], args[2])
	case "measure":
		return measureModel(args[1], args[2], os.Stdout)
	}
	return fmt.Errorf("unknown command %q; expected collect, train or measure", args[0])
}
