package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
	processed "hce/dc/internal/wire/result"
)

const (
	filledAtOnce = 1000 // pages of one request
	exportParts  = 10   // in which memory is measured
)

// exportSite fills a site with processed pages and exports them with hce. The export is killed in
// the middle and continued. It prints memory and speed of each tenth, for each database, and fails
// if a page is missing or is there twice.
func exportSite(ctx context.Context, o options, pages int) error {
	facts := describeMachine(o.data)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "database\tpages\tpages/s\tmemory MB\t\n")
	var checked []string
	for _, database := range []string{"sqlite", "mariadb"} {
		if len(o.programs) > 0 && !slices.Contains(o.programs, database) {
			continue
		}
		if _, err := findProgram(mariadbNames...); database == "mariadb" && err != nil {
			fmt.Fprintln(o.talk, "left out: mariadb is not installed")
			continue
		}
		e := exporting{options: o, pages: pages, mariadb: database == "mariadb"}
		if err := e.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", database, err)
		}
		for i, p := range e.parts {
			fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t\n", database, pages*(i+1)/exportParts, p.rate, float64(p.memory)/1e6)
		}
		checked = append(checked, fmt.Sprintf("%s: %s; %d lines, none twice, none missing", database, e.kill, pages))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.out, "\n%s\n\n%s\n", strings.Join(checked, "\n"), strings.Join(facts, "\n"))
	return err
}

// exporting is the measurement with one database.
type exporting struct {
	options
	pages    int
	mariadb  bool
	dir, out string
	parts    [exportParts]exportPart
	kill     string // what became of the kill
}

// exportPart is a tenth of the pages.
type exportPart struct {
	rate   float64
	memory int64 // highest sum of hce and its db-task
}

// endedFirst is the kill of an export that was too fast for it.
const endedFirst = "ended before its kill"

// exportID is the site.
const exportID = "exported"

func (e *exporting) run(ctx context.Context) (err error) {
	if e.dir, err = os.MkdirTemp(e.data, "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(e.dir)
	e.out = filepath.Join(e.dir, "pages.jsonl")
	if e.mariadb {
		server, err := startMariaDB(ctx, filepath.Join(e.dir, "mariadb"))
		if err != nil {
			return err
		}
		defer server.stop()
		for name, value := range map[string]string{"DC_TasksManager_db_driver": "mysql", "DC_TasksManager_db_dsn": server.dsn} {
			if err := os.Setenv(name, value); err != nil { // all programs that are started get it
				return err
			}
			defer os.Unsetenv(name)
		}
	}
	begin := time.Now()
	if err := e.storePages(ctx); err != nil {
		return fmt.Errorf("fill the site: %w", err)
	}
	fmt.Fprintf(e.talk, "%d pages stored in %v\n", e.pages, time.Since(begin).Round(time.Second))
	for _, end := range []int{e.pages / 2, e.pages} {
		if e.kill == endedFirst {
			break
		}
		if err := e.runExport(ctx, end); err != nil {
			return err
		}
	}
	return e.checkOutput()
}

// dataDir is the data folder.
func (e *exporting) dataDir() string { return filepath.Join(e.dir, "hce") }

// storePages stores the pages with the operations of the service.
func (e *exporting) storePages(ctx context.Context) error {
	bin, err := filepath.Abs(e.bin)
	if err != nil {
		return err
	}
	n, err := node.Open(e.dataDir(), bin)
	if err != nil {
		return err
	}
	stores, err := n.Stores()
	if err != nil {
		return err
	}
	defer stores.Close()
	const root = "https://www.example.org/"
	if err := stores.Ask(ctx, wire.SiteNew, map[string]any{"id": exportID, "urls": []string{root}, "moveURLs": false, "state": wire.SiteSuspended}, nil); err != nil {
		return err
	}
	text := strings.Repeat("The ferry leaves the harbour at noon and comes back with the tide. ", 20)
	for first := 0; first < e.pages; first += filledAtOnce {
		var rows, contents []any
		for i := first; i < min(first+filledAtOnce, e.pages); i++ {
			url := fmt.Sprintf("%ssome/folder/page%d.html", root, i)
			rows = append(rows, map[string]any{
				"siteId": exportID, "url": url, "siteSelect": wire.SelectExplicit, "status": wire.StatusProcessed, "crawled": 1, "processed": 1,
				"httpCode": 200, "contentType": "text/html", "size": 3 * len(text), "tagsCount": 2, "parentMd5": wire.Md5(root),
			})
			r := processed.Result{ID: wire.Md5(url)}
			for name, value := range map[string]string{"title": fmt.Sprint("Page ", i), "content_encoded": text} {
				r.Add(processed.Tag{Name: name, Data: []string{value}, Extractor: "NewspaperExtractor"})
			}
			encoded, err := processed.Encode([]processed.Result{r}, nil)
			if err == nil {
				encoded, err = processed.Expand(encoded) // clients put and get the text
			}
			if err != nil {
				return err
			}
			contents = append(contents, map[string]any{
				"siteId": exportID, "urlMd5": wire.Md5(url), "contentType": wire.ContentProcessed,
				"putDict": map[string]any{"data": base64.StdEncoding.EncodeToString(encoded)},
			})
		}
		if err := stores.Ask(ctx, wire.URLNew, rows, nil); err != nil {
			return err
		}
		if err := stores.Ask(ctx, wire.URLPut, contents, nil); err != nil {
			return err
		}
	}
	return nil
}

// runExport runs hce until it has written end pages. It kills hce unless these are all.
func (e *exporting) runExport(ctx context.Context, end int) error {
	cmd := exec.Command(filepath.Join(e.bin, "hce"), "export", exportID, "--data", e.dataDir(), "--out", e.out)
	var talk strings.Builder
	cmd.Stderr = &talk
	ended, err := childprocess.Start(cmd)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(sample)
	defer ticker.Stop()
	begin, first := time.Now(), -1
	part := 0
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("hce export: %w after %d pages: %s", err, e.savedPages(), talk.String())
			}
			e.parts[part].rate = float64(e.pages-max(first, 0)) / time.Since(begin).Seconds()
			e.kill = cmp.Or(e.kill, endedFirst)
			return nil
		case <-ctx.Done():
			_ = cmd.Process.Kill() // fails if it has ended
			<-ended
			return ctx.Err()
		case <-ticker.C:
		}
		pages := e.savedPages()
		if first < 0 { // the start of the programs counts for the first part
			first, part = pages, min(pages*exportParts/e.pages, exportParts-1)
		}
		usage, err := rig.TreeUsage(cmd.Process.Pid)
		if err == nil {
			e.parts[part].memory = max(e.parts[part].memory, usage.RSS)
		}
		if now := min(pages*exportParts/e.pages, exportParts-1); now > part {
			e.parts[part].rate = float64(pages-first) / time.Since(begin).Seconds()
			part, first, begin = now, pages, time.Now()
		}
		if pages >= end && end < e.pages {
			_ = cmd.Process.Kill() // fails if it has ended
			<-ended
			e.kill = endedFirst // if the position is gone, the output was whole before the kill
			if n := e.savedPages(); n > 0 {
				e.kill = fmt.Sprintf("killed after %d pages and continued", n)
			}
			return nil
		}
	}
}

// savedPages is the number of pages of the position that the export has saved, 0 without one.
func (e *exporting) savedPages() int {
	text, err := os.ReadFile(e.out + export.StateSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	var position struct{ Pages int }
	if err != nil || json.Unmarshal(text, &position) != nil {
		return 0
	}
	return position.Pages
}

// checkOutput reads the output: all pages, each once.
func (e *exporting) checkOutput() error {
	file, err := os.Open(e.out)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, last := 0, ""
	scanner := bufio.NewScanner(file)
	for scanner.Buffer(nil, 1<<20); scanner.Scan(); lines++ {
		var page struct{ URLMd5, Title, Text string }
		if err := json.Unmarshal(scanner.Bytes(), &page); err != nil || page.Title == "" || page.Text == "" {
			return fmt.Errorf("line %d: %v: %.200s", lines+1, err, scanner.Bytes())
		}
		if page.URLMd5 <= last {
			return fmt.Errorf("line %d: the key %s is not behind %s", lines+1, page.URLMd5, last)
		}
		last = page.URLMd5
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if lines != e.pages {
		return fmt.Errorf("%d lines of %d pages", lines, e.pages)
	}
	return nil
}
