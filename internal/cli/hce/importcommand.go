package hce

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/cli/warcimport"
	"hce/dc/internal/files"
	"hce/dc/warc"
)

func importCommand(p subcommand.Program) *command.Command {
	return subcommand.NewGroup("import", "brings pages of other programs into a site", "SITE is the id of a site or one of its root URLs.",
		"  hce import warc pages.warc.gz\n  hce import warc a.warc.gz b.warc.gz --site archive", importWARCCommand(p))
}

func importWARCCommand(p subcommand.Program) *command.Command {
	var o subcommand.Options
	var files []string
	var site string
	c := p.NewLeaf(command.Text{
		Name: "warc", Summary: "stores the pages of WARC files as crawled pages of a site",
		Description: `Reads files of WARC 0.17 to 1.1, plain or compressed with gzip, and WACZ files, also objects
s3://BUCKET/KEY (docs/objectstore.md). All files are
checked first: a damaged one is refused with the offset of its record, and nothing is changed. Then
each response with a code of 2xx, each resource and each revisit becomes a page in status crawled,
so a daemon processes it; another body of a known page becomes a version with the date of its
record. Records that are no pages are counted by reason. The same command again stores nothing
twice.

A site that does not exist is created from the address of the first page, or with the id of
--site. Nothing is fetched.`,
		Examples: "  hce import warc pages.warc.gz\n  hce import warc *.warc.gz --site archive\n  hce import warc s3://bucket/pages.warc.gz",
	}, &o, func(s *subcommand.Session) error { return importWARC(s, files, site) })
	c.Words(&files, "FILE...", 1, 0)
	c.Text(&site, "site", "", "SITE", "site for all pages; default: that of the address of the first page")
	return c
}

func importWARC(s *subcommand.Session, files []string, typed string) error {
	if _, err := s.FindPlace(); err != nil { // before files are read, which may take a while
		return err
	}
	first := ""
	for _, path := range files {
		contents, err := warcimport.Check(s.Ctx, path, importProgress(s, "checking"))
		if err != nil {
			return refuseDamaged(err)
		}
		if first == "" {
			first = contents.First
		}
	}
	if err := s.ConnectOrCreate(); err != nil {
		return err
	}
	site, err := siteoptions.FindOrCreate(s, typed, first)
	if err != nil {
		return err
	}
	done, err := warcimport.Run(s.Ctx, warcimport.Job{Service: s.Service, Site: site, Files: files}, importProgress(s, "importing"))
	if err != nil {
		s.PrintMessage("%s and %s are stored; the same command continues", plaintext.Count(done.Pages, "page", "pages"), plaintext.Count(done.Versions, "version", "versions"))
		return err
	}
	return printImported(s, site.ID, done)
}

// refuseDamaged makes a fault of a file a refusal.
func refuseDamaged(err error) error {
	var fault *warc.Fault
	var path *fs.PathError
	var object *objectstore.Error
	if errors.As(err, &object) {
		if object.IsRefusal() {
			return command.Refuse("%w; nothing was changed", err)
		}
		return err
	}
	if errors.As(err, &fault) || errors.As(err, &path) {
		return command.Refuse("%w; nothing was changed", err)
	}
	return err
}

// importProgress returns the progress of a step on a terminal, nil elsewhere.
func importProgress(s *subcommand.Session, step string) warcimport.Progress {
	file, ok := s.Talk.(*os.File)
	if !ok || livescreen.Width(file) == 0 {
		return nil
	}
	last := time.Now()
	return func(path string, n int64) {
		if time.Since(last) >= pollEvery {
			last = time.Now()
			fmt.Fprintf(s.Talk, "\r%s %s: %s\x1b[K\r", step, plaintext.Clean(path), files.Bytes(n))
		}
	}
}

// printImported prints the summary.
func printImported(s *subcommand.Session, site string, done warcimport.Summary) error {
	if s.JSON {
		if err := s.PrintJSON(struct {
			Site string `json:"site"`
			warcimport.Summary
		}{site, done}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(s.Out, "%s: %s new, %s, %d stored before, of %s\n", site, plaintext.Count(done.Pages, "page", "pages"),
			plaintext.Count(done.Versions, "further version", "further versions"), done.Known, plaintext.Count(done.Records, "record", "records"))
		for _, reason := range slices.Sorted(maps.Keys(done.Skipped)) {
			fmt.Fprintf(s.Out, "left out: %d, %s\n", done.Skipped[reason], strings.ToValidUTF8(string(reason), "?"))
		}
	}
	if s.Node != nil && done.Pages+done.Versions > 0 {
		s.PrintMessage("no daemon runs in %s; let the pages be processed with: %s", s.Node.Dir, s.CommandHint("crawl", site))
	}
	if done.Faults() > 0 {
		return command.ErrWithErrors
	}
	return nil
}
