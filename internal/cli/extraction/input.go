package extraction

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Files are pages by their names: files, URLs, or "-" for stdin. What is known about all of them is in like.
func Files(like Input, names ...string) iter.Seq[Input] {
	return func(yield func(Input) bool) {
		for _, name := range names {
			in := like
			in.Name = name
			if !yield(in) {
				return
			}
		}
	}
}

// List reads a name on each line, and the address of the page behind a tab if one follows. Blank lines are ignored.
func List(r io.Reader) iter.Seq[Input] {
	return eachLine(r, func(_ int, line string) (Input, bool) {
		name, url, _ := strings.Cut(strings.TrimRight(line, "\r"), "\t")
		return Input{Name: name, URL: strings.TrimSpace(url)}, strings.TrimSpace(name) != ""
	})
}

// Records reads an object of JSON on each line: html (or text) is the page, url its address, contentType its type.
func Records(r io.Reader) iter.Seq[Input] {
	return eachLine(r, func(n int, line string) (Input, bool) {
		if strings.TrimSpace(line) == "" {
			return Input{}, false
		}
		var record struct {
			URL         string  `json:"url"`
			HTML        *string `json:"html"`
			Text        *string `json:"text"`
			ContentType string  `json:"contentType"`
		}
		err := json.Unmarshal([]byte(line), &record)
		in := Input{URL: record.URL, ContentType: record.ContentType}
		switch {
		case err != nil:
			in.Err = fmt.Errorf("line %d is no object of JSON: %w", n, err)
		case record.HTML != nil:
			in.Body = []byte(*record.HTML)
			if in.ContentType == "" {
				in.ContentType = "text/html; charset=utf-8"
			}
		case record.Text != nil:
			in.Body = []byte(*record.Text)
			if in.ContentType == "" {
				in.ContentType = "text/plain; charset=utf-8"
			}
		default:
			in.Err = fmt.Errorf("line %d has neither html nor text", n)
		}
		return in, true
	})
}

// eachLine reads lines of any length below maxBytes.
func eachLine(r io.Reader, read func(n int, line string) (Input, bool)) iter.Seq[Input] {
	return func(yield func(Input) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxBytes)
		for n := 1; lines.Scan(); n++ {
			if in, is := read(n, lines.Text()); is && !yield(in) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Input{Err: fmt.Errorf("read the list: %w", err)})
		}
	}
}
