package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/net/html"

	"hce/dc/bench/floor"
)

// The programs of processing in the order of their runs: each is between the others, so that a
// change of the machine meets all of them.
const (
	oldStored, newStored       = "old build, crawl", "this build, crawl"
	oldProcessed, newProcessed = "old build, crawl and processing", "this build, crawl and processing"
	collyExtracts              = "Colly with go-trafilatura"
)

// compareProcessing compares what processing costs in this build and in the one whose folder is old, with
// the folders bin and ini, and in a crawler made of libraries.
func compareProcessing(ctx context.Context, o options, old string) error {
	facts := describeMachine(o.data)
	programs := []program{
		{name: oldStored, crawl: dc{bin: filepath.Join(old, "bin"), ini: filepath.Join(old, "ini"), concurrency: parallel}.crawlSite},
		{name: newStored, crawl: dc{bin: o.bin, ini: o.ini, concurrency: parallel}.crawlSite},
		{name: oldProcessed, crawl: dc{bin: filepath.Join(old, "bin"), ini: filepath.Join(old, "ini"), processing: true, concurrency: parallel}.crawlSite},
		{name: newProcessed, crawl: dc{bin: o.bin, ini: o.ini, processing: true, concurrency: parallel}.crawlSite},
		{name: collyExtracts, crawl: func(ctx context.Context, t target, dir string) (crawl, error) {
			return runSelf(ctx, "colly-extract", t, dir)
		}},
	}
	for _, s := range o.sites {
		runs, err := o.runProcessing(ctx, s, programs)
		if err != nil {
			return fmt.Errorf("site %s: %w", s.name, err)
		}
		if err := printProcessing(o.out, s.name, runs); err != nil {
			return err
		}
		if err := o.compareExtraction(ctx, s); err != nil {
			return fmt.Errorf("site %s: %w", s.name, err)
		}
	}
	_, err := fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// runProcessing runs all programs in turn and returns the runs of each. A failed run is an error.
func (o options) runProcessing(ctx context.Context, s site, programs []program) (map[string][]result, error) {
	web, stop, err := o.serveSite(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stop()
	count, err := floor.Crawl(web.root, parallel) // also brings the pages into memory
	if err != nil {
		return nil, err
	}
	runs := map[string][]result{}
	for range o.runs {
		for _, p := range programs {
			r := o.runOnce(ctx, target{root: web.root, pages: count.Pages}, web, p)
			if r.err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, r.err)
			}
			fmt.Fprintf(o.talk, "%-12s %-34s %8.2f s %8.2f ms a page  %s\n", s.name, p.name, r.seconds, r.cpuPerPage(), r.note)
			runs[p.name] = append(runs[p.name], r)
		}
	}
	return runs, nil
}

// cpuPerPage is the processor time of a page in ms.
func (r result) cpuPerPage() float64 { return float64(r.cpu.Microseconds()) / 1000 / float64(r.pages) }

// processingCost is the medians of the runs of one build, or of Colly, which has no crawl alone.
type processingCost struct {
	crawl, whole                float64 // ms of processor time of a page
	rate                        float64 // pages a second, stored and processed
	crawlMemory, memory, stored float64 // bytes; stored of a page
}

func costOf(crawls, wholes []result) processingCost {
	median := func(runs []result, value func(result) float64) float64 {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = value(r)
		}
		slices.Sort(values)
		if len(values) == 0 {
			return 0
		}
		return values[len(values)/2]
	}
	memory := func(r result) float64 { return float64(r.memory) }
	return processingCost{
		crawl: median(crawls, result.cpuPerPage), whole: median(wholes, result.cpuPerPage), rate: median(wholes, result.pagesPerSecond),
		crawlMemory: median(crawls, memory), memory: median(wholes, memory),
		stored: median(wholes, func(r result) float64 { return float64(r.contents) / float64(r.pages) }),
	}
}

// printProcessing prints the costs of a site, and what this build takes of the others.
func printProcessing(out io.Writer, site string, runs map[string][]result) error {
	old, now := costOf(runs[oldStored], runs[oldProcessed]), costOf(runs[newStored], runs[newProcessed])
	library := costOf(nil, runs[collyExtracts])
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%s\told build\tthis build\tthis / old\tColly, go-trafilatura\tthis / Colly\t\n", site)
	line := func(name, format string, a, b, c float64) {
		against := func(other float64) string {
			if other == 0 {
				return "-"
			}
			return fmt.Sprintf("%.3f", b/other)
		}
		third := "-"
		if c != 0 {
			third = fmt.Sprintf(format, c)
		}
		fmt.Fprintf(w, "%s\t"+format+"\t"+format+"\t%s\t%s\t%s\t\n", name, a, b, against(a), third, against(c))
	}
	line("crawl alone, CPU ms/page", "%.3f", old.crawl, now.crawl, 0)
	line("crawl and processing, CPU ms/page", "%.3f", old.whole, now.whole, library.whole)
	line("processing, CPU ms/page", "%.3f", old.whole-old.crawl, now.whole-now.crawl, 0)
	line("pages/s, stored and processed", "%.0f", old.rate, now.rate, library.rate)
	line("memory of the crawl alone, MB", "%.0f", old.crawlMemory/1e6, now.crawlMemory/1e6, 0)
	line("memory with processing, MB", "%.0f", old.memory/1e6, now.memory/1e6, library.memory/1e6)
	line("memory with processing / alone", "%.2f", old.memory/old.crawlMemory, now.memory/now.crawlMemory, 0)
	line("processed contents, bytes/page", "%.0f", old.stored, now.stored, library.stored)
	return w.Flush()
}

// compareExtraction compares hce extract with the parser of x/net alone, on the pages of a site, each
// in one process on one processor.
func (o options) compareExtraction(ctx context.Context, s site) error {
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list, pages := filepath.Join(dir, "files"), pagesBelow(s.folder)
	if len(pages) == 0 {
		return errors.New("the folder has no page")
	}
	if err := os.WriteFile(list, []byte(strings.Join(pages, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hce, err := filepath.Abs(filepath.Join(o.bin, "hce"))
	if err != nil {
		return err
	}
	var parse, extract []float64
	for range max(o.runs, 3) {
		for _, one := range []struct {
			costs   *[]float64
			command []string
		}{{&parse, []string{self, "parse", "-files", list}}, {&extract, []string{hce, "extract", "--files-from", list, "--format", "json"}}} {
			c, _, err := runCommand(ctx, dir, one.command[0], one.command[1:]...)
			if err != nil {
				return err
			}
			*one.costs = append(*one.costs, float64(c.cpu.Microseconds())/1000/float64(len(pages)))
		}
	}
	fmt.Fprintf(o.out, "\n%s, %d files: html.Parse of x/net %.3f ms/page, hce extract %.3f ms/page, ratio %.3f (fastest of %d)\n",
		s.name, len(pages), slices.Min(parse), slices.Min(extract), slices.Min(extract)/slices.Min(parse), len(parse))
	return nil
}

// pagesBelow lists the HTML files below a folder.
func pagesBelow(folder string) (list []string) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".html" {
			list = append(list, path)
		}
		return nil // what cannot be read is left out
	})
	return list
}

// parseAlone is the main function of the process that parses pages and does nothing with them. It
// returns the exit status.
func parseAlone(args []string) int {
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	list := flags.String("files", "", "`file` with a name of a page in each line")
	_ = flags.Parse(args[1:]) // exits on an error
	names, err := os.ReadFile(*list)
	for name := range strings.Lines(string(names)) {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(strings.TrimSpace(name))
		}
		if err == nil {
			_, err = html.Parse(bytes.NewReader(text))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "parse: %v\n", err)
		return 1
	}
	return 0
}

// folderSize is the sum of the sizes of the files below a folder, 0 without it.
func folderSize(folder string) (sum int64) {
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
