// Package extraction reads pages that people have already, from files, from lines of JSON or from the web, and writes what
// they say: the engine as a filter.
//
//	job := extraction.Job{Format: "markdown", Out: os.Stdout, Fetch: fetch}
//	failed, err := job.Run(ctx, extraction.Files(extraction.Input{}, "a.html", "b.pdf"))
//
// Pages are read on all processors; the output keeps the order of the input. Memory is bounded by the pages at work.
package extraction

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hce/dc/extract"
)

// Formats are the names of the output formats. With json each page is a line of JSON.
var Formats = []string{"text", "markdown", "json", "html"}

// Modes are the names of the modes.
var Modes = map[string]extract.Mode{"balanced": extract.Balanced, "precision": extract.Precision, "recall": extract.Recall, "whole": extract.Whole}

// maxBytes is the largest page.
const maxBytes = 256 << 20

// Input is one page to read. Err is why it could not be named, such as a line that is no JSON.
type Input struct {
	Name        string // a file, a URL, or "-" for Stdin; "": Body is the page
	URL         string // the base of its links; "": Name, if it is a URL
	ContentType string
	Body        []byte
	Err         error
}

// Job reads pages.
type Job struct {
	Format string // one of Formats
	Lines  bool   // write a line of JSON for each page, with the text in Format; always so for more than one page
	Mode   extract.Mode
	Stdin  io.Reader
	Out    io.Writer
	Fetch  func(ctx context.Context, url string) (body []byte, contentType, finalURL string, err error)
	Report func(name string, err error) // a page that could not be read, or only in part
}

// page is a line of the output.
type page struct {
	File string `json:"file,omitempty"`
	extract.Page
	Err string `json:"error,omitempty"`
}

// done is a page that was read.
type done struct {
	page page
	name string // for a person
	err  error
}

// Run reads the pages and writes them in their order. failed counts the pages that could not be read, or only in part; the
// error says that the output failed or ctx ended.
func (j *Job) Run(ctx context.Context, inputs iter.Seq[Input]) (failed int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := runtime.GOMAXPROCS(0)
	slots := make(chan struct{}, n)
	results := make(chan chan done, 4*n)
	go func() {
		defer close(results)
		for in := range inputs {
			result := make(chan done, 1)
			select {
			case results <- result:
			case <-ctx.Done():
				return
			}
			slots <- struct{}{}
			go func() {
				result <- j.readPage(ctx, in)
				<-slots
			}()
		}
	}()
	out := bufio.NewWriterSize(j.Out, 64<<10)
	for result := range results {
		r := <-result
		if r.err != nil {
			j.Report(r.name, r.err)
			failed++
		}
		if err == nil {
			err = j.writePage(out, r)
		}
		if err != nil {
			cancel()
		}
	}
	return failed, errors.Join(err, out.Flush(), context.Cause(ctx))
}

// readPage reads one page.
func (j *Job) readPage(ctx context.Context, in Input) done {
	d := done{name: cmp.Or(in.Name, in.URL), page: page{Page: extract.Page{URL: in.URL}}}
	body, options, err := j.loadPage(ctx, in)
	if err == nil {
		d.page.Page, err = extract.Read(body, options)
	}
	if in.Name != "" && !IsURL(in.Name) {
		d.page.File = in.Name
	}
	if d.err = err; err != nil {
		d.page.Err = err.Error()
	}
	return d
}

// loadPage returns the bytes of a page, and what is known about it.
func (j *Job) loadPage(ctx context.Context, in Input) (body []byte, o extract.Options, err error) {
	o = extract.Options{URL: in.URL, ContentType: in.ContentType, Mode: j.Mode, HTML: j.Format == "html"}
	switch {
	case in.Err != nil:
		return nil, o, in.Err
	case in.Name == "":
		return in.Body, o, nil
	case in.Name == "-":
		body, err = readAll(j.Stdin)
	case IsURL(in.Name):
		var kind, final string
		body, kind, final, err = j.Fetch(ctx, in.Name)
		if o.URL == "" {
			o.URL = final
		}
		if o.ContentType == "" {
			o.ContentType = kind
		}
	default:
		body, err = readFile(in.Name)
		if o.ContentType == "" {
			o.ContentType = typeOfName(in.Name)
		}
	}
	return body, o, err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(body) > maxBytes {
		err = fmt.Errorf("the page is larger than %d MiB", maxBytes>>20)
	}
	return body, err
}

// typeOfName returns the type that the name of a file says, for texts whose content does not say it; "" for all others.
func typeOfName(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt", ".rst", ".log":
		return "text/plain"
	case ".html", ".htm", ".xhtml", ".shtml":
		return "text/html"
	}
	return ""
}

// IsURL reports whether a name is the address of a page on the web.
func IsURL(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// writePage writes one page in the format of the job.
func (j *Job) writePage(out *bufio.Writer, r done) error {
	p := &r.page
	if !j.Lines && p.Title == "" {
		return nil
	}
	if j.Lines || j.Format == "json" {
		j.reduceToFormat(p)
		line := json.NewEncoder(out)
		line.SetEscapeHTML(false)
		return line.Encode(p)
	}
	text := map[string]string{"text": p.Text, "markdown": p.Markdown, "html": p.HTML}[j.Format]
	_, err := out.WriteString(strings.TrimRight(text, "\n") + "\n")
	return err
}

// reduceToFormat leaves the text of the format in a line: that of json has the text and the Markdown.
func (j *Job) reduceToFormat(p *page) {
	if j.Format != "text" && j.Format != "json" {
		p.Text = ""
	}
	if j.Format != "markdown" && j.Format != "json" {
		p.Markdown = ""
	}
	if j.Format != "html" {
		p.HTML = ""
	}
}
