package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	pprof "github.com/google/pprof/profile"
)

// profileSites crawls the sites with profiles of all processes in the folder dir and prints, for
// each program and package, the processor time of a page. It also puts these tables into the
// document o.document, unless that is "".
func profileSites(ctx context.Context, o options, dir string, d dc) error {
	var tables bytes.Buffer
	out := o.out
	o.out = io.MultiWriter(out, &tables)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, s := range o.sites {
		d.profiles = filepath.Join(dir, filepath.Base(s.name))
		if err := os.RemoveAll(d.profiles); err != nil {
			return err
		}
		if err := os.MkdirAll(d.profiles, 0o755); err != nil {
			return err
		}
		d.processing = s.process
		o.runs = 1
		s.process = true // for the only program
		results, err := o.runSite(ctx, s, []program{{name: "dc", process: true, crawl: d.crawlSite}})
		if err != nil {
			return fmt.Errorf("site %s: %w", s.name, err)
		}
		if results[0].err != nil {
			return fmt.Errorf("site %s: %w", s.name, results[0].err)
		}
		fmt.Fprintf(o.out, "\n%s: %d pages\n\n", s.name, results[0].pages)
		if err := o.printCosts(d.profiles, results[0].pages); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "\nprofiles: go tool pprof -top bin/PROGRAM %s/SITE/PROGRAM.*\n", dir); err != nil || o.document == "" {
		return err
	}
	return replaceTables(o.document, tables.String())
}

// The tables of a document are between these lines.
const (
	tablesBegin = "<!-- begin: written by make profile -->\n"
	tablesEnd   = "<!-- end: written by make profile -->\n"
)

func replaceTables(document, tables string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(text), tablesBegin)
	_, after, ended := strings.Cut(rest, tablesEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no lines %q and %q", document, tablesBegin, tablesEnd)
	}
	return os.WriteFile(document, []byte(before+tablesBegin+strings.TrimLeft(tables, "\n")+"\n"+tablesEnd+after), 0o644)
}

// share is a program and a part of its work.
type share struct{ program, part string }

// printCosts prints the profiles in a folder as a table in Markdown.
func (o options) printCosts(dir string, pages int) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.pprof"))
	if err != nil {
		return err
	}
	costs := map[share]int64{} // ns
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		p, err := pprof.Parse(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("read profile %s: %w", name, err)
		}
		program, _, _ := strings.Cut(filepath.Base(name), ".")
		for _, sample := range p.Sample {
			costs[share{program, innermostPackage(sample)}] += sample.Value[len(sample.Value)-1]
		}
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| program\t| package\t| µs/page\t|\n|---\t|---\t|---:\t|\n")
	order := func(a, b share) int {
		return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(costs[b], costs[a]))
	}
	for _, s := range slices.SortedFunc(maps.Keys(costs), order) {
		if us := float64(costs[s]) / 1000 / float64(pages); us >= 1 {
			fmt.Fprintf(w, "| %s\t| %s\t| %.0f\t|\n", s.program, s.part, us)
		}
	}
	return w.Flush()
}

// innermostPackage is the innermost package of this project on the stack of a sample. Libraries and the
// runtime count for the package that has called them. Without one it is the runtime:
// garbage collection and scheduling.
func innermostPackage(sample *pprof.Sample) string {
	for _, location := range sample.Location { // from the leaf
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			if name, ours := strings.CutPrefix(line.Function.Name, "hce/dc/"); ours {
				name, _, _ = strings.Cut(name, "[") // type arguments have slashes too
				folder, base := filepath.Split(name)
				base, _, _ = strings.Cut(base, ".")
				return strings.TrimPrefix(folder+base, "internal/")
			}
		}
	}
	return "runtime"
}
