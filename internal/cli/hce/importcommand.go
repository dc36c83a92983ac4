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

	"hce/dc/canonical"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/livescreen"
	"hce/dc/internal/cli/warcimport"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/warc"
)

func (p program) importCommand() *command.Command {
	return newGroupCommand("import", "brings pages of other programs into a site", "SITE is the id of a site or one of its root URLs.",
		"  hce import warc pages.warc.gz\n  hce import warc a.warc.gz b.warc.gz --site archive", p.importWARCCommand())
}

func (p program) importWARCCommand() *command.Command {
	var o options
	var files []string
	var site string
	c := p.newLeafCommand(command.Text{
		Name: "warc", Summary: "stores the pages of WARC files as crawled pages of a site",
		Description: `Reads files of WARC 0.17 to 1.1, plain or compressed with gzip, and WACZ files. All files are
checked first: a damaged one is refused with the offset of its record, and nothing is changed. Then
each response with a code of 2xx, each resource and each revisit becomes a page in status crawled,
so a daemon processes it; another body of a known page becomes a version with the date of its
record. Records that are no pages are counted by reason. The same command again stores nothing
twice.

A site that does not exist is created from the address of the first page, or with the id of
--site. Nothing is fetched.`,
		Examples: "  hce import warc pages.warc.gz\n  hce import warc *.warc.gz --site archive",
	}, &o, func(s *session) error { return s.importWARC(files, site) })
	c.Words(&files, "FILE...", 1, 0)
	c.Text(&site, "site", "", "SITE", "site for all pages; default: that of the address of the first page")
	return c
}

func (s *session) importWARC(files []string, typed string) error {
	if _, err := s.findPlace(); err != nil { // before files are read, which may take a while
		return err
	}
	first := ""
	for _, path := range files {
		contents, err := warcimport.Check(s.ctx, path, s.importProgress("checking"))
		if err != nil {
			return refuseDamaged(err)
		}
		if first == "" {
			first = contents.First
		}
	}
	if err := s.connectOrCreate(); err != nil {
		return err
	}
	site, err := s.importSite(typed, first)
	if err != nil {
		return err
	}
	done, err := warcimport.Run(s.ctx, warcimport.Job{Service: s.service, Site: site, Files: files}, s.importProgress("importing"))
	if err != nil {
		s.printMessage("%s and %s are stored; the same command continues", countNoun(done.Pages, "page", "pages"), countNoun(done.Versions, "version", "versions"))
		return err
	}
	return s.printImported(site.ID, done)
}

// refuseDamaged makes a fault of a file a refusal.
func refuseDamaged(err error) error {
	var fault *warc.Fault
	var path *fs.PathError
	if errors.As(err, &fault) || errors.As(err, &path) {
		return command.Refuse("%w; nothing was changed", err)
	}
	return err
}

// importSite returns the site of --site, or that of the first page. It creates the site if it is not
// known.
func (s *session) importSite(typed, first string) (site wire.Site, err error) {
	if typed != "" {
		site, err = s.findSite(typed)
		if err == nil || exitOf(err) != command.ExitRefused || !wire.ValidSiteID(typed) {
			return site, err
		}
	}
	if first == "" {
		return site, command.Refuse("the files have no page of http or https, so they name no site; nothing was changed")
	}
	u, err := canonical.Net(first)
	if err != nil {
		return site, command.Refusal{Err: err}
	}
	root := u.Scheme + "://" + u.Host + "/"
	object, err := settings{name: typed}.newSite([]string{root})
	if err != nil {
		return site, err
	}
	object["moveURLs"] = false // the root URL is not fetched
	id := object["id"].(string)
	site, found, err := s.siteStatus(id)
	if err != nil || found {
		return site, err
	}
	if err := s.askService(wire.SiteNew, object, nil); err != nil {
		return site, err
	}
	s.printMessage("created site %s (%s)", id, root)
	site, _, err = s.siteStatus(id)
	return site, err
}

// importProgress returns the progress of a step on a terminal, nil elsewhere.
func (s *session) importProgress(step string) warcimport.Progress {
	file, ok := s.talk.(*os.File)
	if !ok || livescreen.Width(file) == 0 {
		return nil
	}
	last := time.Now()
	return func(path string, n int64) {
		if time.Since(last) >= pollEvery {
			last = time.Now()
			fmt.Fprintf(s.talk, "\r%s %s: %s\x1b[K\r", step, cleanLine(path), files.Bytes(n))
		}
	}
}

// printImported prints the summary.
func (s *session) printImported(site string, done warcimport.Summary) error {
	if s.json {
		if err := s.printJSON(struct {
			Site string `json:"site"`
			warcimport.Summary
		}{site, done}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(s.out, "%s: %s new, %s, %d stored before, of %s\n", site, countNoun(done.Pages, "page", "pages"),
			countNoun(done.Versions, "further version", "further versions"), done.Known, countNoun(done.Records, "record", "records"))
		for _, reason := range slices.Sorted(maps.Keys(done.Skipped)) {
			fmt.Fprintf(s.out, "left out: %d, %s\n", done.Skipped[reason], strings.ToValidUTF8(string(reason), "?"))
		}
	}
	if s.node != nil && done.Pages+done.Versions > 0 {
		s.printMessage("no daemon runs in %s; let the pages be processed with: %s", s.node.Dir, s.commandHint("crawl", site))
	}
	if done.Faults() > 0 {
		return command.ErrWithErrors
	}
	return nil
}
