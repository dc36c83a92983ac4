// train makes the models that choose the lines of a page, internal/process/choice/model.bin, from annotated pages, and
// measures them. docs/models.md says where the pages come from; none of them is in the repository.
//
//	train mark PACKAGES FOLDER         writes pages of documentation whose generator marks the content
//	train make -out FILE FOLDER...     writes the models; the same folders give the same bytes
//	train eval [-folds N] FOLDER...    prints cross-validated figures by kind of page and by generator
//	train measure FOLDER...            prints figures of the product as it is, on pages that it was not trained with
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"hce/dc/internal/process/choice"
)

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func runCommand(args []string) error {
	usage := errors.New("usage: train mark PACKAGES FOLDER | train make -out FILE FOLDER... | train eval FOLDER... | train measure FOLDER...")
	if len(args) < 2 {
		return usage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	out := flags.String("out", "", "where to write the models")
	folds := flags.Int("folds", 2, "parts of the cross-validation")
	use := flags.String("use", "", "measure the models that an earlier eval wrote with -out")
	withLibraries := flags.Bool("libraries", false, "print the figures of other libraries, too")
	wrong := flags.String("wrong", "", "where to write the wrong lines, out of fold")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "mark" && flags.NArg() == 2:
		return markPages(flags.Arg(0), flags.Arg(1))
	case args[0] == "make" && *out != "" && flags.NArg() > 0:
		return makeModels(flags.Args(), *out, *folds)
	case args[0] == "measure" && flags.NArg() > 0:
		return measureProduct(flags.Args(), *withLibraries)
	case args[0] == "eval" && *use != "" && flags.NArg() > 0:
		return evalAgain(flags.Args(), *use, *folds)
	case args[0] == "eval" && flags.NArg() > 0:
		return evalModels(flags.Args(), *out, *wrong, *folds, *withLibraries)
	}
	return usage
}

// newTrainer reads folders.
func newTrainer(dirs []string, folds int) (*trainer, error) {
	read, err := readFolders(dirs)
	if err != nil {
		return nil, err
	}
	for _, p := range read {
		if c := changedCopy(p); c != nil {
			read = append(read, c)
		}
	}
	useful := make([]bool, len(read))
	runParallel(len(read), func(i int) { useful[i] = read[i].prepareLines() })
	t := &trainer{folds: folds}
	for i, p := range read {
		if useful[i] {
			t.pages = append(t.pages, p)
		}
	}
	if len(t.pages) == 0 {
		return nil, errors.New("no annotated page in the folders")
	}
	t.setWeights()
	return t, nil
}

// makeModels writes models that were trained with all pages.
func makeModels(dirs []string, out string, folds int) error {
	t, err := newTrainer(dirs, folds)
	if err != nil {
		return err
	}
	_, all := t.trainModels(true)
	return writeModels(all, out)
}

func writeModels(m *choice.Models, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(m.Write(f), f.Close())
}

// measureProduct prints the figures of the product as it is.
func measureProduct(dirs []string, withLibraries bool) error {
	t, err := newTrainer(dirs, 1)
	if err != nil {
		return err
	}
	kinds, generators := evaluatePages(t, []*choice.Models{nil})
	kinds.printTable(false)
	generators.printTable(true)
	if withLibraries {
		compareLibraries(t.pages)
	}
	return nil
}

// foldFile returns where the models of a fold are, those of all pages for f == folds.
func foldFile(out string, f, folds int) string {
	if f == folds {
		return out
	}
	return fmt.Sprintf("%s.%d", out, f)
}

// evalAgain prints the figures of models that evalModels wrote.
func evalAgain(dirs []string, out string, folds int) error {
	t, err := newTrainer(dirs, folds)
	if err != nil {
		return err
	}
	var list []*choice.Models
	for f := range folds {
		b, err := os.ReadFile(foldFile(out, f, folds))
		if err != nil {
			return err
		}
		list = append(list, choice.ReadModels(b))
	}
	kinds, generators := evaluatePages(t, list)
	kinds.printTable(false)
	generators.printTable(true)
	return nil
}

// evalModels prints figures, and writes the models of all pages to out if it is not empty.
func evalModels(dirs []string, out, wrong string, folds int, withLibraries bool) error {
	begin := time.Now()
	t, err := newTrainer(dirs, folds)
	if err != nil {
		return err
	}
	fmt.Printf("%d pages, %s\n", len(t.pages), time.Since(begin).Round(time.Second))
	list, all := t.trainModels(out != "")
	if out != "" {
		for f, m := range append(list, all) {
			if err := writeModels(m, foldFile(out, f, folds)); err != nil {
				return err
			}
		}
	}
	fmt.Printf("trained, %s\n", time.Since(begin).Round(time.Second))
	kinds, generators := evaluatePages(t, list)
	kinds.printTable(false)
	generators.printTable(true)
	if withLibraries {
		compareLibraries(t.pages)
	}
	return writeWrong(t, list, wrong)
}
