package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"hce/dc/examples/rig"
)

// summary counts the rows for the last line.
type summary struct {
	pages  int // crawled with code 200 and without an error
	urls   int // rows of the site
	errors int // rows with an error bit
	bytes  int64
}

// titlesPerRequest bounds one URL_CONTENT, whose answer contains whole texts.
const titlesPerRequest = 50

// shownText bounds the characters of the page that is printed.
const shownText = 400

// report prints the table of all rows and one page from URL_CONTENT.
func (d *demo) report(ctx context.Context, r *rig.Rig, id string) (summary, error) {
	rows, err := r.AllRows(ctx, id)
	if err != nil {
		return summary{}, err
	}
	titles := make(map[string]string)
	var longest rig.Content
	var processed []rig.Row
	for _, row := range rows {
		if row.Status == rig.StatusProcessed {
			processed = append(processed, row)
		}
	}
	for len(processed) > 0 {
		n := min(titlesPerRequest, len(processed))
		contents, err := r.Contents(ctx, id, processed[:n])
		if err != nil {
			return summary{}, err
		}
		for _, content := range contents {
			titles[content.MD5] = content.Title
			// Show the page with the longest text, up to shownText.
			if content.Title != "" && min(len(content.Text), shownText) > len(longest.Text) {
				longest = content
			}
		}
		processed = processed[n:]
	}
	printTable(d.out, rows, titles)

	if longest.MD5 == "" {
		return summary{}, errors.New("no page with a title and a text could be read back")
	}
	fmt.Fprintf(d.out, "\nURL_CONTENT of %s\n%s\n%s\n\n", longest.MD5, plain(longest.Title, 200), plain(longest.Text, shownText))
	return count(rows), nil
}

func count(rows []rig.Row) summary {
	var s summary
	for _, row := range rows {
		s.urls++
		s.bytes += row.Size
		if row.ErrorMask != 0 {
			s.errors++
		} else if row.HTTPCode == 200 {
			s.pages++
		}
	}
	return s
}

// statusNames are the names of URL.Status: docs/spec/objects.md 5.3.
var statusNames = [...]string{"undefined", "new", "selected", "crawling", "crawled", "selected", "processing", "processed", "selected"}

// printTable writes a line for each row. The last column has the error and the title, or
// the URL of a page without title.
func printTable(out io.Writer, rows []rig.Row, titles map[string]string) {
	fmt.Fprintf(out, "%-10s %4s %9s  %s\n", "STATUS", "CODE", "SIZE", "TITLE")
	for _, row := range rows {
		status := fmt.Sprint(row.Status)
		if row.Status >= 0 && row.Status < len(statusNames) {
			status = statusNames[row.Status]
		}
		text := titles[row.MD5]
		if text == "" {
			text = row.URL
		}
		if row.ErrorMask != 0 {
			text = faults(row) + ": " + text
		}
		fmt.Fprintf(out, "%-10s %4d %9s  %s\n", status, row.HTTPCode, size(row.Size), plain(text, 120))
	}
}

// faults returns the names of the error bits of a row.
func faults(row rig.Row) string {
	if len(row.ErrorNames) == 0 {
		return fmt.Sprintf("error %#x", row.ErrorMask)
	}
	return strings.Join(row.ErrorNames, ",")
}

// plain makes text printable on a terminal: one line, no control characters, at most most
// characters.
func plain(text string, most int) string {
	var line strings.Builder
	length := 0
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) {
		if length > 0 {
			line.WriteByte(' ')
			length++
		}
		for _, c := range word {
			if length >= most {
				return strings.TrimRight(line.String(), " ") + "…"
			}
			if !unicode.IsPrint(c) {
				continue
			}
			line.WriteRune(c)
			length++
		}
	}
	return line.String()
}
