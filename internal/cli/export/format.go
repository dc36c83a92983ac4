package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// Writer writes pages in one format. The caller flushes and closes the output itself.
type Writer interface {
	// Page writes one page.
	Page(p *pages.Page) error
	// Flush passes on everything that the writer has buffered.
	Flush() error
	// End writes what follows the last page. It is not called if the export is interrupted.
	End() error
}

// Grouped is a Writer whose output can be continued only at the end of a group of pages. Flush ends a
// group. The output of a writer that is never full begins again.
type Grouped interface {
	Writer
	// Full reports whether the group has its size.
	Full() bool
}

// Settings are the choices of the user that a format may use.
type Settings struct {
	Fields   []string // columns; empty: the default of the format
	Markdown bool     // the field text is Markdown
	Raw      bool     // cells of CSV as they are
	Several  bool     // pages of several sites; set by Run
}

// Output is where a format writes: w for a file, folder for a format of many files. The other one
// is not set.
type Output struct {
	W      io.Writer
	Folder string
	Name   string // of the file; "" if it is not known
	// Scratch is a folder that the format may create. It is removed at the end. "" if there is no
	// place for one.
	Scratch string
	// Prior is what an earlier run has written to the same file; nil if it has written nothing.
	Prior *io.SectionReader
}

// Format is a kind of output.
type Format struct {
	Name   string
	About  string
	Folder bool // the output is a folder
	File   bool // the output is a file, not a pipe
	// Restarts: an interrupted export begins again. Rereads: one that continues reads what it had written.
	Restarts, Rereads bool
	// Redirects: it takes URLs that redirect to a page of the site, too. Other formats have that page only.
	Redirects bool
	// Where is the condition of pages that the format takes by default; "" for those that were
	// fetched well.
	Where string
	// Default are the fields of a table without --fields; nil for other formats, which have neither --fields nor
	// --markdown.
	Default []string
	// Needs are the contents that the format wants with these fields.
	Needs func(s Settings) pages.Needs
	// Fields are those that a format without a choice reads.
	Fields []string
	Open   func(out Output, s Settings) (Writer, error)
}

// Formats are all formats by name.
var Formats = []Format{
	{Name: "jsonl", About: "one JSON object for each page and line", Default: jsonFields, Needs: needsOf(jsonFields), Open: newJSONL},
	{Name: "csv", About: "a table with a header line (RFC 4180)", Default: csvFields, Needs: needsOf(csvFields), Open: newCSV},
	{Name: "parquet", Rereads: true, About: "a table in Apache Parquet, with typed columns", Default: parquetFields, Needs: needsOf(parquetFields), Open: newParquet},
	{Name: "md", About: "a folder with one Markdown file for each processed page", Folder: true, Needs: fixedNeeds(pages.Processed), Fields: append([]string{"markdown"}, frontFields...), Open: newMarkdown, Where: processed},
	{Name: "files", About: "a folder with all that was received, images too, named by the URLs; text is in UTF-8", Folder: true, Needs: fixedNeeds(pages.Raw), Open: newFiles, Where: AsReceived},
	{Name: "sitemap", About: "a sitemap (sitemaps.org) of the HTML pages", Needs: fixedNeeds(pages.Processed | pages.Headers), Fields: []string{"modified"}, Open: newSitemap, Where: html},
	{Name: "warc", Redirects: true, About: "an archive (WARC 1.1) of all that was received, images and redirects too; compressed if the name ends with .gz", Needs: fixedNeeds(pages.Raw | pages.Headers | pages.Requests | pages.Hops), Open: newWARC, Where: AsReceived},
	{Name: "wacz", Restarts: true, Redirects: true, About: "an archive (WACZ 1.1.1) that a browser shows: the file of warc with an index", File: true, Needs: fixedNeeds(pages.Raw | pages.Headers | pages.Requests | pages.Hops | pages.Processed), Fields: []string{"title"}, Open: newWACZ, Where: AsReceived},
}

// Conditions of pages, in the MySQL dialect.
const (
	Fetched   = wire.FetchedPage
	processed = "`State`=0 AND `Processed`>0 AND " + wire.PageWhere
	// Indexed leaves pages out that ask robots not to index them. Archives of all that was received have them.
	Indexed    = wire.IndexedWhere
	AsReceived = "`State`<>1 AND `Crawled`>0 AND (" + wire.ContentCodes + " OR `HTTPCode`<400 AND `Redirects`<>'') AND (`ErrorMask` & 4198399) = 0" // docs/errors.md: the bits of a failed fetch
	html       = Fetched + " AND `ContentType` IN ('text/html','application/xhtml+xml')"
)

// DefaultWhere is the condition of the pages that an export has unless its user says otherwise. Pages that ask robots not to
// index them are only in archives of all that was received.
func (f Format) DefaultWhere() string {
	where := cmp.Or(f.Where, Fetched)
	if where != AsReceived {
		where += " AND " + Indexed
	}
	return where
}

// SinceWhere is the condition of pages whose content has changed since a time (UTC, YYYY-MM-DD hh:mm:ss). A row that another program
// has put may lack the date of its content: the fetch is the best guess.
func SinceWhere(since string) string {
	return fmt.Sprintf("(`ContentDate`>='%[1]s' OR `ContentDate` IS NULL AND `UDate`>='%[1]s')", since)
}

func fixedNeeds(n pages.Needs) func(Settings) pages.Needs {
	return func(Settings) pages.Needs { return n }
}

// Names are the names of all formats.
func Names() []string {
	var names []string
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// Find returns the format with a name.
func Find(name string) (Format, error) {
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q is not one of %s%s", name, strings.Join(Names(), ", "), config.Suggestion(config.Nearest(name, Names())))
}

// CheckFields refuses unknown fields, and fields that are named twice.
func CheckFields(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("field %q is there twice", name)
		}
		if fieldOf(name).value != nil {
			continue
		}
		return fmt.Errorf("field %q is unknown%s; the fields are %s, and %sNAME for a tag of a template", name, config.Suggestion(config.Nearest(name, FieldNames())), strings.Join(FieldNames(), ", "), tagPrefix)
	}
	return nil
}

// needsOf returns the contents that the fields of a table need.
func needsOf(def []string) func(Settings) pages.Needs {
	return func(s Settings) (n pages.Needs) {
		for _, name := range s.chosenFields(def) {
			n |= fieldOf(name).needs
		}
		return n
	}
}

// processedTags returns the processed values that the fields read.
func (f Format) processedTags(s Settings) (tags []string) {
	fields := f.Fields
	if f.Default != nil {
		fields = s.chosenFields(f.Default)
	}
	for _, name := range fields {
		for _, tag := range fieldOf(name).tags {
			unused := name == "text" && strings.HasPrefix(tag, "content_markdown") != s.Markdown
			if !unused && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// chosenFields returns the fields to write.
func (s Settings) chosenFields(def []string) []string {
	if len(s.Fields) > 0 {
		return s.Fields
	}
	return slices.Clone(def)
}

// HasText reports whether a table of format f has the field text.
func (s Settings) HasText(f Format) bool { return slices.Contains(s.chosenFields(f.Default), "text") }
