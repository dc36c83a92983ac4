package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/childprocess"
)

// demo is one run.
type demo struct {
	options
	out  io.Writer // data
	talk io.Writer // everything else
}

// runSteps does all steps. Everything that it started has ended when it returns.
func (d *demo) runSteps(ctx context.Context) (err error) {
	data, err := os.MkdirTemp("", "dc-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if d.keep {
			fmt.Fprintln(d.talk, "data folder:", data)
		} else if removeErr := os.RemoveAll(data); err == nil {
			err = removeErr
		}
	}()

	root := d.site
	if root == "" {
		var closeServer func()
		if root, closeServer, err = serveFolder(d.dir); err != nil {
			return err
		}
		defer closeServer()
		fmt.Fprintln(d.talk, "serving", root)
	}
	node, file := filepath.Join(data, "hce"), filepath.Join(data, "pages.jsonl")
	start := time.Now()
	crawl := append([]string{"crawl", root, "--data", node, "--out", file}, d.crawlOptions()...)
	if err := d.showRun(ctx, crawl...); err != nil && !errors.Is(err, errWithErrors) {
		return err
	}
	took := time.Since(start)
	for _, command := range [][]string{{"url", "ls", root, "--data", node, "--limit", "0"}, {"page", d.shownPage(root), "--data", node}} {
		if err := d.showRun(ctx, command...); err != nil {
			return err
		}
	}
	if d.site == "" && d.dir == "" {
		if err := d.searchPages(ctx, data, node, "mill"); err != nil {
			return err
		}
	}
	var rows bytes.Buffer
	if err := d.runHCE(ctx, &rows, "url", "ls", root, "--data", node, "--limit", "0", "--json"); err != nil {
		return err
	}
	s, err := countRows(&rows)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.out, "pages=%d urls=%d errors=%d bytes=%d seconds=%.1f\n", s.pages, s.urls, s.errors, s.bytes, took.Seconds())
	return err
}

// crawlOptions are politeness and limits on a foreign site, and speed on our own server.
func (d *demo) crawlOptions() []string {
	switch {
	case d.site != "":
		return []string{"--scope", "prefix", "--max-pages", "500"}
	case d.dir != "":
		return []string{"--delay", "0s", "--allow-network", "127.0.0.0/8"}
	}
	// Two pages of the example site never end: one sends single bytes, one sends many.
	return []string{"--delay", "0s", "--allow-network", "127.0.0.0/8", "--set", "httpTimeout=5000", "--set", "maxResourceSize=10000000"}
}

// shownPage is the page that is read back.
func (d *demo) shownPage(root string) string {
	if d.site == "" && d.dir == "" {
		return root + "town/mill.html"
	}
	return root
}

// errWithErrors is the end of a hce that did its work, with pages that failed.
var errWithErrors = errors.New("pages failed")

// showRun runs hce like a user at a terminal, and shows the command.
func (d *demo) showRun(ctx context.Context, args ...string) error {
	return d.runShown(ctx, d.out, "hce", args...)
}

// runShown shows a command and runs it.
func (d *demo) runShown(ctx context.Context, out io.Writer, name string, args ...string) error {
	fmt.Fprintln(d.talk, "$", name, strings.Join(args, " "))
	return d.runProgram(ctx, out, name, args...)
}

// runHCE runs hce without showing it.
func (d *demo) runHCE(ctx context.Context, out io.Writer, args ...string) error {
	return d.runProgram(ctx, out, "hce", args...)
}

// runProgram runs a program to its end. When ctx ends, the program stops in order.
func (d *demo) runProgram(ctx context.Context, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, name), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = out, d.talk
	err := childprocess.Run(cmd)
	if cmd.ProcessState.ExitCode() == 1 {
		return errWithErrors
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}

// summary counts the URLs for the last line.
type summary struct {
	pages  int // fetched with code 200 and without an error
	urls   int
	errors int // URLs with an error bit
	bytes  int64
}

// countRows reads the lines of hce url ls --json. A crawl without a page is an error.
func countRows(rows io.Reader) (s summary, err error) {
	for d := json.NewDecoder(rows); ; {
		var row struct {
			HTTPCode int
			Size     int64
			Errors   []string
		}
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return s, fmt.Errorf("read the list of URLs: %w", err)
		}
		s.urls++
		s.bytes += row.Size
		if len(row.Errors) > 0 {
			s.errors++
		} else if row.HTTPCode == http.StatusOK {
			s.pages++
		}
	}
	if s.pages == 0 {
		return s, errors.New("no page was crawled")
	}
	return s, nil
}

// serveFolder serves dir, or the example site if dir is "", on a free loopback port.
func serveFolder(dir string) (root string, closeServer func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: site.Handler(site.Options{Dir: dir}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // returns after Close
	return "http://" + listener.Addr().String() + "/", func() { server.Close() }, nil
}
