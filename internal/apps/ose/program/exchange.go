package program

import (
	"errors"
	"fmt"
	"io"

	"hce/dc/internal/apps/ose/exchange"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/subcommand"
)

// clusterOptions are those of the sub-commands that work with the cluster.
type clusterOptions struct{ subcommand.Options }

func (o *clusterOptions) declareOptions(c *command.Command) {
	o.DeclarePlace(c)
	c.Flag(&o.JSON, "json", "", "print JSON for machines")
}

// importCommand returns the sub-command that stores a target in the cluster.
func (p program) importCommand() *command.Command {
	var o clusterOptions
	var words []string
	var site string
	c := p.newLeafCommand(command.Text{
		Name: "import", Summary: "stores the pages of a target in a site of the cluster",
		Description: `Each page with a code of 2xx becomes a crawled page with its head, body and date, which a daemon
processes; another body of a known page becomes a version. A URL that was not requested yet becomes
a row that waits to be crawled, any other one a row with its code. The same command again stores
nothing twice. A site that does not exist is created. Nothing is requested.`,
		Examples: "  ose import sites/example.org\n  ose import sites/example.org --site archive --server 127.0.0.1:5504",
	}, func() error { return p.importFolder(o, words[0], site) })
	c.Words(&words, "DIR", 1, 1)
	o.declareOptions(c)
	c.Text(&site, "site", "", "SITE", "site for all pages; default: that of the first URL")
	return c
}

func (p program) importFolder(o clusterOptions, dir, typed string) error {
	f, err := folder.Open(dir)
	if err != nil {
		return err
	}
	first, err := firstURL(f)
	if err != nil {
		return err
	}
	s, err := subcommand.Open(p.ctx, o.Options, p.talk, true)
	if err != nil {
		return err
	}
	defer s.CloseAll()
	site, err := siteoptions.FindOrCreate(s, typed, first)
	if err != nil {
		return err
	}
	done, err := exchange.Import(p.ctx, s.Service, site, f, func(err error) { p.printLine("page left out: %v", err) })
	if err != nil {
		p.printLine("%d pages and %d versions are stored; the same command continues", done.Pages, done.Versions)
		return err
	}
	if o.JSON {
		err = command.PrintJSON(p.out, struct {
			Site string `json:"site"`
			exchange.Imported
		}{site.ID, done})
	} else {
		fmt.Fprintf(p.out, "%s: %d new pages, %d further versions, %d new URLs without a page, %d stored before\n", site.ID, done.Pages, done.Versions, done.Rows, done.Known)
	}
	if err == nil && done.Faults > 0 {
		err = command.ErrWithErrors
	}
	return err
}

// firstURL returns the first URL of .urls, "" without one.
func firstURL(f *folder.Folder) (string, error) {
	urls, err := f.URLs()
	if err != nil {
		return "", err
	}
	defer urls.Close()
	record, err := urls.Next()
	if errors.Is(err, io.EOF) {
		return "", command.Refuse("%s has no URL; nothing was changed", f.Path(folder.URLsName))
	}
	return record.URL, err
}

// exportCommand returns the sub-command that writes a target from a site.
func (p program) exportCommand() *command.Command {
	var o clusterOptions
	var words []string
	c := p.newLeafCommand(command.Text{
		Name: "export", Summary: "writes the pages of a site of the cluster as a target",
		Description: `Writes the last version of each page of SITE, an id or a root URL, to DIR, which must be new or empty. The
target is in state 2: ose run finds its links and goes on. The same site gives the same files.`,
		Examples: "  ose export example.org sites/example.org",
	}, func() error { return p.exportSite(o, words[0], words[1]) })
	c.Words(&words, "SITE DIR", 2, 2)
	o.declareOptions(c)
	return c
}

func (p program) exportSite(o clusterOptions, typed, dir string) error {
	s, err := subcommand.Open(p.ctx, o.Options, p.talk, false)
	if err != nil {
		return err
	}
	defer s.CloseAll()
	site, err := s.FindSite(typed)
	if err != nil {
		return err
	}
	done, err := exchange.Export(p.ctx, s.Service, site, dir, func(url string, err error) {
		fmt.Fprintf(p.talk, "left out %s: %v\n", url, err)
	})
	if err != nil {
		return err
	}
	if o.JSON {
		err = command.PrintJSON(p.out, done)
	} else {
		fmt.Fprintf(p.out, "%s: %d URLs, %d of them with a page, %d left out\n", dir, done.URLs, done.Pages, done.Skipped+done.Damaged)
	}
	if err == nil && done.Damaged > 0 {
		err = command.ErrWithErrors
	}
	return err
}
