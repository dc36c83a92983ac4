package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"hce/dc/internal/childprocess"
)

// webPage matches the log line of hce-search serve that names its address.
var webPage = regexp.MustCompile(`web page is ready.*url=(http://\S+/)`)

// searchPages indexes the crawled pages, asks for a word, and opens the cached copy of the first result and
// its versions.
func (d *demo) searchPages(ctx context.Context, data, node, word string) error {
	index := filepath.Join(data, "index")
	if err := d.runShown(ctx, d.out, "hce-search", "index", "--once", "--data", node, "--dir", index); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	address, ended, err := d.serveSearch(ctx, "serve", "--processors", "2", "--data", node, "--dir", index)
	if err != nil {
		return err
	}
	defer func() { stop(); <-ended }()
	var found struct {
		Count   int
		Results []struct{ Title, Link, Cache, Versions string }
	}
	if err := d.requestJSON(ctx, address+"?format=json&txt="+word, &found); err != nil {
		return err
	}
	if found.Count == 0 {
		return fmt.Errorf("no page has the word %s", word)
	}
	for _, r := range found.Results {
		fmt.Fprintf(d.out, "%-40s %s\n", r.Title, r.Link)
	}
	first := found.Results[0]
	copied, err := d.requestPage(ctx, strings.TrimSuffix(address, "/")+strings.Replace(first.Cache, "/cache=", "/raw=", 1))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "cached copy of %s: %d bytes\n", first.Link, len(copied))
	var history struct {
		Versions []struct{ Source, Date string }
	}
	if err := d.requestJSON(ctx, strings.TrimSuffix(address, "/")+first.Versions+"?format=json", &history); err != nil {
		return err
	}
	for _, v := range history.Versions {
		fmt.Fprintf(d.out, "version of %s, from the %s\n", v.Date, v.Source)
	}
	if len(history.Versions) == 0 {
		return fmt.Errorf("%s has no version", first.Link)
	}
	return nil
}

// serveSearch starts hce-search on free ports. It ends with ctx; ended receives a value then.
func (d *demo) serveSearch(ctx context.Context, args ...string) (address string, ended <-chan error, err error) {
	fmt.Fprintln(d.talk, "$ hce-search", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, "hce-search"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "DC_Frontend_port=0", "DC_Manager_port=0")
	log, err := cmd.StderrPipe()
	if err == nil {
		ended, err = childprocess.Start(cmd)
	}
	if err != nil {
		return "", nil, fmt.Errorf("start hce-search: %w", err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := webPage.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }() // until it ends
			return m[1], ended, nil
		}
		fmt.Fprintln(d.talk, lines.Text())
	}
	return "", nil, errors.New("hce-search ended without serving its web page")
}

// requestJSON requests a JSON value.
func (d *demo) requestJSON(ctx context.Context, url string, to any) error {
	text, err := d.requestPage(ctx, url)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// requestPage requests a page, and shows the command that does it.
func (d *demo) requestPage(ctx context.Context, url string) ([]byte, error) {
	fmt.Fprintf(d.talk, "$ curl '%s'\n", url)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(answer.Body, 16<<20)); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.300s", url, answer.Status, text.Bytes())
	}
	return text.Bytes(), nil
}
