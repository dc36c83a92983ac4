package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// ratios are pairs of programs; the pages per second of the first are divided by those of
// the second.
var ratios = [][2]string{
	{"dc-stored-sqlite-4", "floor"},
	{"dc-stored-sqlite-1", "floor"},
	{"dc-stored-files-4", "floor"},
	{"dc-stored-files-1", "floor"},
	{"dc-stored-sqlite-4", "colly"},
	{"dc-stored-sqlite-1", "colly"},
	{"dc-stored-sqlite-4", "wget2"},
	{"dc-stored-sqlite-4", "scrapy"},
	{"dc-stored-mariadb-4", "dc-stored-sqlite-4"},
	{"dc-stored-mariadb-1", "dc-stored-sqlite-1"},
	{"dc-processed-sqlite-4", "dc-stored-sqlite-4"},
	{"dc-processed-mariadb-4", "dc-processed-sqlite-4"},
}

// printReport prints ratios, then all results, then facts about the machine.
func printReport(out io.Writer, results []result, facts []string) error {
	if err := printRatios(out, results); err != nil {
		return err
	}
	if err := printTable(out, results); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// printRatios prints a line for each pair that was measured: the geometric mean of all sites
// that have both programs, then each site.
func printRatios(out io.Writer, results []result) error {
	var sites []string
	rates := map[[2]string]float64{}
	for _, r := range results {
		if !slices.Contains(sites, r.site) {
			sites = append(sites, r.site)
		}
		rates[[2]string{r.site, r.program}] = r.pagesPerSecond()
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "ratio of pages/s\tmean\t%s\t\n", strings.Join(sites, "\t"))
	for _, pair := range ratios {
		cells := make([]string, len(sites))
		logs, n := 0.0, 0
		for i, site := range sites {
			cells[i] = "-"
			a, b := rates[[2]string{site, pair[0]}], rates[[2]string{site, pair[1]}]
			if a > 0 && b > 0 {
				cells[i] = fmt.Sprintf("%.3f", a/b)
				logs += math.Log(a / b)
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(w, "%s / %s\t%.3f\t%s\t\n", pair[0], pair[1], math.Exp(logs/float64(n)), strings.Join(cells, "\t"))
		}
	}
	return w.Flush()
}

// printTable prints a line for each result.
func printTable(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nsite\tprogram\tpages\trequests\tseconds\tpages/s\tCPU ms/page\tmemory MB\t\n")
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\t  failed: %s\n", r.site, r.program, firstLine(r.err))
			continue
		}
		line := fmt.Sprintf("%s\t%s\t%d\t%d\t%.2f\t%.1f\t%.3f\t%.0f\t", r.site, r.program, r.pages, r.requests, r.seconds,
			r.pagesPerSecond(), float64(r.cpu.Microseconds())/1000/float64(r.pages), float64(r.memory)/1e6)
		if r.note != "" {
			line += "  " + r.note
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
